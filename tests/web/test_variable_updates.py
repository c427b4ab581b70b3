"""Updating variables, and the rules of sensitive ones: contract §4, on both engines."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, build_tenant, faults
from tests.web.test_variables import stored_as


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that do not look at what another may have left."""
    return await build_tenant(deployment)


async def make(tenant: Tenant, **attributes: Any) -> dict[str, Any]:
    """A variable of a new key, unless one is given."""
    return await tenant.make_variable(**{"key": uuid4().hex, **attributes})


async def update(tenant: Tenant, made: dict[str, Any], **attributes: Any) -> httpx.Response:
    """Updates as the writer."""
    document = {"data": {"type": "vars", "id": made["id"], "attributes": attributes}}
    return await send(tenant, made, document)


async def send(tenant: Tenant, made: dict[str, Any], document: object) -> httpx.Response:
    return await tenant.call("writer", "PATCH", f"{tenant.vars_path()}/{made['id']}", document)


async def read(tenant: Tenant, made: dict[str, Any]) -> dict[str, Any]:
    """The variable as its readers see it now."""
    answer = await tenant.call("reader", "GET", f"{tenant.vars_path()}/{made['id']}")
    shown: dict[str, Any] = answer.json()["data"]
    return shown


async def sealed(tenant: Tenant, made: dict[str, Any]) -> bytes:
    """The bytes that are stored as its value."""
    stored = await stored_as(tenant, made)
    assert stored.sealed is not None
    return stored.sealed.content


CHANGES = {
    "key": "renamed",
    "value": "new\r\n",
    "description": "other",
    "category": "env",
    "hcl": True,
}


@pytest.mark.parametrize(("name", "value"), CHANGES.items())
async def test_an_update_changes_what_it_names_and_nothing_else(
    tenant: Tenant, name: str, value: object
) -> None:
    made = await make(tenant, key="region", value='"code"')
    answer = await update(tenant, made, **{name: value})
    assert answer.status_code == 200
    shown = answer.json()["data"]
    version = shown["attributes"]["version-id"]
    assert shown == {
        **made,
        "attributes": {**made["attributes"], name: value, "version-id": version},
    }
    assert version != made["attributes"]["version-id"]
    assert await read(tenant, made) == shown


async def test_all_attributes_may_change_at_once(tenant: Tenant) -> None:
    made = await make(tenant)
    answer = await update(tenant, made, **CHANGES)
    assert answer.status_code == 200
    shown = answer.json()["data"]["attributes"]
    assert {name: shown[name] for name in CHANGES} == CHANGES


async def test_nothing_to_change_gives_a_new_version_all_the_same(shared: Tenant) -> None:
    made = await make(shared)
    versions = [made["attributes"]["version-id"]]
    for _ in "12":
        answer = await update(shared, made)
        assert answer.status_code == 200
        shown = answer.json()["data"]["attributes"]
        versions.append(shown.pop("version-id"))
        assert shown.items() <= made["attributes"].items()
    assert len(set(versions)) == 3


async def test_saying_what_is_so_already_gives_a_new_version(shared: Tenant) -> None:
    made = await make(shared)
    same = {name: made["attributes"][name] for name in ("key", "value", "category", "sensitive")}
    answer = await update(shared, made, **same)
    shown = answer.json()["data"]["attributes"]
    assert shown["version-id"] != made["attributes"]["version-id"]
    assert shown | {"version-id": None} == made["attributes"] | {"version-id": None}


async def test_a_refused_update_leaves_the_version(shared: Tenant) -> None:
    made = await make(shared)
    assert (await update(shared, made, key="")).status_code == 422
    assert await read(shared, made) == made


async def test_an_update_may_empty_value_and_description(shared: Tenant) -> None:
    made = await make(shared)
    shown = (await update(shared, made, value="", description="")).json()["data"]["attributes"]
    assert (shown["value"], shown["description"]) == ("", "")


@ON_SQLITE
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"id": "{id}", "attributes": {}}, [("422", "missing_member", "/data/type")]),
        ({"type": "vars", "attributes": {}}, [("422", "missing_member", "/data/id")]),
        ({"type": "vars", "id": "{id}"}, [("422", "missing_member", "/data/attributes")]),
        (
            {},
            [
                ("422", "missing_member", "/data/type"),
                ("422", "missing_member", "/data/id"),
                ("422", "missing_member", "/data/attributes"),
            ],
        ),
        (
            {"type": "workspaces", "id": "{id}", "attributes": {}},
            [("409", "type_conflict", "/data/type")],
        ),
        (
            {"type": "vars", "id": "var-1111111111111111", "attributes": {}},
            [("409", "id_conflict", "/data/id")],
        ),
        ({"type": "vars", "id": "", "attributes": {}}, [("409", "id_conflict", "/data/id")]),
        (
            {"type": None, "id": 5, "attributes": None},
            [
                ("422", "wrong_type", "/data/type"),
                ("422", "wrong_type", "/data/id"),
                ("422", "wrong_type", "/data/attributes"),
            ],
        ),
        (
            {"type": "vars", "id": "{id}", "attributes": {"valu": "x", "category": "x"}},
            [
                ("422", "unknown_attribute", "/data/attributes/valu"),
                ("422", "invalid_value", "/data/attributes/category"),
            ],
        ),
        (
            {"type": "var", "id": "x", "attributes": {"hcl": 1, "key": "a=b", "description": None}},
            [
                ("409", "type_conflict", "/data/type"),
                ("409", "id_conflict", "/data/id"),
                ("422", "wrong_type", "/data/attributes/hcl"),
                ("422", "invalid_value", "/data/attributes/key"),
                ("422", "wrong_type", "/data/attributes/description"),
            ],
        ),
    ],
)
async def test_every_fault_of_an_update_is_told_where_it_is(
    shared: Tenant, data: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    made = await make(shared)
    if data.get("id") == "{id}":
        data = {**data, "id": made["id"]}
    answer = await send(shared, made, {"data": data})
    assert answer.status_code == (409 if {row[0] for row in expected} == {"409"} else 422)
    assert faults(answer) == expected
    assert await read(shared, made) == made


async def test_attributes_that_the_service_assigns_are_ignored_in_updates(shared: Tenant) -> None:
    made = await make(shared)
    assigned = {"version-id": "0" * 36, "created-at": 5}
    answer = await update(shared, made, value="new", **assigned)
    assert answer.status_code == 200
    shown = answer.json()["data"]["attributes"]
    assert shown["value"] == "new"
    assert shown["version-id"] not in ("0" * 36, made["attributes"]["version-id"])


async def test_what_was_read_can_be_sent_back_whole(shared: Tenant) -> None:
    made = await make(shared)
    answer = await send(shared, made, {"data": made})
    assert answer.status_code == 200


@pytest.mark.parametrize("name", ["configurable", "workspace"])
async def test_an_update_cannot_move_a_variable_to_another_workspace(
    shared: Tenant, name: str
) -> None:
    made = await make(shared)
    linkage = {"type": "workspaces", "id": shared.workspaces["payments"]}
    data = {**made, "relationships": {name: {"data": linkage}}}
    answer = await send(shared, made, {"data": data})
    assert answer.status_code == 409
    expected = ("409", "relationship_conflict", f"/data/relationships/{name}/data/id")
    assert faults(answer) == [expected]
    assert await read(shared, made) == made


async def test_the_deprecated_filter_means_nothing_in_an_update(shared: Tenant) -> None:
    made = await make(shared)
    document = {"data": made, "filter": {"workspace": {"name": "another"}}}
    answer = await send(shared, made, document)
    assert answer.status_code == 200
    assert "Deprecation" not in answer.headers


async def test_a_key_that_is_taken_in_the_category_is_refused(tenant: Tenant) -> None:
    await tenant.make_variable("taken")
    made = await tenant.make_variable("region")
    answer = await update(tenant, made, key="taken")
    assert answer.status_code == 422
    assert faults(answer) == [("422", "key_taken", "/data/attributes/key")]
    assert await read(tenant, made) == made


async def test_moving_to_the_category_where_the_key_is_taken_is_refused(tenant: Tenant) -> None:
    await tenant.make_variable("region", category="env")
    made = await tenant.make_variable("region", category="tool")
    answer = await update(tenant, made, category="env")
    assert faults(answer) == [("422", "key_taken", "/data/attributes/key")]
    assert (await update(tenant, made, category="env", key="free")).status_code == 200


async def test_a_key_of_the_other_category_is_free(tenant: Tenant) -> None:
    await tenant.make_variable("region", category="env")
    made = await tenant.make_variable("zone", category="tool")
    assert (await update(tenant, made, key="region")).status_code == 200


async def test_a_renamed_variable_keeps_its_value_and_frees_its_key(tenant: Tenant) -> None:
    made = await tenant.make_variable("old", value="kept")
    shown = (await update(tenant, made, key="new")).json()["data"]
    assert (shown["id"], shown["attributes"]["value"]) == (made["id"], "kept")
    await tenant.make_variable("old")
    assert [one["attributes"]["key"] for one in await tenant.variables()] == ["new", "old"]


async def test_making_a_variable_sensitive_hides_its_value_for_ever(tenant: Tenant) -> None:
    made = await tenant.make_variable("token", value="hunter2")
    before = await sealed(tenant, made)
    answer = await update(tenant, made, sensitive=True)
    assert answer.status_code == 200
    assert answer.json()["data"]["attributes"]["value"] is None
    assert (await read(tenant, made))["attributes"]["value"] is None
    assert [one["attributes"]["value"] for one in await tenant.variables()] == [None]
    assert await sealed(tenant, made) != before  # sealed to the flag, so that it cannot be put back
    document = {"data": {"type": "vars", "id": made["id"], "attributes": {"sensitive": False}}}
    owner = await tenant.call("owner", "PATCH", f"{tenant.vars_path()}/{made['id']}", document)
    assert faults(owner) == [("422", "sensitive_is_permanent", "/data/attributes/sensitive")]


@pytest.mark.parametrize(
    "attributes",
    [
        {"sensitive": False},
        {"sensitive": False, "value": "new"},
        {"sensitive": False, "value": "", "key": "other", "category": "env"},
    ],
)
async def test_a_sensitive_variable_never_becomes_readable(
    shared: Tenant, attributes: dict[str, Any]
) -> None:
    made = await make(shared, value="hunter2", sensitive=True)
    stored = await sealed(shared, made)
    answer = await update(shared, made, **attributes)
    assert answer.status_code == 422
    expected = ("422", "sensitive_is_permanent", "/data/attributes/sensitive")
    assert faults(answer) == [expected]
    assert await read(shared, made) == made
    assert await sealed(shared, made) == stored


async def test_the_rule_of_sensitive_comes_with_the_other_faults(shared: Tenant) -> None:
    made = await make(shared, sensitive=True)
    answer = await update(shared, made, hcl=None, sensitive=False, key="")
    assert faults(answer) == [
        ("422", "wrong_type", "/data/attributes/hcl"),
        ("422", "sensitive_is_permanent", "/data/attributes/sensitive"),
        ("422", "invalid_value", "/data/attributes/key"),
    ]


async def test_a_new_value_may_be_written_over_a_sensitive_one(shared: Tenant) -> None:
    made = await make(shared, value="hunter2", sensitive=True)
    before = await sealed(shared, made)
    for attributes in ({"value": "hunter3"}, {"value": "hunter4", "sensitive": True}):
        answer = await update(shared, made, **attributes)
        assert answer.status_code == 200
        assert answer.json()["data"]["attributes"]["value"] is None
        assert "hunter" not in answer.text
        after = await sealed(shared, made)
        assert after != before
        before = after


async def test_the_other_attributes_of_a_sensitive_variable_may_change(shared: Tenant) -> None:
    made = await make(shared, value="hunter2", sensitive=True)
    before = await sealed(shared, made)
    changes = {"key": uuid4().hex, "description": "other", "category": "env", "sensitive": True}
    answer = await update(shared, made, **changes)
    assert answer.status_code == 200
    shown = answer.json()["data"]["attributes"]
    assert {name: shown[name] for name in changes} == changes
    assert shown["value"] is None
    assert await sealed(shared, made) == before


async def test_a_readable_variable_may_be_told_that_it_is_not_sensitive(shared: Tenant) -> None:
    made = await make(shared)
    assert (await update(shared, made, sensitive=False)).status_code == 200


async def test_a_value_and_the_flag_that_hides_it_may_come_together(shared: Tenant) -> None:
    made = await make(shared, value="old")
    answer = await update(shared, made, value="hunter2", sensitive=True)
    assert answer.json()["data"]["attributes"]["value"] is None
    assert "hunter2" not in answer.text
