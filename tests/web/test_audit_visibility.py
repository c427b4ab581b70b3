"""No change names a workspace that its reader may not see."""

from typing import Any

import pytest

from tests.support.tenant import Tenant, variable_document


async def details(tenant: Tenant, who: str, path: str, action: str) -> list[dict[str, Any]]:
    """What the changes of that kind say, newest first, as that caller is told them."""
    answer = await tenant.call(who, "GET", f"{path}/audit-events")
    assert answer.status_code == 200
    events = (event["attributes"] for event in answer.json()["data"])
    return [event["details"] for event in events if event["action"] == action]


async def give(tenant: Tenant, team: str, workspace: str) -> str:
    """Gives a team access to a workspace; returns the path of the grant."""
    relationships = {
        "team": {"data": {"type": "teams", "id": tenant.teams[team]}},
        "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces[workspace]}},
    }
    data = {"type": "team-workspaces", "attributes": {"access": "read"}}
    document = {"data": {**data, "relationships": relationships}}
    made = await tenant.call("owner", "POST", "/team-workspaces", document)
    assert made.status_code == 201
    return f"/team-workspaces/{made.json()['data']['id']}"


async def test_where_a_variable_was_copied_to_is_for_who_may_read_there(tenant: Tenant) -> None:
    await tenant.make_variable()
    source, target = tenant.workspaces["network"], tenant.workspaces["payments"]
    copy = {
        "type": "copies",
        "relationships": {"source": {"data": {"type": "workspaces", "id": source}}},
    }
    copied = await tenant.call(
        "owner", "POST", f"/workspaces/{target}/actions/copy", {"data": copy}
    )
    assert copied.status_code == 200

    async def told(who: str, query: str = "") -> object:
        path = f"/workspaces/{source}/audit-events{query}"
        (event,) = (
            event["attributes"]
            for event in (await tenant.call(who, "GET", path)).json()["data"]
            if event["attributes"]["action"] == "variable.copy"
        )
        assert event["details"]["key"] == "region"
        return event["details"]["to"]

    assert await told("owner") == await told("organization-token") == target
    for who in ("reader", "writer", "writers-token"):
        assert await told(who) is await told(who, "?filter[key]=region") is None
    grant = await give(tenant, "readers", "payments")
    assert (await told("reader"), await told("writer")) == (target, None)
    assert (await tenant.call("owner", "DELETE", grant)).status_code == 204
    assert await told("reader") is None
    await give(tenant, "readers", "payments")
    deleted = await tenant.call("owner", "DELETE", f"/workspaces/{target}")
    assert deleted.status_code == 204
    assert (await told("owner"), await told("reader")) == (target, None)
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("kind", ["workspaces", "varsets"])
async def test_what_a_variable_is_a_copy_of_is_for_who_may_read_there(
    tenant: Tenant, kind: str
) -> None:
    target, source = tenant.workspaces["network"], tenant.workspaces["payments"]
    if kind == "varsets":
        to = {"workspaces": {"data": [{"type": "workspaces", "id": source}]}}
        data = {"type": kind, "attributes": {"name": "base"}, "relationships": to}
        path = f"/organizations/{tenant.organization}/varsets"
        source = (await tenant.call("owner", "POST", path, {"data": data})).json()["data"]["id"]
    path = f"/{kind}/{source}/relationships/vars" if kind == "varsets" else f"/{kind}/{source}/vars"
    made = await tenant.call("owner", "POST", path, variable_document())
    original = made.json()["data"]["id"]
    from_ = {"source": {"data": {"type": kind, "id": source}}}
    copy = {"data": {"type": "copies", "relationships": from_}}
    path = f"/workspaces/{target}"
    copied = await tenant.call("owner", "POST", f"{path}/actions/copy", copy)
    assert copied.status_code == 200

    async def told(who: str) -> object:
        (said,) = await details(tenant, who, path, "variable.create")
        return said["copy-of"]

    assert await told("owner") == original
    assert await told("reader") is await told("writer") is None
    await give(tenant, "readers", "payments")
    assert (await told("reader"), await told("writer")) == (original, None)


async def test_which_workspace_a_team_was_given_is_for_who_may_read_it(tenant: Tenant) -> None:
    workspace, team = tenant.workspaces["payments"], f"/teams/{tenant.teams['crew']}"
    grant = await give(tenant, "crew", "payments")
    assert (await tenant.call("owner", "DELETE", grant)).status_code == 204
    for who, shown in (("owner", workspace), ("manager", None)):
        assert [one["workspace"] for one in await details(tenant, who, team, "grant.put")] == [
            shown
        ]
        (removed,) = await details(tenant, who, team, "grant.remove")
        assert removed == {"workspaces": [shown]}
