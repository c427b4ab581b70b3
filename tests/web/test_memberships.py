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
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults, linkage_document

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


def path_of(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/{TYPE}"


async def invite(tenant: Tenant, email: str, *team_ids: str) -> dict[str, Any]:
    """An invitation by the owner; returns the document."""
    answer = await tenant.call("owner", "POST", path_of(tenant), invitation(email, *team_ids))
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def listed(tenant: Tenant, query: str = "", who: str = "owner") -> list[str]:
    """The ids of the memberships in a list."""
    answer = await tenant.call(who, "GET", path_of(tenant) + query)
    return [one["id"] for one in answer.json()["data"]]


def is_in(tenant: Tenant, document: Any, team: str) -> bool:
    teams = document["data"]["relationships"]["teams"]["data"]
    return {"id": tenant.teams[team], "type": "teams"} in teams


async def test_an_invitation_creates_a_user_who_has_not_signed_in(tenant: Tenant) -> None:
    email = address()
    document = await invite(tenant, email, tenant.teams["crew"], tenant.teams["secret"])
    attributes = document["data"]["attributes"]
    assert (attributes["status"], attributes["email"]) == ("invited", email)
    assert is_in(tenant, document, "crew")
    assert is_in(tenant, document, "secret")
    (user,) = document["included"]
    assert (user["attributes"]["username"], user["attributes"]["email"]) == ("", email)
    assert user["id"] == document["data"]["relationships"]["user"]["data"]["id"]
    assert document["data"]["id"] in await tenant.members("crew")
    assert await tenant.deployment.audit_holds()


async def test_an_invitation_takes_the_user_who_has_the_address(tenant: Tenant) -> None:
    outsider = (await tenant.call("outsider", "GET", "/account/details")).json()["data"]
    document = await invite(tenant, outsider["attributes"]["email"].upper())
    assert document["included"][0]["id"] == outsider["id"]


async def test_an_address_that_is_no_username_gets_one_that_is_free(tenant: Tenant) -> None:
    mark = uuid4().hex
    usernames = []
    for address in (f"o'neil{mark}@example.com", f"o&neil{mark}@example.com"):
        (shown,) = (await invite(tenant, address))["included"]
        assert (shown["attributes"]["username"], shown["attributes"]["email"]) == ("", address)
        usernames.append(await username_of(tenant, shown["id"]))
    assert usernames[0] == f"o-neil{mark}@example.com"
    assert usernames[1].startswith(f"o-neil{mark}@example.com-")


async def username_of(tenant: Tenant, user_id: str) -> str:
    """What a user is called, whoever may know that."""
    user = await tenant.deployment.services.database.read(lambda tx: users.find(tx, user_id))
    assert user is not None
    return user.username


def told(document: dict[str, Any], email: str) -> str:
    """A document without what differs between any two: ids, times, and the address itself."""
    text = re.sub(r"(ou|user|team)-\w{16}", "", json.dumps(document))
    text = re.sub(r'"(created|expires)-at": "[^"]*"', "", text).replace(email, "ADDRESS")
    name, _, _ = email.partition("@")
    return re.sub(rf'"/api/[^"]*{name}[^"]*"', "LINK", text, flags=re.IGNORECASE)


async def test_an_invitation_of_somebody_known_tells_what_one_of_a_stranger_does(
    tenant: Tenant,
) -> None:
    mark = tenant.organization.removeprefix("org-")
    known, stranger = f"Outsider-{mark}@EXAMPLE.com", f"Stranger-{mark}@EXAMPLE.com"
    seen = []
    for email in (known, stranger):
        invited = await invite(tenant, email, tenant.teams["crew"])
        id_, (user,) = invited["data"]["id"], invited["included"]
        answers = [
            await tenant.call("owner", "GET", path)
            for path in (
                f"/{TYPE}/{id_}?include=user",
                f"{path_of(tenant)}?filter[email]={email.lower()}&include=user",
                f"{path_of(tenant)}?q={email.partition('@')[0].upper()}%40&include=user",
                f"/users/{user['id']}",
                f"/organizations/{tenant.organization}/teams?filter[names]=crew&include=users",
            )
        ]
        assert {answer.status_code for answer in answers} == {200}
        assert answers[1].json()["data"][0]["id"] == answers[2].json()["data"][0]["id"] == id_
        told_of = [invited["included"][0], answers[3].json()["data"]]
        assert [one["attributes"]["username"] for one in told_of] == ["", ""]
        seen.append([told(one, email) for one in (invited, *(a.json() for a in answers))])
        await tenant.call("owner", "DELETE", f"/{TYPE}/{id_}")
    assert seen[0] == seen[1]
    assert all("ADDRESS" in one for one in seen[0])


async def test_whoever_was_invited_is_not_found_by_a_name_of_their_own(tenant: Tenant) -> None:
    mark = tenant.organization.removeprefix("org-")
    username, email = f"quite-{mark}", f"{mark}@other.example"
    directory = Directory((UserEntry(username, email),))
    await tenant.deployment.services.directory.apply(operator(), directory, Options())
    shown = await invite(tenant, email)
    assert await listed(tenant, f"?q=quite-{mark}") == []
    assert await listed(tenant, f"?q={mark}%40other") == [shown["data"]["id"]]
    moved = Directory((UserEntry(username, f"{mark}@moved.example"),))
    await tenant.deployment.services.directory.apply(operator(), moved, Options())
    assert await listed(tenant, f"?filter[email]={mark}@moved.example") == []
    assert await listed(tenant, f"?filter[user]={mark}@moved.example,{username}") == []
    assert await listed(tenant, f"?filter[user]={email}") == [shown["data"]["id"]]
    assert await listed(tenant, f"?filter[email]={email}") == [shown["data"]["id"]]


async def test_who_accepts_an_invitation_is_known_from_then_on(tenant: Tenant) -> None:
    mark = tenant.organization.removeprefix("org-")
    shown = await invite(tenant, f"outsider-{mark}@EXAMPLE.com")
    path = f"/{TYPE}/{shown['data']['id']}"
    accepted = await tenant.call("outsider", "POST", f"{path}/actions/accept")
    read = await tenant.call("owner", "GET", f"{path}?include=user")
    for document in (accepted.json(), read.json()):
        assert document["data"]["attributes"]["email"] == f"outsider-{mark}@example.com"
        assert document["included"][0]["attributes"]["username"] == f"outsider-{mark}"
    assert await listed(tenant, f"?q=outsider-{mark}") == [shown["data"]["id"]]


@pytest.mark.parametrize("who", ["plain", "invited"])
async def test_nobody_is_invited_twice(tenant: Tenant, who: str) -> None:
    read = await tenant.call("owner", "GET", f"/{TYPE}/{tenant.memberships[who]}")
    document = invitation(read.json()["data"]["attributes"]["email"].upper())
    answer = await tenant.call("owner", "POST", path_of(tenant), document)
    assert faults(answer) == [("422", "already_member", EMAIL)]


async def test_of_racing_invitations_of_one_address_exactly_one_wins(tenant: Tenant) -> None:
    document = invitation(address())
    answers = await asyncio.gather(
        *(tenant.call("owner", "POST", path_of(tenant), document) for _ in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 5
    assert await tenant.deployment.audit_holds()


@ON_SQLITE
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
    tenant: Tenant, document: object, expected: list[object]
) -> None:
    before = await listed(tenant)
    answer = await tenant.call("owner", "POST", path_of(tenant), document)
    assert faults(answer) == expected
    assert await listed(tenant) == before


async def test_nobody_is_invited_into_a_team_of_another_organization(tenant: Tenant) -> None:
    document = invitation(address(), tenant.teams["crew"], tenant.other_team)
    answer = await tenant.call("owner", "POST", path_of(tenant), document)
    assert (answer.status_code, faults(answer)) == (404, [("404", "not_found", f"{TEAMS}/1/id")])
    assert await tenant.members("crew") == set()


async def test_an_invited_owner_has_no_rights_and_does_not_count(tenant: Tenant) -> None:
    await invite(tenant, address(), tenant.teams["owners"])
    answer = await tenant.call("owner", "DELETE", f"/{TYPE}/{tenant.memberships['owner']}")
    assert faults(answer) == [("422", "last_owner", None)]


async def test_the_invited_user_sees_and_accepts_the_invitation(tenant: Tenant) -> None:
    path = f"/{TYPE}/{tenant.memberships['invited_writer']}"
    shown = (await tenant.call("invited_writer", "GET", path)).json()
    assert shown["data"]["attributes"]["status"] == "invited"
    assert shown["data"]["relationships"]["teams"]["data"] == []
    own = (await tenant.call("invited_writer", "GET", f"/{TYPE}")).json()["data"]
    assert [one["id"] for one in own] == [tenant.memberships["invited_writer"]]
    assert (await tenant.call("invited_writer", "GET", tenant.vars_path())).status_code == 404
    for _ in "12":
        accepted = await tenant.call("invited_writer", "POST", f"{path}/actions/accept")
        assert accepted.json()["data"]["attributes"]["status"] == "active"
        assert is_in(tenant, accepted.json(), "writers")
    assert (await tenant.call("invited_writer", "GET", tenant.vars_path())).status_code == 200
    assert await tenant.deployment.audit_holds()


async def test_nobody_accepts_for_another(tenant: Tenant) -> None:
    path = f"/{TYPE}/{tenant.memberships['invited']}"
    for who in ("owner", "owners-token", "organization-token", "plain", "writers-token"):
        assert (await tenant.call(who, "POST", f"{path}/actions/accept")).status_code == 403
    for who in ("invited_writer", "outsider", "admin"):
        assert (await tenant.call(who, "POST", f"{path}/actions/accept")).status_code == 404
    read = await tenant.call("owner", "GET", path)
    assert read.json()["data"]["attributes"]["status"] == "invited"


async def test_a_removed_membership_is_gone_from_all_teams_and_the_user_stays(
    tenant: Tenant,
) -> None:
    path = f"/{TYPE}/{tenant.memberships['writer']}"
    for team in ("crew", "secret"):
        added = linkage_document(tenant.users["writer"])
        await tenant.call("owner", "POST", tenant.linkage_path(team), added)
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
    assert (await tenant.call("owner", "DELETE", path)).status_code == 404
    for team in ("crew", "secret", "writers"):
        assert tenant.memberships["writer"] not in await tenant.members(team)
    assert (await tenant.call("writer", "GET", tenant.vars_path())).status_code == 404
    assert (await tenant.call("writer", "GET", "/account/details")).status_code == 200
    events = await tenant.call("owner", "GET", f"/teams/{tenant.teams['writers']}/audit-events")
    assert events.json()["data"][0]["attributes"]["action"] == "member.remove"
    assert await tenant.deployment.audit_holds()


async def test_of_two_owners_who_remove_each_other_one_stays(tenant: Tenant) -> None:
    added = linkage_document(tenant.users["plain"])
    await tenant.call("owner", "POST", tenant.linkage_path("owners"), added)
    answers = await asyncio.gather(
        tenant.call("owner", "DELETE", f"/{TYPE}/{tenant.memberships['plain']}"),
        tenant.call("organization-token", "DELETE", f"/{TYPE}/{tenant.memberships['owner']}"),
        tenant.call(
            "organization-token",
            "DELETE",
            tenant.linkage_path("owners"),
            linkage_document(tenant.users["owner"]),
        ),
    )
    assert {answer.status_code for answer in answers} <= {204, 403, 404, 422}
    path = tenant.linkage_path("owners", TYPE) + "?filter[status]=active"
    left = await tenant.call("organization-token", "GET", path)
    assert len(left.json()["data"]) >= 1
    assert await tenant.deployment.audit_holds()


async def test_memberships_are_found_and_paged(tenant: Tenant) -> None:
    everyone = sorted(tenant.memberships.values())
    assert await listed(tenant) == await listed(tenant, who="plain") == everyone
    invited = {tenant.memberships[who] for who in ("invited", "invited_writer")}
    assert set(await listed(tenant, "?filter[status]=invited")) == invited
    assert set(await listed(tenant, "?filter[status]=inactive")) == invited
    assert await listed(tenant, "?q=HIDDEN-") == [tenant.memberships["hidden"]]
    assert await listed(tenant, "?q=%25") == []
    email = f"reader-{tenant.organization.removeprefix('org-')}@EXAMPLE.com"
    assert await listed(tenant, f"?filter[email]={email},x@y.z") == [tenant.memberships["reader"]]
    username = f"Plain-{tenant.organization.removeprefix('org-')}"
    ids = f"{tenant.users['writer']},{tenant.memberships['hidden']}"
    named = sorted(tenant.memberships[who] for who in ("reader", "plain", "writer", "hidden"))
    assert await listed(tenant, f"?filter[user]={email},{username},{ids},plain,x@y.z") == named
    by_name = [
        tenant.memberships[who] for who in sorted(tenant.memberships, key=lambda who: f"{who}-")
    ]
    assert await listed(tenant, "?sort=username") == by_name
    assert await listed(tenant, "?sort=username&page[size]=3&page[number]=2") == by_name[3:6]
    assert await listed(tenant, "?page[size]=3&page[number]=2") == everyone[3:6]
    answer = await tenant.call("owner", "GET", path_of(tenant) + "?page[number]=999&include=")
    said = answer.json()["meta"]["pagination"]
    assert (answer.json()["data"], said["current-page"]) == ([], 999)
    assert said["total-count"] == len(everyone)


@ON_SQLITE
@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("include=user,x", "include"),
        ("filter[status]=gone", "filter[status]"),
        ("page[number]=-1", "page[number]"),
        ("sort=-username", "sort"),
    ],
)
async def test_what_a_query_may_not_ask_for_is_refused(
    tenant: Tenant, query: str, parameter: str
) -> None:
    for path in (path_of(tenant), tenant.linkage_path("crew", TYPE)):
        answer = await tenant.call("plain", "GET", f"{path}?{query}")
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["source"]) == (400, {"parameter": parameter})
        assert parameter != "include" or "include parameter" in error["detail"]


@ON_SQLITE
@pytest.mark.parametrize(
    "name", ["q", "filter[email]", "filter[user]", "filter[names]", "search[name]"]
)
async def test_a_nul_in_a_query_is_refused(tenant: Tenant, name: str) -> None:
    paths = {
        "q": path_of(tenant),
        "filter[email]": path_of(tenant),
        "filter[user]": path_of(tenant),
        "filter[names]": f"/organizations/{tenant.organization}/teams",
        "search[name]": f"/organizations/{tenant.organization}/workspaces",
    }
    answer = await tenant.call("owner", "GET", f"{paths[name]}?{name}=a%00b")
    assert (answer.status_code, answer.json()["errors"][0]["source"]) == (400, {"parameter": name})


async def test_included_teams_are_those_the_caller_sees(tenant: Tenant) -> None:
    path = f"/{TYPE}/{tenant.memberships['hidden']}?include=user,teams"
    seen = {}
    for who in ("owner", "hidden", "plain"):
        included = (await tenant.call(who, "GET", path)).json()["included"]
        seen[who] = [one["attributes"]["name"] for one in included if one["type"] == "teams"]
    assert seen == {"owner": ["secret"], "hidden": ["secret"], "plain": []}


async def test_a_teams_memberships_are_full_resources_whole_or_paged(tenant: Tenant) -> None:
    path = tenant.linkage_path("writers", TYPE)
    whole = (await tenant.call("plain", "GET", path)).json()
    assert whole.keys() == {"data"}
    found = (await tenant.call("plain", "GET", f"{path}?q=invited_")).json()["data"]
    assert [one["id"] for one in found] == [tenant.memberships["invited_writer"]]
    assert len(whole["data"]) == 2
    assert all("email" in one["attributes"] for one in whole["data"])
    paged = (
        await tenant.call("plain", "GET", f"{path}?page[size]=1&filter[status]=invited")
    ).json()
    assert [one["id"] for one in paged["data"]] == [tenant.memberships["invited_writer"]]
    assert paged["meta"]["pagination"]["total-count"] == 1


async def test_a_thousand_memberships_with_includes_cost_a_bounded_number_of_statements(
    tenant: Tenant, statements: list[str]
) -> None:
    people = [uuid4().hex for _ in range(1000)]
    entry = OrganizationEntry(tenant.organization, members=dict.fromkeys(people, Status.ACTIVE))
    directory = Directory(tuple(UserEntry(name) for name in people), (entry,))
    await tenant.deployment.services.directory.apply(operator(), directory, Options())
    costs = set()
    for query in ("?page[size]=1", "?page[size]=100", "?page[size]=100&page[number]=7"):
        statements.clear()
        path = f"{path_of(tenant)}{query}&include=user,teams"
        answer = await tenant.call("owner", "GET", path)
        assert answer.json()["meta"]["pagination"]["total-count"] == 1009
        costs.add(len(statements))
    assert len(costs) <= 2  # teams are read where somebody is in one
    assert max(costs) <= 8


async def test_an_address_with_characters_that_nobody_sees_invites_nobody(tenant: Tenant) -> None:
    for email in ("ali\u202ece@x.y", "ali\x7fce@x.y", "ali\x85ce@x.y", "ali\u200bce@x.y"):
        attributes = {"email": email}
        document = {"data": {"type": TYPE, "attributes": attributes}}
        answer = await tenant.call("owner", "POST", path_of(tenant), document)
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/email")]


async def test_two_addresses_that_differ_in_a_letter_are_two_people(tenant: Tenant) -> None:
    ids = set()
    for local in ("straße", "STRASSE"):
        attributes = {"email": f"{local}@{tenant.organization}.test"}
        document = {"data": {"type": TYPE, "attributes": attributes}}
        answer = await tenant.call("owner", "POST", path_of(tenant), document)
        assert answer.status_code == 201, answer.text
        ids.add(answer.json()["data"]["relationships"]["user"]["data"]["id"])
    assert len(ids) == 2
    attributes = {"email": f"StRaSsE@{tenant.organization}.TEST"}
    document = {"data": {"type": TYPE, "attributes": attributes}}
    again = await tenant.call("owner", "POST", path_of(tenant), document)
    assert faults(again) == [("422", "already_member", "/data/attributes/email")]


async def test_the_teams_of_memberships_are_included_with_their_names(tenant: Tenant) -> None:
    listed = await tenant.call("owner", "GET", f"{path_of(tenant)}?include=teams")
    document = listed.json()
    linked = {
        team["id"]
        for membership in document["data"]
        for team in membership["relationships"]["teams"]["data"]
    }
    assert linked
    assert {team["id"]: team["attributes"]["name"] for team in document["included"]} == {
        id_: name for name, id_ in tenant.teams.items() if id_ in linked
    }
