"""Filters of an organization's audit events: who acted, on what, where and since when."""

from urllib.parse import quote

from tests.support.tenant import Tenant
from tests.web.organization_audit import change, ids, make, page, resource, told, walk


async def test_an_actor_is_found_by_name_by_id_and_by_former_name(tenant: Tenant) -> None:
    team = await make(tenant, "teams", "Bänd")
    token = (await change(tenant, "POST", f"{team}/authentication-token"))["attributes"]["token"]
    grant = resource("team-workspaces", access="write")
    grant["data"]["relationships"] = {
        "team": {"data": {"type": "teams", "id": team.removeprefix("/teams/")}},
        "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}},
    }
    await change(tenant, "POST", "/team-workspaces", grant)
    variable = resource("vars", key="by-team", value="", category="env", description="")
    headers = {"Authorization": f"Bearer {token}"}
    made = await tenant.call(None, "POST", tenant.vars_path(), variable, headers=headers)
    assert made.status_code == 201
    for name in ("Bänd", "bänd", team.removeprefix("/teams/")):
        assert told(await walk(tenant, f"filter[actor]={quote(name)}")) == [
            "variable.create by-team"
        ]
    await change(tenant, "PATCH", team, resource("teams", name="choir"))
    for name in ("Bänd", "choir"):
        assert len(await walk(tenant, f"filter[actor]={quote(name)}")) == 1
    await change(tenant, "DELETE", team)
    assert len(await walk(tenant, "filter[actor]=choir")) == 1
    by_owner = await walk(tenant, f"filter[actor]=OWNER-{tenant.organization.removeprefix('org-')}")
    assert {one["attributes"]["actor"]["id"] for one in by_owner} == {tenant.users["owner"]}
    assert ids(by_owner) == ids(await walk(tenant, f"filter[actor]={tenant.users['owner']}"))


async def test_a_user_of_another_organization_is_not_told_by_name(tenant: Tenant) -> None:
    outsider = f"outsider-{tenant.organization.removeprefix('org-')}"
    assert (await page(tenant, f"filter[actor]={outsider}"))["data"] == []


async def test_a_key_finds_what_had_it_then_and_its_renaming(tenant: Tenant) -> None:
    made = await tenant.make_variable("former")
    where = f"{tenant.vars_path()}/{made['id']}"
    for attributes in ({"key": "later"}, {"value": "x"}):
        document = {"data": {"type": "vars", "id": made["id"], "attributes": attributes}}
        await change(tenant, "PATCH", where, document)
    await tenant.make_variable("Former")
    assert told(await walk(tenant, "filter[key]=former")) == [
        "variable.update later",
        "variable.create former",
    ]
    assert told(await walk(tenant, "filter[key]=later")) == ["variable.update later"] * 2


async def test_a_workspace_is_found_by_every_name_it_had_and_once_it_is_gone(
    tenant: Tenant,
) -> None:
    where = await make(tenant, "workspaces", "First")
    variable = resource("vars", key="inside", value="", category="env", description="")
    await change(tenant, "POST", f"{where}/vars", variable)
    await change(tenant, "PATCH", where, resource("workspaces", name="second"))
    await change(tenant, "DELETE", where)
    expected = [
        "workspace.delete",
        *sorted(("workspace.rename", "workspace.update"), reverse=where > "/org"),
        "variable.create inside",
        "workspace.create",
    ]
    for name in ("first", "Second"):
        found = await walk(tenant, f"filter[workspace]={name}&page[size]=2")
        assert sorted(told(found)) == sorted(expected)
    await make(tenant, "workspaces", "first")
    assert len(await walk(tenant, "filter[workspace]=first")) == len(expected) + 1


async def test_filters_together_narrow_and_what_nothing_is_called_finds_nothing(
    tenant: Tenant,
) -> None:
    await tenant.make_variable("both")
    await change(
        tenant,
        "POST",
        await other_vars(tenant),
        resource("vars", key="both", value="", category="env", description=""),
    )
    assert len(await walk(tenant, "filter[key]=both")) == 2
    (event,) = await walk(tenant, "filter[key]=both&filter[workspace]=network")
    since = quote(event["attributes"]["created-at"])
    assert len(await walk(tenant, f"filter[key]=both&filter[since]={since}")) == 2
    assert await walk(tenant, "filter[since]=2999-01-01T00:00:00Z") == []
    for nothing in ("filter[workspace]=elsewhere", "filter[key]=neither", "filter[actor]=nobody"):
        document = await page(tenant, nothing)
        assert (document["data"], document["links"]["next"]) == ([], None)


async def other_vars(tenant: Tenant) -> str:
    return tenant.vars_path("payments")
