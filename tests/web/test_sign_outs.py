"""A provider says that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0). Each
token that is refused differs in one thing from one that is not.
"""

import asyncio
from typing import Any

import httpx
import pytest

from teamvars.storage.database import Transaction
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.sign_in_provider import SignInProvider
from tests.support.signing_in import Browser, Scene
from tests.support.tenant import JSON_API

EVENT = "http://schemas.openid.net/event/backchannel-logout"
BAD = [
    {"iss": "https://evil.test"},
    {"iss": None},
    {"aud": "them"},
    {"aud": ["us", "them"]},
    {"aud": None},
    {"iat": None},
    {"iat": 2**33},
    {"exp": None},
    {"exp": 1},
    {"jti": None},
    {"jti": ""},
    {"jti": 7},
    {"nonce": "n"},
    {"events": None},
    {"events": [EVENT]},
    {"events": {EVENT: True}},
    {"events": {"http://schemas.openid.net/event/other": {}}},
    {"sub": None},
    {"sub": None, "sid": ""},
    {"sub": 7},
]


async def log_out(
    scene: Scene, provider: SignInProvider, name: str = "one", **claims: Any
) -> httpx.Response:
    """The provider says so."""
    return await said(scene, provider.logout_token(**claims), name)


async def said(scene: Scene, token: str, name: str = "one") -> httpx.Response:
    """Somebody does, with that token."""
    return await scene.http.post(f"/app/sign-in/{name}/logout", data={"logout_token": token})


async def signed_in(scene: Scene, sid: str | None, who: str = "writer") -> tuple[Browser, str]:
    """As `Scene.signed_in`, in a session that the provider calls so."""
    scene.one.claims["sid"] = sid
    return await scene.signed_in(who)


async def is_good(scene: Scene, *tokens: str) -> list[bool]:
    """Which of them are."""
    return [await scene.call(token, "/account/details") == 200 for token in tokens]


async def test_one_session_ends_with_what_was_made_in_it(scene: Scene) -> None:
    browser, token = await signed_in(scene, "s-1")
    made = [(await scene.make_token("writer", token))["token"]]
    made.append((await scene.make_token("writer", made[0]))["token"])
    _, other = await signed_in(scene, "s-2")
    beside = (await scene.make_token("writer", other))["token"]
    stays = other, beside, scene.tenant.tokens["writer"]
    assert all(await is_good(scene, token, *made, *stays))

    ended = await log_out(scene, scene.one, sid="s-1")
    assert (ended.status_code, ended.content) == (200, b"")
    assert ended.headers["cache-control"] == "no-store"
    assert not any(await is_good(scene, token, *made))
    assert (await browser.take_up()).status_code == 401
    assert all(await is_good(scene, *stays))


async def test_all_that_somebody_has_signed_in_for_there_ends_and_nothing_else(
    scene: Scene,
) -> None:
    _, first = await signed_in(scene, "s-1")
    _, second = await signed_in(scene, None)
    made = (await scene.make_token("writer", first))["token"]
    _, others = await signed_in(scene, "s-3", "reader")
    ended = await log_out(scene, scene.one, sub=scene.name_of("writer"))
    assert ended.status_code == 200
    assert not any(await is_good(scene, first, second, made))
    assert all(await is_good(scene, others, scene.tenant.tokens["writer"]))


async def test_a_session_that_has_no_name_ends_with_any_of_its_user(scene: Scene) -> None:
    _, unnamed = await signed_in(scene, None)
    _, other = await signed_in(scene, "s-2")
    _, of_other = await signed_in(scene, None, "reader")
    await log_out(scene, scene.one, sub=scene.name_of("writer"), sid="s-1")
    assert await is_good(scene, unnamed, other, of_other) == [False, True, True]


async def test_what_was_made_in_a_session_ends_also_when_that_is_over(scene: Scene) -> None:
    browser, token = await signed_in(scene, "s-1")
    made = (await scene.make_token("writer", token))["token"]
    session = (await browser.take_up()).json()["session"]
    assert await scene.call(token, f"/authentication-tokens/{session}", "DELETE") == 204
    assert await is_good(scene, made) == [True]
    await log_out(scene, scene.one, sid="s-1")
    assert await is_good(scene, made) == [False]


async def test_nothing_stays_that_is_made_while_the_session_ends(scene: Scene) -> None:
    _, token = await signed_in(scene, "s-1")
    path = f"/api/v2/users/{scene.tenant.users['writer']}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {"description": "x"}}}
    sent = {"Authorization": f"Bearer {token}", "Content-Type": JSON_API}
    making = [scene.http.post(path, json=document, headers=sent) for _ in range(8)]
    *made, ended = await asyncio.gather(*making, log_out(scene, scene.one, sid="s-1"))
    assert ended.status_code == 200
    assert {one.status_code for one in made} <= {201, 401}
    secrets = [one.json()["data"]["attributes"]["token"] for one in made if one.is_success]
    assert not any(await is_good(scene, token, *secrets))


async def test_a_provider_ends_nothing_that_was_begun_with_another(scene: Scene) -> None:
    tenant = scene.tenant
    _, token = await signed_in(scene, "s-1")
    await tenant.deployment.services.accounts.link(
        operator(), tenant.users["writer"], scene.two.url, "w"
    )
    for claims in ({"sub": "w"}, {"sid": "s-1"}):
        assert (await log_out(scene, scene.two, "two", **claims)).status_code == 200
        assert (await log_out(scene, scene.two, **claims)).status_code == 400
    assert await is_good(scene, token) == [True]
    await log_out(scene, scene.one, sid="s-1")
    assert await is_good(scene, token) == [False]


@ON_SQLITE
@pytest.mark.parametrize("claims", BAD, ids=str)
async def test_a_token_that_is_no_good_logout_token_ends_nothing(
    scene: Scene, claims: dict[str, Any]
) -> None:
    _, token = await signed_in(scene, "s-1")
    whom = {"sub": scene.name_of("writer")}
    refused = await log_out(scene, scene.one, **whom | claims)
    assert refused.status_code == 400
    assert refused.json() == {
        "error": "invalid_request",
        "error_description": "The logout token is not accepted.",
    }
    assert refused.headers["cache-control"] == "no-store"
    assert await is_good(scene, token) == [True]
    await log_out(scene, scene.one, **whom)
    assert await is_good(scene, token) == [False]


async def test_an_id_token_signs_nobody_out(scene: Scene) -> None:
    _, token = await signed_in(scene, "s-1")
    id_token = scene.one.id_token({"client_id": "us", "nonce": "n"})
    assert (await said(scene, id_token)).status_code == 400
    assert await is_good(scene, token) == [True]


async def test_a_logout_token_signs_nobody_in(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    answer = scene.one.answer(await browser.depart())
    good = scene.one.claims.copy()
    scene.one.claims |= {"nonce": None, "events": {EVENT: {}}}
    assert (await browser.arrive(answer)).status_code == 403
    scene.one.claims = good
    answer = scene.one.answer(await browser.depart())
    assert (await browser.arrive(answer)).status_code == 303


async def test_a_logout_token_is_good_once(scene: Scene) -> None:
    token = scene.one.logout_token(sub=scene.name_of("writer"))
    assert (await said(scene, token)).status_code == 200  # though it ends nothing
    _, session = await signed_in(scene, None)
    repeated = await said(scene, token)
    assert (repeated.status_code, repeated.json()["error"]) == (400, "invalid_request")
    assert await is_good(scene, session) == [True]
    await log_out(scene, scene.one, sub=scene.name_of("writer"))
    assert await is_good(scene, session) == [False]


async def test_what_a_provider_ends_is_in_the_trail(scene: Scene) -> None:
    browser, _ = await signed_in(scene, "s-1")
    session = (await browser.take_up()).json()["session"]
    await log_out(scene, scene.one, sid="s-1")
    deployment = scene.tenant.deployment
    entries = await deployment.services.audit.newest(20)
    (entry,) = (one for one in entries if one.subject_id == session and "revoke" in one.action)
    assert (entry.actor_kind, entry.actor_id) == ("service", "logout")
    details = entry.read_details()
    assert details is not None
    assert details["provider"] == "one"
    assert await deployment.audit_holds()


async def test_who_forges_tokens_has_nothing_asked_and_nothing_written(scene: Scene) -> None:
    _, token = await signed_in(scene, "s-1")
    asked, keys = list(scene.one.asked), scene.one.keys

    async def used(tx: Transaction) -> int:
        return await tx.count("SELECT count(*) FROM used_assertions")

    database = scene.tenant.deployment.services.database
    before = await database.read(used)
    scene.one.keys = scene.two.keys
    for _ in range(20):
        assert (await log_out(scene, scene.one, sid="s-1")).status_code == 400
    assert scene.one.asked == asked
    assert await database.read(used) == before
    assert await is_good(scene, token) == [True]
    scene.one.keys = keys
    assert (await log_out(scene, scene.one, sid="s-1")).status_code == 200


@pytest.mark.parametrize("path", ["/app/sign-in/three/logout", "/app/sign-in/one/login"])
async def test_nobody_is_signed_out_elsewhere(scene: Scene, path: str) -> None:
    _, token = await signed_in(scene, "s-1")
    form = {"logout_token": scene.one.logout_token(sid="s-1")}
    assert (await scene.http.post(path, data=form)).status_code == 404
    assert await is_good(scene, token) == [True]


async def test_a_provider_says_it_in_a_form_that_has_one_token(scene: Scene) -> None:
    _, token = await signed_in(scene, "s-1")
    path, good = "/app/sign-in/one/logout", scene.one.logout_token(sid="s-1")
    assert (await scene.http.post(path, json={"logout_token": good})).status_code == 415
    assert (await scene.http.post(path, data={"logout_token": [good, good]})).status_code == 400
    assert (await scene.http.post(path, data={"token": good})).status_code == 400
    assert await is_good(scene, token) == [True]
    assert (await scene.http.post(path, data={"logout_token": good, "x": "1"})).status_code == 200
    assert await is_good(scene, token) == [False]
