"""Applies, copies, files and the history of variable sets, which are as those of workspaces."""

from typing import Any

import httpx

from tests.support.tenant import Tenant, faults, items_document
from tests.web.test_applies import Listed, item, results
from tests.web.test_copies import fill, key, value_in_store
from tests.web.test_variable_sets import as_global, make_set, put, vars_of


async def apply_to(
    tenant: Tenant,
    set_id: str,
    *items: object,
    who: str = "owner",
    headers: dict[str, str] | None = None,
    **options: bool,
) -> httpx.Response:
    """An apply of these items to a set."""
    document = items_document(*items, **options)
    return await tenant.call(who, "POST", f"/varsets/{set_id}/actions/apply", document, headers)


async def copy_to(
    tenant: Tenant, set_id: str, source: tuple[str, str], *keys: object, **more: Any
) -> httpx.Response:
    """A copy into a set from what that type and id name."""
    type_, id_ = source
    said = {"keys": list(keys), **more} if keys else more
    data = {
        "type": "copies",
        "attributes": said,
        "relationships": {"source": {"data": {"type": type_, "id": id_}}},
    }
    return await tenant.call("owner", "POST", f"/varsets/{set_id}/actions/copy", {"data": data})


async def in_set(tenant: Tenant, set_id: str) -> Listed:
    """The attributes of all variables of a set."""
    found = (await tenant.call("owner", "GET", vars_of(set_id))).json()["data"]
    each = [one["attributes"] for one in found]
    return {(one["key"], one["category"]): one for one in each}


async def events(tenant: Tenant, set_id: str, who: str = "owner", query: str = "") -> Any:
    answer = await tenant.call(who, "GET", f"/varsets/{set_id}/audit-events{query}")
    assert answer.status_code == 200, answer.text
    return [
        (one["attributes"]["action"], one["attributes"]["details"]) for one in answer.json()["data"]
    ]


async def test_a_set_becomes_what_an_apply_says(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "old", category="env")
    await put(tenant, made, "region", "eu", category="env")
    items = item(value="us"), item("token", value="canary", sensitive=True)
    tried = await apply_to(tenant, made, *items, prune=True, dry_run=True)
    wanted = [("region", "updated", ["value"]), ("token", "created", []), ("old", "deleted", [])]
    assert results(tried) == wanted
    assert (await in_set(tenant, made)).keys() == {("old", "env"), ("region", "env")}
    done = await apply_to(tenant, made, *items, prune=True)
    assert results(done) == wanted
    listed = await tenant.call("owner", "GET", vars_of(made))
    assert done.headers["ETag"] == listed.headers["ETag"]
    found = await in_set(tenant, made)
    assert {name: one["value"] for name, one in found.items()} == {
        ("region", "env"): "us",
        ("token", "env"): None,
    }
    stale = await apply_to(tenant, made, items[0], headers={"If-Match": '"old"'})
    assert stale.status_code == 412
    assert await tenant.deployment.audit_holds()


async def test_an_apply_to_a_set_is_repeated_with_its_key(tenant: Tenant) -> None:
    made = await make_set(tenant)
    header = {"Idempotency-Key": "apply-once"}
    first = await apply_to(tenant, made, item(value="eu"), headers=header)
    again = await apply_to(tenant, made, item(value="eu"), headers=header)
    assert first.json() == again.json()
    assert results(again) == [("region", "created", [])]
    other = await apply_to(tenant, made, item(value="us"), headers=header)
    assert other.status_code == 422


async def test_only_those_who_change_sets_apply_to_them(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    for who in ("reader", "writer"):
        assert (await apply_to(tenant, made, item(), who=who)).status_code == 403
    assert (await apply_to(tenant, made, item(), who="outsider")).status_code == 404
    through = await tenant.call("owner", "POST", f"/workspaces/{made}/actions/apply", {"data": []})
    assert through.status_code == 404
    of_other_kind = f"/varsets/{tenant.workspaces['network']}/actions/apply"
    assert (await tenant.call("owner", "POST", of_other_kind, {"data": []})).status_code == 404


async def test_faults_of_an_apply_to_a_set_are_told_at_their_items(tenant: Tenant) -> None:
    made = await make_set(tenant, "one", **as_global())
    await put(tenant, await make_set(tenant, "other", **as_global()), "region", category="env")
    relation = {"varset": {"data": {"type": "varsets", "id": "varset-other"}}}
    items = item(), item("code", "tool", value="{", hcl=True), item("fine")
    answer = await apply_to(tenant, made, *items)
    assert sorted(faults(answer)) == [
        ("422", "hcl_syntax", "/data/1/attributes/value"),
        ("422", "key_taken", "/data/0/attributes/key"),
    ]
    answer = await apply_to(tenant, made, {**item("fine"), "relationships": relation})
    assert [one[0] for one in faults(answer)] == ["409"]
    assert await in_set(tenant, made) == {}
    attached = await make_set(tenant, "attached")  # which may have what a global one has
    assert (await apply_to(tenant, attached, item())).status_code == 200


async def test_variables_are_copied_between_sets_and_workspaces(tenant: Tenant) -> None:
    await fill(tenant, "network", a="1", secret="s3cret")
    made, other = await make_set(tenant, "one", "network"), await make_set(tenant, "other")
    network = tenant.workspaces["network"]
    answer = await copy_to(tenant, made, ("workspaces", network))
    assert results(answer) == [("a", "created", []), ("secret", "created", [])]
    answer = await copy_to(tenant, other, ("varsets", made), key("secret"))
    assert results(answer) == [("secret", "created", [])]
    path = f"/workspaces/{tenant.workspaces['payments']}/actions/copy"
    data = {
        "type": "copies",
        "relationships": {"source": {"data": {"type": "varsets", "id": other}}},
    }
    answer = await tenant.call("owner", "POST", path, {"data": data})
    assert results(answer) == [("secret", "created", [])]
    assert await value_in_store(tenant, "secret", "payments") == "s3cret"
    again = await copy_to(tenant, other, ("varsets", made), key("secret"))
    assert faults(again) == [("422", "key_taken", "/data/attributes/keys/0")]
    same = await copy_to(tenant, made, ("varsets", made))
    assert faults(same) == [("422", "invalid_value", "/data/relationships/source/data/id")]
    for unknown in (("varsets", network), ("workspaces", made)):
        answer = await copy_to(tenant, other, unknown)
        assert faults(answer) == [("404", "not_found", "/data/relationships/source/data/id")]
    assert await tenant.deployment.audit_holds()


async def test_a_copy_says_at_its_items_what_another_global_set_has(tenant: Tenant) -> None:
    made = await make_set(tenant, "one", **as_global())
    other = await make_set(tenant, "other", **as_global())
    await put(tenant, other, "region", category="env")
    await fill(tenant, "network", region="1", zone="2", a="3")
    network = "workspaces", tenant.workspaces["network"]
    for source in (network, ("varsets", other)):
        answer = await copy_to(tenant, made, source)
        assert faults(answer) == [("422", "key_taken", "/data/attributes/keys")]
        assert answer.json()["errors"][0]["detail"].startswith("region is already in another")
    answer = await copy_to(tenant, made, network, key("a"), key("region"), key("zone"))
    assert faults(answer) == [("422", "key_taken", "/data/attributes/keys/1")]
    assert await in_set(tenant, made) == {}


async def test_sensitive_values_of_a_set_are_copied_by_owners_alone(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "token", "canary", sensitive=True, category="env")
    path = f"/workspaces/{tenant.workspaces['network']}/actions/copy"
    data = {
        "type": "copies",
        "relationships": {"source": {"data": {"type": "varsets", "id": made}}},
    }
    answer = await tenant.call("writer", "POST", path, {"data": data})
    assert [one[0] for one in faults(answer)] == ["403"]
    hidden = await make_set(tenant, "hidden", "payments")
    data["relationships"] = {"source": {"data": {"type": "varsets", "id": hidden}}}
    answer = await tenant.call("writer", "POST", path, {"data": data})
    assert faults(answer) == [("404", "not_found", "/data/relationships/source/data/id")]


async def test_the_history_of_a_set_is_for_its_readers(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network", "payments")
    variable = await put(tenant, made, "region")
    document = {"data": {"type": "vars", "id": variable["id"], "attributes": {"key": "zone"}}}
    one = f"{vars_of(made)}/{variable['id']}"
    assert (await tenant.call("owner", "PATCH", one, document)).status_code == 200
    await put(tenant, made, "other")
    told = await events(tenant, made, "reader")
    assert [action for action, _ in told] == [
        "variable.create",
        "variable.update",
        "variable.create",
        "varset.attach",
    ]
    assert told[-1][1]["workspaces"] == sorted_ids(tenant, None)
    about = await events(tenant, made, "reader", "?filter[key]=zone")
    assert [action for action, _ in about] == ["variable.update", "variable.create"]
    assert (await events(tenant, made))[-1][1]["workspaces"] == sorted_ids(tenant, "payments")
    hidden = await make_set(tenant, "hidden", "payments")
    answer = await tenant.call("reader", "GET", f"/varsets/{hidden}/audit-events")
    assert answer.status_code == 404


def sorted_ids(tenant: Tenant, payments: str | None) -> list[str | None]:
    """`network` and, where it is told, `payments`, in the order of their ids."""
    shown: dict[str, str | None] = {tenant.workspaces["network"]: tenant.workspaces["network"]}
    shown[tenant.workspaces["payments"]] = payments and tenant.workspaces[payments]
    return [shown[id_] for id_ in sorted(shown)]


async def test_a_copy_into_a_set_that_a_reader_does_not_see_is_told_without_it(
    tenant: Tenant,
) -> None:
    await fill(tenant, "network", a="1")
    hidden = await make_set(tenant, "hidden")
    seen = await make_set(tenant, "seen", "network")
    for target in (hidden, seen):
        answer = await copy_to(tenant, target, ("workspaces", tenant.workspaces["network"]))
        assert answer.status_code == 200
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events?page[size]=2"
    for who, told in (("owner", [seen, hidden]), ("reader", [seen, None])):
        found = (await tenant.call(who, "GET", path)).json()["data"]
        assert [one["attributes"]["details"]["to"] for one in found] == told


async def test_files_and_values_are_tried_for_a_set(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    attributes = {"format": "tfvars", "content": 'region = "eu"'}
    document = {"data": {"type": "parsed-files", "attributes": attributes}}
    path = f"/varsets/{made}/actions"
    answer = await tenant.call("owner", "POST", f"{path}/parse", document)
    assert [one["key"] for one in answer.json()["data"]["attributes"]["items"]] == ["region"]
    check = {"data": {"type": "value-checks", "attributes": {"value": "1 + 1", "hcl": True}}}
    answer = await tenant.call("owner", "POST", f"{path}/check-value", check)
    assert answer.json()["data"]["attributes"]["value"] == 2
    assert (await tenant.call("writer", "POST", f"{path}/parse", document)).status_code == 403


async def test_what_happens_in_a_set_is_told_to_its_organization_with_its_name(
    tenant: Tenant,
) -> None:
    made = await make_set(tenant, "shared")
    await put(tenant, made, "region")
    path = f"/organizations/{tenant.organization}/audit-events?filter[key]=region"
    (found,) = (await tenant.call("owner", "GET", path)).json()["data"]
    attributes = found["attributes"]
    assert attributes["stream"] == {"id": made, "type": "varsets"}
    assert attributes["stream-name"] == "shared"


async def test_a_full_set_says_so_to_an_apply(tenant: Tenant) -> None:
    made = await make_set(tenant)
    answer = await apply_to(tenant, made, *(item(f"k{n}") for n in range(501)))
    assert [one[1] for one in faults(answer)] == ["variable_set_full"]
    huge = [item(f"k{n}", value="x" * 250_000) for n in range(5)]
    answer = await apply_to(tenant, made, *huge)
    assert [one[1] for one in faults(answer)] == ["variable_set_full"]
