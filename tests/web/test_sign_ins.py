"""Signing in with a provider, and what whoever attacks it gets. Each attack has beside it the same
without the attack, which succeeds.
"""

import asyncio
import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from structlog.testing import capture_logs

from teamvars import console, settings, wiring
from teamvars.decisions import sign_ins as decisions
from teamvars.decisions import tokens as tokens_decided
from teamvars.decisions.users import Disabling
from teamvars.domain import sign_ins
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.sign_ins import IDLE, SESSION
from teamvars.domain.times import Clock
from teamvars.security.tokens import is_token
from teamvars.services import sign_ins as service
from teamvars.services.directory_files.files import Options
from teamvars.services.issuers import Issuer, IssuerKeys
from teamvars.storage import sign_ins as sessions
from teamvars.storage import tokens
from teamvars.storage.database import Transaction, each
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.sign_ins import ARRIVALS, SignInPages, callback
from tests.support.counting import counting, told
from tests.support.deployment import open_deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.issuer_servers import document, raw
from tests.support.logging_in import Program, status_of
from tests.support.patience import HANGS
from tests.support.signing_in import (
    ATTEMPT,
    OWN,
    SECRET,
    SESSION_COOKIE,
    Browser,
    Scene,
    ids_of,
    into_both,
    text_of,
)
from tests.support.tenant import ACTIVE, Tenant


async def test_whoever_signs_in_is_given_one_token_in_every_tab(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    assert token.startswith("tvs_")
    assert is_token(token)
    again = await browser.take_up()
    assert again.json()["token"] == token
    assert again.headers["cache-control"] == "no-store"
    assert (await browser.take_up(again.json()["session"])).status_code == 200
    assert await scene.call(token, f"/workspaces/{scene.tenant.workspaces['network']}/vars") == 200
    assert await scene.tenant.deployment.audit_holds()


async def test_cookies_are_for_this_host_alone_and_for_no_script(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    attempt, session = browser.set
    assert attempt.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")
    assert session.endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure")
    assert list(browser.cookies) == [ATTEMPT, SESSION_COOKIE]
    assert token not in session


async def test_a_cookie_is_good_for_nothing_but_the_token(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    network = scene.tenant.workspaces["network"]
    found = await browser.ask("GET", f"/api/v2/workspaces/{network}/vars")
    assert found.status_code == 401
    assert await scene.call(browser.cookies[SESSION_COOKIE], f"/workspaces/{network}/vars") == 401
    assert await scene.call(token, f"/workspaces/{network}/vars") == 200


@ON_SQLITE
@pytest.mark.parametrize(
    "other",
    [
        {"origin": "https://evil.test"},
        {"origin": "null"},
        {"origin": ""},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": ""},
    ],
)
async def test_no_other_page_is_given_the_token(scene: Scene, other: dict[str, str]) -> None:
    browser, token = await scene.signed_in()
    refused = await browser.take_up(**other)
    assert refused.status_code == 403
    assert token not in refused.text
    assert (await browser.take_up()).status_code == 200


async def test_a_form_of_another_page_has_no_header_of_ours(scene: Scene) -> None:
    browser, _ = await scene.signed_in()
    ours = {"origin": OWN, "sec_fetch_site": "same-origin"}
    assert (await browser.ask("POST", "/app/session", **ours)).status_code == 403
    assert (await browser.take_up()).status_code == 200


async def test_two_cookies_of_that_name_are_none(scene: Scene) -> None:
    browser, _ = await scene.signed_in()
    good = browser.cookies.pop(SESSION_COOKIE)
    browser.cookies["x"] = f"1; {SESSION_COOKIE}={good}; {SESSION_COOKIE}=tossed"
    assert (await browser.take_up()).status_code == 401
    browser.cookies["x"] = f"1; {SESSION_COOKIE}={good}"
    assert (await browser.take_up()).status_code == 200


async def test_a_tab_is_told_when_somebody_else_has_signed_in_since(scene: Scene) -> None:
    browser, _ = await scene.signed_in("writer")
    before = (await browser.take_up()).json()["session"]
    await scene.link("reader", scene.one)
    await browser.arrive(scene.one.answer(await browser.depart()))
    told = await browser.take_up(before)
    assert told.status_code == 409
    assert "token" not in told.json()
    assert (await browser.take_up()).json()["session"] != before


async def test_a_session_has_rights_in_the_organizations_of_its_provider_alone(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    await into_both(tenant)
    _, token = await scene.signed_in("plain")
    path = f"/organizations/{tenant.other_organization}"
    assert await scene.call(token, f"/organizations/{tenant.organization}") == 200
    assert await scene.call(token, path) == 404
    assert await scene.call(token, f"/workspaces/{tenant.other_workspace}/vars") == 404
    assert await scene.call(token, f"/teams/{tenant.other_team}") == 404
    assert await scene.call(tenant.tokens["plain"], path) == 200  # what their own token may
    assert await scene.call(tenant.tokens["plain"], f"/teams/{tenant.other_team}") == 200
    beside = f"/users/{tenant.users['outsider']}"
    assert await scene.call(token, beside) == 404
    assert await scene.call(tenant.tokens["plain"], beside) == 200
    assert tenant.other_organization not in await text_of(scene, token, "/organizations")
    mine = await ids_of(scene, token, "/organization-memberships")
    assert mine == {tenant.memberships["plain"]}
    (other,) = await ids_of(scene, tenant.tokens["plain"], "/organization-memberships") - mine
    assert await scene.call(token, f"/organization-memberships/{other}") == 404
    assert await scene.call(tenant.tokens["plain"], f"/organization-memberships/{other}") == 200


@ON_SQLITE
async def test_a_token_whose_reach_somebody_has_made_bytes_has_rights_nowhere(scene: Scene) -> None:
    """PostgreSQL has no bytes there."""
    tenant = scene.tenant
    _, token = await scene.signed_in()
    vars_ = f"/workspaces/{tenant.workspaces['network']}/vars"
    own = f"/users/{tenant.users['writer']}/authentication-tokens"
    assert await scene.call(token, vars_) == 200
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute("UPDATE tokens SET reach = $1 WHERE reach IS NOT NULL", b"\xff\x00")
    )
    assert await scene.call(token, vars_) == 404
    assert await scene.call(token, own) == 200


@ON_SQLITE
@pytest.mark.parametrize("altered", ["tokens SET expires_at", "sessions SET ends_at"])
async def test_a_session_whose_end_is_no_time_has_ended_or_ends_with_its_next_use(
    scene: Scene, altered: str
) -> None:
    """PostgreSQL has no words there."""
    _, token = await scene.signed_in()
    own = f"/users/{scene.tenant.users['writer']}/authentication-tokens"
    assert await scene.call(token, own) == 200
    its = {"tokens": "reach IS NOT NULL", "sessions": "TRUE"}[altered.partition(" ")[0]]
    await scene.tenant.deployment.alter(f"UPDATE {altered} = '2030-01-01' WHERE {its}")
    await scene.tenant.deployment.services.sessions.store_uses()
    assert await scene.call(token, own) == 401


async def test_what_is_made_in_a_session_reaches_no_further_and_ends(scene: Scene) -> None:
    tenant = scene.tenant
    await into_both(tenant)
    _, token = await scene.signed_in("plain")
    made, begun, ends = token, None, []
    for _ in range(2):  # and what is made with that
        attributes = await scene.make_token("plain", made)
        ends.append(datetime.fromisoformat(attributes["expired-at"]))
        begun = begun or datetime.fromisoformat(attributes["created-at"])
        made = attributes["token"]
        assert await scene.call(made, f"/organizations/{tenant.organization}") == 200
        assert await scene.call(made, f"/organizations/{tenant.other_organization}") == 404
    assert begun is not None
    assert ends == [begun + timedelta(days=1)] * 2


async def test_a_session_neither_shows_nor_ends_tokens_that_reach_further(scene: Scene) -> None:
    tenant = scene.tenant
    await into_both(tenant)
    browser, token = await scene.signed_in("plain")
    session = (await browser.take_up()).json()["session"]
    path = f"/users/{tenant.users['plain']}/authentication-tokens"
    assert await ids_of(scene, token, path) == {session}
    mine = await ids_of(scene, tenant.tokens["plain"], path)
    (wider,) = mine - {session}
    for method in ("GET", "DELETE"):
        assert await scene.call(token, f"/authentication-tokens/{wider}", method) == 404
    assert await ids_of(scene, tenant.tokens["plain"], path) == mine
    assert await scene.call(token, f"/authentication-tokens/{session}") == 200
    team = f"/teams/{tenant.teams['readers']}/authentication-token"
    assert await scene.call(tenant.tokens["owner"], team, "POST") == 201
    _, owners = await scene.signed_in("owner")
    assert await ids_of(scene, owners, f"{team}s") != set()
    wide = tenant.tokens["plain"]
    assert await scene.call(wide, f"/authentication-tokens/{session}", "DELETE") == 204
    assert await scene.call(token, "/account/details") == 401


async def test_a_site_admin_who_signs_in_makes_no_organizations(scene: Scene) -> None:
    tenant = scene.tenant
    mark = tenant.organization.removeprefix("org-")
    await tenant.deployment.services.directory.apply(
        operator(),
        Directory((), (OrganizationEntry(tenant.organization, {f"admin-{mark}": ACTIVE}),)),
        Options(),
    )
    _, token = await scene.signed_in("admin")
    attributes = {"name": "mine", "email": "a@example.com"}
    document = {"data": {"type": "organizations", "attributes": attributes}}
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/vnd.api+json"}
    answer = await scene.http.post("/api/v2/organizations", json=document, headers=sent)
    assert answer.status_code == 403
    attributes["name"] = f"new-{mark}"
    sent["Authorization"] = f"Bearer {tenant.tokens['admin']}"
    answer = await scene.http.post("/api/v2/organizations", json=document, headers=sent)
    assert answer.status_code == 201


async def test_whoever_signs_out_is_out_in_every_tab_and_by_the_cookie(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    session = (await browser.take_up()).json()["session"]
    assert await scene.call(token, f"/authentication-tokens/{session}", "DELETE") == 204
    assert await scene.call(token, "/account/details") == 401
    assert (await browser.take_up()).status_code == 401


async def test_a_disabled_user_is_signed_out_for_good(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    accounts, user = scene.tenant.deployment.services.accounts, scene.tenant.users["writer"]
    await accounts.disable(operator(), user, Disabling())
    assert await scene.call(token, "/account/details") == 401
    assert (await browser.take_up()).status_code == 401
    refused = await browser.arrive(scene.one.answer(await browser.depart()))
    assert refused.status_code == 403
    assert "disabled" in refused.text
    await accounts.enable(operator(), user)
    assert await scene.call(token, "/account/details") == 401
    assert (await browser.arrive(scene.one.answer(await browser.depart()))).status_code == 303


async def test_a_link_that_is_taken_back_ends_all_that_came_of_it_on_every_node(
    scene: Scene,
) -> None:
    """Also where the session is over, and where somebody approved a program in it."""
    tenant, deployment = scene.tenant, scene.tenant.deployment
    browser, over = await scene.signed_in()
    session = (await browser.take_up()).json()["session"]
    made = (await scene.make_token("writer", over))["token"]
    of_made = (await scene.make_token("writer", made))["token"]
    program = Program(tenant)
    given = (await program.redeemed(await program.approved(over))).json()["access_token"]
    assert await scene.call(over, f"/authentication-tokens/{session}", "DELETE") == 204
    browser, token = await scene.signed_in()
    async with open_deployment(deployment.config.url, keys=deployment.keys) as beside:
        there = Tenant(**{**vars(tenant), "deployment": beside})

        async def statuses() -> list[int]:
            tokens = token, made, of_made, given, tenant.tokens["writer"]
            return [await status_of(there, one) for one in tokens]

        assert await statuses() == [200] * 5
        account = scene.one.url, scene.name_of("writer")
        await deployment.services.accounts.unlink(operator(), tenant.users["writer"], *account)
        assert await statuses() == [401, 401, 401, 401, 200]
    refused = await browser.arrive(scene.one.answer(await browser.depart()))
    assert refused.status_code == 403
    newest = await deployment.services.audit.newest(5)
    assert [one.action for one in newest] == ["token.revoke"] * 4 + ["user.unlink"]
    assert {one.actor_kind for one in newest} == {"operator"}
    assert await deployment.audit_holds()


async def test_an_account_is_linked_with_one_user(scene: Scene) -> None:
    accounts, users = scene.tenant.deployment.services.accounts, scene.tenant.users
    account = scene.one.url, scene.tenant.organization
    for _ in range(2):
        await accounts.link(operator(), users["writer"], *account)
    with pytest.raises(Refusal, match="name_taken"):
        await accounts.link(operator(), users["reader"], *account)
    with pytest.raises(Refusal, match="not_found"):
        await accounts.unlink(operator(), users["reader"], *account)
    await accounts.link(operator(), users["reader"], scene.two.url, account[1])
    assert len((await accounts.show(users["writer"])).identities) == 1


async def test_whoever_signs_in_is_listed_with_whence_and_since_when(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    location = await browser.depart()
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
    path = f"{callback('one')}?{urlencode(scene.one.answer(location))}"
    assert (await browser.ask("GET", path, user_agent=firefox)).status_code == 303
    found = await scene.tenant.deployment.services.accounts.show(scene.tenant.users["writer"])
    token = found.tokens[-1].token
    assert token.description == "signed in with One from 127.0.0.1, Firefox on Linux"
    assert token.expires_at == token.created_at + IDLE
    assert [one.subject for one in found.identities] == [scene.name_of("writer")]
    entry = next(
        one
        for one in await scene.tenant.deployment.services.audit.newest(50)
        if one.subject_id == token.id
    )
    assert (entry.action, entry.actor_id) == ("token.create", token.owner_id)
    details = entry.read_details()
    assert details is not None
    assert details["provider"] == "one"


async def test_an_address_that_the_trail_leaves_out_is_in_no_list_either(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    services = scene.tenant.deployment.services
    routes = console.routes(SignInPages(scene.sign_ins, OWN))
    unseen = Application(routes, services.sessions, ClientAddresses((), are_audited=False))
    async with InProcess(unseen, base=OWN) as http:
        browser = Browser(http)
        await browser.arrive(scene.one.answer(await browser.depart()))
        id_ = (await browser.take_up()).json()["session"]
    found = await services.accounts.show(scene.name_of("writer"))
    (token,) = (one.token for one in found.tokens if one.token.id == id_)
    assert token.description == "signed in with One, a browser"


# Who is it?


@pytest.mark.parametrize(
    ("claims", "is_in"),
    [
        ({}, True),
        ({"email_verified": None}, False),
        ({"email_verified": False}, False),
        ({"email_verified": "true"}, False),
        ({"email_verified": 1}, False),
        ({"email": None}, False),
        ({"email": "{name}@other.example"}, False),
        ({"email": "{name}@ex\u0430mple.com"}, False),
        ({"email": ["{name}@example.com"]}, False),
        ({"email": "{name}\0@example.com"}, False),
        ({"email": "{name}@other.example@example.com"}, False),
        ({"sub": "{name}\0"}, False),
        ({"sub": "\u0430{name}"}, False),
        ({"sub": "{name}" + "x" * 8000}, False),
        ({"sub": ""}, False),
    ],
)
async def test_a_verified_address_of_the_providers_domain_joins_its_user(
    scene: Scene, claims: dict[str, Any], is_in: bool
) -> None:
    name = scene.name_of("writer")
    said = {"email": "{name}@example.com", "email_verified": True} | claims
    filled = {
        key: one.format(name=name) if isinstance(one, str) else one for key, one in said.items()
    }
    scene.one.claims |= filled
    browser = scene.browser()
    found = await browser.arrive(scene.one.answer(await browser.depart()))
    assert found.status_code == (303 if is_in else 403)
    user = await scene.tenant.deployment.services.accounts.show(name)
    assert bool(user.identities) is is_in


@pytest.mark.parametrize(
    ("who", "is_in"), [("writer", True), ("owner", False), ("outsider", False)]
)
async def test_no_owner_and_nobody_from_elsewhere_joins_by_an_address(
    scene: Scene, who: str, is_in: bool
) -> None:
    email = f"{scene.name_of(who)}@example.com"
    scene.one.claims |= {"email": email, "email_verified": True}
    browser = scene.browser()
    found = await browser.arrive(scene.one.answer(await browser.depart()))
    assert found.status_code == (303 if is_in else 403)
    assert (SESSION_COOKIE in browser.cookies) is is_in


async def test_an_address_that_is_recycled_leads_to_nobody(scene: Scene) -> None:
    email = f"{scene.name_of('writer')}@example.com"
    first, second = f"first-{scene.tenant.organization}", f"second-{scene.tenant.organization}"
    scene.one.claims |= {"sub": first, "email": email, "email_verified": True}
    browser = scene.browser()
    assert (await browser.arrive(scene.one.answer(await browser.depart()))).status_code == 303
    scene.one.claims["sub"] = second
    other = scene.browser()
    assert (await other.arrive(scene.one.answer(await other.depart()))).status_code == 403
    scene.one.claims |= {"sub": first, "email": "another@example.com"}
    assert (await other.arrive(scene.one.answer(await other.depart()))).status_code == 303


async def test_entra_calls_somebody_by_what_is_the_same_for_every_client(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.link("writer", scene.one)
    known = scene.name_of("writer")
    browser = scene.browser()
    for is_it, scope, claims, status in (
        (False, "openid email", {"oid": known, "sub": f"other-{known}"}, 403),
        (True, "openid profile email", {"oid": known, "sub": f"other-{known}"}, 303),
        (True, "openid profile email", {"oid": None, "sub": known}, 403),
    ):
        monkeypatch.setattr(sign_ins, "_ENTRA", (scene.one.url,) if is_it else ())
        scene.one.claims |= claims
        location = await browser.depart()
        assert parse_qs(urlsplit(location).query)["scope"] == [scope]
        assert (await browser.arrive(scene.one.answer(location))).status_code == status


async def test_a_provider_that_has_not_the_domain_joins_nobody(scene: Scene) -> None:
    await into_both(scene.tenant)
    email = f"{scene.name_of('plain')}@example.com"
    scene.two.claims |= {"email": email, "email_verified": True}
    browser = scene.browser()
    location = await browser.depart("two")
    assert (await browser.arrive(scene.two.answer(location), "two")).status_code == 403


async def test_whoever_is_in_none_of_its_organizations_is_told_whom_to_ask(scene: Scene) -> None:
    await scene.link("outsider", scene.one)
    browser = scene.browser()
    with capture_logs() as lines:
        found = await browser.arrive(scene.one.answer(await browser.depart()))
    assert found.status_code == 403
    assert "Ask an owner" in found.text
    (line,) = [one for one in lines if one["event"] == "nobody was signed in"]
    assert line["request_id"] in found.text
    assert line["provider"] == "one"


# Attacks


async def test_a_callback_is_good_in_the_browser_that_began_it_alone(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    attacker, victim = scene.browser(), scene.browser()
    said = scene.one.answer(await attacker.depart())
    assert (await victim.arrive(said)).status_code == 403  # who has begun nothing
    await victim.depart()
    assert (await victim.arrive(said)).status_code == 403  # and who has
    assert SESSION_COOKIE not in victim.cookies
    assert (await attacker.arrive(said)).status_code == 303


async def test_whoever_comes_back_from_a_provider_is_counted_by_what_became_of_it(
    scene: Scene,
) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    with counting() as memory:
        said = scene.one.answer(await browser.depart())
        await browser.arrive(said)
        await browser.arrive(said)  # again
        await scene.link("outsider", scene.one)
        await browser.arrive(scene.one.answer(await browser.depart()))
        counted = told(memory, ARRIVALS.name)
    assert counted == {("signed in",): 1, ("unproven",): 1, ("refused",): 1}


@pytest.mark.parametrize("state", [None, "", "x" * 43, "é"])
async def test_a_state_of_others_is_refused_before_the_code_is_redeemed(
    scene: Scene, state: str | None
) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    said = scene.one.answer(await browser.depart())
    wrong = {name: one for name, one in (said | {"state": state}).items() if one is not None}
    assert (await browser.arrive(wrong)).status_code == 403
    assert scene.one.redeemed == []
    assert (await browser.arrive(said)).status_code == 303


async def test_a_code_is_good_once(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    said = scene.one.answer(await browser.depart())
    assert (await browser.arrive(said)).status_code == 303
    assert (await browser.arrive(said)).status_code == 403


async def test_a_code_of_another_attempt_is_not_injected(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    attacker, victim = scene.browser(), scene.browser()
    stolen = scene.one.answer(await victim.depart())
    own = scene.one.answer(await attacker.depart())
    assert (await attacker.arrive(own | {"code": stolen["code"]})).status_code == 403
    assert (await attacker.arrive(own)).status_code == 303


@ON_SQLITE
@pytest.mark.parametrize(
    ("claims", "is_in"),
    [
        ({}, True),
        ({"nonce": "another"}, False),
        ({"nonce": None}, False),
        ({"aud": "them"}, False),
        ({"aud": ["us", "them"]}, False),
        ({"azp": "them"}, False),
        ({"azp": "us"}, True),
        ({"iss": "https://evil.test"}, False),
        ({"exp": 1}, False),
        ({"exp": None}, False),
        ({"iat": 2**33}, False),
        ({"sub": None}, False),
        ({"sub": 7}, False),
    ],
)
async def test_an_id_token_is_for_us_and_for_this_attempt(
    scene: Scene, claims: dict[str, Any], is_in: bool
) -> None:
    await scene.link("writer", scene.one)
    scene.one.claims |= claims
    browser = scene.browser()
    found = await browser.arrive(scene.one.answer(await browser.depart()))
    assert found.status_code == (303 if is_in else 403)


async def test_an_id_token_that_another_key_signed_is_refused(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    location = await browser.depart()
    good, other = scene.one.keys, scene.two.keys
    scene.one.keys = other
    assert (await browser.arrive(scene.one.answer(location))).status_code == 403
    scene.one.keys = good
    assert (await browser.arrive(scene.one.answer(location))).status_code == 303


async def test_an_answer_of_one_provider_is_not_taken_for_anothers(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    said = scene.one.answer(await browser.depart("one"))
    assert (await browser.arrive(said, "two")).status_code == 403
    assert scene.two.redeemed == []
    assert (await browser.arrive(said | {"iss": scene.two.url})).status_code == 403
    assert (await browser.arrive(said | {"iss": scene.one.url})).status_code == 303


async def test_a_provider_that_names_itself_in_answers_has_to(scene: Scene) -> None:
    scene.one.about["authorization_response_iss_parameter_supported"] = True
    await scene.link("writer", scene.one)
    browser = scene.browser()
    said = scene.one.answer(await browser.depart())
    assert (await browser.arrive(said)).status_code == 403
    assert (await browser.arrive(said | {"iss": scene.one.url})).status_code == 303


async def test_no_session_is_the_one_that_was_there_before(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    browser.cookies[SESSION_COOKIE] = fixed = "f" * 43
    await browser.arrive(scene.one.answer(await browser.depart()))
    assert browser.cookies[SESSION_COOKIE] != fixed
    assert (await browser.take_up()).json()["token"] != token


async def test_a_provider_may_have_a_query_where_people_sign_in(scene: Scene) -> None:
    await scene.link("writer", scene.one)
    scene.one.about["authorization_endpoint"] = f"{scene.one.url}/authorize?flow=company"
    browser = scene.browser()
    location = await browser.depart()
    assert parse_qs(urlsplit(location).query)["flow"] == ["company"]
    assert (await browser.arrive(scene.one.answer(location))).status_code == 303


@ON_SQLITE
@pytest.mark.parametrize("parameter", ["return_to", "redirect_uri", "next", "url", "iss_"])
async def test_no_parameter_says_where_anybody_goes(scene: Scene, parameter: str) -> None:
    await scene.link("writer", scene.one)
    browser = scene.browser()
    evil = {parameter: "https://evil.test"}
    found = await browser.ask("GET", f"/app/sign-in/one?{urlencode(evil)}")
    location = found.headers["location"]
    (redirect,) = parse_qs(urlsplit(location).query)["redirect_uri"]
    assert redirect == OWN + callback("one")
    assert "evil" not in location
    done = await browser.arrive(scene.one.answer(location) | evil)
    assert (done.status_code, done.headers["location"]) == (303, "/app/")


async def test_the_address_of_a_request_says_nothing_of_where_anybody_goes(scene: Scene) -> None:
    found = await scene.browser().ask(
        "GET", "/app/sign-in/one", host="evil.test", x_forwarded_host="evil.test"
    )
    assert "evil" not in found.headers["location"]
    assert "evil" not in found.headers["set-cookie"]


@pytest.mark.parametrize("address", [OWN, f"{OWN.upper()}:443"])
async def test_browsers_leave_the_port_out_that_is_the_schemes_own(
    scene: Scene, address: str
) -> None:
    services = scene.tenant.deployment.services
    company = {
        "title": "One",
        "issuer": scene.one.url,
        "client_id": "us",
        "organizations": ["a"],
    }
    config = settings.load(public_url=address, providers=json.dumps({"one": company}))
    routes = wiring.console_routes(config, services)
    application = Application(routes, services.sessions, ClientAddresses(()))
    async with InProcess(application, base=OWN) as http:
        assert (await Browser(http).take_up()).status_code == 401  # and not forbidden
        assert (await Browser(http).take_up(origin="https://evil.test")).status_code == 403


async def test_an_attempt_is_over_after_ten_minutes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.link("writer", scene.one)
    clock = scene.sign_ins._clock
    for late, status in ((600, 403), (590, 303), (-50, 303), (-70, 403)):  # of clocks that differ
        browser = scene.browser()
        monkeypatch.setattr(scene.sign_ins, "_clock", partial(earlier, clock, late))
        location = await browser.depart()
        monkeypatch.setattr(scene.sign_ins, "_clock", clock)
        assert (await browser.arrive(scene.one.answer(location))).status_code == status


LIES = {
    "a fault": raw(b"", "500 Internal Server Error"),
    "no JSON": raw(b"not json"),
    "a list": raw(b"[]"),
    "nothing": raw(b"{}"),
    "other types": document({"id_token": 7, "issuer": 7}),
    "a script": document({"error": "<script>"}, "400 Bad Request"),
    "elsewhere": raw(b"", "302 Found", {"Location": "https://evil.test"}),
}


@ON_SQLITE
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys"])
@pytest.mark.parametrize("lie", LIES)
async def test_a_provider_that_lies_signs_nobody_in_and_ends_nothing(
    scene: Scene, path: str, lie: str
) -> None:
    _, token = await scene.signed_in("reader")
    scene.sign_ins._keys["one"] = IssuerKeys(Issuer(scene.one.url))  # which knows nothing yet
    scene.one.says(LIES[lie], path)
    browser = scene.browser()
    found = await browser.ask("GET", "/app/sign-in/one")
    if found.status_code == 302:
        found = await browser.arrive(scene.one.answer(found.headers["location"]))
    assert found.status_code == 403
    assert "<script>" not in found.text
    assert SESSION_COOKIE not in browser.cookies
    assert await scene.call(token, "/account/details") == 200


class Hanging:
    """What a provider says that was asked something and says nothing until it is let go."""

    def __init__(self) -> None:
        self.asked, self.gone = asyncio.Event(), asyncio.Event()

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        await self.gone.wait()
        writer.close()


async def test_a_provider_that_hangs_is_given_up_and_holds_only_so_many(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.link("writer", scene.one)
    hanging = Hanging()
    monkeypatch.setattr(service, "MOST_AT_ONCE", 1)
    first, second = scene.browser(), scene.browser()
    said = [scene.one.answer(await one.depart()) for one in (first, second)]
    scene.one.says(hanging, "/token")
    with monkeypatch.context() as patch:
        patch.setattr(service, "TIMEOUT_SECONDS", HANGS)
        waits = asyncio.create_task(first.arrive(said[0]))
        await hanging.asked.wait()
        assert (await second.arrive(said[1])).status_code == 503
        hanging.gone.set()
        assert (await waits).status_code == 403
    hanging.gone.clear()
    with monkeypatch.context() as patch:
        patch.setattr(service, "TIMEOUT_SECONDS", 0.05)
        assert (await second.arrive(said[1])).status_code == 403
    hanging.gone.set()
    del scene.one.answers["/token"]
    # Its provider may have taken the code that was given up, so it comes with another.
    assert (await second.arrive(scene.one.answer(await second.depart()))).status_code == 303


async def test_an_address_keeps_nobody_elsewhere_from_signing_in(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.link("writer", scene.one)
    hanging = Hanging()
    monkeypatch.setattr(service, "MOST_OF_ADDRESS", 1)
    async with InProcess(scene.http.application, base=OWN, peer="192.0.2.7") as http:
        browsers = first, second, elsewhere = scene.browser(), scene.browser(), Browser(http)
        said = [scene.one.answer(await one.depart()) for one in browsers]
        scene.one.says(hanging, "/token")
        waits = asyncio.create_task(first.arrive(said[0]))
        await hanging.asked.wait()
        del scene.one.answers["/token"]
        assert (await second.arrive(said[1])).status_code == 503
        assert (await elsewhere.arrive(said[2])).status_code == 303
        hanging.gone.set()
        assert (await waits).status_code == 403
        assert (await second.arrive(said[1])).status_code == 303
    assert not scene.sign_ins._under_way


async def test_secrets_are_in_no_line_of_the_log_and_in_no_row(scene: Scene) -> None:
    with capture_logs() as lines:
        browser, token = await scene.signed_in()
        again = await browser.arrive({"code": "c0de", "state": "5tate", "error": "a b"})
    assert again.status_code == 403
    cookie = browser.cookies[SESSION_COOKIE]
    for secret in (token, cookie, SECRET, "c0de", "5tate"):
        assert secret not in str(lines)
        assert secret not in again.text

    async def rows(tx: Transaction) -> str:
        return str(
            [
                await tx.fetch("SELECT * FROM tokens"),
                await tx.fetch("SELECT * FROM sessions"),
                await tx.fetch("SELECT * FROM audit_entries"),
            ]
        )

    stored = await scene.tenant.deployment.services.database.read(rows)
    assert token not in stored
    assert cookie not in stored


# How long


async def test_a_session_ends_when_nobody_uses_it_and_after_twelve_hours(scene: Scene) -> None:
    browser, token = await scene.signed_in()
    services = scene.tenant.deployment.services
    id_ = (await browser.take_up()).json()["session"]
    database = services.database

    async def end(tx: Transaction) -> tuple[int, int]:
        row = await tx.fetch_one("SELECT created_at, expires_at FROM tokens WHERE id = $1", id_)
        assert row is not None
        return row[0], row[1]

    begun, ends = await database.read(end)
    assert ends == begun + IDLE
    for used, noted, expected in (
        (begun + IDLE - 1, begun + IDLE - 1, begun + 2 * IDLE - 1),
        (begun + 2 * IDLE - 2, begun + 2 * IDLE - 2, begun + 3 * IDLE - 2),
        (begun + 3 * IDLE - 3, begun + 3 * IDLE - 2, begun + 3 * IDLE - 2),  # it has ended by then
        (begun + 3 * IDLE, begun + 3 * IDLE, begun + 3 * IDLE - 2),
    ):
        await database.write(partial(tokens.note_uses, uses=[(id_, used)], now=noted))
        assert (await database.read(end))[1] == expected

    async def move(tx: Transaction) -> None:
        await tx.execute(
            "UPDATE tokens SET expires_at = $2 WHERE id = $1", id_, begun + SESSION - 1
        )

    await database.write(move)
    used = begun + SESSION - 2
    await database.write(partial(tokens.note_uses, uses=[(id_, used)], now=used))
    assert (await database.read(end))[1] == begun + SESSION
    assert await scene.call(token, "/account/details") == 200


async def test_sessions_that_have_ended_are_swept_and_others_stay(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_SWEPT_AT_ONCE", 1)
    over, _ = await scene.signed_in("writer")
    more, _ = await scene.signed_in("writer")
    stays, token = await scene.signed_in("reader")
    ids = {(await one.take_up()).json()["session"] for one in (over, more)}
    services = scene.tenant.deployment.services

    async def expire(tx: Transaction) -> None:
        await tx.execute("UPDATE tokens SET expires_at = 1 WHERE id IN {each $1}", each(ids))

    await services.database.write(expire)
    assert (await over.take_up()).status_code == 401
    await scene.sign_ins.forget_ended()
    assert ids.isdisjoint(one.token.id for one in await services.issued_tokens.list())
    assert (await stays.take_up()).json()["token"] == token


async def test_whoever_signs_in_once_too_often_ends_the_oldest_session(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "MAX_SESSIONS", 2)
    oldest, first = await scene.signed_in()
    (ended,) = {(await oldest.take_up()).json()["session"]}
    others = [(await scene.signed_in())[1] for _ in range(2)]
    assert await scene.call(first, "/account/details") == 401
    assert (await oldest.take_up()).status_code == 401
    for token in others:
        assert await scene.call(token, "/account/details") == 200
    entries = await scene.tenant.deployment.services.audit.newest(50)
    (entry,) = (one for one in entries if one.action == "token.revoke" and one.subject_id == ended)
    assert entry.actor_id == scene.tenant.users["writer"]


async def test_of_those_who_sign_in_at_once_nobody_has_too_many_sessions(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "MAX_SESSIONS", 2)
    browsers = [browser for browser, _ in [await scene.signed_in() for _ in range(2)]]

    async def sign_in() -> Browser:
        browser = scene.browser()
        answer = scene.one.answer(await browser.depart())
        assert (await browser.arrive(answer)).status_code == 303
        return browser

    browsers += await asyncio.gather(*(sign_in() for _ in range(5)))
    statuses = [(await browser.take_up()).status_code for browser in browsers]
    assert sorted(statuses) == [200] * 2 + [401] * 5
    assert statuses[:2] == [401] * 2
    await scene.tenant.deployment.services.audit.verify()


async def test_sessions_keep_nobody_from_making_tokens_nor_tokens_from_signing_in(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_decided, "MAX_LIVE_TOKENS", 2)  # of which the tenant has made one
    sessions = [(await scene.signed_in())[1] for _ in range(4)]
    await scene.make_token("writer", sessions[-1])
    with pytest.raises(AssertionError, match="too_many_items"):
        await scene.make_token("writer", sessions[-1])
    await scene.signed_in()


async def test_a_provider_that_is_named_no_more_gives_no_token(scene: Scene) -> None:
    browser, _ = await scene.signed_in()
    del scene.sign_ins._clients["one"]
    assert (await browser.take_up()).status_code == 401


def earlier(clock: Clock, seconds: int) -> int:
    """What time it was."""
    return clock() - seconds * 1_000_000
