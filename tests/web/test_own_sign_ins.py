"""What people do about their own sign-ins: end them all, link an account while they are signed in,
and accept an invitation once they have signed in.
"""

import httpx
import pytest

from teamvars.domain.tokens import WAY_BACK, OwnerName
from teamvars.protocol import encoded
from teamvars.services import https
from teamvars.services.sign_ins import Answered
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.signing_in import (
    ANSWER,
    ATTEMPT,
    OWN,
    SESSION_COOKIE,
    Browser,
    Scene,
    ids_of,
    into_both,
)
from tests.support.tenant import JSON_API


async def test_somebody_ends_all_their_sessions_at_once_and_nothing_else(scene: Scene) -> None:
    tenant = scene.tenant
    first, one = await scene.signed_in("plain")
    _, two = await scene.signed_in("plain")
    _, other = await scene.signed_in("writer")
    path = f"/users/{tenant.users['plain']}/actions/end-sessions"
    assert await scene.call(other, path, "POST") == 404
    assert await scene.call(one, "/account/details") == 200
    assert await scene.call(one, path, "POST") == 204
    for token in (one, two):
        assert await scene.call(token, "/account/details") == 401
    assert (await first.take_up()).status_code == 401
    assert await scene.call(other, "/account/details") == 200
    assert await scene.call(tenant.tokens["plain"], "/account/details") == 200


async def test_a_session_ends_those_alone_that_reach_as_far_and_a_wider_token_ends_all(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    await into_both(tenant)
    _, one = await scene.signed_in("plain")
    await scene.link("plain", scene.two)
    browser = scene.browser()
    scene.sign_ins._lines["two"] = https.Lines(scene.two.client)
    answer = scene.two.answer(await browser.depart("two"))
    assert (await browser.arrive(answer, "two")).status_code == 303
    two = (await browser.take_up()).json()["token"]
    path = f"/users/{tenant.users['plain']}/actions/end-sessions"
    assert await scene.call(one, path, "POST") == 204
    assert await scene.call(one, "/account/details") == 401
    assert await scene.call(two, "/account/details") == 200
    assert await scene.call(tenant.tokens["plain"], path, "POST") == 204
    assert await scene.call(two, "/account/details") == 401


# Linking an account while somebody is signed in


async def linked(scene: Scene, who: str, name: str = "one") -> Browser:
    """A browser that has come back from a provider to link an account with that user."""
    provider = scene.one if name == "one" else scene.two
    provider.claims["sub"] = f"of {scene.name_of(who)}"
    browser = scene.browser()
    found = await browser.ask("GET", f"/app/sign-in/{name}/link")
    back = await browser.arrive(provider.answer(found.headers["location"]), name)
    assert (back.status_code, back.headers["location"]) == (303, "/app/settings/tokens")
    assert SESSION_COOKIE not in browser.cookies
    return browser


async def ask_for_link(browser: Browser, token: str, **other: str) -> httpx.Response:
    """The page that began it asks for the link."""
    ours = {"origin": OWN, "sec_fetch_site": "same-origin", "teamvars_session": ""}
    sent = {"authorization": f"Bearer {token}", **ours, **other}
    return await browser.ask("POST", "/app/link", **sent)


async def test_whoever_is_signed_in_links_an_account_and_signs_in_with_it_then(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    browser = await linked(scene, "owner")  # whom no address joins
    assert (await ask_for_link(browser, tenant.tokens["owner"])).status_code == 204
    shown = await tenant.deployment.services.accounts.show(tenant.users["owner"])
    assert [one.subject for one in shown.identities] == [f"of {scene.name_of('owner')}"]
    entry = (await tenant.deployment.services.audit.newest(1))[0]
    assert (entry.action, entry.actor_id) == ("user.link", tenant.users["owner"])
    memos = await tenant.deployment.services.database.read(
        lambda tx: tx.fetch("SELECT address FROM memos WHERE id = $1", shown.identities[0].id)
    )
    assert [row[0] for row in memos] == [f"{scene.name_of('owner')}@example.com"]
    other = scene.browser()
    assert (await other.arrive(scene.one.answer(await other.depart()))).status_code == 303
    token = (await other.take_up()).json()["token"]
    assert await scene.call(token, f"/teams/{tenant.teams['owners']}") == 200


@pytest.mark.parametrize(
    "other",
    [
        {"origin": "https://evil.test"},
        {"sec_fetch_site": "cross-site"},
        {"authorization": ""},
        {"cookie": ""},
    ],
)
async def test_nobody_is_linked_but_by_our_page_the_browser_and_the_token(
    scene: Scene, other: dict[str, str]
) -> None:
    browser = await linked(scene, "writer")
    kept = dict(browser.cookies)
    if "cookie" in other:
        browser.cookies.clear()
    refused = await ask_for_link(browser, scene.tenant.tokens["writer"], **other)
    assert refused.status_code in (401, 403)
    browser.cookies = kept
    assert (await ask_for_link(browser, scene.tenant.tokens["writer"])).status_code == 204


@ON_SQLITE
@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"{",
        b'{"provider": "\xff", "said": {}}',
        b'{"provider": "one", "said": {}, "x": ' + b"[" * 2_750,
    ],
)
async def test_a_cookie_that_is_no_answer_links_nobody(scene: Scene, kept: bytes) -> None:
    browser = await linked(scene, "writer")
    browser.cookies[ANSWER] = encoded(kept)
    assert (await ask_for_link(browser, scene.tenant.tokens["writer"])).status_code == 403


@ON_SQLITE
async def test_a_token_that_is_not_valid_is_told_before_anything_of_the_cookies(
    scene: Scene,
) -> None:
    stranger = scene.browser()
    unknown = await ask_for_link(stranger, "tvu_" + "a" * 49)
    assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, "Bearer")
    assert (await ask_for_link(stranger, scene.tenant.tokens["writer"])).status_code == 403


async def test_the_answer_to_a_link_signs_nobody_in_and_that_to_a_sign_in_links_nobody(
    scene: Scene,
) -> None:
    scene.one.claims["sub"] = scene.name_of("reader")
    browser = scene.browser()
    location = await browser.depart()
    answer = scene.one.answer(location)
    assert not scene.sign_ins.links("one", Answered(answer, browser.cookies[ATTEMPT], "", ""))
    begun = await browser.ask("GET", "/app/sign-in/one/link")
    answer = scene.one.answer(begun.headers["location"])
    assert scene.sign_ins.links("one", Answered(answer, browser.cookies[ATTEMPT], "", ""))
    assert not scene.sign_ins.links("two", Answered(answer, browser.cookies[ATTEMPT], "", ""))
    assert (await browser.arrive(answer)).headers["location"] == "/app/settings/tokens"
    another = scene.browser()
    await another.depart()
    assert (await another.arrive(answer)).status_code == 403


async def test_an_account_of_another_user_and_one_of_a_provider_that_reaches_further_is_refused(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    await into_both(tenant)
    browser = await linked(scene, "reader")
    assert (await ask_for_link(browser, tenant.tokens["reader"])).status_code == 204
    again = await linked(scene, "reader")
    taken = await ask_for_link(again, tenant.tokens["writer"])
    assert taken.status_code == 422
    _, session = await scene.signed_in("plain")
    two = await linked(scene, "plain", "two")
    scene.sign_ins._lines["two"] = https.Lines(scene.two.client)
    assert (await ask_for_link(two, session)).status_code == 403
    assert (await ask_for_link(two, tenant.tokens["writers-token"])).status_code == 403
    assert (await ask_for_link(two, tenant.tokens["plain"])).status_code == 204


async def test_where_members_have_to_sign_in_a_pasted_token_brings_nobody_in(scene: Scene) -> None:
    """By no account that whoever has the token has with the provider."""
    tenant = scene.tenant
    _, owner = await scene.signed_in("owner")
    document = {"data": {"type": "organizations", "attributes": {"sso-required": True}}}
    sent = {"Authorization": f"Bearer {owner}", "Content-Type": JSON_API}
    path = f"/api/v2/organizations/{tenant.organization}"
    assert (await scene.http.patch(path, json=document, headers=sent)).status_code == 200
    for who in ("writer", "invited_writer"):
        browser = await linked(scene, who)
        refused = await ask_for_link(browser, tenant.tokens[who])
        assert refused.status_code == 403
        assert "have to sign in" in refused.text
        shown = await tenant.deployment.services.accounts.show(tenant.users[who])
        assert shown.identities == []
    named = OwnerName(user=scene.name_of("writer"))
    way_back = await tenant.deployment.services.tokens.create(operator(), named, WAY_BACK)
    browser = await linked(scene, "writer")
    assert (await ask_for_link(browser, way_back.secret)).status_code == 204


# Invitations


async def test_whoever_is_invited_signs_in_and_accepts_and_has_no_rights_before(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    scene.one.claims |= {
        "sub": f"new {tenant.organization}",
        "email": f"{scene.name_of('invited_writer')}@example.com",
        "email_verified": True,
    }
    browser = scene.browser()
    assert (await browser.arrive(scene.one.answer(await browser.depart()))).status_code == 303
    token = (await browser.take_up()).json()["token"]
    vars_ = f"/workspaces/{tenant.workspaces['network']}/vars"
    assert await scene.call(token, vars_) == 404
    (membership,) = await ids_of(scene, token, "/organization-memberships")
    path = f"/organization-memberships/{membership}/actions/accept"
    assert await scene.call(token, path, "POST") == 200
    assert await scene.call(token, vars_) == 200


async def test_whoever_was_invited_for_too_long_ago_or_elsewhere_is_told_whom_to_ask(
    scene: Scene,
) -> None:
    tenant = scene.tenant
    scene.one.claims |= {
        "sub": f"new {tenant.organization}",
        "email": f"{scene.name_of('invited')}@example.com",
        "email_verified": True,
    }
    invite = tenant.deployment.services.operator_invitations.resend
    await invite(operator(), tenant.memberships["invited"], show=True)
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE invitations SET expires_at = 1 WHERE membership_id = $1",
            tenant.memberships["invited"],
        )
    )
    browser = scene.browser()
    refused = await browser.arrive(scene.one.answer(await browser.depart()))
    assert refused.status_code == 403
    assert "Ask an owner of yours to invite you" in refused.text
    await invite(operator(), tenant.memberships["invited"], show=True)
    assert (await browser.arrive(scene.one.answer(await browser.depart()))).status_code == 303
