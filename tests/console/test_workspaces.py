"""The workspaces of an organization: found by name, page by page."""

import asyncio
from dataclasses import replace

import pytest
from playwright.async_api import Route, expect

from tests.console.hands.test_elsewhere import UNSETTLED
from tests.console.visitors import Crowd, Site, held, small_pages
from tests.support.tenant import Tenant
from tests.web.test_variable_sets import make_set, put

# What is put into the page once more, as if it were new, is read out once more.
COUNTS_MOVES = """() => {
  window.moves = 0;
  const those = (all) => all.flatMap((one) => [...one.addedNodes, ...one.removedNodes]);
  new MutationObserver((all) => {
    window.moves += those(all).filter((one) => one.matches("[id]")).length;
  }).observe(document.body, {childList: true});
}"""
"""Of the parts of the page, which have names; of a veil nobody hears."""


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

    await visitor.page.get_by_label("Filter by name").fill("")
    await expect(rows).to_have_count(100)
    async with held(visitor.page, "**/workspaces?*") as are_asked_for:
        await visitor.page.get_by_label("Filter by name").fill("net")
        await are_asked_for()
        await visitor.button("Show more").click()
    await visitor.page.get_by_text("1 workspace found").first.wait_for()
    await expect(rows).to_have_count(1)
    await visitor.page.get_by_label("Filter by name").fill("")
    await visitor.button("Show more").dblclick()
    await expect(rows).to_have_count(102)
    await expect(visitor.button("Show more")).to_be_hidden()


async def test_the_tags_and_the_project_of_workspaces_are_seen_beside_their_names(
    site: Site, crowd: Crowd
) -> None:
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
    for row in (rows.nth(0), rows.nth(1)):
        await expect(row.locator(".project")).to_have_text("Default Project")


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
        search = visitor.page.get_by_label("Find a key anywhere")
        await search.press_sequentially("db_", delay=20)
        rows = visitor.page.locator("main ul.rows:visible > li")
        await expect(rows.locator(".code")).to_have_text(found)
        await rows.last.click()
        name = "payments" if who == "owner" else "network"
        await visitor.page.get_by_role("heading", name=name).wait_for()
        await visitor.row(found[-1]).wait_for()
        assert await visitor.row("OTHER").count() == 0
        await visitor.page.go_back()
        await expect(search).to_have_value("db_")
        await expect(rows.locator(".code")).to_have_text(found)
        await visitor.page.reload()
        await expect(rows.locator(".code")).to_have_text(found)
        await search.fill("nothing*")
        await visitor.page.get_by_text("No key that you can see has this in it.").first.wait_for()


async def test_what_a_list_is_narrowed_by_survives_a_reload_and_the_way_back(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page, rows = visitor.page, visitor.page.locator("main ul.rows:visible > li .name")
    await page.get_by_label("Filter by name").fill("NET")
    await expect(rows).to_have_text(["network"])
    await page.reload()
    await expect(page.get_by_label("Filter by name")).to_have_value("NET")
    await expect(rows).to_have_text(["network"])
    await visitor.go(f"/{tenant.organization}/members?status=invited&q=nobody")
    await page.get_by_text("Nobody has this in their name or address.").wait_for()
    await expect(page.get_by_label("Invited")).to_be_checked()
    await page.get_by_label("Filter by name or address").fill("owner")
    await page.get_by_label("All").check()
    await expect(rows).to_have_count(1)
    assert page.url.endswith("/members?q=owner")
    await page.go_back()
    await expect(rows).to_have_text(["network"])


async def test_a_page_begins_at_its_top_and_back_and_forward_lead_to_where_one_was(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    for number in range(30):
        await sqlite_site.make(tenant, f"KEY_{number:02}")
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    await page.set_viewport_size({"width": 1200, "height": 200})
    await page.get_by_role("link", name="Activity").click()
    oldest = page.get_by_role("link", name="KEY_00")
    await oldest.focus()
    was = await page.evaluate("scrollY")
    assert was > 0
    await oldest.press("Enter")
    await visitor.button("Edit KEY_00").wait_for()
    assert await page.evaluate("scrollY") == 0
    await page.evaluate("scrollTo(0, 300)")
    await page.wait_for_function("() => history.state?.top === 300")
    await page.go_back()
    await oldest.wait_for()
    await page.wait_for_function("was => scrollY === was", arg=was)
    await page.go_forward()
    await visitor.button("Edit KEY_00").wait_for()
    await page.wait_for_function("() => scrollY === 300")


async def test_whoever_goes_back_or_reloads_finds_the_rows_that_came_after_the_first(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await asyncio.gather(*(sqlite_site.make(tenant, f"KEY_{at:02}") for at in range(60)))
    visitor = await crowd.member(sqlite_site, tenant)
    page, last = visitor.page, visitor.button("Edit KEY_59")
    await last.focus()
    await page.wait_for_function("() => scrollY && history.state?.top === scrollY")
    access = page.get_by_role("link", name="Access")
    await access.dispatch_event("click")  # which scrolls to nothing
    await page.get_by_role("heading", name="Who has access").wait_for()
    await page.go_back()
    await expect(last).to_be_in_viewport()
    await page.reload()
    await last.wait_for()
    await expect(last).to_be_in_viewport()


async def test_whoever_goes_back_finds_of_a_list_all_that_was_shown(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    path = f"/organizations/{tenant.organization}/teams"
    documents = (
        {"data": {"type": "teams", "attributes": {"name": f"team-{at:03}"}}} for at in range(100)
    )
    await asyncio.gather(*(tenant.call("owner", "POST", path, one) for one in documents))
    visitor = await crowd.arrived(sqlite_site, tenant, "teams")
    page = visitor.page
    await visitor.button("Show more").click()
    last = page.get_by_role("link", name="writers")
    await last.focus()
    await page.wait_for_function("() => scrollY && history.state?.top === scrollY")
    await last.press("Enter")
    await page.get_by_role("heading", level=1, name="writers").wait_for()
    await page.go_back()
    await last.wait_for()
    await expect(last).to_be_in_viewport()


async def test_what_is_looked_for_is_not_said_to_be_nowhere_before_all_is_looked_at(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.arrived(sqlite_site, await sqlite_site.tenant(), "workspaces")
    page, found = visitor.page, visitor.page.get_by_text("No key that you can see has this in it.")

    async def look_at_some(route: Route) -> None:
        path = route.request.url.removeprefix(sqlite_site.url)
        await route.fulfill(json={"data": [], "links": {"next": path}})

    await page.route("**/vars?*", look_at_some)
    await page.get_by_label("Find a key anywhere").fill("PSK")
    await visitor.button("Search on").wait_for()
    await page.get_by_text("None of those looked at so far has this in its key.").wait_for()
    await expect(found).to_have_count(0)
    await page.unroute("**/vars?*")
    await visitor.button("Search on").click()
    await found.wait_for()


async def test_the_name_of_a_tab_says_which_page_of_what_it_has(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    for one in ("Variables", "Activity"):
        await visitor.page.get_by_role("link", name=one).click()
        await expect(visitor.page).to_have_title(f"network · {one} · teamvars")


async def test_what_the_page_has_said_is_not_said_again_by_the_next_one(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await page.evaluate(COUNTS_MOVES)
    await page.get_by_role("link", name="Activity").click()
    await expect(page).to_have_title("network · Activity · teamvars")
    assert await page.evaluate("moves") == 0


async def test_what_the_page_has_said_is_not_printed_on_every_sheet(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    form = await visitor.add("LEVEL", "x")
    await form.get_by_role("button", name="Add variable").click()
    told = visitor.page.locator("#notices").get_by_text("LEVEL is added.")
    await told.wait_for()
    await visitor.page.emulate_media(media="print")
    await expect(told).to_be_hidden()
    await visitor.page.emulate_media(media="screen")


async def test_no_more_is_looked_for_than_an_address_can_say(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    page = visitor.page
    await page.get_by_label("Find a key anywhere").focus()
    await page.keyboard.insert_text("x" * 20_000)
    await page.get_by_text("No key that you can see has this in it.").first.wait_for()
    await page.reload()
    await page.get_by_text("No key that you can see has this in it.").first.wait_for()
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_label("Part of a key").focus()
    await page.keyboard.insert_text("x" * 20_000)
    await visitor.button("Show").click()
    await page.get_by_text("No such changes").wait_for()
    await page.reload()
    await page.get_by_text("No such changes").wait_for()


async def test_a_key_is_found_in_a_variable_set_and_leads_there(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    made = await make_set(tenant, "Cloud keys", "network")
    await put(tenant, made, "DB_HOST")
    await put(tenant, made, "OTHER")
    visitor = await crowd.visitor(site, tenant)
    await visitor.go("/")
    await visitor.sign_in("reader")
    await visitor.page.get_by_label("Find a key anywhere").press_sequentially("DB_")
    row = visitor.page.locator("main ul.rows:visible > li")
    await expect(row).to_contain_text("in the set Cloud keys")
    await row.click()
    await visitor.page.get_by_role("heading", name="Cloud keys").wait_for()
    await visitor.row("DB_HOST").wait_for()
    assert await visitor.row("OTHER").count() == 0


async def test_a_workspace_is_made_renamed_described_tagged_and_deleted(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page = visitor.page
    await visitor.button("New workspace").click()
    form = page.get_by_role("form", name="A new workspace")
    await form.get_by_label("Name", exact=True).fill("two words")
    await form.get_by_label("Tags").fill("live, region=\u202e")
    await visitor.button("Create workspace").click()
    name, tags = form.get_by_label("Name", exact=True), form.get_by_label("Tags")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await expect(tags).to_have_attribute("aria-invalid", "true")
    await name.fill("checkout")
    await tags.fill("live, region=eu")
    await visitor.button("Create workspace").click()
    await page.get_by_role("heading", level=1, name="checkout").wait_for()

    await site.make(await knowing(tenant, "checkout"), "LEVEL", workspace="checkout")
    await page.get_by_role("link", name="Settings").click()
    form = page.get_by_role("form", name="Change the workspace")
    await expect(form.get_by_label("Tags")).to_have_value("live, region=eu")
    await form.get_by_label("Name", exact=True).fill("till")
    await form.get_by_label("Description").fill("Where people pay")
    await form.get_by_label("Tags").fill("region=us")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_role("heading", level=1, name="till").wait_for()
    await page.get_by_role("link", name=tenant.organization).click()
    row = page.get_by_role("link", name="till")
    await expect(row).to_contain_text("region=us")
    await expect(row).to_contain_text("Where people pay")
    await expect(row).not_to_contain_text("live")

    await row.click()
    await page.get_by_role("heading", level=1, name="till").wait_for()
    await page.get_by_role("link", name="Settings").click()
    await visitor.button("Delete workspace").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("It has 1 variable.")
    await expect(dialog).to_contain_text(f"owner-{tenant.organization.removeprefix('org-')}")
    await expect(dialog).to_contain_text("access to it.")
    await dialog.get_by_label("Type the name to confirm").fill("till")
    await dialog.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("status").get_by_text("till is deleted.").wait_for()
    await expect(page.get_by_role("link", name="till")).to_have_count(0)


async def test_tags_that_others_have_changed_meanwhile_stay(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await tag(tenant, ["live", "old"], region="eu")
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces/network/settings")
    form = visitor.page.get_by_role("form", name="Change the workspace")
    await expect(form.get_by_label("Tags")).to_have_value("live, old, region=eu")
    await tag(tenant, ["live", "theirs"], region="us", tier="1")

    await form.get_by_label("Tags").fill("old, mine, region=eu, tier=2")
    await form.get_by_role("button", name="Save").click()
    await visitor.page.get_by_text("The workspace is saved.").wait_for()
    await expect(form.get_by_label("Tags")).to_have_value("mine, theirs, region=us, tier=2")


async def tag(tenant: Tenant, names: list[str], **values: str) -> None:
    """Gives a workspace these tags, and no others."""
    bound = [
        {"type": "tag-bindings", "attributes": {"key": key, "value": value}}
        for key, value in values.items()
    ]
    data = {
        "type": "workspaces",
        "attributes": {"tag-names": names},
        "relationships": {"tag-bindings": {"data": bound}},
    }
    path = f"/workspaces/{tenant.workspaces['network']}"
    assert (await tenant.call("owner", "PATCH", path, {"data": data})).status_code == 200


async def knowing(tenant: Tenant, workspace: str) -> Tenant:
    """The tenant, who knows the id of one more workspace."""
    path = f"/organizations/{tenant.organization}/workspaces/{workspace}"
    id_ = (await tenant.call("owner", "GET", path)).json()["data"]["id"]
    return replace(tenant, workspaces={**tenant.workspaces, workspace: id_})


async def test_whoever_has_left_is_not_led_to_what_was_made(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    page = visitor.page
    await visitor.button("New workspace").click()
    form = page.get_by_role("form", name="A new workspace")
    await form.get_by_label("Name", exact=True).fill("third")
    made = f"**/api/v2/organizations/{tenant.organization}/workspaces"
    async with page.expect_response(made), held(page, made) as is_asked_for:
        await visitor.button("Create workspace").click()
        await is_asked_for()
        await page.get_by_role("link", name="Members").click()
        await visitor.button("Leave it").click()
        await visitor.button("Invite").wait_for()
    await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    await expect(visitor.button("Invite")).to_be_visible()
    assert page.url.endswith("/members")


@pytest.mark.parametrize(
    ("query", "more", "last"),
    [
        ("", "Show more", "Choose payments"),
        ("?key=KEY_", "Search on", "Choose KEY_5 in network"),
    ],
)
async def test_rows_that_come_where_a_button_was_take_no_click_at_once(
    sqlite_site: Site, timeless: Crowd, query: str, more: str, last: str
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    for number in range(6):
        await site.make(tenant, f"KEY_{number}")
    visitor = await timeless.visitor(site, tenant)
    page = visitor.page
    await small_pages(page, "**/api/v2/organizations/**page*", 1)
    await visitor.go(f"/{tenant.organization}/workspaces{query}")
    await visitor.sign_in("owner")
    await visitor.button(more).wait_for()
    await page.evaluate(UNSETTLED)
    await visitor.button(more).click()
    box = page.get_by_label(last)
    place = await box.bounding_box()
    assert place is not None
    await page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    await expect(box).not_to_be_checked()
    await page.evaluate("goOn()")
    await box.check()  # the control


async def test_who_does_not_manage_workspaces_is_offered_none(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    await expect(visitor.page.get_by_role("link", name="Settings")).to_have_count(0)
    await visitor.go(f"/{tenant.organization}/workspaces/network/settings")
    await visitor.page.get_by_role("heading", name="Nothing here").wait_for()
    await visitor.go(f"/{tenant.organization}/workspaces")
    await visitor.page.get_by_role("link", name="network").wait_for()
    await expect(visitor.button("New workspace")).to_have_count(0)
