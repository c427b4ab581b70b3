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
    await visitor.page.get_by_text("102 workspaces you can see").first.wait_for()
    await visitor.button("Show more").click()
    await expect(rows).to_have_count(102)

    await visitor.page.get_by_label("Filter by name").press_sequentially("A-09", delay=20)
    await visitor.page.get_by_role("main").get_by_text("10 workspaces found").wait_for()
    await expect(rows).to_have_count(10)
    await visitor.page.get_by_label("Filter by name").fill("nowhere")
    await visitor.page.get_by_text("No workspace has this in its name").first.wait_for()


async def test_the_tags_of_workspaces_are_seen_beside_their_names(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    path = f"/workspaces/{tenant.workspaces['network']}"
    names = [{"type": "tags", "attributes": {"name": f"t{number}"}} for number in range(4)]
    bound = [{"type": "tag-bindings", "attributes": {"key": f"k{n}", "value": "v"}} for n in (0, 1)]
    for what, data in (("tags", names), ("tag-bindings", bound)):
        answer = await tenant.call("owner", "POST", f"{path}/relationships/{what}", {"data": data})
        assert answer.status_code == 204
    visitor = await crowd.visitor(site, tenant)
    await visitor.go("/")
    await visitor.sign_in("owner")
    rows = visitor.page.locator("main ul.rows > li")
    await expect(rows.nth(0).locator(".badge")).to_have_text(
        ["t0", "t1", "t2", "t3", "k0=v", "and 1 more"]
    )
    assert await rows.nth(0).get_by_text("and 1 more").get_attribute("title") == "k1=v"
    await expect(rows.nth(1).locator(".badge")).to_have_count(0)


async def test_a_key_is_found_in_all_workspaces_one_may_read(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "DB_HOST", "a", workspace="network")
    await site.make(tenant, "DB_HOST", "b", workspace="payments")
    await site.make(tenant, "DB_PASSWORD", "c", workspace="payments", sensitive=True)
    await site.make(tenant, "OTHER", "d", workspace="payments")
    for who, found in (("owner", ["DB_HOST", "DB_HOST", "DB_PASSWORD"]), ("reader", ["DB_HOST"])):
        visitor = await crowd.visitor(site, tenant)
        await visitor.go("/")
        await visitor.sign_in(who)
        search = visitor.page.get_by_label("Find a key in all of them")
        await search.press_sequentially("DB_", delay=20)
        rows = visitor.page.locator("main ul.rows:visible > li")
        await expect(rows.locator(".code")).to_have_text(found)
        await rows.last.click()
        name = "payments" if who == "owner" else "network"
        await visitor.page.get_by_role("heading", name=name).wait_for()
        await visitor.row(found[-1]).wait_for()
        assert await visitor.row("OTHER").count() == 0
        await visitor.page.go_back()
        await search.fill("nothing*")
        await visitor.page.get_by_text("No key that you can see begins with this.").first.wait_for()
