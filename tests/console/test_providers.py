"""Signing in with a provider of others: in all tabs at once, and out of all of them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from teamvars import settings, wiring
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from tests.console.visitors import Site
from tests.support.commands import Host
from tests.support.deployment import operator
from tests.support.openid_provider import Provider, provider
from tests.support.patience import HANGS
from tests.support.served_deployment import ServedDeployment
from tests.support.server import Server
from tests.support.tenant import Tenant, build_tenant


class Scene:
    """The console of a tenant's server, and a browser without a session."""

    def __init__(self, site: Site, tenant: Tenant, window: BrowserContext, issuer: str) -> None:
        self.site, self.tenant, self.window, self.issuer = site, tenant, window, issuer

    async def tab(self, path: str = "/") -> Page:
        """Another tab."""
        page = await self.window.new_page()
        await page.goto(f"{self.site.url}/app{path}")
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
async def scene(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    """A server to which a provider is known, whose accounts are called as our users."""
    with provider(tmp_path) as running:
        monkeypatch.setenv("SSL_CERT_FILE", str(running.authority))
        host = Host(tmp_path).having(log_format="json")
        host.succeed("init")
        keys = keyring.load(host.data / "keyring.json")
        config = settings.load(data_dir=host.data)
        async with (
            database_for(config.url) as database,
            await browser.new_context(ignore_https_errors=True) as window,
        ):
            window.set_default_timeout(HANGS * 1000)
            services = wiring.services(database, keys, config.quota)
            server = Server(host)
            async with httpx.AsyncClient(base_url=f"{server.url}/api/v2", timeout=HANGS) as client:
                served = ServedDeployment(config, keys, services, client, host, server)
                tenant = await build_tenant(served)
                for who in ("writer", "reader", "outsider"):
                    await services.accounts.link(operator(), tenant.users[who], running.url, who)
                (tmp_path / "secret").write_text("any that the provider takes\n")
                company = said(running, tenant) | {"client_secret_file": str(tmp_path / "secret")}
                server.host = host.having(
                    public_url=server.url, providers=json.dumps({"company": company})
                )
                with server:
                    yield Scene(Site(served, "tool"), tenant, window, running.url)


def said(running: Provider, tenant: Tenant) -> dict[str, object]:
    """What the operator says of the provider."""
    return {
        "title": "Example",
        "issuer": running.url,
        "client_id": "teamvars",
        "organizations": [tenant.organization],
    }


async def test_whoever_signs_in_is_in_all_tabs_and_out_of_all(scene: Scene) -> None:
    workspaces = f"/{scene.tenant.organization}/workspaces"
    first = await scene.tab(workspaces)
    await scene.sign_in(first, "writer")
    await scene.listed(first)
    assert first.url == f"{scene.site.url}/app{workspaces}"  # where it was
    tabs = [first, await scene.tab(workspaces), await scene.tab(workspaces)]
    for tab in tabs[1:]:
        await scene.listed(tab)
    await first.reload()
    await scene.listed(first)
    kept = await first.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    assert "tvs_" not in kept
    assert await first.evaluate("document.cookie") == ""

    await tabs[1].get_by_role("button", name="Sign out").click()
    await tabs[1].get_by_text("You are signed out.").first.wait_for()
    await tabs[2].get_by_role("link", name="network").click()
    await tabs[2].get_by_text("The token is no longer valid").first.wait_for()
    await first.reload()
    await first.get_by_role("button", name="Sign in with Example").wait_for()
    await expect(first.get_by_role("link", name="network")).to_have_count(0)


async def test_a_tab_does_not_go_on_as_somebody_else(scene: Scene) -> None:
    workspaces = f"/{scene.tenant.organization}/workspaces"
    first = await scene.tab(workspaces)
    await scene.sign_in(first, "writer")
    await scene.listed(first)
    second = await scene.tab("/sign-in/company")
    await second.get_by_placeholder("sub").fill("reader")
    await second.get_by_role("button", name="Authorize").click()
    await expect(second.locator(".who")).to_contain_text("reader-")

    await first.reload()
    await first.get_by_text("Somebody has signed in again in this browser").wait_for()
    await first.reload()
    await expect(first.locator(".who")).to_contain_text("reader-")


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
