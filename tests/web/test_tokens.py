"""Authentication tokens over HTTP: contract §6, on both engines."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import asyncio
from typing import Any

import pytest

from teamvars.domain.tokens import MAX_LIVE_TOKENS
from teamvars.storage.database import Transaction
from tests.world import World, faults


def organization_path(world: World) -> str:
    return f"/organizations/{world.organization}/authentication-token"


def team_path(world: World, team: str = "crew") -> str:
    return f"/teams/{world.teams[team]}/authentication-token"


def user_path(world: World, who: str = "plain") -> str:
    return f"/users/{world.users[who]}/authentication-tokens"


def token_document(type_: str = "authentication-tokens", **attributes: object) -> dict[str, Any]:
    return {"data": {"type": type_, "attributes": attributes}}


async def status(world: World, token: str, path: str) -> int:
    """What a request with that token is answered with."""
    headers = {"Authorization": f"Bearer {token}"}
    return (await world.call(None, "GET", path, headers=headers)).status_code


async def made(world: World, who: str, path: str, document: object = None) -> Any:
    """A new token, with the token itself."""
    answer = await world.call(who, "POST", path, document)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


async def test_a_token_is_shown_once(world: World) -> None:
    for who, path in (
        ("owner", organization_path(world)),
        ("owner", team_path(world)),
        ("plain", user_path(world)),
    ):
        new = await made(world, who, path)
        secret = new["attributes"]["token"]
        shown = await world.call(who, "GET", f"/authentication-tokens/{new['id']}")
        listed = await world.call(who, "GET", path)
        assert secret not in shown.text + listed.text
        assert "token" not in shown.json()["data"]["attributes"]
    assert await world.house.audit_holds()


async def test_a_new_token_of_a_team_or_organization_replaces_the_former(world: World) -> None:
    for path in (organization_path(world), team_path(world)):
        target = f"/organizations/{world.organization}"
        first = (await made(world, "owner", path))["attributes"]["token"]
        assert await status(world, first, target) == 200
        second = (await made(world, "owner", path))["attributes"]["token"]
        assert await status(world, first, target) == 401
        assert await status(world, second, target) == 200
    assert (await world.call("organization-token", "GET", "/account/details")).status_code == 401
    assert await world.house.audit_holds()


async def test_an_organizations_token_can_replace_itself(world: World) -> None:
    new = await made(world, "organization-token", organization_path(world))
    assert await status(world, new["attributes"]["token"], world.vars_path("payments")) == 200
    assert await world.house.audit_holds()


async def test_a_user_may_have_many_tokens_and_end_each(world: World) -> None:
    document = token_document(description="robot", nonsense=1)
    tokens = [await made(world, "plain", user_path(world), document) for _ in "123"]
    listed = (await world.call("plain", "GET", user_path(world))).json()["data"]
    assert len(listed) == 4
    assert [one["attributes"]["description"] for one in listed[1:]] == ["robot"] * 3
    path = f"/authentication-tokens/{tokens[0]['id']}"
    assert (await world.call("plain", "DELETE", path)).status_code == 204
    assert (await world.call("plain", "DELETE", path)).status_code == 404
    secret = tokens[0]["attributes"]["token"]
    assert await status(world, secret, "/account/details") == 401
    assert await status(world, tokens[1]["attributes"]["token"], "/account/details") == 200
    assert await world.house.audit_holds()


@pytest.mark.parametrize("who", ["owner", "organization-token", "owners-token", "admin"])
async def test_a_users_tokens_are_nobody_elses(world: World, who: str) -> None:
    new = await made(world, "plain", user_path(world))
    one = f"/authentication-tokens/{new['id']}"
    for method, path in (
        ("GET", user_path(world)),
        ("POST", user_path(world)),
        ("GET", one),
        ("DELETE", one),
    ):
        assert (await world.call(who, method, path)).status_code == 404
    assert await status(world, new["attributes"]["token"], "/account/details") == 200


async def test_a_token_that_is_not_there_cannot_be_shown_or_ended(world: World) -> None:
    for path in (team_path(world), organization_path(world)):
        await world.call("owner", "DELETE", path)
        assert (await world.call("owner", "GET", path)).status_code == 404
        assert (await world.call("owner", "DELETE", path)).status_code == 404
    assert await world.house.audit_holds()


@pytest.mark.parametrize("document", [None, {}])
async def test_a_token_needs_no_document(world: World, document: object) -> None:
    new = await made(world, "owner", team_path(world), document)
    assert new["attributes"]["description"] is None
    assert "token" in new["attributes"]


async def test_a_token_may_have_an_end(world: World) -> None:
    document = token_document("authentication-token", **{"expired-at": "2999-01-02T03:04:05Z"})
    new = await made(world, "owner", team_path(world), document)
    assert new["attributes"]["expired-at"] == "2999-01-02T03:04:05.000Z"
    empty = await made(
        world,
        "owner",
        team_path(world),
        {"data": {"type": "authentication-tokens", "attributes": {"expired-at": None}}},
    )
    assert empty["attributes"]["expired-at"] is None


@pytest.mark.parametrize("kind", ["audit-trails", "organization", "AUDIT-TRAILS", " "])
async def test_a_token_of_a_kind_that_there_is_not_is_refused_and_the_real_one_stays(
    world: World, kind: str
) -> None:
    path = f"{organization_path(world)}?token={kind}"
    for method in ("POST", "GET", "DELETE"):
        answer = await world.call("owner", method, path)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (400, "invalid_parameter")
        assert error["source"] == {"parameter": "token"}
        assert (await world.call(None, method, path)).status_code == 401
    assert (await world.call("organization-token", "GET", "/account/details")).is_success


async def test_a_kind_of_token_that_says_nothing_is_no_kind(world: World) -> None:
    await made(world, "owner", f"{organization_path(world)}?token=")


async def test_an_empty_type_counts_as_absent_as_clients_send_it(world: World) -> None:
    document = {"data": {"type": "", "attributes": {"description": "robot"}}}
    for who, path in (
        ("owner", organization_path(world)),
        ("owner", team_path(world)),
        ("plain", user_path(world)),
    ):
        assert await made(world, who, path, {"data": {"type": ""}})
        assert (await made(world, who, path, document))["attributes"]["description"] == "robot"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"data": {}}, [("422", "missing_member", "/data/type")]),
        ({"data": {"type": "teams"}}, [("409", "type_conflict", "/data/type")]),
        (
            token_document(description=1, **{"expired-at": "2001-01-01T00:00:00Z"}),
            [
                ("422", "wrong_type", "/data/attributes/description"),
                ("422", "invalid_value", "/data/attributes/expired-at"),
            ],
        ),
        (
            token_document(description="a" * 513, **{"expired-at": "soon"}),
            [
                ("422", "invalid_value", "/data/attributes/description"),
                ("422", "invalid_value", "/data/attributes/expired-at"),
            ],
        ),
    ],
)
async def test_every_fault_of_a_new_token_is_named_at_once(
    world: World, document: object, expected: list[object]
) -> None:
    for who, path in (
        ("owner", team_path(world)),
        ("owner", organization_path(world)),
        ("plain", user_path(world)),
    ):
        assert faults(await world.call(who, "POST", path, document)) == expected


async def test_a_token_says_who_made_it_and_of_a_team_whose_it_is(world: World) -> None:
    maker = {"data": {"id": world.users["owner"], "type": "users"}}
    of_team = await made(world, "owner", team_path(world))
    crew = {"data": {"id": world.teams["crew"], "type": "teams"}}
    assert of_team["relationships"] == {"created-by": maker, "team": crew}
    for path in (team_path(world), f"/authentication-tokens/{of_team['id']}"):
        shown = (await world.call("owner", "GET", path)).json()["data"]
        assert shown["relationships"] == of_team["relationships"]
    of_organization = await made(world, "owner", organization_path(world))
    assert of_organization["relationships"] == {"created-by": maker}
    secret = of_organization["attributes"]["token"]
    headers = {"Authorization": f"Bearer {secret}"}
    by_robot = await world.call(None, "POST", team_path(world), headers=headers)
    assert by_robot.json()["data"]["relationships"]["created-by"] == {"data": None}


async def let_members(world: World, team: str, may: bool) -> None:
    """Says whether the members of a team manage its token."""
    attributes = {"allow-member-token-management": may}
    document = {"data": {"type": "teams", "attributes": attributes}}
    answer = await world.call("owner", "PATCH", f"/teams/{world.teams[team]}", document)
    assert answer.json()["data"]["attributes"]["allow-member-token-management"] is may


async def test_members_manage_the_token_of_their_team_where_the_team_lets_them(
    world: World,
) -> None:
    path = team_path(world, "writers")
    for method in ("POST", "GET", "DELETE"):
        assert (await world.call("writer", method, path)).status_code == 403
    await let_members(world, "writers", may=True)
    new = await made(world, "writer", path)
    one = f"/authentication-tokens/{new['id']}"
    for where in (path, one):
        assert (await world.call("writer", "GET", where)).json()["data"]["id"] == new["id"]
    assert await status(world, new["attributes"]["token"], world.vars_path()) == 200
    assert (await world.call("writer", "DELETE", one)).status_code == 204
    await made(world, "writer", path)
    assert (await world.call("writer", "DELETE", path)).status_code == 204
    await let_members(world, "writers", may=False)
    assert (await world.call("writer", "POST", path)).status_code == 403
    assert await world.house.audit_holds()


async def test_nobody_but_active_members_gains_by_what_a_team_lets_its_members(
    world: World,
) -> None:
    for team in ("writers", "secret"):
        await let_members(world, team, may=True)
    path = team_path(world, "writers")
    # A lost token of the team must not be able to make one that outlives it.
    for who in ("reader", "plain", "manager", "writers-token"):
        for method in ("POST", "GET", "DELETE"):
            assert (await world.call(who, method, path)).status_code == 403, who
    for who in ("invited_writer", "outsider", "admin"):
        assert (await world.call(who, "POST", path)).status_code == 404, who
    assert (await world.call("plain", "POST", team_path(world, "secret"))).status_code == 404
    owned = await made(world, "owner", path)
    one = f"/authentication-tokens/{owned['id']}"
    assert (await world.call("reader", "DELETE", one)).status_code == 404
    assert (await world.call("hidden", "POST", team_path(world, "secret"))).status_code == 201


async def test_who_may_manage_the_token_of_a_team_is_told_so(world: World) -> None:
    await let_members(world, "writers", may=True)
    listed = f"/organizations/{world.organization}/teams?filter[names]=writers"
    for who, may in (
        ("owner", True),
        ("writer", True),
        ("reader", False),
        ("writers-token", False),
    ):
        read = (await world.call(who, "GET", f"/teams/{world.teams['writers']}")).json()["data"]
        (found,) = (await world.call(who, "GET", listed)).json()["data"]
        assert read["attributes"] == found["attributes"]
        assert read["attributes"]["permissions"]["can-update-api-token"] is may, who


async def test_whoever_calls_learns_who_they_are(world: World) -> None:
    user = (await world.call("plain", "GET", "/account/details")).json()["data"]
    assert (user["id"], user["type"]) == (world.users["plain"], "users")
    assert user["attributes"]["is-service-account"] is False
    assert user["attributes"]["avatar-url"].startswith("data:image/")
    permissions = user["attributes"]["permissions"]
    assert permissions["can-manage-user-tokens"] is True
    assert permissions["can-create-organizations"] is False
    admin = (await world.call("admin", "GET", "/account/details")).json()["data"]
    assert admin["attributes"]["permissions"]["can-create-organizations"] is True
    other = (await world.call("plain", "GET", f"/users/{world.users['owner']}")).json()["data"]
    assert "permissions" not in other["attributes"]
    for who in ("writers-token", "organization-token"):
        robot = (await world.call(who, "GET", "/account/details")).json()["data"]
        assert robot["attributes"]["is-service-account"] is True


@pytest.mark.parametrize(
    "expired_at", ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999999Z", "99999-01-01"]
)
async def test_an_end_that_cannot_be_written_is_refused_and_nothing_is_made(
    world: World, expired_at: str
) -> None:
    document = token_document(**{"expired-at": expired_at})
    for who, path in (
        ("owner", organization_path(world)),
        ("owner", team_path(world)),
        ("plain", user_path(world)),
    ):
        answer = await world.call(who, "POST", path, document)
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/expired-at")]
    listed = await world.call("plain", "GET", user_path(world))
    assert len(listed.json()["data"]) == 1
    assert (await world.call("organization-token", "GET", "/account/details")).is_success
    document = token_document(**{"expired-at": "9999-12-31T23:59:59Z"})
    last = await made(world, "plain", user_path(world), document)
    assert last["attributes"]["expired-at"] == "9999-12-31T23:59:59.000Z"


async def touch(world: World, statement: str, *arguments: object) -> None:
    """Changes the store behind the service's back."""

    async def body(tx: Transaction) -> None:
        await tx.execute(statement, *arguments)

    await world.house.services.database.write(body)


async def test_a_touched_row_hides_no_other_token(world: World) -> None:
    ids = [(await made(world, "plain", user_path(world)))["id"] for _ in "123"]
    edits = "expires_at = 9223372036854775807, created_at = -9223372036854775807"
    await touch(world, f"UPDATE tokens SET {edits}, last_used_at = 5 WHERE id = $1", ids[1])
    listed = await world.call("plain", "GET", user_path(world))
    shown = {one["id"]: one["attributes"] for one in listed.json()["data"]}
    assert shown.keys() >= set(ids)
    assert shown[ids[1]]["expired-at"] == "9999-12-31T23:59:59.999Z"
    assert shown[ids[1]]["created-at"] == "0001-01-01T00:00:00.000Z"
    one = f"/authentication-tokens/{ids[1]}"
    assert (await world.call("plain", "GET", one)).status_code == 200
    assert (await world.call("plain", "DELETE", one)).status_code == 204


async def fill(world: World, live: int) -> None:
    """Gives `plain` so many live tokens, without saying so in the audit trail."""
    listed = await world.call("plain", "GET", user_path(world))
    hashed = "CAST($2 AS {bytes})"
    for n in range(live - listed.json()["meta"]["pagination"]["total-count"]):
        await touch(
            world,
            f"INSERT INTO tokens (id, hash, user_id, created_at) VALUES ($1, {hashed}, $3, {n})",
            f"at-{world.organization}-{n:03}",
            f"{world.organization}-{n}".encode(),
            world.users["plain"],
        )


async def test_an_owner_has_at_most_a_hundred_live_tokens(world: World) -> None:
    await fill(world, MAX_LIVE_TOKENS - 1)
    await made(world, "plain", user_path(world))
    document = token_document(description="a" * 513)
    refused = await world.call("plain", "POST", user_path(world), document)
    assert faults(refused) == [
        ("422", "too_many_items", None),
        ("422", "invalid_value", "/data/attributes/description"),
    ]
    await touch(
        world,
        "UPDATE tokens SET expires_at = 1 WHERE id = $1",
        f"at-{world.organization}-000",
    )
    last = await made(world, "plain", user_path(world))
    assert (await world.call("plain", "POST", user_path(world))).status_code == 422
    await world.call("plain", "DELETE", f"/authentication-tokens/{last['id']}")
    await made(world, "plain", user_path(world))


async def test_of_racing_creations_one_takes_the_last_place(world: World) -> None:
    await fill(world, MAX_LIVE_TOKENS - 1)
    answers = await asyncio.gather(
        *(world.call("plain", "POST", user_path(world)) for _ in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201, *[422] * 5]


async def test_a_users_tokens_are_listed_in_pages_oldest_first(world: World) -> None:
    await fill(world, 45)
    found: list[str] = []
    follow = user_path(world)
    while follow:
        page = (await world.call("plain", "GET", follow)).json()
        found += [one["id"] for one in page["data"]]
        assert page["meta"]["pagination"]["total-count"] == 45
        assert len(page["data"]) <= 20
        follow = (page["links"]["next"] or "").removeprefix("/api/v2")
    assert len(set(found)) == len(found) == 45
    assert found[0].endswith("-000")
    whole = await world.call("plain", "GET", f"{user_path(world)}?page[size]=100")
    assert [one["id"] for one in whole.json()["data"]] == found
