"""Signing in with a provider of others, or beside it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.console.provided import Provided, provided
from tests.console.visitors import KEEPS_NOTHING, held
from tests.support.patience import HANGS


class Scene:
    """The console of a tenant's server, and a browser without a session."""

    def __init__(self, there: Provided, window: BrowserContext, url: str = "") -> None:
        """`url`: where the browser finds it, if that is not where it is."""
        self.there, self.site, self.tenant, self.window = there, there.site, there.tenant, window
        self.url = url or there.site.url

    async def tab(self, path: str = "/") -> Page:
        """Another tab."""
        page = await self.window.new_page()
        await page.goto(f"{self.url}/app{path}")
        return page

    async def sign_in(self, page: Page, who: str) -> None:
        """There, as the account of a user; again where the provider of a busy host is late."""
        start, is_late = page.url, page.get_by_text("The provider could not be asked")
        account = page.get_by_placeholder("sub")
        ended = page.get_by_role("button", name="Sign out").or_(page.get_by_text("Ask an owner"))
        while True:
            await page.get_by_role("button", name="Sign in with Example").click()
            await account.or_(is_late).wait_for()
            if await account.is_visible():
                await account.fill(who)
                await page.get_by_role("button", name="Authorize").click()
                await ended.or_(is_late).wait_for()
            if not await is_late.is_visible():
                return
            await page.goto(start)

    async def listed(self, page: Page) -> None:
        """Once the page of the workspaces is there."""
        await page.get_by_role("link", name="network").wait_for()


@pytest.fixture
async def scene(tmp_path: Path, browser: Browser) -> AsyncIterator[Scene]:
    """A server to which a provider is known, whose accounts are called as our users."""
    async with (
        provided(tmp_path) as there,
        await browser.new_context(ignore_https_errors=True) as window,
    ):
        window.set_default_timeout(HANGS * 1000)
        yield Scene(there, window)


@pytest.mark.parametrize("who", ["outsider", "nobody"])
async def test_whoever_has_nothing_here_is_told_whom_to_ask(scene: Scene, who: str) -> None:
    page = await scene.tab()
    await scene.sign_in(page, who)
    await page.get_by_text("Ask an owner").wait_for()
    shown = await page.locator("code").inner_text()
    assert f'"request_id":"{shown}"' in scene.site.served.server.log
    await page.get_by_role("link", name="Back to signing in").click()
    await page.get_by_role("button", name="Sign in with Example").wait_for()


async def test_a_pasted_token_signs_in_beside_a_provider(scene: Scene) -> None:
    page = await scene.tab()
    await page.get_by_label("Token").fill(scene.tenant.tokens["writer"])
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("button", name="Sign out").wait_for()
    other = await scene.tab()
    await other.get_by_role("button", name="Sign in with Example").wait_for()


async def test_whoever_waits_to_be_signed_in_again_reads_that(scene: Scene) -> None:
    page = await scene.tab()
    async with held(page, "**/app/session"):
        await page.reload()
        await expect(page.get_by_text("Loading …")).to_be_visible()
    await page.get_by_role("button", name="Sign in with Example").wait_for()


async def test_a_page_at_another_address_takes_a_pasted_token(scene: Scene) -> None:
    page = await scene.window.new_page()
    elsewhere = scene.site.url.replace("127.0.0.1", "localhost")
    assert elsewhere != scene.site.url
    await page.goto(f"{elsewhere}/app/")
    await page.get_by_label("Token").fill(scene.tenant.tokens["writer"])
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in with Example").click()
    await page.get_by_placeholder("sub").fill("writer")
    await page.get_by_role("button", name="Authorize").click()
    await page.get_by_role("button", name="Sign out").wait_for()
    assert page.url.startswith(f"{scene.site.url}/app/")


async def test_a_page_that_cannot_ask_for_the_session_says_so_and_takes_a_token(
    scene: Scene,
) -> None:
    page = await scene.window.new_page()
    await page.route("**/app/session", lambda route: route.abort())
    await page.goto(f"{scene.site.url}/app/")
    await page.get_by_label("Token").wait_for()
    await expect(page.locator("#notices")).not_to_be_empty()


async def test_where_the_browser_keeps_nothing_a_tab_takes_a_token_and_no_session(
    scene: Scene,
) -> None:
    """It could not know that it has idled: whoever looks at it would be signed in again."""
    await scene.sign_in(await scene.tab(), "writer")
    page = await scene.window.new_page()
    await page.add_init_script(KEEPS_NOTHING)
    await page.goto(f"{scene.site.url}/app/")
    await page.get_by_text("this page keep nothing").wait_for()
    await expect(page.get_by_role("button", name="Sign in with Example")).to_have_count(0)
    await page.get_by_label("Token").fill(scene.tenant.tokens["writer"])
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("link", name="Tokens").click()
    await page.get_by_role("button", name="Sign out everywhere").wait_for()
    await expect(page.get_by_role("button", name="Link my account")).to_have_count(0)


async def test_whoever_cannot_be_signed_out_of_a_session_goes_on_where_they_were(
    scene: Scene,
) -> None:
    page = await scene.tab(f"/{scene.tenant.organization}/workspaces/network")
    await scene.sign_in(page, "writer")
    await page.get_by_role("button", name="Add variable").click()
    await page.get_by_label("Key").fill("typed")
    await page.route("**/authentication-tokens/*", lambda route: route.abort())
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_text("The server could not be reached. Nothing you typed is lost").wait_for()
    await expect(page.get_by_label("Key")).to_have_value("typed")
    await page.unroute("**/authentication-tokens/*")
    await page.get_by_role("button", name="Add variable").last.click()
    await page.get_by_text("typed is added.").first.wait_for()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_text("You are signed out.").first.wait_for()


async def test_whose_session_had_ended_is_not_told_that_it_ended_everywhere(scene: Scene) -> None:
    page = await scene.tab()
    await scene.sign_in(page, "writer")
    await page.get_by_role("link", name="Tokens").click()
    await page.get_by_role("button", name="Sign out everywhere").click()
    ended = {"errors": [{"status": "401", "code": "unauthorized", "title": "", "detail": ""}]}
    await page.route("**/actions/end-sessions", lambda route: route.fulfill(status=401, json=ended))
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Sign out everywhere").click()
    await page.get_by_text("The token is no longer valid").wait_for()


async def test_whoever_signs_out_of_a_session_deletes_what_waits(scene: Scene) -> None:
    await scene.site.make(scene.tenant, "OLD")
    page = await scene.tab(f"/{scene.tenant.organization}/workspaces/network")
    await scene.sign_in(page, "writer")
    await page.get_by_role("button", name="Delete OLD").click()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_text("You are signed out.").first.wait_for()
    assert await scene.site.stored(scene.tenant) == {}
