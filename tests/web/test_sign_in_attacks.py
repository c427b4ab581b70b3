"""Attacks on signing in: none gets through while one of the defences is left, and each does once
all are taken out.
"""

import asyncio

import pytest
from joserfc.jwk import ECKey

from teamvars.security import length_prefixed
from teamvars.security import sign_ins as attempts
from teamvars.security.sign_ins import Attempt
from teamvars.services import https
from teamvars.services import sign_ins as service
from teamvars.web.http.request import Request
from teamvars.web.sign_ins import Cookies
from tests.support.deployment import open_deployment
from tests.support.signing_in import SESSION_COOKIE, Scene

Without = tuple[str, ...]
_require_state = Attempt.require_state


def take_out(monkeypatch: pytest.MonkeyPatch, without: Without) -> None:
    """From here on these defences are gone."""
    for name in without:
        match name:
            case "state":
                monkeypatch.setattr(Attempt, "require_state", require_state_of_links)
            case "issuer":
                monkeypatch.setattr(service, "_require_issuer", lambda *_: None)
            case "verifier" | "nonce":  # the same for everybody
                monkeypatch.setattr(Attempt, name, name * 8)
            case "provider":  # which attempts are bound to
                monkeypatch.setattr(attempts, "length_prefixed", of_any_provider)
            case "secret":  # which each session has of its own
                monkeypatch.setattr(service, "new_session", lambda: "f" * 43)
            case "one cookie":
                monkeypatch.setattr(Cookies, "read", last_of)


def require_state_of_links(self: Attempt, said: str) -> None:
    """As it is, of attempts to link; of one to sign in any state is good."""
    if self.links:
        _require_state(self, said)


def of_any_provider(what: str, purpose: str, _: str, begun_at: str) -> bytes:
    """What state, nonce and verifier are made of, without the provider."""
    return length_prefixed(what, purpose, begun_at)


def last_of(self: Cookies, request: Request, what: str) -> str | None:
    """The last cookie of that name, as other servers read it."""
    name = self._name.format(what)
    pairs = [one.strip().partition("=") for one in (request.header("cookie") or "").split(";")]
    return {key: value for key, _, value in pairs}.get(name)


def every_but_one(*defences: str) -> list[tuple[Without, bool]]:
    """What to take out, and whether the attack gets through then."""
    but_one = [tuple(one for one in defences if one != left) for left in defences]
    return [*((some, False) for some in but_one), (defences, True)]


@pytest.mark.parametrize(("without", "is_in"), every_but_one("state", "verifier", "nonce"))
async def test_nobody_is_signed_in_as_somebody_else(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, without: Without, is_in: bool
) -> None:
    """Login CSRF: what an attacker was sent back with is opened in another browser."""
    take_out(monkeypatch, without)
    await scene.link("writer", scene.one)
    attacker, victim = scene.browser(), scene.browser()
    said = scene.one.answer(await attacker.depart())
    await victim.depart()
    found = await victim.arrive(said)
    assert (found.status_code, SESSION_COOKIE in victim.cookies) == (303 if is_in else 403, is_in)


@pytest.mark.parametrize(("without", "is_in"), every_but_one("verifier", "nonce"))
async def test_a_code_of_somebody_else_signs_nobody_in(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, without: Without, is_in: bool
) -> None:
    """Injection: a stolen code, with the state of an attempt of the attacker's own."""
    take_out(monkeypatch, without)
    await scene.link("writer", scene.one)
    attacker, victim = scene.browser(), scene.browser()
    stolen = scene.one.answer(await victim.depart())["code"]
    own = scene.one.answer(await attacker.depart())
    found = await attacker.arrive(own | {"code": stolen})
    assert (found.status_code, SESSION_COOKIE in attacker.cookies) == (303 if is_in else 403, is_in)


@pytest.mark.parametrize(("without", "leaks"), every_but_one("provider", "issuer"))
async def test_no_code_of_a_provider_is_given_to_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, without: Without, leaks: bool
) -> None:
    """Mix-up: `two` is the attacker's, and has the browser sign in at `one` and come to it."""
    take_out(monkeypatch, without)
    await scene.link("writer", scene.one)
    victim = scene.browser()
    said = scene.one.answer(await victim.depart("one")) | {"iss": scene.one.url}
    monkeypatch.setattr(https, "tls_of_machine", lambda: scene.two.client)
    assert (await victim.arrive(said, "two")).status_code == 403
    assert [form["code"] for form in scene.two.redeemed] == ([said["code"]] if leaks else [])


@pytest.mark.parametrize(("without", "is_known"), every_but_one("secret"))
async def test_nobody_knows_the_session_of_somebody_else_beforehand(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, without: Without, is_known: bool
) -> None:
    """Fixation: the attacker has put a session's cookie into the browser before."""
    take_out(monkeypatch, without)
    await scene.link("writer", scene.one)
    attacker, victim = scene.browser(), scene.browser()
    attacker.cookies[SESSION_COOKIE] = victim.cookies[SESSION_COOKIE] = "f" * 43
    await victim.arrive(scene.one.answer(await victim.depart()))
    assert (await victim.take_up()).status_code == 200
    assert (await attacker.take_up()).status_code == (200 if is_known else 401)


@pytest.mark.parametrize(("without", "is_taken"), every_but_one("one cookie"))
async def test_no_page_acts_in_a_session_that_a_sibling_has_put_beside(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, without: Without, is_taken: bool
) -> None:
    """Cookie tossing: what is typed there would be the attacker's to read."""
    take_out(monkeypatch, without)
    attacker, _ = await scene.signed_in("reader")
    victim, token = await scene.signed_in("writer")
    tossed = attacker.cookies[SESSION_COOKIE]
    own = victim.cookies.pop(SESSION_COOKIE)
    victim.cookies["x"] = f"1; {SESSION_COOKIE}={own}; {SESSION_COOKIE}={tossed}"
    found = await victim.take_up()
    assert found.status_code == (200 if is_taken else 401)
    assert found.json().get("token") != token


async def test_keys_that_a_provider_changes_are_found_and_old_ones_are_good_no_more(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.signed_in()
    former, keys = scene.one.keys, scene.sign_ins._keys["one"]
    scene.one.keys = [ECKey.generate_key("P-256", {"kid": "later"})]
    for asked_at, is_in in ((float("inf"), False), (float("-inf"), True)):  # within a minute, later
        monkeypatch.setattr(keys, "_asked_at", asked_at)
        browser = scene.browser()
        found = await browser.arrive(scene.one.answer(await browser.depart()))
        assert found.status_code == (303 if is_in else 403)
    scene.one.keys = former  # somebody has them still
    browser = scene.browser()
    assert (await browser.arrive(scene.one.answer(await browser.depart()))).status_code == 403


@pytest.mark.parametrize("times", [1, pytest.param(34, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", ["sign out", "provider"])
async def test_no_node_honours_a_request_that_begins_after_a_session_has_ended(
    scene: Scene, way: str, times: int
) -> None:
    """It ends on one of three, all of which have lately let it in."""
    deployment = scene.tenant.deployment
    scene.one.claims["sid"] = "s-1"
    browser, token = await scene.signed_in()
    session = (await browser.take_up()).json()["session"]
    sent = {"Authorization": f"Bearer {token}"}
    async with (
        open_deployment(deployment.config.url, keys=deployment.keys) as second,
        open_deployment(deployment.config.url, keys=deployment.keys) as third,
    ):
        nodes = deployment.client, second.client, third.client

        async def statuses(many: int) -> set[int]:
            asked = [one.get("/account/details", headers=sent) for one in nodes * many]
            return {answer.status_code for answer in await asyncio.gather(*asked)}

        assert await statuses(10) == {200}
        if way == "provider":
            form = {"logout_token": scene.one.logout_token(sid="s-1")}
            ended = await scene.http.post("/app/sign-in/one/logout", data=form)
        else:
            path = f"/api/v2/authentication-tokens/{session}"
            ended = await scene.http.delete(path, headers=sent)
        assert ended.is_success
        for _ in range(times):  # 10,000 and more in the long one
            assert await statuses(100) == {401}
