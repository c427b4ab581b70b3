"""Values that are configuration-language code: contract §4, on both engines."""

import asyncio
from typing import Any

import pytest

from teamvars.services.code.checker import Process
from tests.support.tenant import Tenant, faults, variable_document

BROKEN = "{\n  a = 1\n  b = = 2\n}"
SYNTAX = "hcl_syntax"
COMPLEX = ("422", "too_complex", "/data/attributes/value")
LONG = "[" + "1," * 30_000 + "]"
EIGHT = "[1,1,1,1,1,1,1,1]"


async def create(tenant: Tenant, who: str = "writer", **attributes: Any) -> Any:
    return await tenant.call(who, "POST", tenant.vars_path(), variable_document(**attributes))


async def change(tenant: Tenant, variable: dict[str, Any], **attributes: Any) -> Any:
    path = f"{tenant.vars_path()}/{variable['id']}"
    document = {"data": {"type": "vars", "id": variable["id"], "attributes": attributes}}
    return await tenant.call("writer", "PATCH", path, document)


async def test_a_broken_map_is_refused_with_the_place_of_the_fault(tenant: Tenant) -> None:
    answer = await create(tenant, value=BROKEN, hcl=True)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/value")]
    (error,) = answer.json()["errors"]
    assert "line 3, column 7" in error["detail"]
    assert error["meta"] == {"line": 3, "column": 7}
    assert "b = = 2" not in answer.text
    assert await tenant.variables() == []


@pytest.mark.parametrize("value", ["{ a = 1 }", "[1, 2]", '"text"', "var.other", 'file("x")', "1"])
async def test_code_that_parses_is_stored_as_it_is(tenant: Tenant, value: str) -> None:
    answer = await create(tenant, value=value, hcl=True)
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["attributes"]["value"] == value


async def test_the_default_value_is_no_code_and_hcl_is_to_blame(tenant: Tenant) -> None:
    document = variable_document(hcl=True)
    del document["data"]["attributes"]["value"]
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/hcl")]


async def test_a_second_statement_is_refused(tenant: Tenant) -> None:
    answer = await create(tenant, value="1\ny = 2", hcl=True)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/value")]


async def test_hcl_has_no_effect_on_environment_variables(tenant: Tenant) -> None:
    answer = await create(tenant, value=BROKEN, hcl=True, category="env")
    assert answer.status_code == 201


async def test_a_sensitive_value_is_checked_when_it_is_written(tenant: Tenant) -> None:
    answer = await create(tenant, value=BROKEN, hcl=True, sensitive=True)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/value")]


async def test_all_faults_come_with_the_broken_code_in_document_order(tenant: Tenant) -> None:
    answer = await create(tenant, key="a b", value=BROKEN, hcl=True, description="x" * 513)
    assert faults(answer) == [
        ("422", "invalid_value", "/data/attributes/key"),
        ("422", SYNTAX, "/data/attributes/value"),
        ("422", "invalid_value", "/data/attributes/description"),
    ]


async def test_who_may_not_write_learns_nothing_of_the_code(tenant: Tenant) -> None:
    for who, status in (("reader", 403), ("plain", 404), ("outsider", 404)):
        assert (await create(tenant, who, value=BROKEN, hcl=True)).status_code == status


async def test_turning_hcl_on_checks_the_stored_value(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value=BROKEN)
    answer = await change(tenant, variable, hcl=True)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/hcl")]
    (unchanged,) = await tenant.variables()
    assert unchanged == variable


async def test_turning_an_environment_variable_into_code_checks_it(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value=BROKEN, hcl=True, category="env")
    answer = await change(tenant, variable, category="tool")
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/category")]


async def test_a_new_value_of_code_is_checked(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value="[1]", hcl=True)
    answer = await change(tenant, variable, value="[1")
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/value")]
    assert (await change(tenant, variable, value="[2]")).status_code == 200


async def test_code_and_value_may_become_right_together(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value=BROKEN)
    assert (await change(tenant, variable, hcl=True, value="{}")).status_code == 200
    assert (await change(tenant, variable, hcl=False, value=BROKEN)).status_code == 200


async def test_a_stored_sensitive_value_is_not_opened_to_check_it(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value=BROKEN, sensitive=True)
    assert (await change(tenant, variable, hcl=True)).status_code == 200


async def test_a_stale_version_is_told_before_broken_code(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value="[1]", hcl=True)
    path = f"{tenant.vars_path()}/{variable['id']}"
    document = {"data": {"type": "vars", "id": variable["id"], "attributes": {"value": "["}}}
    stale = {"If-Match": '"0"'}
    answer = await tenant.call("writer", "PATCH", path, document, stale)
    assert answer.status_code == 412


async def test_racing_updates_never_leave_code_that_does_not_parse(tenant: Tenant) -> None:
    variable = await tenant.make_variable(value="[1]", hcl=False)
    for _ in range(5):
        await asyncio.gather(
            change(tenant, variable, hcl=True),
            change(tenant, variable, value="[", hcl=False),
            change(tenant, variable, value="["),
            change(tenant, variable, hcl=True, value="[2]"),
        )
        (now,) = await tenant.variables()
        assert not (now["attributes"]["hcl"] and now["attributes"]["value"] == "[")


async def test_a_long_value_is_checked_too(tenant: Tenant) -> None:
    value = "[" + "1, " * 20_000 + "2"
    answer = await create(tenant, value=value, hcl=True)
    assert faults(answer) == [("422", SYNTAX, "/data/attributes/value")]


async def check_value(tenant: Tenant, value: str, who: str = "writer", **more: Any) -> Any:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/check-value"
    attributes = {"value": value, "hcl": True, **more}
    document = {"data": {"type": "value-checks", "attributes": attributes}}
    return await tenant.call(who, "POST", path, document)


async def test_a_value_can_be_tried_without_being_stored(tenant: Tenant) -> None:
    answer = await check_value(tenant, '{ a = 1 + 1, b = "${"x"}y" }')
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["id"].startswith("check-")
    assert answer.json()["data"]["attributes"] == {
        "valid": True,
        "evaluated": True,
        "value": {"a": 2, "b": "xy"},
        "error": None,
        "refers-to": [],
        "calls": [],
    }
    assert await tenant.variables() == []


async def test_a_tried_value_that_does_not_parse_says_where(tenant: Tenant) -> None:
    found = (await check_value(tenant, BROKEN)).json()["data"]["attributes"]
    assert (found["valid"], found["evaluated"]) == (False, False)
    assert (found["error"]["line"], found["error"]["column"]) == (3, 7)


async def test_a_tried_value_tells_what_it_refers_to(tenant: Tenant) -> None:
    found = (await check_value(tenant, "upper(var.region)")).json()["data"]["attributes"]
    assert (found["valid"], found["evaluated"]) == (True, False)
    assert (found["refers-to"], found["calls"]) == (["var.region"], ["upper"])


async def test_an_exact_number_stays_exact(tenant: Tenant) -> None:
    answer = await check_value(tenant, "1e30 + 1")
    assert "1000000000000000000000000000001" in answer.text


async def test_a_tried_text_is_itself(tenant: Tenant) -> None:
    found = (await check_value(tenant, BROKEN, hcl=False)).json()["data"]["attributes"]
    assert (found["valid"], found["value"]) == (True, BROKEN)


async def test_only_who_may_write_tries_values(tenant: Tenant) -> None:
    for who, status in (("reader", 403), ("plain", 404), ("outsider", 404), (None, 401)):
        path = f"/workspaces/{tenant.workspaces['network']}/actions/check-value"
        assert (await tenant.call(who, "POST", path, {"data": {}})).status_code == status


async def test_a_faulty_try_names_every_fault(tenant: Tenant) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/check-value"
    document = {"data": {"type": "vars", "attributes": {"hcl": "yes", "vaule": "1"}}}
    answer = await tenant.call("writer", "POST", path, document)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "wrong_type", "/data/attributes/hcl"),
        ("422", "unknown_attribute", "/data/attributes/vaule"),
        ("422", "missing_member", "/data/attributes/value"),
    ]


@pytest.mark.usefixtures("hasty")
async def test_code_that_takes_too_long_to_read_is_not_stored(tenant: Tenant) -> None:
    answer = await create(tenant, value=LONG, hcl=True)
    assert faults(answer) == [COMPLEX]
    assert await tenant.variables() == []
    variable = await tenant.make_variable(value=LONG, hcl=False)
    assert faults(await change(tenant, variable, hcl=True)) == [
        ("422", "too_complex", "/data/attributes/hcl")
    ]


@pytest.mark.usefixtures("hasty")
async def test_code_that_takes_too_long_comes_with_all_other_faults(tenant: Tenant) -> None:
    answer = await create(tenant, key="a b", value=LONG, hcl=True, description="x" * 513)
    assert faults(answer) == [
        ("422", "invalid_value", "/data/attributes/key"),
        COMPLEX,
        ("422", "invalid_value", "/data/attributes/description"),
    ]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("value", [LONG, f"[for a in {EIGHT} : " * 3 + "1/3" + "]" * 3])
async def test_a_tried_value_that_takes_too_long_is_too_complex(tenant: Tenant, value: str) -> None:
    assert faults(await check_value(tenant, value)) == [COMPLEX]


async def test_a_tried_value_that_grows_far_beyond_its_code_is_too_complex(tenant: Tenant) -> None:
    value = f"[for a in {EIGHT} : " * 3 + "1e1000" + "]" * 3
    assert faults(await check_value(tenant, value)) == [COMPLEX]


async def test_who_sends_one_long_value_beside_another_waits_and_the_third_is_refused(
    tenant: Tenant,
) -> None:
    values = [LONG[: -2 * n - 1] + "]" for n in range(5)]
    answers = await asyncio.gather(*(check_value(tenant, value) for value in values))
    refused = [one for one in answers if one.status_code != 200]
    assert refused
    assert len(refused) < len(values)
    for one in refused:
        assert faults(one) == [("429", "too_many_requests", None)]
        assert one.headers["Retry-After"] == "1"


async def test_who_may_not_write_has_no_code_read(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Process, "examine", _nobody)
    for who, status in (("reader", 403), ("plain", 404), ("outsider", 404)):
        assert (await create(tenant, who, value=LONG, hcl=True)).status_code == status
        assert (await check_value(tenant, LONG, who)).status_code == status


def _nobody(*_: object) -> None:
    raise AssertionError
