"""Team membership: contract §5, on both engines."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import httpx
import pytest

from teamvars.domain.audit import Stream
from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry
from teamvars.services.directory_files.files import Options
from teamvars.storage import streams
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.tenant import ACTIVE, INVITED, JSON_API, Tenant, faults, linkage_document
from tests.web.dialects import terraform

USERS = "users"
MEMBERSHIPS = "organization-memberships"
BOTH = pytest.mark.parametrize("by", [USERS, MEMBERSHIPS])
NOT_FOUND = "404", "not_found"

Method = Literal["POST", "DELETE"]


def ids_of(tenant: Tenant, by: str, *people: str) -> list[str]:
    """The ids that name the people in a linkage of that type."""
    known = tenant.users if by == USERS else tenant.memberships
    return [known[person] for person in people]


async def send(
    tenant: Tenant, method: Method, by: str, ids: Sequence[str], team: str = "crew"
) -> httpx.Response:
    """Adds or removes by ids as the owner."""
    return await send_document(tenant, method, by, linkage_document(*ids, type_=by), team)


async def send_document(
    tenant: Tenant, method: Method, by: str, document: object, team: str = "crew"
) -> httpx.Response:
    return await tenant.call("owner", method, tenant.linkage_path(team, by), document)


async def people_in(tenant: Tenant, team: str = "crew") -> set[str]:
    """The names of a team's members."""
    names = {id_: person for person, id_ in tenant.memberships.items()}
    return {names[id_] for id_ in await tenant.members(team)}


async def fill(tenant: Tenant, *people: str, team: str = "crew") -> None:
    """Puts people into a team."""
    answer = await send(tenant, "POST", MEMBERSHIPS, ids_of(tenant, MEMBERSHIPS, *people), team)
    assert answer.status_code == 204


async def stream_of(tenant: Tenant, team: str) -> Stream:
    """Where the team's history stands."""
    every = await tenant.deployment.services.database.read(streams.every)
    return next(stream for stream in every if stream.id == tenant.teams[team])


async def actions_of(tenant: Tenant, team: str) -> list[str]:
    """What the team's audit trail says was done, oldest first."""
    path = f"/teams/{tenant.teams[team]}/audit-events?page[size]=100"
    answer = await tenant.call("owner", "GET", path)
    return [event["attributes"]["action"] for event in reversed(answer.json()["data"])]


@BOTH
async def test_the_linkage_of_a_team_can_be_read(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain", "reader", "invited", "writer")
    answer = await tenant.call("reader", "GET", tenant.linkage_path("crew", by))
    ids = sorted(ids_of(tenant, by, "plain", "reader", "invited", "writer"))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == JSON_API
    linkage = [{"id": item["id"], "type": item["type"]} for item in answer.json()["data"]]
    assert linkage == [{"id": id_, "type": by} for id_ in ids]
    assert answer.json().keys() == {"data"}


@BOTH
async def test_a_team_without_members_has_an_empty_linkage(tenant: Tenant, by: str) -> None:
    answer = await tenant.call("plain", "GET", tenant.linkage_path("crew", by))
    assert (answer.status_code, answer.json()) == (200, {"data": []})


@BOTH
async def test_users_can_be_added_and_removed(tenant: Tenant, by: str) -> None:
    people = ("plain", "reader", "writer")
    added = await send(tenant, "POST", by, ids_of(tenant, by, *people))
    assert (added.status_code, added.content) == (204, b"")
    assert await people_in(tenant) == set(people)
    removed = await send(tenant, "DELETE", by, ids_of(tenant, by, "reader", "plain"))
    assert (removed.status_code, removed.content) == (204, b"")
    assert await people_in(tenant) == {"writer"}


@BOTH
async def test_adding_leaves_those_who_are_there(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain")
    assert (await send(tenant, "POST", by, ids_of(tenant, by, "reader"))).status_code == 204
    assert await people_in(tenant) == {"plain", "reader"}


@BOTH
async def test_adding_who_is_there_and_removing_who_is_not_succeeds(
    tenant: Tenant, by: str
) -> None:
    ids = ids_of(tenant, by, "plain")
    for _ in "12":
        assert (await send(tenant, "POST", by, ids)).status_code == 204
        assert await people_in(tenant) == {"plain"}
    for _ in "12":
        assert (await send(tenant, "DELETE", by, ids)).status_code == 204
        assert await people_in(tenant) == set()


@BOTH
async def test_who_is_there_and_who_is_not_may_come_together(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain")
    assert (
        await send(tenant, "POST", by, ids_of(tenant, by, "plain", "reader"))
    ).status_code == 204
    assert await people_in(tenant) == {"plain", "reader"}
    answer = await send(tenant, "DELETE", by, ids_of(tenant, by, "writer", "reader"))
    assert answer.status_code == 204
    assert await people_in(tenant) == {"plain"}


@BOTH
async def test_repeated_items_count_once(tenant: Tenant, by: str) -> None:
    ids = ids_of(tenant, by, "plain", "reader", "plain", "plain")
    assert (await send(tenant, "POST", by, ids)).status_code == 204
    assert await people_in(tenant) == {"plain", "reader"}
    assert (await send(tenant, "DELETE", by, ids)).status_code == 204
    assert await people_in(tenant) == set()


async def test_a_username_that_is_repeated_in_another_case_counts_once(tenant: Tenant) -> None:
    path = f"/users/{tenant.users['plain']}"
    name = (await tenant.call("owner", "GET", path)).json()["data"]["attributes"]["username"]
    document = linkage_document(name, name.title(), name.upper(), tenant.users["plain"])
    async with terraform(tenant) as client:
        answer = await client.post(tenant.linkage_path(), json=document)
        assert answer.status_code == 204, answer.text
        assert await people_in(tenant) == {"plain"}
        answer = await client.request("DELETE", tenant.linkage_path(), json=document)
    assert answer.status_code == 204
    assert await people_in(tenant) == set()


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_no_items_succeed(tenant: Tenant, by: str, method: Method) -> None:
    await fill(tenant, "plain")
    assert (await send(tenant, method, by, [])).status_code == 204
    assert await people_in(tenant) == {"plain"}


@BOTH
async def test_a_thousand_items_are_taken_as_they_are_counted(tenant: Tenant, by: str) -> None:
    ids = ids_of(tenant, by, "plain") * 1000
    assert (await send(tenant, "POST", by, ids)).status_code == 204
    assert await people_in(tenant) == {"plain"}


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_one_more_is_too_many_even_when_they_are_repeated(
    tenant: Tenant, by: str, method: Method
) -> None:
    await fill(tenant, "reader")
    answer = await send(tenant, method, by, ids_of(tenant, by, "plain", "reader") * 500 + ["x"])
    assert answer.status_code == 422
    assert faults(answer) == [("422", "too_many_items", "/data")]
    assert await people_in(tenant) == {"reader"}


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_one_bad_item_refuses_all(tenant: Tenant, by: str, method: Method) -> None:
    await fill(tenant, "reader")
    good = ids_of(tenant, by, "plain", "reader")
    answer = await send(tenant, method, by, [good[0], "nobody", good[1]])
    assert answer.status_code == 404
    assert faults(answer) == [(*NOT_FOUND, "/data/1/id")]
    assert await people_in(tenant) == {"reader"}


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_every_bad_item_is_reported_with_its_own_status(
    tenant: Tenant, by: str, method: Method
) -> None:
    other = MEMBERSHIPS if by == USERS else USERS
    good = ids_of(tenant, by, "plain")[0]
    items: list[object] = [
        {"type": by, "id": good},
        {"type": by},
        {"id": good},
        {},
        {"type": other, "id": good},
        {"type": by, "id": "nobody"},
        {"id": 5, "type": None},
        "users",
        None,
        [],
        {"type": by, "id": None},
        {"type": by, "id": ""},
        {"type": by, "id": "a\0"},
        {"type": by, "id": good, "meta": {}, "attributes": {"any": 1}},
        {"id": "nobody", "type": by},
    ]
    answer = await send_document(tenant, method, by, {"data": items})
    assert answer.status_code == 422
    assert faults(answer) == [
        ("422", "missing_member", "/data/1/id"),
        ("422", "missing_member", "/data/2/type"),
        ("422", "missing_member", "/data/3/type"),
        ("422", "missing_member", "/data/3/id"),
        ("409", "type_conflict", "/data/4/type"),
        (*NOT_FOUND, "/data/5/id"),
        ("422", "wrong_type", "/data/6/id"),
        ("422", "wrong_type", "/data/6/type"),
        ("422", "wrong_type", "/data/7"),
        ("422", "wrong_type", "/data/8"),
        ("422", "wrong_type", "/data/9"),
        ("422", "wrong_type", "/data/10/id"),
        (*NOT_FOUND, "/data/11/id"),
        ("422", "invalid_value", "/data/12/id"),
        (*NOT_FOUND, "/data/14/id"),
    ]
    assert await people_in(tenant) == set()


@BOTH
async def test_two_faults_in_each_of_a_thousand_items_are_told_as_far_as_there_is_room_and_counted(
    tenant: Tenant, by: str
) -> None:
    answer = await send_document(tenant, "POST", by, {"data": [{}] * 1000})
    expected = [
        ("422", "missing_member", f"/data/{number}/{name}")
        for number in range(1000)
        for name in ("type", "id")
    ]
    told = faults(answer)
    assert told == expected[: len(told)]
    assert answer.json()["meta"] == {"omitted": len(expected) - len(told)}


@BOTH
async def test_another_type_than_the_endpoints_is_a_conflict(tenant: Tenant, by: str) -> None:
    items = [{"type": "teams", "id": "x"}, {"type": by[:-1], "id": ids_of(tenant, by, "plain")[0]}]
    answer = await send_document(tenant, "POST", by, {"data": items})
    assert answer.status_code == 409
    assert faults(answer) == [
        ("409", "type_conflict", "/data/0/type"),
        ("409", "type_conflict", "/data/1/type"),
    ]


@ON_SQLITE
@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, ("422", "missing_member", "/data")),
        ({"data": None}, ("422", "wrong_type", "/data")),
        ({"data": {}}, ("422", "wrong_type", "/data")),
        ({"data": "x"}, ("422", "wrong_type", "/data")),
        ([], ("422", "wrong_type", "")),
    ],
)
async def test_the_items_come_as_an_array(
    tenant: Tenant, by: str, method: Method, document: object, expected: tuple[str, str, str]
) -> None:
    answer = await send_document(tenant, method, by, document)
    assert answer.status_code == 422
    assert faults(answer) == [expected]


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_both_operations_require_their_document(
    tenant: Tenant, by: str, method: Method
) -> None:
    answer = await tenant.call("owner", method, tenant.linkage_path("crew", by))
    assert answer.status_code == 400
    headers = {"Content-Type": "application/json"}
    path = tenant.linkage_path("crew", by)
    assert (await tenant.call("owner", method, path, {"data": []}, headers)).status_code == 415


async def test_an_invited_user_cannot_be_added_by_user_id(tenant: Tenant) -> None:
    answer = await send(tenant, "POST", USERS, ids_of(tenant, USERS, "plain", "invited"))
    assert answer.status_code == 422
    assert faults(answer) == [("422", "invitation_not_accepted", "/data/1/id")]
    assert await people_in(tenant) == set()


async def test_an_invited_user_can_be_added_by_membership_id(tenant: Tenant) -> None:
    answer = await send(
        tenant, "POST", MEMBERSHIPS, ids_of(tenant, MEMBERSHIPS, "invited", "plain")
    )
    assert answer.status_code == 204
    assert await people_in(tenant) == {"invited", "plain"}


@BOTH
async def test_an_invited_user_can_be_removed_either_way(tenant: Tenant, by: str) -> None:
    await fill(tenant, "invited", "plain")
    answer = await send(tenant, "DELETE", by, ids_of(tenant, by, "invited"))
    assert answer.status_code == 204
    assert await people_in(tenant) == {"plain"}


async def test_an_invited_user_who_is_in_the_team_cannot_be_added_again_by_user_id(
    tenant: Tenant,
) -> None:
    await fill(tenant, "invited")
    answer = await send(tenant, "POST", USERS, ids_of(tenant, USERS, "invited"))
    assert faults(answer) == [("422", "invitation_not_accepted", "/data/0/id")]


@BOTH
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_who_is_elsewhere_looks_like_nobody(tenant: Tenant, by: str, method: Method) -> None:
    """Whether a user exists outside of the organization is not told."""
    strangers = [tenant.users["outsider"], tenant.users["admin"], tenant.other_membership]
    ids = [*strangers, "nobody", "user-1111111111111111", "ou-1111111111111111"]
    answer = await send(tenant, method, by, ids)
    assert answer.status_code == 404
    assert faults(answer) == [(*NOT_FOUND, f"/data/{number}/id") for number in range(6)]
    assert len({error["detail"] for error in answer.json()["errors"]}) == 1


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_ids_of_the_other_kind_name_nobody(tenant: Tenant, method: Method) -> None:
    by_user = await send(tenant, method, USERS, ids_of(tenant, MEMBERSHIPS, "plain"))
    by_membership = await send(tenant, method, MEMBERSHIPS, ids_of(tenant, USERS, "plain"))
    assert faults(by_user) == faults(by_membership) == [(*NOT_FOUND, "/data/0/id")]


async def test_faults_of_several_kinds_come_together_and_in_order(tenant: Tenant) -> None:
    ids = ["nobody", *ids_of(tenant, USERS, "invited", "plain", "invited"), "no one"]
    answer = await send(tenant, "POST", USERS, ids)
    assert answer.status_code == 422
    assert faults(answer) == [
        (*NOT_FOUND, "/data/0/id"),
        ("422", "invitation_not_accepted", "/data/1/id"),
        ("422", "invitation_not_accepted", "/data/3/id"),
        (*NOT_FOUND, "/data/4/id"),
    ]


@BOTH
async def test_leaving_a_team_touches_nothing_else(tenant: Tenant, by: str) -> None:
    await fill(tenant, "reader")
    assert (await send(tenant, "DELETE", by, ids_of(tenant, by, "reader"))).status_code == 204
    assert await people_in(tenant) == set()
    assert await people_in(tenant, "readers") == {"reader"}
    assert (await tenant.call("reader", "GET", tenant.vars_path())).status_code == 200
    assert (await send(tenant, "POST", by, ids_of(tenant, by, "reader"))).status_code == 204


@BOTH
async def test_the_last_owner_cannot_be_removed(tenant: Tenant, by: str) -> None:
    owner = ids_of(tenant, by, "owner")
    answer = await send(tenant, "DELETE", by, owner, "owners")
    assert answer.status_code == 422
    assert faults(answer) == [("422", "last_owner", "/data/0/id")]
    assert await people_in(tenant, "owners") == {"owner", "disabled"}


@BOTH
async def test_every_owner_whose_removal_together_leaves_none_is_named(
    tenant: Tenant, by: str
) -> None:
    await fill(tenant, "plain", team="owners")
    ids = ids_of(tenant, by, "plain", "reader", "owner")
    answer = await send(tenant, "DELETE", by, ids, "owners")
    assert answer.status_code == 422
    assert faults(answer) == [
        ("422", "last_owner", "/data/0/id"),
        ("422", "last_owner", "/data/2/id"),
    ]
    assert await people_in(tenant, "owners") == {"owner", "plain", "disabled"}


@BOTH
async def test_an_owner_may_go_while_another_stays(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain", team="owners")
    assert (
        await send(tenant, "DELETE", by, ids_of(tenant, by, "plain"), "owners")
    ).status_code == 204
    assert await people_in(tenant, "owners") == {"owner", "disabled"}


@BOTH
async def test_an_owner_may_leave_on_their_own_while_another_stays(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain", team="owners")
    assert (
        await send(tenant, "DELETE", by, ids_of(tenant, by, "owner"), "owners")
    ).status_code == 204
    assert (await tenant.call("plain", "GET", tenant.vars_path("payments"))).status_code == 200


@BOTH
async def test_invited_owners_do_not_count(tenant: Tenant, by: str) -> None:
    await fill(tenant, "invited", team="owners")
    answer = await send(tenant, "DELETE", by, ids_of(tenant, by, "invited", "owner"), "owners")
    assert faults(answer) == [("422", "last_owner", "/data/1/id")]
    answer = await send(tenant, "DELETE", by, ids_of(tenant, by, "invited"), "owners")
    assert answer.status_code == 204


@BOTH
async def test_the_last_owner_comes_with_the_other_faults(tenant: Tenant, by: str) -> None:
    items: list[Any] = [
        {"type": "teams", "id": "x"},
        {"type": by, "id": ids_of(tenant, by, "owner")[0]},
        {"type": by, "id": "nobody"},
    ]
    answer = await send_document(tenant, "DELETE", by, {"data": items}, "owners")
    assert answer.status_code == 422
    assert faults(answer) == [
        ("409", "type_conflict", "/data/0/type"),
        ("422", "last_owner", "/data/1/id"),
        (*NOT_FOUND, "/data/2/id"),
    ]


async def test_the_last_owner_may_leave_other_teams(tenant: Tenant) -> None:
    await fill(tenant, "owner")
    answer = await send(tenant, "DELETE", USERS, ids_of(tenant, USERS, "owner"))
    assert answer.status_code == 204


async def test_the_organizations_own_token_cannot_remove_the_last_owner_either(
    tenant: Tenant,
) -> None:
    document = linkage_document(tenant.users["owner"])
    for who in ("organization-token", "owners-token"):
        answer = await tenant.call(who, "DELETE", tenant.linkage_path("owners"), document)
        assert faults(answer) == [("422", "last_owner", "/data/0/id")]


@BOTH
async def test_a_request_that_changes_nothing_writes_nothing(tenant: Tenant, by: str) -> None:
    await fill(tenant, "plain")
    before, actions = await stream_of(tenant, "crew"), await actions_of(tenant, "crew")
    for method, people in (("POST", ["plain"]), ("DELETE", ["reader"]), ("POST", [])):
        document = linkage_document(*ids_of(tenant, by, *people), type_=by)
        path = tenant.linkage_path("crew", by)
        assert (await tenant.call("owner", method, path, document)).status_code == 204
    assert (await send(tenant, "POST", by, ["nobody"])).status_code == 404
    assert await stream_of(tenant, "crew") == before
    assert await actions_of(tenant, "crew") == actions


@BOTH
async def test_a_request_that_changes_something_writes_one_entry_of_what_it_changed(
    tenant: Tenant, by: str
) -> None:
    await fill(tenant, "plain")
    before = await stream_of(tenant, "crew")
    ids = ids_of(tenant, by, "plain", "reader", "writer", "reader")
    assert (await send(tenant, "POST", by, ids)).status_code == 204
    assert (await stream_of(tenant, "crew")).sequence == before.sequence + 1
    path = f"/teams/{tenant.teams['crew']}/audit-events"
    newest = (await tenant.call("owner", "GET", path)).json()["data"][0]["attributes"]
    assert newest["action"] == "member.add"
    added = newest["details"]["organization-memberships"]
    assert sorted(added) == sorted(ids_of(tenant, MEMBERSHIPS, "reader", "writer"))
    assert newest["actor"] == {"id": tenant.users["owner"], "type": "user"}


async def test_whoever_leaves_the_organization_leaves_its_teams(tenant: Tenant) -> None:
    await fill(tenant, "plain", "reader")
    mark = tenant.organization.removeprefix("org-")
    kept = {f"{person}-{mark}" for person in tenant.memberships if person != "plain"}
    entry = OrganizationEntry(
        tenant.organization,
        members={name: INVITED if name.startswith("invited") else ACTIVE for name in kept},
        workspaces=tuple(tenant.workspaces),
        teams=tuple(TeamEntry(name) for name in tenant.teams),
    )
    options = Options(prune=True)
    await tenant.deployment.services.directory.apply(operator(), Directory((), (entry,)), options)
    assert await people_in(tenant) == {"reader"}
    answer = await send(tenant, "DELETE", USERS, ids_of(tenant, USERS, "plain"))
    assert faults(answer) == [(*NOT_FOUND, "/data/0/id")]


async def test_of_two_racing_removals_of_the_last_two_owners_one_is_refused(tenant: Tenant) -> None:
    await fill(tenant, "plain", team="owners")
    path = tenant.linkage_path("owners")
    token = "organization-token"
    answers = await asyncio.gather(
        *(
            tenant.call(token, "DELETE", path, linkage_document(tenant.users[person]))
            for person in ("owner", "plain")
        )
    )
    assert sorted(answer.status_code for answer in answers) == [204, 422]
    assert len(await people_in(tenant, "owners") & {"owner", "plain"}) == 1


@BOTH
async def test_racing_additions_of_the_same_user_all_succeed(tenant: Tenant, by: str) -> None:
    ids = ids_of(tenant, by, "plain", "reader")
    answers = await asyncio.gather(*(send(tenant, "POST", by, ids) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {204}
    assert await people_in(tenant) == {"plain", "reader"}
    assert (await actions_of(tenant, "crew")).count("member.add") == 1
