"""`GET /workspaces/:id/access`: who may read and write, and through which team (contract §6)."""

from typing import Any

import pytest

from tests.support.tenant import Tenant, faults, linkage_document


def path_to(tenant: Tenant, workspace: str = "network") -> str:
    return f"/workspaces/{tenant.workspaces[workspace]}/access"


async def accesses(tenant: Tenant, workspace: str = "network") -> dict[str, dict[str, Any]]:
    """The resources of all who have access, by id, in their order."""
    answer = await tenant.call("owner", "GET", f"{path_to(tenant, workspace)}?page[size]=100")
    assert answer.status_code == 200, answer.text
    return {one["id"]: one for one in answer.json()["data"]}


def said(resource: dict[str, Any]) -> tuple[str, str, list[tuple[str, str]]]:
    """The kind, the access, and the teams with what each gives."""
    attributes = resource["attributes"]
    ways = [(way["team"], way["access"]) for way in attributes["through"]]
    return attributes["kind"], attributes["access"], ways


async def grant(tenant: Tenant, team: str, access: str, workspace: str = "network") -> None:
    relationships = {
        "team": {"data": {"type": "teams", "id": tenant.teams[team]}},
        "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces[workspace]}},
    }
    attributes = {"access": access}
    data = {"type": "team-workspaces", "attributes": attributes, "relationships": relationships}
    made = await tenant.call("owner", "POST", "/team-workspaces", {"data": data})
    assert made.status_code == 201, made.text


async def test_users_and_tokens_are_listed_with_what_they_may_do_and_through_what(
    tenant: Tenant,
) -> None:
    found = await accesses(tenant)
    tokens = [one for id_, one in found.items() if id_ not in tenant.users.values()]
    users = {who: said(found[id_]) for who, id_ in tenant.users.items() if id_ in found}
    assert users == {
        "owner": ("user", "write", [("owners", "write")]),
        "writer": ("user", "write", [("writers", "write")]),
        "reader": ("user", "read", [("readers", "read")]),
    }
    assert sorted((one["attributes"]["name"], *said(one)) for one in tokens) == [
        (tenant.organization, "organization-token", "write", []),
        ("owners", "team-token", "write", [("owners", "write")]),
        ("writers", "team-token", "write", [("writers", "write")]),
    ]
    assert [one["attributes"]["kind"] for one in found.values()] == [
        *["user"] * 3,
        *["team-token"] * 2,
        "organization-token",
    ]
    assert list(found)[:3] == sorted(tenant.users[who] for who in users)


async def test_a_resource_leads_to_who_it_is_about_and_to_the_teams(tenant: Tenant) -> None:
    found = await accesses(tenant)
    writer = found[tenant.users["writer"]]
    account = (await tenant.call("writer", "GET", "/account/details")).json()["data"]
    assert writer["type"] == "workspace-accesses"
    assert writer["attributes"]["name"] == account["attributes"]["username"]
    assert writer["relationships"] == {
        "principal": {"data": {"type": "users", "id": tenant.users["writer"]}},
        "teams": {"data": [{"type": "teams", "id": tenant.teams["writers"]}]},
    }
    by_kind = {one["attributes"]["kind"]: one for one in found.values()}
    for kind in ("team-token", "organization-token"):
        principal = by_kind[kind]["relationships"]["principal"]["data"]
        assert principal["type"] == "authentication-tokens"
        shown = await tenant.call("owner", "GET", f"/authentication-tokens/{principal['id']}")
        assert shown.status_code == 200
    assert by_kind["organization-token"]["relationships"]["teams"] == {"data": []}


async def test_the_strongest_access_counts_and_every_team_that_gives_some_is_named(
    tenant: Tenant,
) -> None:
    for team in ("writers", "crew"):
        document = linkage_document(tenant.users["reader"])
        await tenant.call("owner", "POST", tenant.linkage_path(team), document)
    await grant(tenant, "crew", "read")
    reader = (await accesses(tenant))[tenant.users["reader"]]
    ways = [("writers", "write"), ("crew", "read"), ("readers", "read")]
    assert said(reader) == ("user", "write", ways)
    teams = [one["id"] for one in reader["relationships"]["teams"]["data"]]
    assert teams == [tenant.teams[team] for team, _ in ways]


async def test_whoever_is_listed_may_and_whoever_is_not_may_not(tenant: Tenant) -> None:
    found = await accesses(tenant)
    for who, id_ in tenant.users.items():
        status = (await tenant.call(who, "GET", tenant.vars_path())).status_code
        assert (status == 200) is (id_ in found), who
    assert tenant.users["disabled"] not in found
    assert tenant.users["invited_writer"] not in found


async def test_a_grant_of_nothing_is_none(tenant: Tenant) -> None:
    await tenant.call(
        "owner", "POST", tenant.linkage_path(), linkage_document(tenant.users["plain"])
    )
    await grant(tenant, "crew", "custom")
    assert tenant.users["plain"] not in await accesses(tenant)
    ways = [said(one)[2] for one in (await accesses(tenant, "payments")).values()]
    assert ways == [[("owners", "write")], [("owners", "write")], []]


async def test_a_token_that_is_revoked_or_has_expired_is_not_listed(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['readers']}/authentication-token"
    made = await tenant.call("owner", "POST", path)
    id_ = made.json()["data"]["id"]
    assert said((await accesses(tenant))[id_]) == ("team-token", "read", [("readers", "read")])

    async def expire(tx: Any) -> None:
        await tx.execute("UPDATE tokens SET expires_at = 1 WHERE id = $1", id_)

    await tenant.deployment.services.database.write(expire)
    assert id_ not in await accesses(tenant)
    again = (await tenant.call("owner", "POST", path)).json()["data"]["id"]
    assert again in await accesses(tenant)
    await tenant.call("owner", "DELETE", path)
    assert again not in await accesses(tenant)


async def test_the_list_is_the_operator_s_of_those_who_are_active(tenant: Tenant) -> None:
    accounts = tenant.deployment.services.accounts
    held = await accounts.holders(tenant.organization, "network")
    active = {one.id for one in held.holders if one.standing.value == "active"}
    assert set(await accesses(tenant)) == active


async def test_pages_are_as_those_of_other_lists(tenant: Tenant) -> None:
    everybody = list(await accesses(tenant))
    found: list[str] = []
    for page in range(1, len(everybody) + 2):
        query = f"?page[number]={page}&page[size]=1"
        document = (await tenant.call("owner", "GET", path_to(tenant) + query)).json()
        assert document["meta"]["pagination"]["total-count"] == len(everybody)
        assert f"page%5Bnumber%5D={len(everybody)}" in document["links"]["last"]
        found += [one["id"] for one in document["data"]]
    assert found == everybody


@pytest.mark.parametrize("who", ["reader", "writer", "writers-token", "plain", "outsider"])
async def test_whoever_is_no_owner_is_told_nothing(tenant: Tenant, who: str) -> None:
    answer = await tenant.call(who, "GET", path_to(tenant))
    seen = who not in ("plain", "outsider")
    expected = ("403", "forbidden", None) if seen else ("404", "not_found", None)
    assert faults(answer) == [expected]


async def test_the_number_of_statements_does_not_grow_with_teams_and_members(
    tenant: Tenant, statements: list[str]
) -> None:
    async def cost() -> int:
        statements.clear()
        await accesses(tenant)
        return len(statements)

    few = await cost()
    for who in ("plain", "reader", "writer", "manager"):
        document = linkage_document(tenant.users[who])
        await tenant.call("owner", "POST", tenant.linkage_path(), document)
    for team, access in {"crew": "write", "managers": "read", "secret": "write"}.items():
        await grant(tenant, team, access)
    assert (few, await cost()) == (3, 3)
