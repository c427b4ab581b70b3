"""Whoever looks at the console: a browser of their own, and what its pages complain of."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, Route

from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import Tenant, build_tenant

# The pages know the API alone, and that is tested on both engines: these see a dialect's words as
# well, or two who change the same.
on_each_engine = pytest.mark.parametrize("site", ["sqlite", "postgres"], indirect=True)


WHEN = r"\d+ \w+ \d{4}, \d\d:\d\d"
"""A time, as pages say it."""

# As where a policy or a setting blocks storage.
KEEPS_NOTHING = (
    "Object.defineProperty(window, 'sessionStorage', { get() {"
    " throw new DOMException('denied', 'SecurityError'); } })"
)

# A tab that somebody has signed in to: once, and not whenever it is loaded again.
SIGNED_IN = """(() => {
  if (window.name) return;
  window.name = "signed in";
  sessionStorage.setItem("teamvars.session", JSON.stringify({ token: "%s", seenAt: Date.now() }));
})()"""

# Whoever looks here clicks at what they see; what has just moved is tried by `hands`.
SETTLES_AT_ONCE = """{
  const real = window.setTimeout;
  window.setTimeout = (act, ms, ...more) => real(act, ms === 300 ? 0 : ms, ...more);
}"""

# What the page makes of all that has come is on the screen.
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass(frozen=True)
class Site:
    """A server with the console; `tool` is what it calls the category of its own variables."""

    served: ServedDeployment
    tool: str

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.served.server.url

    async def tenant(self) -> Tenant:
        """An organization of a test's own."""
        return await build_tenant(self.served)

    async def make(
        self, tenant: Tenant, key: str, value: str = "", workspace: str = "network", **more: Any
    ) -> str:
        """A variable, made by the owner; returns its id."""
        attributes = {"key": key, "value": value, "description": "", "category": "env", **more}
        document = {"data": {"type": "vars", "attributes": attributes}}
        answer = await tenant.call("owner", "POST", tenant.vars_path(workspace), document)
        assert answer.status_code == 201, answer.text
        id_: str = answer.json()["data"]["id"]
        return id_

    async def change(
        self, tenant: Tenant, id_: str, workspace: str = "network", **attributes: Any
    ) -> None:
        """A variable's attributes, changed by the owner behind whoever looks at it."""
        document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
        path = f"{tenant.vars_path(workspace)}/{id_}"
        answer = await tenant.call("owner", "PATCH", path, document)
        assert answer.status_code == 200, answer.text

    async def stored(self, tenant: Tenant, workspace: str = "network") -> dict[str, dict[str, Any]]:
        """The attributes of a workspace's variables by key."""
        found = await tenant.variables(workspace)
        return {one["attributes"]["key"]: one["attributes"] for one in found}


@dataclass
class Visitor:
    """Somebody with a tab. `complaints` are errors of the page and breaches of its policy."""

    site: Site
    tenant: Tenant
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Notes whatever this page complains of."""
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        # The browser notes each answer that is no success; what the page makes of it is tested.
        place = message.location["url"]
        is_answer = message.text.startswith("Failed to load resource") and "/api/" in place
        if message.type in ("error", "warning") and not is_answer:
            self.complaints.append(f"{message.text} {place}")

    async def go(self, path: str) -> None:
        """Loads a page of the console, by the path below `/app`."""
        await self.page.goto(f"{self.site.url}/app{path}")

    async def be(self, who: str) -> None:
        """From the page that is loaded next the tab is one that this person has signed in to."""
        await self.page.add_init_script(SIGNED_IN % self.tenant.tokens[who])

    async def sign_in(self, who: str) -> None:
        """Gives the token of one of the tenant's people to the form."""
        await self.paste(self.tenant.tokens[who])
        await self.page.get_by_role("button", name="Sign out").wait_for()

    async def paste(self, token: str) -> None:
        """Gives a token to the form, whatever comes of it."""
        await self.page.get_by_label("Token").fill(token)
        await self.button("Sign in").click()

    async def open(self, workspace: str = "network") -> None:
        """Loads the page of a workspace's variables."""
        await self.go(f"/{self.tenant.organization}/workspaces/{workspace}")
        await self.page.get_by_role("heading", level=1, name=workspace).wait_for()

    def button(self, name: str) -> Locator:
        """A button by its whole name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def row(self, key: str) -> Locator:
        """The row of a variable."""
        rows = self.page.locator("table.variables").get_by_role("row")
        return rows.filter(has=self.page.get_by_text(key, exact=True))

    async def edit(self, key: str) -> Locator:
        """Opens a variable; returns its form."""
        await self.button(f"Edit {key}").click()
        return self.page.get_by_role("form", name=f"Edit {key}")

    async def retype(self, key: str, value: str) -> Locator:
        """Opens a sensitive variable and types another value; returns its form."""
        form = await self.edit(key)
        await form.get_by_role("button", name="Replace value").click()
        await form.get_by_label("New value").fill(value)
        return form

    async def add(self, key: str, value: str) -> Locator:
        """Opens the form of a new variable and fills in so much; returns the form."""
        await self.button("Add variable").first.click()
        form = self.page.get_by_role("form", name="A new variable")
        await form.get_by_label("Key").fill(key)
        await form.get_by_label("Value").fill(value)
        return form


class Crowd:
    """All visitors of a test, each in a tab, which is all that a session has."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._tabs_before = list(context.pages)
        self._visitors: list[Visitor] = []

    async def visitor(self, site: Site, tenant: Tenant, *, width: int = 1200) -> Visitor:
        """Somebody who has not been here before."""
        page = await self._context.new_page()
        await page.set_viewport_size({"width": width, "height": 900})
        visitor = Visitor(site, tenant, self._context, page)
        visitor.watch(visitor.page)
        self._visitors.append(visitor)
        return visitor

    async def member(
        self,
        site: Site,
        tenant: Tenant,
        who: str = "owner",
        workspace: str = "network",
        **look: Any,
    ) -> Visitor:
        """One of the tenant's people, signed in, who looks at a workspace."""
        visitor = await self.visitor(site, tenant, **look)
        await visitor.be(who)
        await visitor.open(workspace)
        return visitor

    async def arrived(self, site: Site, tenant: Tenant, path: str, who: str = "owner") -> Visitor:
        """One of the tenant's people, signed in, on a page of the organization."""
        visitor = await self.visitor(site, tenant)
        await visitor.be(who)
        await visitor.go(f"/{tenant.organization}/{path}")
        await visitor.button("Sign out").wait_for()
        return visitor

    async def leave(self) -> None:
        """Closes all tabs that were opened since."""
        for page in self._context.pages:
            if page not in self._tabs_before:
                await page.close()

    @property
    def complaints(self) -> list[str]:
        """Of all pages together."""
        return [one for visitor in self._visitors for one in visitor.complaints]


@asynccontextmanager
async def held(
    page: Page, where: str | re.Pattern[str]
) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """What is asked for there is answered once the block has ended. What it gives waits until
    something is.
    """
    is_asked, is_over = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        is_asked.set()
        await is_over.wait()
        await route.fallback()

    await page.route(where, hold)
    try:
        yield is_asked.wait
    finally:
        is_over.set()


@asynccontextmanager
async def overtaken(
    page: Page, where: str | re.Pattern[str]
) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """The first answer from there comes once the block has ended, after those to what is asked
    meanwhile, and the page has taken it then. What it gives waits until the server has answered.
    """
    is_answered, is_over, is_told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def delay(route: Route) -> None:
        answer = await route.fetch()
        is_answered.set()
        await is_over.wait()
        await route.fulfill(response=answer)
        is_told.set()

    await page.route(where, delay, times=1)
    try:
        yield is_answered.wait
    finally:
        is_over.set()
    await is_told.wait()
    await page.evaluate(PAINTED)


async def small_pages(page: Page, where: str, size: int) -> None:
    """Lists that are asked for there come in pages of so many."""

    async def shorten(route: Route) -> None:
        url = re.sub(r"page(\[|%5B)size(\]|%5D)=\d+", f"page[size]={size}", route.request.url)
        await route.continue_(url=url)

    await page.route(where, shorten)
