"""What a page looks like on paper: what one read, where and when, and nothing that one does."""

import re

from playwright.async_api import Page, expect

from tests.console.accessibility import WIDEST
from tests.console.test_imports import PASTE
from tests.console.visitors import WHEN, Crowd, Site

CUT_OFF = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && one.textContent.trim()
    && !one.closest("svg, .unseen, .veil") && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).overflowX !== "visible")
  .map((one) => one.outerHTML)"""
"""What has more in it than is seen."""
BUTTONS = """() => [...document.querySelectorAll("button, .button, [type=search]")]
  .filter((one) => one.checkVisibility() && one.closest(".sort") === null)
  .map((one) => one.outerHTML)"""


async def print_(page: Page) -> None:
    """The page is as it is printed, in a window as wide as a sheet."""
    await page.emulate_media(media="print")
    await page.set_viewport_size({"width": 720, "height": 900})
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")


async def test_variables_are_printed_whole_with_where_and_when(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "K" * 128, "v" * 190, description="d" * 200)
    await sqlite_site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    form = await visitor.add("SECRET", "half-typed")
    await form.get_by_label("Sensitive").check()
    await print_(page)
    header = page.locator("#header")
    await expect(header).to_contain_text(re.compile(f"Printed {WHEN}"))
    for one in (tenant.organization, "network"):
        await expect(header.get_by_text(one, exact=True)).to_be_visible()
    await expect(visitor.row("LEVEL").get_by_text("info")).to_be_visible()
    await expect(form).to_be_hidden()
    assert await page.evaluate(CUT_OFF) == []
    assert await page.evaluate(WIDEST) <= 0
    assert await page.evaluate(BUTTONS) == []


async def test_of_a_variable_that_is_being_edited_the_key_is_printed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "TOKEN", "first", sensitive=True)
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.retype("TOKEN", "half-typed")
    await print_(visitor.page)
    await expect(form.get_by_label("New value")).to_be_hidden()
    cell = visitor.page.locator("tr.open > td")
    assert "TOKEN" in await cell.evaluate("one => getComputedStyle(one, '::before').content")


async def test_a_preview_is_printed_in_the_place_of_the_page(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await page.evaluate(PASTE, "".join(f"KEY_{number:03}=x\n" for number in range(260)))
    await visitor.button("Preview").click()
    await visitor.button("Apply 260 changes").wait_for()
    await page.emulate_media(media="print", color_scheme="dark")
    await expect(page.locator("#page")).to_be_hidden()
    assert await page.locator(".scroll").evaluate("one => one.scrollHeight <= one.clientHeight")
    await expect(visitor.button("Apply 260 changes")).to_be_hidden()
    await expect(visitor.button("Show 60 more")).to_be_visible()  # the paper has not all of it
    dark = await page.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, re.findall(r"\d+", dark))) < 128, dark
