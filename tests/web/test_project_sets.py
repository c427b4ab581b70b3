"""Sets and projects: sets that are attached to projects, and sets of projects."""

from collections.abc import Iterable, Mapping
from typing import Any

import httpx
import pytest

from teamvars.domain.variable_sets import SetLimits
from tests.support.exchanging import runner_in
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web.test_effective_variables import listed, values
from tests.web.test_project_grants import grant
from tests.web.test_projects import make, move
from tests.web.test_quota import limited
from tests.web.test_variable_sets import (
    as_global,
    attach,
    changed,
    make_set,
    names,
    put,
    rights,
    set_document,
    vars_of,
)

BOTH = "manage-workspaces", "manage-projects"
PARENT = "/data/relationships/parent/data/id"


def projects_document(*project_ids: str) -> Any:
    return linkage_document(*project_ids, type_="projects")


def owned_document(project_id: str, name: str = "owned", **said: Any) -> Any:
    """A document that creates a set of a project."""
    document = set_document(name, **said)
    related = document["data"].setdefault("relationships", {})
    related["parent"] = {"data": {"type": "projects", "id": project_id}}
    return document


async def create(tenant: Tenant, document: Any, who: str = "owner") -> httpx.Response:
    return await tenant.call(who, "POST", f"/organizations/{tenant.organization}/varsets", document)


async def make_owned(
    tenant: Tenant, project_id: str, name: str = "owned", who: str = "owner", **said: Any
) -> str:
    """The id of a new set of a project."""
    answer = await create(tenant, owned_document(project_id, name, **said), who)
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


async def at_projects(
    tenant: Tenant, set_id: str, *project_ids: str, method: str = "POST", who: str = "owner"
) -> httpx.Response:
    path = f"/varsets/{set_id}/relationships/projects"
    return await tenant.call(who, method, path, projects_document(*project_ids))


async def shown(tenant: Tenant, set_id: str, who: str = "owner") -> Mapping[str, Any]:
    answer = await tenant.call(who, "GET", f"/varsets/{set_id}")
    assert answer.status_code == 200, answer.text
    data: Mapping[str, Any] = answer.json()["data"]
    return data


async def test_a_set_at_a_project_reaches_what_is_in_it_as_long_as_it_is(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network")
    made = await make_set(tenant, "shared")
    await put(tenant, made, "zone", "a")
    assert await values(tenant) == {}
    assert (await at_projects(tenant, made, shop, tenant.project)).status_code == 204
    assert await values(tenant) == {"zone": "a"}
    assert (await move(tenant, tenant.project, "network")).status_code == 204
    assert await values(tenant) == {"zone": "a"}
    assert (await move(tenant, store, "network")).status_code == 204
    assert await values(tenant) == {}
    assert (await move(tenant, shop, "network")).status_code == 204
    assert await values(tenant) == {"zone": "a"}
    data = await shown(tenant, made)
    assert data["attributes"]["project-count"] == 2
    linked = data["relationships"]["projects"]["data"]
    assert linked == [{"type": "projects", "id": id_} for id_ in sorted([shop, tenant.project])]
    assert (await at_projects(tenant, made, shop, method="DELETE")).status_code == 204
    assert (await at_projects(tenant, made, shop, method="DELETE")).status_code == 204
    assert await values(tenant) == {}
    assert await tenant.deployment.audit_holds()


async def test_projects_are_attached_all_or_none(tenant: Tenant) -> None:
    shop, made = await make(tenant), await make_set(tenant)
    refused = await at_projects(tenant, made, shop, "prj-1111111111111111")
    assert faults(refused) == [("404", "not_found", "/data/1/id")]
    assert (await shown(tenant, made))["attributes"]["project-count"] == 0
    path = f"/varsets/{made}/relationships/projects"
    wrong = linkage_document(tenant.workspaces["network"], type_="workspaces")
    answer = await tenant.call("owner", "POST", path, wrong)
    assert faults(answer) == [("409", "type_conflict", "/data/0/type")]


async def test_a_document_names_all_projects_that_a_set_is_attached_to(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    document = set_document("shared")
    document["data"]["relationships"] = {"projects": projects_document(shop, store)}
    made = (await create(tenant, document)).json()["data"]
    both = [{"type": "projects", "id": id_} for id_ in sorted([shop, store])]
    assert made["relationships"]["projects"]["data"] == both
    update = {"data": {"type": "varsets", "relationships": {"projects": projects_document(shop)}}}
    answer = await tenant.call("owner", "PATCH", f"/varsets/{made['id']}", update)
    assert answer.json()["data"]["attributes"]["project-count"] == 1
    answer = await tenant.call("owner", "GET", f"/varsets/{made['id']}?include=projects,workspaces")
    assert answer.json()["included"] == [
        {"type": "projects", "id": shop, "attributes": {"name": "shop"}}
    ]


async def test_an_organizations_sets_are_listed_by_reach_and_without_those_of_its_projects(
    tenant: Tenant,
) -> None:
    await make_set(tenant, "wide", **as_global())
    await make_set(tenant, "beside", "network")
    await make_owned(tenant, await make(tenant), "own")
    path = f"/organizations/{tenant.organization}/varsets"
    assert await names(tenant, f"{path}?filter[global]=true") == ["wide"]
    assert await names(tenant, f"{path}?filter[global]=false") == ["beside", "own"]
    assert await names(tenant, f"{path}?filter[global]=false", "reader") == ["beside"]
    assert await names(tenant, f"{path}?scope=owned") == ["beside", "wide"]
    assert await names(tenant, f"{path}?scope=owned&filter[global]=false&q=b") == ["beside"]
    assert await names(tenant, f"{path}?scope=&filter[global]=") == ["beside", "own", "wide"]
    for query in ("filter[global]=1", "scope=applied", "scope=all"):
        assert (await tenant.call("owner", "GET", f"{path}?{query}")).status_code == 400


async def test_a_project_lists_its_own_sets_and_those_that_reach_all_in_it(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    reaching = await make_set(tenant, "reaching")
    await at_projects(tenant, reaching, shop)
    await make_set(tenant, "wide", **as_global())
    await make_set(tenant, "beside", "network")
    await make_owned(tenant, shop, "own")
    path = f"/projects/{shop}/varsets"
    assert await names(tenant, path) == ["own", "reaching", "wide"]
    assert await names(tenant, f"{path}?q=REA") == ["reaching"]
    assert await names(tenant, path, "reader") == ["reaching", "wide"]
    assert (await tenant.call("plain", "GET", path)).status_code == 404
    at_network = f"/workspaces/{tenant.workspaces['network']}/varsets"
    assert await names(tenant, at_network, "reader") == ["beside", "reaching", "wide"]


async def test_readers_see_what_reaches_them_by_a_project_and_of_others_nothing(
    tenant: Tenant,
) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network")
    made, other = await make_set(tenant, "reaching"), await make_set(tenant, "other")
    await at_projects(tenant, made, shop, store)
    await at_projects(tenant, other, store)
    seen = await shown(tenant, made, "reader")
    assert [one["id"] for one in seen["relationships"]["projects"]["data"]] == [shop]
    assert (await tenant.call("reader", "GET", f"/varsets/{other}")).status_code == 404
    assert await names(tenant, f"/organizations/{tenant.organization}/varsets", "reader") == [
        "reaching"
    ]


async def test_a_set_of_a_project_is_attached_to_it_or_to_what_is_in_it(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network")
    made = await make_owned(tenant, shop)
    data = await shown(tenant, made)
    assert data["relationships"]["parent"] == {"data": {"type": "projects", "id": shop}}
    assert data["attributes"]["global"] is False
    refused = await attach(tenant, made, "network", "payments")
    assert faults(refused) == [("422", "invalid_value", "/data/1/id")]
    refused = await at_projects(tenant, made, shop, store)
    assert faults(refused) == [("422", "invalid_value", "/data/1/id")]
    assert (await attach(tenant, made, "network")).status_code == 204
    assert (await at_projects(tenant, made, shop)).status_code == 204
    # What it is not attached to it is attached to no longer, wherever that is.
    assert (await attach(tenant, made, "payments", method="DELETE")).status_code == 204
    wide = await changed(tenant, made, **as_global())
    assert faults(wide) == [("422", "invalid_value", "/data/attributes/global")]
    answer = await create(tenant, owned_document(shop, "wide", **as_global()))
    assert faults(answer) == [("422", "invalid_value", "/data/attributes/global")]
    assert await tenant.deployment.audit_holds()


async def test_whose_a_set_is_stays_as_it_was_made(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    owned, shared = await make_owned(tenant, shop), await make_set(tenant)
    parents = {
        "organization": {"type": "organizations", "id": tenant.organization},
        "shop": {"type": "projects", "id": shop},
        "store": {"type": "projects", "id": store},
    }
    for made, its in ((owned, "shop"), (shared, "organization")):
        for name, parent in parents.items():
            document = {"data": {"type": "varsets", "relationships": {"parent": {"data": parent}}}}
            answer = await tenant.call("owner", "PATCH", f"/varsets/{made}", document)
            if name == its:
                assert answer.status_code == 200
            else:
                assert faults(answer) == [("409", "relationship_conflict", PARENT)]
    answer = await create(tenant, owned_document("prj-1111111111111111"))
    assert faults(answer) == [("404", "not_found", PARENT)]


async def test_a_move_ends_attachments_of_sets_of_the_project_that_is_left(
    tenant: Tenant,
) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network", "payments")
    owned = await make_owned(tenant, shop, workspaces=tenant.workspaces.values())
    await put(tenant, owned, "zone", "of the shop")
    shared = await make_set(tenant, "shared", "network")
    await put(tenant, shared, "region", "of all")
    assert await values(tenant) == {"zone": "of the shop", "region": "of all"}
    assert (await move(tenant, store, "network")).status_code == 204
    assert await values(tenant) == {"region": "of all"}
    assert (await shown(tenant, owned))["attributes"]["workspace-count"] == 1
    # And it does not come back by itself.
    assert (await move(tenant, shop, "network")).status_code == 204
    assert await values(tenant) == {"region": "of all"}
    events = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/audit-events")
    ended = [
        one["attributes"]["details"]
        for one in events.json()["data"]
        if one["attributes"]["action"] == "varset.detach"
    ]
    assert ended == [{"name": "owned", "workspaces": [tenant.workspaces["network"]]}]
    assert await tenant.deployment.audit_holds()


async def test_what_is_deleted_ends_attachments_and_each_set_tells_of_it(tenant: Tenant) -> None:
    shop = await make(tenant)
    made = [await make_set(tenant, name, "network", "payments") for name in ("a", "b")]
    await at_projects(tenant, made[0], shop)
    gone = tenant.workspaces["network"]
    assert (await tenant.call("owner", "DELETE", f"/workspaces/{gone}")).status_code == 204
    assert (await tenant.call("owner", "DELETE", f"/projects/{shop}")).status_code == 204
    told = []
    for id_ in made:
        events = await tenant.call("owner", "GET", f"/varsets/{id_}/audit-events")
        said = [one["attributes"] for one in events.json()["data"]]
        told += [one["details"] for one in said if one["action"] == "varset.detach"]
        assert (await shown(tenant, id_))["attributes"]["workspace-count"] == 1
    assert told == [
        {"name": "a", "workspaces": [], "projects": [shop]},
        {"name": "a", "workspaces": [gone]},
        {"name": "b", "workspaces": [gone]},
    ]
    assert await tenant.deployment.audit_holds()


async def test_a_workspace_that_is_moved_by_its_own_document_leaves_them_too(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    owned = await make_owned(tenant, shop, workspaces=[tenant.workspaces["network"]])
    await put(tenant, owned, "zone")
    id_ = tenant.workspaces["network"]
    related = {"project": {"data": {"type": "projects", "id": tenant.project}}}
    document = {"data": {"type": "workspaces", "id": id_, "relationships": related}}
    assert (await tenant.call("owner", "PATCH", f"/workspaces/{id_}", document)).is_success
    assert await values(tenant) == {}


async def test_a_project_with_sets_of_its_own_stays_and_others_are_attached_to_it_no_longer(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    owned, shared = await make_owned(tenant, shop), await make_set(tenant)
    await at_projects(tenant, shared, shop)
    refused = await tenant.call("owner", "DELETE", f"/projects/{shop}")
    assert faults(refused) == [("409", "project_not_empty", None)]
    assert (await tenant.call("owner", "DELETE", f"/varsets/{owned}")).status_code == 204
    assert (await tenant.call("owner", "DELETE", f"/projects/{shop}")).status_code == 204
    assert (await shown(tenant, shared))["attributes"]["project-count"] == 0


SET_RIGHTS: Mapping[str, tuple[Mapping[str, Any], int, int]] = {
    # What reading a set of the project is answered with, and changing it.
    "read": ({"access": "read"}, 404, 404),
    "maintain": ({"access": "maintain"}, 404, 404),
    "admin": ({"access": "admin"}, 200, 200),
    "none": ({"access": "custom"}, 404, 404),
    "reads sets": ({"access": "custom", "project_access": {"variable-sets": "read"}}, 200, 403),
    "writes sets": ({"access": "custom", "project_access": {"variable-sets": "write"}}, 200, 200),
}


@pytest.mark.parametrize("case", SET_RIGHTS)
async def test_access_to_a_project_says_what_becomes_of_its_sets(tenant: Tenant, case: str) -> None:
    access, reads, writes = SET_RIGHTS[case]
    shop, store = await make(tenant), await make(tenant, "store")
    made, beside = await make_owned(tenant, shop), await make_owned(tenant, store, "beside")
    await put(tenant, made, "zone")
    await grant(tenant, shop, "managers", **access)
    path = f"/organizations/{tenant.organization}/varsets"
    permissions = (await tenant.call("manager", "GET", f"/projects/{shop}")).json()["data"][
        "attributes"
    ]["permissions"]
    assert permissions["can-manage-varsets"] is (writes == 200)
    for where in (f"/varsets/{made}", vars_of(made)):
        assert (await tenant.call("manager", "GET", where)).status_code == reads
    assert (await tenant.call("manager", "GET", f"/varsets/{beside}")).status_code == 404
    assert await names(tenant, path, "manager") == (["owned"] if reads == 200 else [])
    assert await names(tenant, f"/projects/{shop}/varsets", "manager") == (
        ["owned"] if reads == 200 else []
    )
    answer = await changed(tenant, made, "manager", priority=True)
    assert answer.status_code == writes
    if writes == 403:  # and whom to ask
        assert "teams whose access to it permits that" in answer.json()["errors"][0]["detail"]
    answer = await tenant.call("manager", "POST", vars_of(made), variable_document(key="more"))
    assert answer.status_code == (201 if writes == 200 else writes)
    answer = await create(tenant, owned_document(shop, "another"), "manager")
    assert answer.status_code == (201 if writes == 200 else 403)
    assert (await create(tenant, owned_document(store, "else"), "manager")).status_code == 403
    assert (await create(tenant, set_document("for all"), "manager")).status_code == 403
    assert (await tenant.call("manager", "DELETE", f"/varsets/{made}")).status_code == (
        204 if writes == 200 else writes
    )


async def test_a_set_comes_to_workspaces_whose_variables_the_one_who_brings_it_writes(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    made = await make_owned(tenant, shop)
    sets = {"variable-sets": "write"}
    theirs = await grant(tenant, shop, "managers", access="custom", project_access=sets)
    # Of a workspace that they do not see they are not told that it is there.
    refused = await attach(tenant, made, "network", who="manager")
    assert faults(refused) == [("404", "not_found", "/data/0/id")]
    assert (await at_projects(tenant, made, shop, who="manager")).status_code == 403
    for level, status in (("read", 403), ("write", 204)):
        attributes = {"access": "custom", "workspace-access": {"variables": level}}
        document = {"data": {"type": "team-projects", "attributes": attributes}}
        path = f"/team-projects/{theirs['id']}"
        assert (await tenant.call("owner", "PATCH", path, document)).status_code == 200
        assert (await attach(tenant, made, "network", who="manager")).status_code == status
        assert (await at_projects(tenant, made, shop, who="manager")).status_code == status
    assert (
        await attach(tenant, made, "network", who="manager", method="DELETE")
    ).status_code == 204


async def test_who_writes_a_set_takes_it_from_whatever_it_is_attached_to(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network", "payments")
    made = await make_owned(tenant, shop, workspaces=[tenant.workspaces["network"]])
    sets = {"variable-sets": "write"}
    await grant(tenant, shop, "managers", access="custom", project_access=sets)
    # They are told of it, although they see no workspace.
    assert (await shown(tenant, made, "manager"))["attributes"]["workspace-count"] == 1
    named = await tenant.call("manager", "GET", f"/varsets/{made}?include=workspaces")
    assert [one["attributes"]["name"] for one in named.json()["included"]] == ["network"]
    assert (
        await attach(tenant, made, "network", who="manager", method="DELETE")
    ).status_code == 204
    assert (await shown(tenant, made))["attributes"]["workspace-count"] == 0
    for workspace in ("network", "payments"):
        refused = await attach(tenant, made, workspace, who="manager", method="DELETE")
        assert faults(refused) == [("404", "not_found", "/data/0/id")]
    refused = await at_projects(tenant, made, store, who="manager", method="DELETE")
    assert faults(refused) == [("404", "not_found", "/data/0/id")]


async def test_no_history_names_a_project_to_who_does_not_see_it(tenant: Tenant) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network")
    made = await make_set(tenant)
    await at_projects(tenant, made, store)
    await at_projects(tenant, made, shop)
    await grant(tenant, store, access="read")

    async def newest(path: str, who: str, name: str) -> list[Any]:
        answer = await tenant.call(who, "GET", f"{path}/audit-events")
        events = [one["attributes"]["details"] for one in answer.json()["data"]]
        return [details[name] for details in events if name in details]

    network = f"/workspaces/{tenant.workspaces['network']}"
    for who, hidden in (("owner", store), ("reader", None)):
        assert await newest(f"/varsets/{made}", who, "projects") == [[shop], [hidden]]
    for who, hidden in (("owner", tenant.project), ("reader", None)):
        assert await newest(network, who, "project") == [shop]
        assert await newest(network, who, "former-project") == [hidden]
    crew = f"/teams/{tenant.teams['crew']}"
    for who, hidden in (("owner", store), ("manager", None)):
        assert await newest(crew, who, "project") == [hidden]


async def test_a_workspace_and_a_project_have_so_many_sets_and_no_more(tenant: Tenant) -> None:
    async with limited(tenant, None, None, SetLimits.of(9, 1, 9)) as tenant:
        shop = await make(tenant)
        first, second = await make_set(tenant, "first"), await make_set(tenant, "second")
        assert (await at_projects(tenant, first, shop)).status_code == 204
        refused = await at_projects(tenant, second, shop)
        assert faults(refused) == [("422", "too_many_items", "/data")]
        assert shop in refused.json()["errors"][0]["detail"]


async def test_only_owners_bring_secrets_by_a_project_to_where_a_runner_is_handed_them(
    tenant: Tenant,
) -> None:
    shop, store = await make(tenant), await make(tenant, "store")
    await move(tenant, shop, "network")
    runner = (await runner_in(tenant))["attributes"]["name"]
    await rights(tenant, "writers", *BOTH)
    made = await make_set(tenant)
    await put(tenant, made, "token", "canary", sensitive=True)
    refused = await at_projects(tenant, made, shop, who="writer")
    assert refused.status_code == 403
    assert f"network ({runner})" in refused.text
    assert (await at_projects(tenant, made, store, who="writer")).status_code == 204
    # A move would bring them too, in either way.
    refused = await move(tenant, store, "network", who="writer")
    assert refused.status_code == 403
    assert f"network ({runner})" in refused.text
    id_ = tenant.workspaces["network"]
    related = {"project": {"data": {"type": "projects", "id": store}}}
    document = {"data": {"type": "workspaces", "id": id_, "relationships": related}}
    answer = await tenant.call("writer", "PATCH", f"/workspaces/{id_}", document)
    assert answer.status_code == 403
    assert (await move(tenant, store, "payments", who="writer")).status_code == 204
    dry = {**linkage_document(id_, type_="workspaces"), "meta": {"dry-run": True}}
    path = f"/projects/{store}/relationships/workspaces"
    assert (await tenant.call("writer", "POST", path, dry)).status_code == 403
    meta = (await tenant.call("owner", "POST", path, dry)).json()["meta"]
    assert (meta["gained-varsets"], meta["lost-varsets"]) == (["shared"], [])
    assert meta["runners"] == [runner]
    assert (await move(tenant, store, "network")).status_code == 204
    # From one project that has the set to another it comes to nothing new.
    await at_projects(tenant, made, shop)
    assert (await move(tenant, shop, "network", who="writer")).status_code == 204


async def test_a_preview_names_the_runners_and_what_of_projects_would_change(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    runner = (await runner_in(tenant))["attributes"]["name"]
    made, rival = await make_set(tenant), await make_owned(tenant, shop, "rival")
    await put(tenant, made, "zone")
    await put(tenant, made, "only")
    await put(tenant, rival, "zone")
    await at_projects(tenant, rival, shop)
    document = {"data": {"type": "varsets", "relationships": {"projects": projects_document(shop)}}}
    path = f"/varsets/{made}/actions/preview"
    told = (await tenant.call("owner", "POST", path, document)).json()["data"]["attributes"]
    (row,) = told["workspaces"]
    assert (row["name"], row["gains"], row["changes"]) == ("network", ["only"], [])
    assert row["runners"] == [runner]
    await at_projects(tenant, made, shop)
    found = {one["attributes"]["key"]: one["attributes"] for one in await listed(tenant, EFFECTIVE)}
    assert found["zone"]["level"] == "project-by-project"
    (beaten,) = found["zone"]["overrides"]
    assert (beaten["level"], beaten["rule"]) == ("organization-by-project", "level")


EFFECTIVE = "effective-vars"


# HCP Terraform's "Variables overview", under "Precedence example", as of 16 March 2026, without the
# command line: the level of each set, and what it has.
EXAMPLE: Iterable[tuple[str, Mapping[str, str]]] = [
    ("priority-global", {"Region": "us-east-1"}),
    ("priority-organization-by-project", {"Region": "us-east-2"}),
    ("priority-organization-by-workspace", {"Region": "us-west-1"}),
    ("priority-project-by-project", {"Region": "eu-east-2"}),
    ("priority-project-by-workspace", {"Region": "eu-west-1"}),
    ("project-by-workspace", {"Var1": "y", "Replicas": "2"}),
    ("project-by-project", {"Replicas": "4"}),
    ("organization-by-workspace", {"Var1": "z", "Replicas": "3"}),
    ("organization-by-project", {"Replicas": "5"}),
    ("global", {"Replicas": "6"}),
]


def of_level(tenant: Tenant, project_id: str, level: str) -> Any:
    """A document that creates a set, called as its level for `network`, which is in a project."""
    related: dict[str, Any] = {}
    if level.endswith("project"):
        related["projects"] = projects_document(project_id)
    if level.endswith("workspace"):
        ids = [tenant.workspaces["network"]]
        related["workspaces"] = linkage_document(*ids, type_="workspaces")
    if "project-by" in level:
        related["parent"] = {"data": {"type": "projects", "id": project_id}}
    said: dict[str, Any] = {"priority": "priority" in level, "global": level.endswith("global")}
    document = set_document(level, **said)
    document["data"]["relationships"] = related
    return document


async def test_the_worked_example_of_hcp_terraform_comes_out_as_its_page_says(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    for level, has in EXAMPLE:
        made = (await create(tenant, of_level(tenant, shop, level))).json()["data"]["id"]
        for key, value in has.items():
            await put(tenant, made, key, value)
    for key, value in {"Var1": "h", "Replicas": "1"}.items():
        await tenant.make_variable(key, value=value)
    # A run adds its command line, whose `Replicas` is 9: that comes before all but priority sets.
    assert await values(tenant) == {"Region": "us-east-1", "Var1": "h", "Replicas": "1"}
    rows = {one["attributes"]["key"]: one["attributes"] for one in await listed(tenant, EFFECTIVE)}
    for key, of_it in rows.items():
        told = [of_it["level"], *(one["level"] for one in of_it["overrides"])]
        levels = [level for level, has in EXAMPLE if key in has]
        if key != "Region":
            levels.insert(0, "workspace")
        assert told == levels
        assert {one["rule"] for one in of_it["overrides"]} == {"level"}
