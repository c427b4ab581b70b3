"""Rights of teams in their organization over HTTP: contract §6, on both engines."""

from typing import Any
from uuid import uuid4

import pytest

from teamvars.domain.teams import SETTINGS, Right, is_right
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web.test_team_workspaces import access_document
from tests.web.test_teams import make, names, team_document, teams_path

INERT = [name.rpartition("/")[2] for name in SETTINGS.by_name if is_right(name)]


async def give(
    tenant: Tenant, who: str, *rights: str, name: str = "", **attributes: object
) -> dict[str, Any]:
    """A new team with these rights, and with a member; returns its resource object."""
    access = {"organization-access": dict.fromkeys(rights, True)}
    made = await make(tenant, name or f"given-{uuid4().hex}", **access, **attributes)
    path = f"/teams/{made['id']}/relationships/users"
    answer = await tenant.call("owner", "POST", path, linkage_document(tenant.users[who]))
    assert answer.status_code == 204
    return made


def access_of(rights: dict[str, bool]) -> dict[str, Any]:
    return team_document(**{"organization-access": rights})


async def join(tenant: Tenant, who: str, team: str, whom: str) -> int:
    path = f"/teams/{tenant.teams.get(team, team)}/relationships/users"
    answer = await tenant.call(who, "POST", path, linkage_document(tenant.users[whom]))
    return answer.status_code


@pytest.mark.parametrize("name", [*Right, *INERT])
async def test_every_right_is_kept_as_it_was_sent_and_told_by_its_name(
    tenant: Tenant, name: str
) -> None:
    nothing = dict.fromkeys([*map(str, Right), *INERT], False)
    made = await make(tenant)
    assert made["attributes"]["organization-access"] == nothing
    path = f"/teams/{made['id']}"
    said = team_document(**{"organization-access": {str(name): True}})
    changed = await tenant.call("owner", "PATCH", path, said)
    read = await tenant.call("owner", "GET", path)
    for answer in (changed, read):
        attributes = answer.json()["data"]["attributes"]
        assert attributes["organization-access"] == {**nothing, str(name): True}
    other = team_document(visibility="organization")
    kept = await tenant.call("owner", "PATCH", path, other)
    assert kept.json()["data"]["attributes"]["organization-access"][name] is True
    events = (await tenant.call("owner", "GET", f"{path}/audit-events")).json()["data"]
    (told,) = events[1]["attributes"]["details"]["changed"]
    assert told.rpartition("/")[2] == name
    assert await tenant.deployment.audit_holds()


async def test_the_owners_team_has_every_right_whatever_was_said(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['owners']}"
    shown = (await tenant.call("owner", "GET", path)).json()["data"]["attributes"]
    rights = shown["organization-access"]
    assert set(rights.values()) == {True}
    before = await tenant.call("owner", "GET", f"{path}/audit-events")
    kept = await tenant.call("owner", "PATCH", path, access_of(rights))
    assert kept.json()["data"]["attributes"]["organization-access"] == rights
    refused = await tenant.call("owner", "PATCH", path, access_of(dict.fromkeys(rights, False)))
    assert sorted(faults(refused)) == sorted(
        ("422", "owners_is_permanent", f"/data/attributes/organization-access/{name}")
        for name in rights
    )
    after = await tenant.call("owner", "GET", f"{path}/audit-events")
    assert after.json()["data"] == before.json()["data"]


async def test_who_reads_workspaces_sees_all_of_them_and_writes_by_grant(tenant: Tenant) -> None:
    await give(tenant, "writer", "read-workspaces")
    path = f"/organizations/{tenant.organization}/workspaces"
    listed = (await tenant.call("writer", "GET", path)).json()["data"]
    may_write = {
        one["attributes"]["name"]: one["attributes"]["permissions"]["can-update-variable"]
        for one in listed
    }
    assert may_write == {name: name == "network" for name in tenant.workspaces}
    document = variable_document()
    for name in tenant.workspaces:
        read = await tenant.call("writer", "GET", tenant.vars_path(name))
        written = await tenant.call("writer", "POST", tenant.vars_path(name), document)
        expected = (200, 201 if name == "network" else 403)
        assert (read.status_code, written.status_code) == expected
    await tenant.make_variable("found")
    found = await tenant.call("writer", "GET", f"/organizations/{tenant.organization}/vars")
    assert "found" in found.text
    tagged = {"data": [{"type": "tags", "attributes": {"name": "tag"}}]}
    tags = f"/workspaces/{tenant.workspaces['payments']}/relationships/tags"
    assert (await tenant.call("owner", "POST", tags, tagged)).status_code == 204
    seen = await tenant.call("writer", "GET", f"/organizations/{tenant.organization}/tags")
    assert [one["attributes"]["name"] for one in seen.json()["data"]] == ["tag"]


@pytest.mark.parametrize("who", ["owner", "plain", "reader"])
async def test_a_list_says_of_each_what_it_says_of_itself(tenant: Tenant, who: str) -> None:
    await give(tenant, "plain", "manage-teams")
    team = team_document(name="own", **{"allow-member-token-management": True})
    made = (await tenant.call("owner", "POST", teams_path(tenant), team)).json()["data"]
    assert await join(tenant, "owner", made["id"], "reader") == 204
    for path in ("/organizations", teams_path(tenant)):
        listed = (await tenant.call(who, "GET", f"{path}?page[size]=100")).json()["data"]
        assert listed
        for one in listed:
            itself = await tenant.call(who, "GET", f"/{one['type']}/{one['id']}")
            assert one["attributes"] == itself.json()["data"]["attributes"]


async def test_who_manages_workspaces_does_all_but_say_who_has_access(tenant: Tenant) -> None:
    await give(tenant, "plain", "manage-workspaces")
    path = f"/organizations/{tenant.organization}/workspaces"
    named = {"data": {"type": "workspaces", "attributes": {"name": "made"}}}
    made = (await tenant.call("plain", "POST", path, named)).json()["data"]
    permissions = made["attributes"]["permissions"]
    assert permissions["can-update"] is permissions["can-destroy"] is True
    one = f"/workspaces/{made['id']}"
    assert (await tenant.call("plain", "POST", f"{one}/vars", variable_document())).is_success
    renamed = {"data": {"type": "workspaces", "attributes": {"name": "renamed"}}}
    assert (await tenant.call("plain", "PATCH", one, renamed)).status_code == 200
    access = access_document(tenant.teams["crew"], made["id"], access="read")
    assert (await tenant.call("plain", "POST", "/team-workspaces", access)).status_code == 403
    assert (await tenant.call("plain", "GET", f"{one}/access")).status_code == 403
    assert (await tenant.call("plain", "DELETE", one)).status_code == 204
    listed = await tenant.call("plain", "GET", path)
    assert {row["attributes"]["name"] for row in listed.json()["data"]} == {*tenant.workspaces}
    assert await tenant.deployment.audit_holds()


async def test_everybody_with_a_right_to_all_workspaces_is_told_to_owners(tenant: Tenant) -> None:
    team = await give(tenant, "plain", "read-workspaces")
    await give(tenant, "reader", "manage-workspaces")
    path = f"/workspaces/{tenant.workspaces['network']}/access?page[size]=100"
    listed = (await tenant.call("owner", "GET", path)).json()["data"]
    through = {one["attributes"]["name"]: one for one in listed}
    plain, reader = (
        next(one for name, one in through.items() if name.startswith(who))
        for who in ("plain", "reader")
    )
    assert plain["attributes"]["access"] == "read", plain
    assert team["id"] in str(plain)
    assert reader["attributes"]["access"] == "write"


async def test_who_manages_teams_makes_changes_and_deletes_those_that_may_no_more_than_they(
    tenant: Tenant,
) -> None:
    await give(tenant, "plain", "manage-teams")
    named = team_document(name="made", visibility="organization")
    made = (await tenant.call("plain", "POST", teams_path(tenant), named)).json()["data"]
    one = f"/teams/{made['id']}"
    assert made["attributes"]["permissions"]["can-destroy"] is True
    assert made["attributes"]["permissions"]["can-update-organization-access"] is False
    assert await join(tenant, "plain", made["id"], "plain") == 204
    token = await tenant.call("plain", "POST", f"{one}/authentication-token")
    assert token.status_code == 201
    renamed = await tenant.call("plain", "PATCH", one, team_document(name="renamed"))
    assert renamed.status_code == 200
    for right in (*map(str, Right), INERT[0]):
        given = team_document(**{"organization-access": {right: True}})
        assert (await tenant.call("plain", "PATCH", one, given)).status_code == 403
        given["data"]["attributes"]["name"] = f"new-{right}"
        refused = await tenant.call("plain", "POST", teams_path(tenant), given)
        assert faults(refused) == [("403", "forbidden", None)]
    unchanged = team_document(**{"organization-access": {"manage-teams": False}})
    assert (await tenant.call("plain", "PATCH", one, unchanged)).status_code == 200
    wrong = team_document(visibility="open", name=" ")
    for answer in (
        await tenant.call("plain", "PATCH", one, wrong),
        await tenant.call("plain", "POST", teams_path(tenant), wrong),
    ):
        assert [status for status, *_ in faults(answer)] == ["422", "422"]
    # A team with a grant or a right that they lack.
    more = await give(tenant, "reader", "manage-workspaces", visibility="organization")
    for id_ in (tenant.teams["writers"], tenant.teams["owners"], more["id"]):
        path = f"/teams/{id_}"
        assert await join(tenant, "plain", id_, "plain") == 403
        made_token = await tenant.call("plain", "POST", f"{path}/authentication-token")
        changed = await tenant.call("plain", "PATCH", path, team_document(name="other"))
        deleted = await tenant.call("plain", "DELETE", path)
        for answer in (made_token, changed, deleted):
            assert answer.status_code == 403, path
    listed = (await tenant.call("plain", "GET", f"{teams_path(tenant)}?page[size]=100")).json()
    may = {
        row["id"]: row["attributes"]["permissions"]["can-update-membership"]
        for row in listed["data"]
    }
    assert may[made["id"]] is True
    assert not any(may[id_] for id_ in (tenant.teams["writers"], more["id"]))
    assert (await tenant.call("plain", "DELETE", one)).status_code == 204
    assert await tenant.deployment.audit_holds()


async def test_who_manages_membership_adds_nobody_to_a_team_with_a_right_that_they_lack(
    tenant: Tenant,
) -> None:
    more = await give(tenant, "reader", "read-projects", visibility="organization")
    assert await join(tenant, "manager", more["id"], "plain") == 403
    path = f"/teams/{more['id']}/relationships/users"
    member = linkage_document(tenant.users["reader"])
    assert (await tenant.call("manager", "DELETE", path, member)).status_code == 403
    await give(tenant, "manager", "manage-projects")
    assert await join(tenant, "manager", more["id"], "plain") == 204
    assert await join(tenant, "manager", "writers", "plain") == 204


async def test_secret_teams_are_seen_with_a_right_to_and_changed_as_others_are(
    tenant: Tenant,
) -> None:
    path = f"/teams/{tenant.teams['secret']}"
    assert "secret" not in await names(tenant, "plain")
    assert (await tenant.call("plain", "GET", path)).status_code == 404
    await give(tenant, "plain", "access-secret-teams")
    assert "secret" in await names(tenant, "plain")
    assert (await tenant.call("plain", "GET", path)).status_code == 200
    assert await join(tenant, "plain", "secret", "plain") == 403
    assert await join(tenant, "manager", "secret", "plain") == 404
    await give(tenant, "manager", "access-secret-teams")
    assert await join(tenant, "manager", "secret", "plain") == 204


async def test_nobody_makes_a_team_secret_to_themselves(tenant: Tenant) -> None:
    given = await give(tenant, "plain", "manage-teams", visibility="organization")
    hidden = [("403", "forbidden", "/data/attributes/visibility")]
    for said in ({}, {"visibility": "secret"}):
        document = team_document(name="made", **said)
        assert faults(await tenant.call("plain", "POST", teams_path(tenant), document)) == hidden
    document = team_document(name="made", visibility="organization")
    made = (await tenant.call("plain", "POST", teams_path(tenant), document)).json()["data"]
    secret = team_document(visibility="secret")
    for _ in range(2):
        refused = await tenant.call("plain", "PATCH", f"/teams/{made['id']}", secret)
        assert faults(refused) == hidden
    own = await tenant.call("plain", "PATCH", f"/teams/{given['id']}", secret)
    assert own.status_code == 200, "its members see it"
    assert await join(tenant, "plain", made["id"], "plain") == 204
    joined = await tenant.call("plain", "PATCH", f"/teams/{made['id']}", secret)
    assert joined.status_code == 200
    await give(tenant, "plain", "access-secret-teams")
    other = await tenant.call("plain", "POST", teams_path(tenant), team_document(name="other"))
    assert other.status_code == 201
    assert await tenant.deployment.audit_holds()


async def test_tags_of_all_workspaces_are_listed_to_whoever_reads_all_of_them(
    tenant: Tenant,
) -> None:
    where = f"/workspaces/{tenant.workspaces['payments']}/relationships/tags"
    tag = {"data": [{"type": "tags", "attributes": {"name": "billing"}}]}
    assert (await tenant.call("owner", "POST", where, tag)).is_success
    path = f"/organizations/{tenant.organization}/tags"
    assert (await tenant.call("plain", "GET", path)).json()["data"] == []
    await give(tenant, "plain", "read-workspaces")
    (one,) = (await tenant.call("plain", "GET", path)).json()["data"]
    assert one["attributes"]["name"] == "billing"


async def test_a_right_is_gone_with_the_team_from_the_next_request_on(tenant: Tenant) -> None:
    made = await give(tenant, "plain", "manage-workspaces")
    assert (await tenant.call("plain", "GET", tenant.vars_path())).status_code == 200
    taken = team_document(**{"organization-access": {"manage-workspaces": False}})
    await tenant.call("owner", "PATCH", f"/teams/{made['id']}", taken)
    assert (await tenant.call("plain", "GET", tenant.vars_path())).status_code == 404
