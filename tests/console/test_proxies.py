"""What stands between a page and the server, and answers in its place."""

from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.console.visitors import PAINTED, Crowd, Site, Visitor, held
from tests.support.tenant import Tenant

VARIABLE = "**/api/v2/workspaces/*/vars/*"
IN_ITS_PLACE = "Something between here and the server answered in its place"
PAGE: dict[str, Any] = {"content_type": "text/html", "body": "<html><h1>Bad gateway</h1></html>"}
COMES_BACK = "document.dispatchEvent(new Event('visibilitychange'))"
CUT_OFF: dict[str, Any] = {
    "content_type": "application/vnd.api+json",
    "body": '{"data": {"id": "var-',
}

of_others = pytest.mark.parametrize(
    ("below", "what"),
    [("", "What others have changed"), ("/compare?with=payments", "What there is now")],
)


async def answer(page: Page, where: str, times: int, /, **said: Any) -> None:
    """So many requests there are answered so, and reach no server."""
    await page.route(where, lambda route: route.fulfill(**said), times=times)


async def test_a_save_that_a_proxy_answers_is_sent_again_and_happens_once(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """The server has made the change, but what it answers does not arrive."""
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.edit("LEVEL")
    await form.get_by_label("Value").fill("debug")
    keys = []

    async def lose(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        await route.fetch()
        await route.fulfill(status=504 if len(keys) == 1 else 200, **[PAGE, CUT_OFF][len(keys) - 1])

    await visitor.page.route(VARIABLE, lose, times=2)
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    await expect(visitor.row("LEVEL")).to_contain_text("debug")
    assert len(set(keys)) == 1
    assert [one["value"] for one in (await sqlite_site.stored(tenant)).values()] == ["debug"]


@pytest.mark.parametrize("status", [401, 404, 413, 502])
async def test_what_a_proxy_answers_is_told_as_such_and_nothing_else_is_made_of_it(
    sqlite_site: Site, crowd: Crowd, status: int
) -> None:
    """Neither that the token has ended nor that somebody has deleted the variable."""
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.edit("LEVEL")
    await form.get_by_label("Value").fill("debug")
    await answer(visitor.page, VARIABLE, 3, status=status, **PAGE)
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text(f"{IN_ITS_PLACE} ({status}). Nothing you typed is lost.").wait_for()
    await expect(form.get_by_label("Value")).to_have_value("debug")
    await form.get_by_role("button", name="Save").click()
    await expect(visitor.row("LEVEL")).to_contain_text("debug")


async def test_what_a_proxy_answers_to_everything_is_not_said_to_be_the_server_again(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.arrived(sqlite_site, await sqlite_site.tenant(), "workspaces")
    page = visitor.page
    told = page.get_by_text("The server cannot be reached")
    await page.route("**/healthz", lambda route: route.fulfill(status=200, **PAGE))
    await answer(page, "**/api/v2/organizations/*/workspaces?*", 3, status=200, **PAGE)
    async with page.expect_response("**/healthz"):
        await page.get_by_label("Filter by name").fill("pay")
    await page.evaluate(PAINTED)
    await expect(told).to_have_count(1)
    await page.unroute("**/healthz")
    await expect(told).to_have_count(0)


async def test_a_server_that_answers_nothing_is_asked_one_thing_at_a_time(
    sqlite_site: Site, timeless: Crowd
) -> None:
    """Else what the page asks once it is back would wait behind all that was asked meanwhile."""
    tenant = await sqlite_site.tenant()
    visitor = await timeless.visitor(sqlite_site, tenant)
    page = visitor.page
    await page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces")
    await visitor.sign_in("owner")
    await page.get_by_role("link", name="payments").wait_for()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    await answer(page, "**/api/v2/organizations/*/workspaces?*", 3, status=200, **PAGE)
    told = page.get_by_text("The server cannot be reached")
    async with held(page, "**/healthz") as is_asked:
        await page.get_by_label("Filter by name").fill("pay")
        await told.wait_for()
        await page.clock.run_for(10_000)
        await is_asked()
        await page.evaluate("fetch('/healthz?later')")  # all that was asked before is known by then
        assert len([one for one in asked if one.endswith("/healthz")]) == 1
    await expect(told).to_have_count(0)


async def test_a_list_that_a_proxy_answers_says_so_and_can_be_asked_for_again(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    page = visitor.page
    await page.get_by_role("link", name="payments").wait_for()
    await answer(page, "**/api/v2/organizations/*/workspaces?*", 3, status=200, **PAGE)
    await page.get_by_label("Filter by name").fill("pay")
    await page.get_by_text(f"{IN_ITS_PLACE} (200)").wait_for()
    await visitor.button("Try again").click()
    await page.get_by_role("link", name="payments").wait_for()
    await page.reload()
    await page.get_by_role("link", name="payments").wait_for()


async def seeing_old(site: Site, crowd: Crowd, below: str) -> tuple[Tenant, Visitor, Locator]:
    """Somebody at that page of a workspace, and its rows, once the one with OLD is there."""
    tenant = await site.tenant()
    await site.make(tenant, "OLD", "x")
    visitor = await crowd.arrived(site, tenant, f"workspaces/network{below}")
    rows = visitor.page.get_by_role("rowheader")
    await rows.filter(has_text="OLD").wait_for()
    return tenant, visitor, rows


@of_others
async def test_what_a_proxy_keeps_from_a_page_that_is_there_is_said_until_it_comes(
    sqlite_site: Site, crowd: Crowd, below: str, what: str
) -> None:
    """Though the server itself is there, so that nothing else says it."""
    tenant, visitor, rows = await seeing_old(sqlite_site, crowd, below)
    page = visitor.page
    await sqlite_site.make(tenant, "NEW", "x")
    listed = f"**{tenant.vars_path()}"
    await page.route(listed, lambda route: route.fulfill(status=502, **PAGE))
    await page.evaluate(COMES_BACK)
    told = page.get_by_text(f"{what} is not shown.")
    await told.filter(has_text=f"{IN_ITS_PLACE} (502)").wait_for()
    await expect(rows.filter(has_text="OLD")).to_have_count(1)
    await page.unroute(listed)
    await page.evaluate(COMES_BACK)
    await rows.filter(has_text="NEW").wait_for()
    await expect(told).to_have_count(0)


@of_others
async def test_what_was_missed_while_the_server_was_away_shows_once_it_is_back(
    sqlite_site: Site, crowd: Crowd, below: str, what: str
) -> None:
    tenant, visitor, rows = await seeing_old(sqlite_site, crowd, below)
    page = visitor.page
    listed = "**/vars*"  # all of them: an answer in between says that the server is back
    for one in ("**/healthz", listed):
        await page.route(one, lambda route: route.abort())
    await page.evaluate(COMES_BACK)
    told = page.get_by_text(f"{what} is not shown.")
    await told.wait_for()
    await sqlite_site.make(tenant, "NEW", "x")
    for one in (listed, "**/healthz"):
        await page.unroute(one)
    await rows.filter(has_text="NEW").wait_for()
    await expect(told).to_have_count(0)
    visitor.complaints[:] = [one for one in visitor.complaints if "ERR_FAILED" not in one]
