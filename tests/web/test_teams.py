"""Teams over HTTP: contract §5 and §6, on both engines."""

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.memberships import Membership, Status
from teamvars.services import teams
from teamvars.services.directory_files.files import Options
from teamvars.storage import memberships
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults, linkage_document
from tests.web.dialects import terraform

INVALID = "invalid_value"
NAME = "/data/attributes/name"


def team_document(**attributes: object) -> dict[str, Any]:
    """A document about a team."""
    return {"data": {"type": "teams", "attributes": attributes}}


def teams_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/teams"


async def make(tenant: Tenant, name: str = "new", **attributes: object) -> dict[str, Any]:
    """A new team, made by the owner; returns its resource object."""
    document = team_document(name=name, **attributes)
    answer = await tenant.call("owner", "POST", teams_path(tenant), document)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def names(tenant: Tenant, who: str = "owner", query: str = "") -> list[str]:
    """The names of the teams a caller sees."""
    answer = await tenant.call(who, "GET", teams_path(tenant) + query)
    return [team["attributes"]["name"] for team in answer.json()["data"]]


async def test_a_new_team_is_secret_and_empty_unless_the_request_says_otherwise(
    tenant: Tenant,
) -> None:
    made = await make(tenant)
    attributes = made["attributes"]
    assert (attributes["visibility"], attributes["users-count"]) == ("secret", 0)
    assert attributes["organization-access"]["manage-membership"] is False
    other = await make(
        tenant,
        "other",
        visibility="organization",
        **{"organization-access": {"manage-membership": True, "manage-policies": True}},
    )
    assert other["attributes"]["visibility"] == "organization"
    assert other["attributes"]["organization-access"]["manage-membership"] is True
    assert other["attributes"]["organization-access"]["manage-policies"] is True
    assert await tenant.deployment.audit_holds()


async def test_location_leads_to_the_team_that_was_made(tenant: Tenant) -> None:
    document = team_document(name="new", nonsense=1)
    answer = await tenant.call("organization-token", "POST", teams_path(tenant), document)
    location = answer.headers["Location"].removeprefix("/api/v2")
    read = await tenant.call("owner", "GET", location)
    assert read.json() == answer.json()


@ON_SQLITE
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, [("422", "missing_member", "/data")]),
        ({"data": {"type": "teams"}}, [("422", "missing_member", "/data/attributes")]),
        (team_document(), [("422", "missing_member", NAME)]),
        (team_document(name=None), [("422", "wrong_type", NAME)]),
        (team_document(name="a,b"), [("422", INVALID, NAME)]),
        (team_document(name="ü\u202e"), [("422", INVALID, NAME)]),
        (team_document(name=" crew"), [("422", INVALID, NAME)]),
        (team_document(name="a" * 91), [("422", INVALID, NAME)]),
        (team_document(name="Owners"), [("422", "name_taken", NAME)]),
        (team_document(name="CREW"), [("422", "name_taken", NAME)]),
        (
            {"data": {"type": "users", "id": "team-1", "attributes": {"name": "x"}}},
            [
                ("409", "type_conflict", "/data/type"),
                ("403", "client_id_not_supported", "/data/id"),
            ],
        ),
        (
            {
                "data": {
                    **team_document(name="new")["data"],
                    "relationships": {
                        "users": {"data": [{"type": "users", "id": "user-1"}]},
                        "organization-memberships": {"data": []},
                    },
                }
            },
            [("422", "not_offered", "/data/relationships/users/data")],
        ),
        (
            team_document(
                name=1, visibility="open", **{"organization-access": {"manage-membership": "false"}}
            ),
            [
                ("422", "wrong_type", NAME),
                ("422", INVALID, "/data/attributes/visibility"),
                (
                    "422",
                    "wrong_type",
                    "/data/attributes/organization-access/manage-membership",
                ),
            ],
        ),
    ],
)
async def test_every_fault_of_a_new_team_is_named_at_once(
    tenant: Tenant, document: object, expected: list[object]
) -> None:
    before = await names(tenant)
    answer = await tenant.call("owner", "POST", teams_path(tenant), document)
    assert faults(answer) == expected
    assert await names(tenant) == before


async def test_a_team_can_be_renamed_and_shown_to_all(tenant: Tenant) -> None:
    path = f"/teams/{(await make(tenant))['id']}"
    assert (await tenant.call("plain", "GET", path)).status_code == 404
    document = team_document(name="newer", visibility="organization")
    answer = await tenant.call("owner", "PATCH", path, document)
    assert answer.json()["data"]["attributes"]["name"] == "newer"
    read = await tenant.call("plain", "GET", path)
    assert read.json()["data"]["attributes"]["name"] == "newer"
    assert await tenant.deployment.audit_holds()


async def test_an_update_that_says_nothing_new_writes_nothing(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['crew']}"
    events = f"{path}/audit-events"
    before = (await tenant.call("owner", "GET", events)).json()["meta"]
    for document in ({"data": {"type": "teams"}}, team_document(name="crew")):
        assert (await tenant.call("owner", "PATCH", path, document)).status_code == 200
    assert (await tenant.call("owner", "GET", events)).json()["meta"] == before


async def test_a_team_has_a_name_in_any_script_and_is_found_by_it(tenant: Tenant) -> None:
    for name in ("Plattform Süd 2.0", "eu/crew", "команда", "टीम"):
        made = await make(tenant, name)
        assert made["attributes"]["name"] == name
        assert await names(tenant, query=f"?filter[names]={quote(name)}") == [name]
        assert await names(tenant, query=f"?q={quote(name[1:-1])}") == [name]
    again = await tenant.call("owner", "POST", teams_path(tenant), team_document(name="команда"))
    assert faults(again) == [("422", "name_taken", NAME)]
    await make(tenant, "Команда")  # A to Z alone have no case


async def test_the_owners_team_is_neither_renamed_nor_deleted(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['owners']}"
    renamed = await tenant.call("owner", "PATCH", path, team_document(name="bosses"))
    assert faults(renamed) == [("422", "owners_is_permanent", NAME)]
    deleted = await tenant.call("owner", "DELETE", path)
    assert faults(deleted) == [("422", "owners_is_permanent", None)]
    assert "owners" in await names(tenant)


async def test_another_id_than_the_paths_is_a_conflict(tenant: Tenant) -> None:
    document = {"data": {"type": "teams", "id": tenant.teams["owners"]}}
    answer = await tenant.call("owner", "PATCH", f"/teams/{tenant.teams['crew']}", document)
    assert faults(answer) == [("409", "id_conflict", "/data/id")]


async def test_a_deleted_team_takes_its_rights_with_it_and_leaves_its_members(
    tenant: Tenant,
) -> None:
    path = f"/teams/{tenant.teams['writers']}"
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
    assert (await tenant.call("owner", "DELETE", path)).status_code == 404
    assert (await tenant.call("writers-token", "GET", tenant.vars_path())).status_code == 401
    assert (await tenant.call("writer", "GET", tenant.vars_path())).status_code == 404
    assert (await tenant.call("writer", "GET", f"/users/{tenant.users['writer']}")).is_success
    assert await tenant.deployment.audit_holds()


async def test_secret_teams_are_listed_to_their_members_and_owners_alone(tenant: Tenant) -> None:
    everything = ["crew", "managers", "owners", "readers", "secret", "writers"]
    assert await names(tenant) == await names(tenant, "hidden") == everything
    everything.remove("secret")
    assert await names(tenant, "plain") == await names(tenant, "manager") == everything
    assert await names(tenant, "writers-token") == everything


async def test_teams_are_found_by_name_and_paged(tenant: Tenant) -> None:
    assert await names(tenant, query="?filter[names]=CREW,owners,nobody") == ["crew", "owners"]
    repeated = "?filter[names]=crew&filter[names]=owners"
    assert await names(tenant, query=repeated) == ["crew", "owners"]
    assert await names(tenant, query="?q=ER") == ["managers", "owners", "readers", "writers"]
    assert await names(tenant, query="?page[size]=2&page[number]=2") == ["owners", "readers"]
    answer = await tenant.call("owner", "GET", teams_path(tenant) + "?page[number]=99")
    said = answer.json()["meta"]["pagination"]
    assert (answer.json()["data"], said["current-page"], said["total-count"]) == ([], 99, 6)


async def test_members_come_with_a_team_when_they_are_asked_for(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['writers']}"
    bare = (await tenant.call("plain", "GET", f"{path}?include=")).json()
    assert "included" not in bare
    assert "organization-memberships" not in bare["data"]["relationships"]
    assert bare["data"]["attributes"]["users-count"] == 2
    full = await tenant.call("plain", "GET", f"{path}?include=users,organization-memberships")
    document = full.json()
    people = ("writer", "invited_writer")
    linkage = document["data"]["relationships"]
    assert {one["id"] for one in linkage["users"]["data"]} == {tenant.users[who] for who in people}
    assert {one["id"] for one in linkage["organization-memberships"]["data"]} == {
        tenant.memberships[who] for who in people
    }
    statuses = {
        one["id"]: one["attributes"]["status"]
        for one in document["included"]
        if one["type"] == "organization-memberships"
    }
    assert statuses[tenant.memberships["invited_writer"]] == "invited"
    assert {
        one["attributes"]["username"].partition("-")[0]
        for one in document["included"]
        if one["type"] == "users"
    } == set(people)


async def test_who_is_in_many_teams_is_read_once(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = linkage_document(*(tenant.users[who] for who in ("owner", "reader", "plain")))
    for team in ("crew", "readers", "managers"):
        await tenant.call("owner", "POST", tenant.linkage_path(team), people)
    read: list[str] = []

    def noted(**its: Any) -> Membership:
        read.append(its["id"])
        return Membership(**its)

    monkeypatch.setattr(memberships, "Membership", noted)
    path = f"{teams_path(tenant)}?include=organization-memberships"
    included = (await tenant.call("owner", "GET", path)).json()["included"]
    assert sorted(read) == sorted(one["id"] for one in included)


def users_of(tenant: Tenant, team: dict[str, Any]) -> list[str] | None:
    """The ids of a team's users as its resource object has them; None where it has a link alone."""
    users = team["relationships"]["users"]
    assert users["links"]["related"].endswith(f"/teams/{team['id']}/relationships/users")
    if "data" not in users:
        return None
    assert all(one["type"] == "users" for one in users["data"])
    return [one["id"] for one in users["data"]]


async def test_a_team_names_its_users_wherever_it_is_shown(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['writers']}"
    people = sorted(tenant.users[who] for who in ("writer", "invited_writer"))
    for query in ("", "?include=users", "?include=organization-memberships"):
        read = (await tenant.call("plain", "GET", path + query)).json()["data"]
        assert users_of(tenant, read) == people
        listed = (await tenant.call("plain", "GET", teams_path(tenant) + query)).json()["data"]
        (found,) = [one for one in listed if one["id"] == read["id"]]
        assert found["relationships"] == read["relationships"]
    linkage = await tenant.call("plain", "GET", f"{path}/relationships/users")
    assert [one["id"] for one in linkage.json()["data"]] == people
    renamed = await tenant.call("owner", "PATCH", path, team_document(name="authors"))
    assert users_of(tenant, renamed.json()["data"]) == people
    assert users_of(tenant, await make(tenant)) == []


async def test_a_list_whose_teams_have_too_many_users_leads_to_them(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (await tenant.call("owner", "GET", teams_path(tenant))).json()["data"]
    total = sum(len(users_of(tenant, team) or ()) for team in listed)
    monkeypatch.setattr(teams, "MAX_LISTED_USERS", total)
    again = (await tenant.call("owner", "GET", teams_path(tenant))).json()["data"]
    assert again == listed
    monkeypatch.setattr(teams, "MAX_LISTED_USERS", total - 1)
    fewer = (await tenant.call("owner", "GET", teams_path(tenant))).json()["data"]
    assert [users_of(tenant, team) for team in fewer] == [None] * len(listed)
    one = await tenant.call("owner", "GET", f"/teams/{tenant.teams['writers']}")
    assert len(users_of(tenant, one.json()["data"]) or ()) == 2


async def test_who_manages_the_token_of_a_team_is_kept_and_only_owners_change_it(
    tenant: Tenant,
) -> None:
    word = "allow-member-token-management"
    assert (await make(tenant, "quiet"))["attributes"][word] is False
    made = await make(tenant, "open", visibility="organization", **{word: True})
    assert made["attributes"][word] is True
    path = f"/teams/{made['id']}"
    renamed = await tenant.call("owner", "PATCH", path, team_document(name="opened"))
    assert renamed.json()["data"]["attributes"][word] is True
    closing = team_document(**{word: False})
    for who in ("plain", "manager"):
        assert (await tenant.call(who, "PATCH", path, closing)).status_code == 403
    assert (await tenant.call("owner", "PATCH", path, closing)).is_success
    read = await tenant.call("plain", "GET", path)
    assert read.json()["data"]["attributes"][word] is False
    events = (await tenant.call("owner", "GET", f"{path}/audit-events")).json()["data"]
    assert events[0]["attributes"]["details"][word] is False
    owners = await tenant.call("owner", "GET", f"/teams/{tenant.teams['owners']}")
    assert owners.json()["data"]["attributes"][word] is True
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("who", ["owner", "writer", "reader", "plain", "writers-token"])
async def test_what_a_list_says_of_a_team_or_an_organization_is_what_it_says_alone(
    tenant: Tenant, who: str
) -> None:
    word = "allow-member-token-management"
    for name, may in (("writers", True), ("readers", False)):
        said = team_document(visibility="organization", **{word: may})
        answer = await tenant.call("owner", "PATCH", f"/teams/{tenant.teams[name]}", said)
        assert answer.is_success
    secret = await make(tenant, "new", **{"organization-access": {"manage-teams": True}})
    users = {"data": [{"type": "users", "id": tenant.users["plain"]}]}
    added = await tenant.call("owner", "POST", f"/teams/{secret['id']}/relationships/users", users)
    assert added.is_success
    for path, type_ in ((teams_path(tenant), "teams"), ("/organizations", "organizations")):
        listed = (await tenant.call(who, "GET", path)).json()["data"]
        assert listed
        for one in listed:
            alone = await tenant.call(who, "GET", f"/{type_}/{one['id']}")
            assert alone.json()["data"] == one


async def test_an_id_of_single_sign_on_is_kept_and_null_takes_it_away(tenant: Tenant) -> None:
    made = await make(tenant, "new", **{"sso-team-id": "some-group"})
    assert made["attributes"]["sso-team-id"] == "some-group"
    path = f"/teams/{made['id']}"
    kept = await tenant.call("owner", "PATCH", path, team_document(name="newer"))
    assert kept.json()["data"]["attributes"]["sso-team-id"] == "some-group"
    for none in ("", None):
        document = team_document(**{"sso-team-id": none})
        answer = await tenant.call("owner", "PATCH", path, document)
        assert answer.json()["data"]["attributes"]["sso-team-id"] is None
    long = team_document(**{"sso-team-id": "x" * 1025})
    refused = await tenant.call("owner", "PATCH", path, long)
    assert faults(refused) == [("422", INVALID, "/data/attributes/sso-team-id")]


async def test_an_unknown_include_is_refused(tenant: Tenant) -> None:
    answer = await tenant.call("plain", "GET", teams_path(tenant) + "?include=users,nonsense")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["source"]) == (400, {"parameter": "include"})
    assert "include parameter" in error["detail"]


async def test_a_thousand_teams_with_their_members_cost_a_bounded_number_of_statements(
    tenant: Tenant, statements: list[str]
) -> None:
    people = [f"{uuid4().hex}" for _ in range(40)]
    entry = OrganizationEntry(
        tenant.organization,
        members=dict.fromkeys(people, Status.ACTIVE),
        teams=tuple(TeamEntry(f"team-{n}", members=tuple(people[: n % 40])) for n in range(1000)),
    )
    directory = Directory(tuple(UserEntry(name) for name in people), (entry,))
    await tenant.deployment.services.directory.apply(operator(), directory, Options())
    costs = set()
    for query in ("?page[size]=1", "?page[size]=100", "?page[size]=100&page[number]=9"):
        statements.clear()
        path = f"{teams_path(tenant)}{query}&include=users,organization-memberships"
        answer = await tenant.call("owner", "GET", path)
        assert answer.json()["meta"]["pagination"]["total-count"] == 1006
        costs.add(len(statements))
    assert len(costs) == 1
    assert costs.pop() <= 8


async def test_clients_of_the_terraform_dialect_make_a_team_as_they_are_used_to(
    tenant: Tenant,
) -> None:
    document = team_document(name="new")
    document["data"]["type"] = "organizations"
    async with terraform(tenant) as client:
        made = await client.post(teams_path(tenant), json=document)
        assert (made.status_code, made.json()["data"]["type"]) == (200, "teams")
        document["data"]["type"] = "users"
        assert faults(await client.post(teams_path(tenant), json=document)) == [
            ("409", "type_conflict", "/data/type")
        ]
    document["data"]["type"] = "organizations"
    refused = await tenant.call("owner", "POST", teams_path(tenant), document)
    assert faults(refused) == [("409", "type_conflict", "/data/type")]
