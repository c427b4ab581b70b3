"""What a page of a sibling does over TLS: another host of the same site, whose requests the browser
sends our cookies with. Each attack gets through once its defence is taken out.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect

from tests.console.provided import provided
from tests.console.test_foreign_pages import SEND, elsewhere, nothing_is_changed, signed_in
from tests.console.test_providers import Scene
from tests.support.browser import DOMAIN
from tests.support.patience import HANGS
from tests.support.terminating_proxy import Answered, Asked, TerminatingProxy

COOKIE = "teamvars-session"
TOSS = """([value, domain]) => {
  for (const rules of ["", `; Domain=${domain}`]) {
    document.cookie = `${value}; Path=/; Secure${rules}`;
  }
}"""


@dataclass(frozen=True)
class Guarded:
    """The console behind TLS at a host of its own, a sibling's address, and what is in between."""

    scene: Scene
    sibling: str
    proxy: TerminatingProxy


@pytest.fixture
async def guarded(tmp_path: Path, browser: Browser) -> AsyncIterator[Guarded]:
    """A service that says of itself that it is reached so."""
    with TerminatingProxy(tmp_path) as proxy, elsewhere(tmp_path) as server:
        url = f"https://vars.{DOMAIN}:{urlsplit(proxy.url).port}"
        async with (
            provided(tmp_path, public_url=url) as there,
            await browser.new_context(ignore_https_errors=True) as window,
        ):
            proxy.target = there.site.url
            window.set_default_timeout(HANGS * 1000)
            sibling = f"https://blog.{DOMAIN}:{server.server_port}"
            yield Guarded(Scene(there, window, url), sibling, proxy)


async def test_no_page_of_a_sibling_changes_anything(guarded: Guarded) -> None:
    await nothing_is_changed(guarded.scene, guarded.sibling)


@pytest.mark.parametrize("is_out", [False, True], ids=["as it is", "whoever asks"])
async def test_no_page_of_a_sibling_has_the_token_given(guarded: Guarded, is_out: bool) -> None:
    """The cookie comes along: it is by whose page asks that it is refused."""
    scene, proxy = guarded.scene, guarded.proxy
    await signed_in(scene)
    theirs = await scene.window.new_page()
    await theirs.goto(guarded.sibling)
    asked: list[Asked] = []
    answers: list[Answered] = []

    def there(sent: Asked) -> Asked:
        """Every page is one of ours, if that is taken out."""
        if sent.path != "/app/session":
            return sent
        asked.append(sent)
        ours = {"Origin": scene.url, "Sec-Fetch-Site": "same-origin", "Teamvars-Session": ""}
        kept = {k: v for k, v in sent.headers.items() if k.title() not in ours}
        return Asked(sent.method, sent.path, {**kept, **ours}, sent.body) if is_out else sent

    def back(sent: Asked, answered: Answered) -> Answered:
        if sent.path == "/app/session" and sent.method == "POST":
            answers.append(answered)
        return answered

    proxy.there, proxy.back = there, back
    told = await theirs.evaluate(SEND, [scene.url, [["POST", "/app/session"]]])
    assert set(told) == {"hidden", "refused"}  # what comes back, another site never reads
    assert all(
        f"__Host-{COOKIE}=" in one.headers["Cookie"] for one in asked if one.method == "POST"
    )
    assert {one.headers["Sec-Fetch-Site"] for one in asked} == {"same-site"}
    assert {one.status for one in answers} == {200 if is_out else 403}
    assert any(b"tvs_" in one.body for one in answers) is is_out


@pytest.mark.parametrize("is_out", [False, True], ids=["as it is", "without the prefix"])
async def test_no_sibling_signs_a_browser_in_to_a_session_of_its_own(
    guarded: Guarded, browser: Browser, is_out: bool
) -> None:
    """Cookie tossing: what is typed there would be the attacker's to read."""
    scene, proxy = guarded.scene, guarded.proxy
    if is_out:
        proxy.there, proxy.back = without_prefix, of_any_host
    name = COOKIE if is_out else f"__Host-{COOKIE}"
    async with await browser.new_context(ignore_https_errors=True) as window:
        window.set_default_timeout(HANGS * 1000)
        attacker = Scene(scene.there, window, scene.url)
        page = await attacker.tab()
        await attacker.sign_in(page, "reader")
        (own,) = [one for one in await window.cookies() if one["name"] == name]
    theirs = await scene.window.new_page()
    await theirs.goto(guarded.sibling)
    await theirs.evaluate(TOSS, [f"{name}={own['value']}", DOMAIN])
    victim = await scene.tab()
    if is_out:
        await expect(victim.locator(".who")).to_contain_text("reader-")
    else:
        await victim.get_by_role("button", name="Sign in with Example").wait_for()
        await expect(victim.locator(".who")).to_have_count(0)


def without_prefix(asked: Asked) -> Asked:
    """As if the cookie had another name."""
    said = asked.headers.get("Cookie", "").replace(COOKIE, f"__Host-{COOKIE}")
    return Asked(asked.method, asked.path, {**asked.headers, "Cookie": said}, asked.body)


def of_any_host(_: Asked, answered: Answered) -> Answered:
    """The same of where it is set."""
    headers = {k: v.replace(f"__Host-{COOKIE}", COOKIE) for k, v in answered.headers.items()}
    return Answered(answered.status, headers, answered.body)
