"""What is said of a change of a set before it is made is what it then does."""

from typing import Any

import pytest

from tests.support.exchanging import job_in
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web.test_applies import item
from tests.web.test_project_grants import grant
from tests.web.test_project_sets import at_projects, make_owned
from tests.web.test_projects import make, move
from tests.web.test_set_applies import apply_to
from tests.web.test_variable_sets import as_global, make_set, put, rights

Sources = dict[str, dict[str, str]]


async def _sources(tenant: Tenant) -> Sources:
    """Where each workspace gets each key from."""
    found: Sources = {}
    for name, id_ in tenant.workspaces.items():
        answer = await tenant.call("owner", "GET", f"/workspaces/{id_}/effective-vars")
        rows = [one["attributes"] for one in answer.json()["data"]]
        found[name] = {one["key"]: one["source"]["id"] for one in rows}
    return found


def _document(tenant: Tenant, set_id: str, said: dict[str, Any]) -> Any:
    """A document that changes a set; `workspaces` are by name."""
    attributes = {name: value for name, value in said.items() if name != "workspaces"}
    data: dict[str, Any] = {"type": "varsets", "id": set_id, "attributes": attributes}
    if "workspaces" in said:
        ids = [tenant.workspaces[name] for name in said["workspaces"]]
        data["relationships"] = {"workspaces": linkage_document(*ids, type_="workspaces")}
    return {"data": data}


def _difference(before: Sources, after: Sources) -> list[dict[str, Any]]:
    rows = []
    for name in sorted(before):
        was, is_ = before[name], after[name]
        gains = sorted(is_.keys() - was.keys())
        loses = sorted(was.keys() - is_.keys())
        changes = sorted(key for key in was.keys() & is_.keys() if was[key] != is_[key])
        if gains or loses or changes:
            rows.append({"name": name, "gains": gains, "changes": changes, "loses": loses})
    return rows


CHANGES: dict[str, dict[str, Any] | None] = {
    "nothing": {},
    "attached": {"workspaces": ["network", "payments"]},
    "elsewhere": {"workspaces": ["payments"]},
    "detached": {"workspaces": []},
    "global": as_global(),
    "priority": {"priority": True},
    "last of all by name": {"name": "zzz"},
    "everything": {"priority": True, **as_global(), "workspaces": ["payments"]},
    "deleted": None,
}
# What each is to do at least, so that the cases are no empty ones: gaining, changing, losing.
COUNTS = {
    "nothing": (0, 0, 0),
    "attached": (1, 1, 0),
    "elsewhere": (1, 2, 1),
    "detached": (0, 1, 1),
    "global": (1, 0, 0),
    "priority": (0, 1, 0),
    "last of all by name": (0, 1, 0),
    "everything": (1, 2, 0),
    "deleted": (0, 1, 1),
}


@pytest.mark.parametrize("case", CHANGES)
async def test_a_preview_says_what_the_change_then_does(tenant: Tenant, case: str) -> None:
    said = CHANGES[case]
    mine = await make_set(tenant, "middle", "network")
    for key in ("region", "account", "only", "shared"):
        await put(tenant, mine, key)
    await tenant.make_variable("region")
    wide = await make_set(tenant, "wide", **as_global())
    await put(tenant, wide, "elsewhere")
    alike = await make_set(tenant, "next", "network", "payments")
    await put(tenant, alike, "account")
    first = await make_set(tenant, "a first", "payments", priority=True)
    await put(tenant, first, "shared")
    await put(tenant, first, "region")
    before = await _sources(tenant)
    document = None if said is None else _document(tenant, mine, said)
    answer = await tenant.call("owner", "POST", f"/varsets/{mine}/actions/preview", document)
    assert answer.status_code == 200, answer.text
    assert await _sources(tenant) == before
    method = "PATCH" if said is not None else "DELETE"
    assert (await tenant.call("owner", method, f"/varsets/{mine}", document)).is_success
    told = answer.json()["data"]
    assert (told["type"], told["id"]) == ("varset-effects", mine)
    attributes = told["attributes"]
    rows = [{**row} for row in attributes["workspaces"]]
    assert [row.pop("runners") for row in rows] == [[] for _ in rows]
    assert [tenant.workspaces[row["name"]] for row in rows] == [row.pop("id") for row in rows]
    assert rows == _difference(before, await _sources(tenant))
    counts = attributes["gaining"], attributes["changing"], attributes["losing"]
    assert counts == COUNTS[case]
    of_rows = [sum(bool(row[kind]) for row in rows) for kind in ("gains", "changes", "loses")]
    assert list(counts) == of_rows


@pytest.mark.parametrize("kind", ["workspaces", "projects"])
async def test_a_dry_run_of_attaching_and_detaching_says_what_that_then_does(
    tenant: Tenant, kind: str
) -> None:
    mine = await make_set(tenant, "mine")
    await put(tenant, mine, "region")
    await tenant.make_variable("region")
    ids = list(tenant.workspaces.values())
    if kind == "projects":
        place = await make(tenant, "shop")
        assert (await move(tenant, place, *tenant.workspaces)).status_code == 204
        ids = [place]
    document = linkage_document(*ids, type_=kind)
    path = f"/varsets/{mine}/relationships/{kind}"
    for method, verb in (("POST", "gaining"), ("DELETE", "losing")):
        before = await _sources(tenant)
        asked = {**document, "meta": {"dry-run": True}}
        answer = await tenant.call("owner", method, path, asked)
        assert answer.status_code == 200, answer.text
        assert await _sources(tenant) == before
        told = answer.json()["data"]
        assert (told["type"], told["id"]) == ("varset-effects", mine)
        # One of them has the key itself.
        assert told["attributes"][verb] == len(tenant.workspaces) - 1
        assert (await tenant.call("owner", method, path, document)).status_code == 204
        rows = [{**row} for row in told["attributes"]["workspaces"]]
        for row in rows:
            del row["id"], row["runners"]
        assert rows == _difference(before, await _sources(tenant))
    for meta, told_at in (({"dry-run": 1}, "/meta/dry-run"), ({"dry": True}, "/meta/dry")):
        refused = await tenant.call("owner", "POST", path, {**document, "meta": meta})
        assert [(one[0], one[2]) for one in faults(refused)] == [("422", told_at)]
    nothing = linkage_document("ws-none", type_="workspaces")
    path = f"/varsets/{mine}/relationships/workspaces"
    for who in ("owner", "reader"):
        for said in (nothing, {**nothing, "meta": {"dry-run": True}}):
            assert (await tenant.call(who, "POST", path, said)).status_code == 404


async def test_a_preview_refuses_what_the_change_refuses(tenant: Tenant) -> None:
    job = await job_in(tenant)
    await rights(tenant, "writers", "manage-workspaces", "manage-projects")
    mine = await make_set(tenant, "mine")
    await put(tenant, mine, "token", "secret", sensitive=True)
    path = f"/varsets/{mine}/actions/preview"
    document = _document(tenant, mine, {"workspaces": ["network"]})
    refused = await tenant.call("writer", "POST", path, document)
    assert refused.status_code == 403
    assert job.runner["attributes"]["name"] in refused.text
    assert "secret" not in (await tenant.call("owner", "POST", path, document)).text
    assert (await tenant.call("reader", "POST", path)).status_code == 404
    wide = await make_set(tenant, "wide", **as_global())
    await put(tenant, wide, "token")
    refused = await tenant.call("owner", "POST", path, _document(tenant, mine, as_global()))
    assert [one[:2] for one in faults(refused)] == [("422", "key_taken")]
    path = f"/varsets/{wide}/actions/preview"
    assert (await tenant.call("reader", "POST", path)).status_code == 403


ITEMS: dict[str, list[dict[str, Any]]] = {
    "created": [item("new", category="tool", value="1")],
    "created, and the workspace has it": [item("own", category="tool", value="1")],
    "updated": [item("region", category="tool", value="other")],
    "updated, and it does not count": [item("account", category="tool", value="other")],
    "only described": [item("region", category="tool", description="other")],
    "deleted": [{**item("region", category="tool"), "meta": {"delete": True}}],
    "deleted, and another takes its place": [
        {**item("shared", category="tool"), "meta": {"delete": True}}
    ],
}
FELT = {
    "created": [{"name": "network", "gains": ["new"], "changes": [], "loses": []}],
    "created, and the workspace has it": [],
    "updated": [{"name": "network", "gains": [], "changes": ["region"], "loses": []}],
    "updated, and it does not count": [],
    "only described": [],
    "deleted": [{"name": "network", "gains": [], "changes": [], "loses": ["region"]}],
    "deleted, and another takes its place": [
        {"name": "network", "gains": [], "changes": ["shared"], "loses": []}
    ],
}


@pytest.mark.parametrize("case", ITEMS)
async def test_a_dry_run_of_a_variable_says_which_workspaces_get_other_values(
    tenant: Tenant, case: str
) -> None:
    mine = await make_set(tenant, "middle", "network")
    for key in ("region", "account", "shared"):
        await put(tenant, mine, key)
    await tenant.make_variable("own")
    await tenant.make_variable("account")
    wide = await make_set(tenant, "wide", **as_global())
    await put(tenant, wide, "shared")
    before = await _sources(tenant)
    answer = await apply_to(tenant, mine, *ITEMS[case], dry_run=True, versioned=True)
    assert answer.status_code == 200, answer.text
    effects = answer.json()["meta"]["effects"]
    rows = effects["workspaces"]
    assert [row.pop("id") for row in rows] == [tenant.workspaces[row["name"]] for row in rows]
    assert [row.pop("runners") for row in rows] == [[] for _ in rows]
    assert rows == FELT[case]
    counts = [sum(bool(row[kind]) for row in rows) for kind in ("gains", "changes", "loses")]
    assert [effects[kind] for kind in ("gaining", "changing", "losing")] == counts
    done = await apply_to(tenant, mine, *ITEMS[case], versioned=True)
    assert "effects" not in done.json()["meta"]
    if not case.startswith("updated"):
        assert _difference(before, await _sources(tenant)) == FELT[case]


async def test_a_dry_run_tells_of_workspaces_that_the_caller_sees_and_counts_all(
    tenant: Tenant,
) -> None:
    await rights(tenant, "writers", "manage-projects", "manage-workspaces")
    wide = await make_set(tenant, "wide", **as_global())
    job = await job_in(tenant)
    answer = await apply_to(tenant, wide, item(value="1"), who="writer", dry_run=True)
    effects = answer.json()["meta"]["effects"]
    assert effects["gaining"] == len(effects["workspaces"]) == len(tenant.workspaces)
    runners = {one["name"]: one["runners"] for one in effects["workspaces"]}
    assert runners["network"] == [job.runner["attributes"]["name"]]
    refused = await apply_to(tenant, wide, item(value="1"), who="reader", dry_run=True)
    assert refused.status_code == 403


async def test_a_dry_run_does_not_tell_which_keys_a_workspace_has_that_the_caller_does_not_see(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network", "payments")
    beside = await make_set(tenant, "beside", "payments", priority=True)
    await put(tenant, beside, "of-a-set")
    own = variable_document(key="of-its-own")
    assert (await tenant.call("owner", "POST", tenant.vars_path("payments"), own)).is_success
    made = await make_owned(tenant, shop)
    await at_projects(tenant, made, shop)
    sets = {"variable-sets": "write"}
    await grant(tenant, shop, "managers", access="custom", project_access=sets)
    for key in ("of-a-set", "of-its-own", "of-nobody"):
        answer = await apply_to(tenant, made, item(key, "tool"), who="manager", dry_run=True)
        effects = answer.json()["meta"]["effects"]
        assert effects == {"gaining": 2, "changing": 0, "losing": 0, "workspaces": []}
