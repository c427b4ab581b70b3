"""Authentication tokens over HTTP: contract §6, on both engines."""

from typing import Any

import pytest

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
    assert new["attributes"]["description"] == ""


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


async def test_whoever_calls_learns_who_they_are(world: World) -> None:
    user = (await world.call("plain", "GET", "/account/details")).json()["data"]
    assert (user["id"], user["type"]) == (world.users["plain"], "users")
    assert user["attributes"]["is-service-account"] is False
    for who in ("writers-token", "organization-token"):
        robot = (await world.call(who, "GET", "/account/details")).json()["data"]
        assert robot["attributes"]["is-service-account"] is True
