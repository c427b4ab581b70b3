"""The workspaces of an organization: found by name, page by page."""

import asyncio

from playwright.async_api import expect

from tests.console.visitors import Crowd, Site


async def test_of_many_workspaces_a_page_is_shown_and_any_is_found(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    path = f"/organizations/{tenant.organization}/workspaces"

    async def make(number: int) -> None:
        data = {"type": "workspaces", "attributes": {"name": f"area-{number:03}"}}
        assert (await tenant.call("owner", "POST", path, {"data": data})).status_code == 201

    await asyncio.gather(*map(make, range(100)))
    visitor = await crowd.visitor(site, tenant)
    await visitor.go("/")
    await visitor.sign_in("owner")
    rows = visitor.page.locator("main ul.rows > li")
    await expect(rows).to_have_count(100)
    await visitor.page.get_by_text("102 workspaces you can see").wait_for()
    await visitor.button("Show more").click()
    await expect(rows).to_have_count(102)

    await visitor.page.get_by_label("Filter by name").press_sequentially("A-09", delay=20)
    await visitor.page.get_by_text("10 workspaces found").wait_for()
    await expect(rows).to_have_count(10)
    await visitor.page.get_by_label("Filter by name").fill("nowhere")
    await visitor.page.get_by_text("No workspace has this in its name").wait_for()
