"""Memberships and invitations over HTTP: contract §5 and §6, on both engines."""

import asyncio
import json
import re
from typing import Any
from uuid import uuid4

import pytest

from teamvars.domain.directory import Directory, OrganizationEntry, UserEntry
from teamvars.domain.memberships import Status
from teamvars.services.directory_files.files import Options
from teamvars.storage import users
from tests.house import operator
from tests.world import World, faults, linkage_document

TYPE = "organization-memberships"
EMAIL = "/data/attributes/email"
TEAMS = "/data/relationships/teams/data"


def invitation(email: object, *team_ids: object) -> dict[str, Any]:
    """A document that invites somebody."""
    data: dict[str, Any] = {"type": TYPE, "attributes": {"email": email}}
    if team_ids:
        teams = [{"type": "teams", "id": id_} for id_ in team_ids]
        data["relationships"] = {"teams": {"data": teams}}
    return {"data": data}


def address() -> str:
    """An e-mail address that nobody has."""
    return f"{uuid4().hex}@example.com"


def path_of(world: World) -> str:
    return f"/organizations/{world.organization}/{TYPE}"


async def invite(world: World, email: str, *team_ids: str) -> dict[str, Any]:
    """An invitation by the owner; returns the document."""
    answer = await world.call("owner", "POST", path_of(world), invitation(email, *team_ids))
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def listed(world: World, query: str = "", who: str = "owner") -> list[str]:
    """The ids of the memberships in a list."""
    answer = await world.call(who, "GET", path_of(world) + query)
    return [one["id"] for one in answer.json()["data"]]


def is_in(world: World, document: Any, team: str) -> bool:
    teams = document["data"]["relationships"]["teams"]["data"]
    return {"id": world.teams[team], "type": "teams"} in teams


async def test_an_invitation_creates_a_user_who_has_not_signed_in(world: World) -> None:
    email = address()
    document = await invite(world, email, world.teams["crew"], world.teams["secret"])
    attributes = document["data"]["attributes"]
    assert (attributes["status"], attributes["email"]) == ("invited", email)
    assert is_in(world, document, "crew")
    assert is_in(world, document, "secret")
    (user,) = document["included"]
    assert user["attributes"]["username"] == email
    assert user["id"] == document["data"]["relationships"]["user"]["data"]["id"]
    assert document["data"]["id"] in await world.members("crew")
    assert await world.house.audit_holds()


async def test_an_invitation_takes_the_user_who_has_the_address(world: World) -> None:
    outsider = (await world.call("outsider", "GET", "/account/details")).json()["data"]
    document = await invite(world, outsider["attributes"]["email"].upper())
    assert document["included"][0]["id"] == outsider["id"]


async def test_an_address_that_is_no_username_gets_one_that_is_free(world: World) -> None:
    mark = uuid4().hex
    usernames = []
    for address in (f"o'neil{mark}@example.com", f"o&neil{mark}@example.com"):
        (shown,) = (await invite(world, address))["included"]
        assert shown["attributes"]["username"] == address
        usernames.append(await username_of(world, shown["id"]))
    assert usernames[0] == f"o-neil{mark}@example.com"
    assert usernames[1].startswith(f"o-neil{mark}@example.com-")


async def username_of(world: World, user_id: str) -> str:
    """What a user is called, whoever may know that."""
    user = await world.house.services.database.read(lambda tx: users.find(tx, user_id))
    assert user is not None
    return user.username


def told(document: dict[str, Any], email: str) -> str:
    """A document without what differs between any two: ids, times, and the address itself."""
    text = re.sub(r"(ou|user|team)-\w{16}", "", json.dumps(document))
    text = re.sub(r'"created-at": "[^"]*"', "", text).replace(email, "ADDRESS")
    name, _, _ = email.partition("@")
    return re.sub(rf'"/api/[^"]*{name}[^"]*"', "LINK", text, flags=re.IGNORECASE)


async def test_an_invitation_of_somebody_known_tells_what_one_of_a_stranger_does(
    world: World,
) -> None:
    mark = world.organization.removeprefix("org-")
    known, stranger = f"Outsider-{mark}@EXAMPLE.com", f"Stranger-{mark}@EXAMPLE.com"
    seen = []
    for email in (known, stranger):
        invited = await invite(world, email, world.teams["crew"])
        id_, (user,) = invited["data"]["id"], invited["included"]
        answers = [
            await world.call("owner", "GET", path)
            for path in (
                f"/{TYPE}/{id_}?include=user",
                f"{path_of(world)}?filter[email]={email.lower()}&include=user",
                f"{path_of(world)}?q={email.partition('@')[0].upper()}%40&include=user",
                f"/users/{user['id']}",
                f"/organizations/{world.organization}/teams?filter[names]=crew&include=users",
            )
        ]
        assert {answer.status_code for answer in answers} == {200}
        assert answers[1].json()["data"][0]["id"] == answers[2].json()["data"][0]["id"] == id_
        seen.append([told(one, email) for one in (invited, *(a.json() for a in answers))])
        await world.call("owner", "DELETE", f"/{TYPE}/{id_}")
    assert seen[0] == seen[1]
    assert all("ADDRESS" in one for one in seen[0])


async def test_whoever_was_invited_is_not_found_by_a_name_of_their_own(world: World) -> None:
    mark = world.organization.removeprefix("org-")
    username, email = f"quite-{mark}", f"{mark}@other.example"
    directory = Directory((UserEntry(username, email),))
    await world.house.services.directory.apply(operator(), directory, Options())
    shown = await invite(world, email)
    assert await listed(world, f"?q=quite-{mark}") == []
    assert await listed(world, f"?q={mark}%40other") == [shown["data"]["id"]]
    moved = Directory((UserEntry(username, f"{mark}@moved.example"),))
    await world.house.services.directory.apply(operator(), moved, Options())
    assert await listed(world, f"?filter[email]={mark}@moved.example") == []
    assert await listed(world, f"?filter[email]={email}") == [shown["data"]["id"]]


async def test_who_accepts_an_invitation_is_known_from_then_on(world: World) -> None:
    mark = world.organization.removeprefix("org-")
    shown = await invite(world, f"outsider-{mark}@EXAMPLE.com")
    path = f"/{TYPE}/{shown['data']['id']}"
    accepted = await world.call("outsider", "POST", f"{path}/actions/accept")
    read = await world.call("owner", "GET", f"{path}?include=user")
    for document in (accepted.json(), read.json()):
        assert document["data"]["attributes"]["email"] == f"outsider-{mark}@example.com"
        assert document["included"][0]["attributes"]["username"] == f"outsider-{mark}"
    assert await listed(world, f"?q=outsider-{mark}") == [shown["data"]["id"]]


@pytest.mark.parametrize("who", ["plain", "invited"])
async def test_nobody_is_invited_twice(world: World, who: str) -> None:
    read = await world.call("owner", "GET", f"/{TYPE}/{world.memberships[who]}")
    document = invitation(read.json()["data"]["attributes"]["email"].upper())
    answer = await world.call("owner", "POST", path_of(world), document)
    assert faults(answer) == [("422", "already_member", EMAIL)]


async def test_of_racing_invitations_of_one_address_exactly_one_wins(world: World) -> None:
    document = invitation(address())
    answers = await asyncio.gather(
        *(world.call("owner", "POST", path_of(world), document) for _ in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 5
    assert await world.house.audit_holds()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, [("422", "missing_member", "/data")]),
        (invitation(None), [("422", "wrong_type", EMAIL)]),
        (invitation("nobody"), [("422", "invalid_value", EMAIL)]),
        (invitation("a@b\0c"), [("422", "invalid_value", EMAIL)] * 2),
        (
            {"data": {"type": "users", "attributes": {}, "relationships": {"teams": {}}}},
            [
                ("409", "type_conflict", "/data/type"),
                ("422", "missing_member", EMAIL),
                ("422", "missing_member", TEAMS),
            ],
        ),
        (
            invitation("nobody", "team-1111111111111111", 7),
            [
                ("422", "invalid_value", EMAIL),
                ("404", "not_found", f"{TEAMS}/0/id"),
                ("422", "wrong_type", f"{TEAMS}/1/id"),
            ],
        ),
    ],
)
async def test_every_fault_of_an_invitation_is_named_at_once(
    world: World, document: object, expected: list[object]
) -> None:
    before = await listed(world)
    answer = await world.call("owner", "POST", path_of(world), document)
    assert faults(answer) == expected
    assert await listed(world) == before


async def test_nobody_is_invited_into_a_team_of_another_organization(world: World) -> None:
    document = invitation(address(), world.teams["crew"], world.other_team)
    answer = await world.call("owner", "POST", path_of(world), document)
    assert (answer.status_code, faults(answer)) == (404, [("404", "not_found", f"{TEAMS}/1/id")])
    assert await world.members("crew") == set()


async def test_an_invited_owner_has_no_rights_and_does_not_count(world: World) -> None:
    await invite(world, address(), world.teams["owners"])
    answer = await world.call("owner", "DELETE", f"/{TYPE}/{world.memberships['owner']}")
    assert faults(answer) == [("422", "last_owner", None)]


async def test_the_invited_user_sees_and_accepts_the_invitation(world: World) -> None:
    path = f"/{TYPE}/{world.memberships['invited_writer']}"
    shown = (await world.call("invited_writer", "GET", path)).json()
    assert shown["data"]["attributes"]["status"] == "invited"
    assert shown["data"]["relationships"]["teams"]["data"] == []
    own = (await world.call("invited_writer", "GET", f"/{TYPE}")).json()["data"]
    assert [one["id"] for one in own] == [world.memberships["invited_writer"]]
    assert (await world.call("invited_writer", "GET", world.vars_path())).status_code == 404
    for _ in "12":
        accepted = await world.call("invited_writer", "POST", f"{path}/actions/accept")
        assert accepted.json()["data"]["attributes"]["status"] == "active"
        assert is_in(world, accepted.json(), "writers")
    assert (await world.call("invited_writer", "GET", world.vars_path())).status_code == 200
    assert await world.house.audit_holds()


async def test_nobody_accepts_for_another(world: World) -> None:
    path = f"/{TYPE}/{world.memberships['invited']}"
    for who in ("owner", "owners-token", "organization-token", "plain", "writers-token"):
        assert (await world.call(who, "POST", f"{path}/actions/accept")).status_code == 403
    for who in ("invited_writer", "outsider", "admin"):
        assert (await world.call(who, "POST", f"{path}/actions/accept")).status_code == 404
    read = await world.call("owner", "GET", path)
    assert read.json()["data"]["attributes"]["status"] == "invited"


async def test_a_removed_membership_is_gone_from_all_teams_and_the_user_stays(
    world: World,
) -> None:
    path = f"/{TYPE}/{world.memberships['writer']}"
    for team in ("crew", "secret"):
        added = linkage_document(world.users["writer"])
        await world.call("owner", "POST", world.linkage_path(team), added)
    assert (await world.call("owner", "DELETE", path)).status_code == 204
    assert (await world.call("owner", "DELETE", path)).status_code == 404
    for team in ("crew", "secret", "writers"):
        assert world.memberships["writer"] not in await world.members(team)
    assert (await world.call("writer", "GET", world.vars_path())).status_code == 404
    assert (await world.call("writer", "GET", "/account/details")).status_code == 200
    events = await world.call("owner", "GET", f"/teams/{world.teams['writers']}/audit-events")
    assert events.json()["data"][0]["attributes"]["action"] == "member.remove"
    assert await world.house.audit_holds()


async def test_of_two_owners_who_remove_each_other_one_stays(world: World) -> None:
    added = linkage_document(world.users["plain"])
    await world.call("owner", "POST", world.linkage_path("owners"), added)
    answers = await asyncio.gather(
        world.call("owner", "DELETE", f"/{TYPE}/{world.memberships['plain']}"),
        world.call("organization-token", "DELETE", f"/{TYPE}/{world.memberships['owner']}"),
        world.call(
            "organization-token",
            "DELETE",
            world.linkage_path("owners"),
            linkage_document(world.users["owner"]),
        ),
    )
    assert {answer.status_code for answer in answers} <= {204, 403, 404, 422}
    path = world.linkage_path("owners", TYPE) + "?filter[status]=active"
    left = await world.call("organization-token", "GET", path)
    assert len(left.json()["data"]) >= 1
    assert await world.house.audit_holds()


async def test_memberships_are_found_and_paged(world: World) -> None:
    everyone = sorted(world.memberships.values())
    assert await listed(world) == await listed(world, who="plain") == everyone
    invited = {world.memberships[who] for who in ("invited", "invited_writer")}
    assert set(await listed(world, "?filter[status]=invited")) == invited
    assert await listed(world, "?q=HIDDEN-") == [world.memberships["hidden"]]
    assert await listed(world, "?q=%25") == []
    email = f"reader-{world.organization.removeprefix('org-')}@EXAMPLE.com"
    assert await listed(world, f"?filter[email]={email},x@y.z") == [world.memberships["reader"]]
    assert await listed(world, "?page[size]=3&page[number]=2") == everyone[3:6]
    answer = await world.call("owner", "GET", path_of(world) + "?page[number]=999&include=")
    said = answer.json()["meta"]["pagination"]
    assert (answer.json()["data"], said["current-page"]) == ([], 999)
    assert said["total-count"] == len(everyone)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("include=user,x", "include"),
        ("filter[status]=gone", "filter[status]"),
        ("page[number]=-1", "page[number]"),
    ],
)
async def test_what_a_query_may_not_ask_for_is_refused(
    world: World, query: str, parameter: str
) -> None:
    for path in (path_of(world), world.linkage_path("crew", TYPE)):
        answer = await world.call("plain", "GET", f"{path}?{query}")
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["source"]) == (400, {"parameter": parameter})
        assert parameter != "include" or "include parameter" in error["detail"]


@pytest.mark.parametrize("name", ["q", "filter[email]", "filter[names]", "search[name]"])
async def test_a_nul_in_a_query_is_refused(world: World, name: str) -> None:
    paths = {
        "q": path_of(world),
        "filter[email]": path_of(world),
        "filter[names]": f"/organizations/{world.organization}/teams",
        "search[name]": f"/organizations/{world.organization}/workspaces",
    }
    answer = await world.call("owner", "GET", f"{paths[name]}?{name}=a%00b")
    assert (answer.status_code, answer.json()["errors"][0]["source"]) == (400, {"parameter": name})


async def test_included_teams_are_those_the_caller_sees(world: World) -> None:
    path = f"/{TYPE}/{world.memberships['hidden']}?include=user,teams"
    seen = {}
    for who in ("owner", "hidden", "plain"):
        included = (await world.call(who, "GET", path)).json()["included"]
        seen[who] = [one["attributes"]["name"] for one in included if one["type"] == "teams"]
    assert seen == {"owner": ["secret"], "hidden": ["secret"], "plain": []}


async def test_a_teams_memberships_are_full_resources_whole_or_paged(world: World) -> None:
    path = world.linkage_path("writers", TYPE)
    whole = (await world.call("plain", "GET", path)).json()
    assert whole.keys() == {"data"}
    assert len(whole["data"]) == 2
    assert all("email" in one["attributes"] for one in whole["data"])
    paged = (await world.call("plain", "GET", f"{path}?page[size]=1&filter[status]=invited")).json()
    assert [one["id"] for one in paged["data"]] == [world.memberships["invited_writer"]]
    assert paged["meta"]["pagination"]["total-count"] == 1


async def test_a_thousand_memberships_with_includes_cost_a_bounded_number_of_statements(
    world: World, statements: list[str]
) -> None:
    people = [uuid4().hex for _ in range(1000)]
    entry = OrganizationEntry(world.organization, members=dict.fromkeys(people, Status.ACTIVE))
    directory = Directory(tuple(UserEntry(name) for name in people), (entry,))
    await world.house.services.directory.apply(operator(), directory, Options())
    costs = set()
    for query in ("?page[size]=1", "?page[size]=100", "?page[size]=100&page[number]=7"):
        statements.clear()
        path = f"{path_of(world)}{query}&include=user,teams"
        answer = await world.call("owner", "GET", path)
        assert answer.json()["meta"]["pagination"]["total-count"] == 1009
        costs.add(len(statements))
    assert len(costs) <= 2  # teams are read where somebody is in one
    assert max(costs) <= 8


async def test_an_address_with_characters_that_nobody_sees_invites_nobody(world: World) -> None:
    for email in ("ali\u202ece@x.y", "ali\x7fce@x.y", "ali\x85ce@x.y", "ali\u200bce@x.y"):
        attributes = {"email": email}
        document = {"data": {"type": TYPE, "attributes": attributes}}
        answer = await world.call("owner", "POST", path_of(world), document)
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/email")]


async def test_two_addresses_that_differ_in_a_letter_are_two_people(world: World) -> None:
    ids = set()
    for local in ("straße", "STRASSE"):
        attributes = {"email": f"{local}@{world.organization}.test"}
        document = {"data": {"type": TYPE, "attributes": attributes}}
        answer = await world.call("owner", "POST", path_of(world), document)
        assert answer.status_code == 201, answer.text
        ids.add(answer.json()["data"]["relationships"]["user"]["data"]["id"])
    assert len(ids) == 2
    attributes = {"email": f"StRaSsE@{world.organization}.TEST"}
    document = {"data": {"type": TYPE, "attributes": attributes}}
    again = await world.call("owner", "POST", path_of(world), document)
    assert faults(again) == [("422", "already_member", "/data/attributes/email")]
