"""What people do each week takes few clicks, counted as a hand would make them."""

from playwright.async_api import Page, expect

from tests.console.visitors import Crowd, Site
from tests.web.test_variable_search import make_workspaces

COUNT = """() => {
  const hear = () => { window.clicks += 1; };
  if (window.clicks === undefined) addEventListener("pointerdown", hear, true);
  window.clicks = 0;
}"""


async def begin(page: Page) -> None:
    """Counts from now on; the console loads no other document."""
    await page.evaluate(COUNT)


async def clicks(page: Page) -> int:
    """How many there were."""
    found: int = await page.evaluate("window.clicks")
    return found


async def test_a_key_is_found_and_opened_and_rotated_wherever_it_is(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await make_workspaces(tenant, "third")
    for workspace in ("network", "payments", "third"):
        await site.make(tenant, "PSK", "old", workspace, sensitive=True)
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page = visitor.page

    await begin(page)
    search = page.get_by_label("Find a key anywhere")
    await search.click()
    await page.keyboard.type("psk")
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Set value …").click()
    value = page.get_by_label("The new value")
    await expect(value).to_be_focused()
    await value.fill("rotated")
    await visitor.button("Preview").click()
    await visitor.button("Set: 3 variables in 3 workspaces").click()
    await page.get_by_text("3 variables in 3 workspaces set.").first.wait_for()
    assert await clicks(page) <= 8

    await begin(page)
    await page.locator("main ul.rows:visible > li").first.get_by_role("link").click()
    await visitor.button("Edit PSK").click()
    await page.get_by_role("form", name="Edit PSK").wait_for()
    # And the one in the search's field.
    assert await clicks(page) + 1 <= 3


async def test_two_workspaces_are_compared_and_five_keys_copied(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    for number in range(5):
        await site.make(tenant, f"KEY_{number}", "x", "payments")
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    await begin(page)
    await page.get_by_role("link", name="Compare", exact=True).click()
    await page.get_by_label("With workspace").click()
    await page.keyboard.type("payments\n")
    await page.get_by_label("All:").check()
    await visitor.button("Copy 5 variables to network").click()
    await visitor.button("Copy 5 variables").click()
    await page.get_by_text("Copied: 5 new.").first.wait_for()
    assert await clicks(page) <= 6
    assert len(await site.stored(tenant)) == 5
