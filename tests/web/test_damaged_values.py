"""Of a value that is damaged everybody is told whose it is; it can be written over, and deleted."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from teamvars.domain.workspaces import Usage
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.support.tenant import Tenant, faults, variable_document

DAMAGED = ("500", "damaged_value", None)


async def damage(tenant: Tenant, *made: Mapping[str, Any]) -> None:
    """Flips some bits of the stored values, as a disk does that fails."""

    async def body(tx: Transaction) -> None:
        for one in made:
            sql = "SELECT sealed_value FROM variables WHERE id = $1"
            row = await tx.fetch_one(sql, one["id"])
            assert row is not None
            flipped = bytes(byte ^ 1 for byte in bytes(row[0]))
            change = "UPDATE variables SET sealed_value = $1 WHERE id = $2"
            await tx.execute(change, flipped, one["id"])

    await tenant.deployment.services.database.write(body)


async def usage(tenant: Tenant) -> Usage:
    async def body(tx: Transaction) -> Usage:
        (found,) = (await streams.lock(tx, [tenant.workspaces["network"]])).values()
        return found.usage

    return await tenant.deployment.services.database.write(body)


def named(answer: httpx.Response) -> list[str]:
    """The keys of the damaged variables that an answer names; none of their values."""
    assert '"eu"' not in answer.text
    return [error["meta"]["key"] for error in answer.json()["errors"]]


async def patch(tenant: Tenant, made: Mapping[str, Any], **attributes: Any) -> httpx.Response:
    document = {"data": {"type": "vars", "id": made["id"], "attributes": attributes}}
    path = f"{tenant.vars_path()}/{made['id']}"
    return await tenant.call("writer", "PATCH", path, document)


async def action(tenant: Tenant, name: str, document: object) -> httpx.Response:
    workspace = tenant.workspaces["payments" if name == "copy" else "network"]
    return await tenant.call("owner", "POST", f"/workspaces/{workspace}/actions/{name}", document)


def items(*attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {"data": [{"type": "vars", "attributes": {"category": "tool", **a}} for a in attributes]}


def copy(tenant: Tenant, **attributes: Any) -> dict[str, Any]:
    source = {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}}
    relationships = {"source": source}
    return {"data": {"type": "copies", "attributes": attributes, "relationships": relationships}}


async def test_a_list_names_every_damaged_value_and_is_whole_once_they_are_gone(
    tenant: Tenant,
) -> None:
    first, second, _ = [await tenant.make_variable(key) for key in ("a", "b", "c")]
    await tenant.make_variable("hidden", sensitive=True)
    await damage(tenant, first, second)
    path = tenant.vars_path()
    for where in (path, path.replace("/vars", "/all-vars")):
        with capture_logs() as logged:
            answer = await tenant.call("reader", "GET", where)
        assert (faults(answer), named(answer)) == ([DAMAGED, DAMAGED], ["a", "b"])
        assert answer.status_code == 500
        assert [line["variables"] for line in logged] == [[first["id"], second["id"]]]
    assert (await patch(tenant, first, value="new")).status_code == 200
    assert named(await tenant.call("reader", "GET", path)) == ["b"]
    assert (await tenant.call("writer", "DELETE", f"{path}/{second['id']}")).status_code == 204
    assert [
        (one["attributes"]["key"], one["attributes"]["value"]) for one in (await tenant.variables())
    ] == [("a", "new"), ("c", "eu"), ("hidden", None)]
    assert await usage(tenant) == Usage(3, len("new") + len("eu") * 2)
    assert await tenant.deployment.audit_holds()


async def test_many_who_ask_for_one_damaged_list_are_all_told_and_the_next_list_is_made_anew(
    tenant: Tenant,
) -> None:
    made = await tenant.make_variable()
    await damage(tenant, made)
    ask = (tenant.call("reader", "GET", tenant.vars_path()) for _ in range(20))
    assert [named(answer) for answer in await asyncio.gather(*ask)] == [["region"]] * 20
    await damage(tenant, made)  # flips the same bits back, and no head moves
    assert [one["attributes"]["value"] for one in await tenant.variables()] == ["eu"]


async def test_a_large_list_with_a_damaged_value_at_its_end_is_refused_whole(
    tenant: Tenant,
) -> None:
    *_, last = [await tenant.make_variable(f"long-{n}", value="x" * 40_000) for n in range(4)]
    await damage(tenant, last)
    assert named(await tenant.call("reader", "GET", tenant.vars_path())) == ["long-3"]


async def test_the_others_are_read_one_by_one(tenant: Tenant) -> None:
    good, bad = await tenant.make_variable("good"), await tenant.make_variable("bad")
    await damage(tenant, bad)
    read = await tenant.call("reader", "GET", f"{tenant.vars_path()}/{good['id']}")
    assert read.json()["data"]["attributes"]["value"] == "eu"
    with capture_logs() as logged:
        answer = await tenant.call("reader", "GET", f"{tenant.vars_path()}/{bad['id']}")
    assert (faults(answer), named(answer)) == ([DAMAGED], ["bad"])
    assert [line["variables"] for line in logged] == [[bad["id"]]]


async def test_a_new_value_is_written_over_a_damaged_one_with_whatever_else_is_sent(
    tenant: Tenant,
) -> None:
    for attributes in (
        {"value": "eu"},
        {"value": "[1]", "hcl": True},
        {"value": "secret", "sensitive": True, "key": "another"},
    ):
        made = await tenant.make_variable()
        await damage(tenant, made)
        answer = await patch(tenant, made, **attributes)
        assert answer.status_code == 200, answer.text
        shown = answer.json()["data"]["attributes"]
        assert shown["value"] == (None if "sensitive" in attributes else attributes["value"])
        path = f"/workspaces/{tenant.workspaces['network']}/audit-events?filter[key]={shown['key']}"
        events = (await tenant.call("owner", "GET", path)).json()["data"]
        assert "value" in events[0]["attributes"]["changed"]
        await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{made['id']}")


@pytest.mark.parametrize(
    "attributes",
    [{}, {"description": "new"}, {"key": "new"}, {"sensitive": True}, {"hcl": True}],
    ids=str,
)
async def test_without_a_new_value_a_damaged_variable_stays_as_it_is(
    tenant: Tenant, attributes: Mapping[str, Any]
) -> None:
    made = await tenant.make_variable()
    await damage(tenant, made)
    answer = await patch(tenant, made, **attributes)
    assert faults(answer) == [("500", "damaged_value", "/data/attributes/value")]
    assert named(answer) == ["region"]
    found = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/vars")
    shown = found.json()["data"][0]["attributes"]
    assert {**made["attributes"], **shown} == {**shown, **made["attributes"]}
    both = await patch(tenant, made, key="a b", **attributes) if "key" not in attributes else None
    assert both is None or {code for _, code, _ in faults(both)} == {
        "damaged_value",
        "invalid_value",
    }


async def test_a_sensitive_variable_whose_value_is_damaged_is_changed_as_any_other(
    tenant: Tenant,
) -> None:
    made = await tenant.make_variable(sensitive=True)
    await damage(tenant, made)
    assert (await patch(tenant, made, description="new")).status_code == 200
    assert (await patch(tenant, made, value="new")).status_code == 200


async def test_an_apply_writes_over_damaged_values_and_refuses_what_would_have_to_open_them(
    tenant: Tenant,
) -> None:
    made = [await tenant.make_variable(key) for key in ("a", "b", "c")]
    await damage(tenant, *made)
    wanted: list[Mapping[str, Any]] = [
        {"key": "a", "sensitive": True},
        {"key": "b", "hcl": True},
        {"key": "c", "value": ""},
    ]
    with capture_logs() as logged:
        refused = await action(tenant, "apply", items(*wanted))
    assert faults(refused) == [
        ("500", "damaged_value", f"/data/{number}/attributes/value") for number in (0, 1)
    ]
    assert named(refused) == ["a", "b"]
    assert [line["variables"] for line in logged] == [[one["id"] for one in made[:2]]]
    wanted = [
        {"key": "a", "sensitive": True, "value": "eu"},
        {"key": "b", "value": "[]", "hcl": True},
        {"key": "c", "value": "eu"},
    ]
    answer = await action(tenant, "apply", items(*wanted))
    changed = [result["changed"] for result in answer.json()["meta"]["results"]]
    assert changed == [["value", "sensitive"], ["value", "hcl"], ["value"]]
    values = [one["attributes"]["value"] for one in await tenant.variables()]
    assert values == [None, "[]", "eu"]
    await damage(tenant, made[2])
    answer = await action(tenant, "apply", {**items(*wanted[:2]), "meta": {"prune": True}})
    assert answer.status_code == 200
    assert len(await tenant.variables()) == 2
    assert await usage(tenant) == Usage(2, 4)


async def test_an_update_of_many_renames_a_damaged_variable_and_leaves_its_value_as_it_is(
    tenant: Tenant,
) -> None:
    made = [await tenant.make_variable(key) for key in ("a", "b")]
    await damage(tenant, *made)
    path = f"/workspaces/{tenant.workspaces['network']}/relationships/vars"
    renamed = {"type": "vars", "id": made[0]["id"], "attributes": {"key": "c"}}
    answer = await tenant.call("owner", "PATCH", path, {"data": [renamed]})
    assert answer.status_code == 204
    listed = await tenant.call("reader", "GET", tenant.vars_path())
    assert named(listed) == ["b", "c"]
    sealed = {"type": "vars", "id": made[1]["id"], "attributes": {"key": "d", "sensitive": True}}
    answer = await tenant.call("owner", "PATCH", path, {"data": [sealed]})
    assert faults(answer) == [("500", "damaged_value", "/data/0/attributes/value")]
    assert await usage(tenant) == Usage(2, 4)


async def test_a_copy_names_the_damaged_values_of_its_source_and_replaces_those_of_its_target(
    tenant: Tenant,
) -> None:
    bad, good = [await tenant.make_variable(key) for key in ("bad", "good")]
    hidden = await tenant.make_variable("hidden", sensitive=True)
    everything = copy(tenant, **{"on-conflict": "replace"})
    assert (await action(tenant, "copy", everything)).is_success
    await damage(tenant, bad, hidden)
    refused = await action(tenant, "copy", everything)
    assert faults(refused) == [("500", "damaged_value", "/data/attributes/keys")] * 2
    assert named(refused) == ["bad", "hidden"]
    keys = [{"key": key, "category": "tool"} for key in ("good", "bad")]
    refused = await action(tenant, "copy", copy(tenant, keys=keys, **{"on-conflict": "replace"}))
    assert faults(refused) == [("500", "damaged_value", "/data/attributes/keys/1")]
    # What is skipped need not be opened.
    skipping = copy(tenant, keys=keys, **{"on-conflict": "skip"})
    assert (await action(tenant, "copy", skipping)).is_success
    await damage(tenant, *(await tenant.variables("payments"))[1:2])
    copied = copy(tenant, keys=keys[:1], **{"on-conflict": "replace"})
    answer = await action(tenant, "copy", copied)
    assert [result["changed"] for result in answer.json()["meta"]["results"]] == [["value"]]
    assert good["attributes"]["value"] in {
        one["attributes"]["value"] for one in await tenant.variables("payments")
    }


async def test_a_search_names_damaged_values_where_values_are_asked_for(tenant: Tenant) -> None:
    bad, _ = [await tenant.make_variable(key) for key in ("bad", "good")]
    await damage(tenant, bad)
    path = f"/organizations/{tenant.organization}/vars"
    assert len((await tenant.call("owner", "GET", path)).json()["data"]) == 2
    refused = await tenant.call("owner", "GET", f"{path}?fields[vars]=key,value")
    assert (faults(refused), named(refused)) == ([DAMAGED], ["bad"])


async def test_a_repeat_of_a_change_whose_value_is_damaged_since_says_so(tenant: Tenant) -> None:
    key = {"Idempotency-Key": "damaged-since"}
    path, document = tenant.vars_path(), variable_document()
    made = await tenant.call("owner", "POST", path, document, key)
    await damage(tenant, made.json()["data"])
    again = await tenant.call("owner", "POST", path, document, key)
    assert (faults(again), named(again)) == ([DAMAGED], ["region"])


async def test_whose_data_keys_are_gone_is_told_of_each_value_and_reads_what_shows_none(
    tenant: Tenant,
) -> None:
    await tenant.make_variable("region")
    document = variable_document(key="hidden", sensitive=True)
    await tenant.call("owner", "POST", tenant.vars_path("payments"), document)
    gone = "DELETE FROM data_keys"
    await tenant.deployment.services.database.write(lambda tx: tx.execute(gone))
    for path in (
        tenant.vars_path(),
        f"/organizations/{tenant.organization}/vars?fields[vars]=value",
    ):
        with capture_logs() as logs:
            answer = await tenant.call("owner", "GET", path)
        assert (faults(answer), named(answer)) == ([DAMAGED], ["region"])
        assert "do not open" in str(logs)
    (hidden,) = await tenant.variables("payments")
    assert hidden["attributes"]["key"] == "hidden"
    with capture_logs() as logs:
        made = await tenant.call("owner", "POST", tenant.vars_path(), variable_document(key="new"))
    assert faults(made) == [("500", "internal_error", None)]
    assert "data key" in str(logs)
