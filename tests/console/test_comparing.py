"""Two workspaces side by side: what each group shows, and copies of it across."""

import asyncio
import re

from playwright.async_api import Locator, Route, expect

from tests.console.accessibility import Inspection
from tests.console.test_imports import PASTE
from tests.console.test_variable_sets import EVERYWHERE, NOTHING_SETTLES, make_set, put
from tests.console.visitors import Crowd, Site, Visitor, held, on_each_engine
from tests.support.tenant import Tenant, items_document, variable_document
from tests.web.test_accesses import grant
from tests.web.test_variable_search import make_workspaces

BEFORE = "(those) => those.map((one) => getComputedStyle(one, '::before').content)"
COMES_BACK = "document.dispatchEvent(new Event('visibilitychange'))"
# Of the first group that is seen: where it begins, and what takes a click there.
TAKES = """() => {
  const groups = [...document.querySelectorAll("section section")];
  const { left, top } = groups.find((one) => one.checkVisibility()).getBoundingClientRect();
  return [top, document.elementFromPoint(left + 1, top + 1).className];
}"""


async def compare(visitor: Visitor) -> None:
    """Opens the comparison of a workspace, and names the other."""
    await visitor.page.get_by_role("link", name="Compare", exact=True).click()
    await visitor.page.get_by_label("With workspace").fill("payments")
    await visitor.button("Compare").click()


async def compared(visitor: Visitor) -> None:
    """The same, until they are shown."""
    await compare(visitor)
    await visitor.page.get_by_role("columnheader", name="network").first.wait_for()


def group(visitor: Visitor, title: str) -> Locator:
    """A group by its title."""
    heading = visitor.page.get_by_role("heading", level=2, name=title)
    return visitor.page.locator("section section").filter(has=heading)


async def keys(visitor: Visitor, title: str) -> list[str]:
    """What is in a group."""
    return await group(visitor, title).locator("tbody th > bdi").all_inner_texts()


async def fill(site: Site, tenant: Tenant) -> None:
    """Something of each group."""
    await site.make(tenant, "SAME", "s")
    await site.make(tenant, "SAME", "s", "payments")
    await site.make(tenant, "LEVEL", "info")
    await site.make(tenant, "LEVEL", "debug", "payments")
    await site.make(tenant, "HERE", "1")
    await site.make(tenant, "THERE", "2", "payments")
    for workspace in ("network", "payments"):
        await site.make(tenant, "SECRET", workspace, workspace, sensitive=True)


@on_each_engine
async def comparing(site: Site, crowd: Crowd) -> tuple[Tenant, Visitor]:
    """An organization with these, and somebody who compares them."""
    tenant = await site.tenant()
    await fill(site, tenant)
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    return tenant, visitor


async def test_each_variable_is_in_its_group_and_a_choice_is_copied_across(
    site: Site, crowd: Crowd
) -> None:
    tenant, visitor = await comparing(site, crowd)
    assert await keys(visitor, "Only in payments") == ["THERE"]
    assert await keys(visitor, "Only in network") == ["HERE"]
    assert await keys(visitor, "Different") == ["LEVEL"]
    assert await keys(visitor, "Sensitive, compared by key alone") == ["SECRET"]
    assert await keys(visitor, "The same") == ["SAME"]
    assert await group(visitor, "The same").get_by_role("checkbox").count() == 0

    await group(visitor, "Only in payments").get_by_label("All:").check()
    await visitor.page.get_by_label("Choose LEVEL").check()
    await visitor.button("Copy 2 variables to network").click()
    await visitor.button("Copy 2 variables").click()
    await visitor.page.get_by_text("Copied: 1 new, 1 changed.").first.wait_for()
    await expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()
    await expect(group(visitor, "The same").locator("tbody th > bdi")).to_have_text(
        ["LEVEL", "SAME", "THERE"]
    )
    stored = await site.stored(tenant)
    assert (stored["LEVEL"]["value"], stored["THERE"]["value"]) == ("debug", "2")

    await visitor.page.reload()  # the address says what is compared
    await visitor.page.get_by_label("Choose HERE").wait_for()


async def test_nothing_is_copied_but_what_was_shown(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    theirs = await site.make(tenant, "LEVEL", "debug", "payments")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    await visitor.page.get_by_label("Choose LEVEL").check()
    await visitor.button("Copy 1 variable to network").click()
    await visitor.button("Copy 1 variable").wait_for()
    await site.change(tenant, theirs, "payments", value="trace")
    await visitor.button("Copy 1 variable").click()
    await visitor.page.get_by_text("Somebody has changed variables meanwhile.").first.wait_for()
    await visitor.page.get_by_text("trace").wait_for()
    assert await site.stored(tenant) == {}


async def test_what_is_shown_is_copied_to_where_it_says_until_another_one_was_read(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await fill(site, tenant)
    document = {"data": {"type": "workspaces", "attributes": {"name": "third"}}}
    path = f"/organizations/{tenant.organization}/workspaces"
    third = (await tenant.call("owner", "POST", path, document)).json()["data"]["id"]
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    held = asyncio.Event()

    async def refuse(route: Route) -> None:
        await held.wait()
        await route.fulfill(status=404)

    await visitor.page.route(f"**/workspaces/{third}/vars", refuse)
    await visitor.page.get_by_label("With workspace").fill("third")
    async with visitor.page.expect_request(f"**/workspaces/{third}/vars"):
        await visitor.button("Compare").click()
    await visitor.page.get_by_label("Choose HERE").check()
    copies = visitor.page.get_by_role("button", name="Copy ")
    assert await copies.all_inner_texts() == ["Copy 1 variable to payments"]
    held.set()
    # What was compared before is not what the field says.
    await expect(visitor.page.get_by_role("checkbox")).to_have_count(0)
    await expect(copies).to_have_count(0)
    await expect(visitor.page.locator(".errors").first).not_to_be_empty()


async def test_a_group_that_is_as_it_was_keeps_its_focus_and_all_that_is_ticked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant, visitor = await comparing(sqlite_site, crowd)
    all_of_it = group(visitor, "Only in network").get_by_label("All:")
    await all_of_it.check()
    await expect(all_of_it).to_be_focused()
    await sqlite_site.make(tenant, "LATER", "x", "payments")
    await visitor.page.evaluate(COMES_BACK)
    await visitor.page.get_by_label("Choose LATER").wait_for()
    await expect(all_of_it).to_be_focused()
    await expect(all_of_it).to_be_checked()
    await all_of_it.uncheck()
    await expect(visitor.page.get_by_label("Choose HERE")).not_to_be_checked()
    await expect(visitor.page.get_by_role("button", name="Copy ")).to_have_count(0)


async def test_two_that_have_nothing_say_so_until_one_of_them_has(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    await compare(visitor)
    nothing = visitor.page.get_by_text("Neither of the two has a variable.")
    await nothing.wait_for()
    await sqlite_site.make(tenant, "THERE", "x", "payments")
    await visitor.page.evaluate(COMES_BACK)
    await visitor.page.get_by_label("Choose THERE").wait_for()
    await expect(nothing).to_have_count(0)


async def test_what_was_chosen_is_so_again_once_it_can_be_read_again(
    sqlite_site: Site, crowd: Crowd
) -> None:
    _, visitor = await comparing(sqlite_site, crowd)
    choice = visitor.page.get_by_label("Choose HERE")
    await choice.check()
    refused = {"errors": [{"status": "500", "code": "internal_error", "detail": "Not now."}]}
    await visitor.page.route(
        f"**/workspaces/{visitor.tenant.workspaces['payments']}/vars",
        lambda route: route.fulfill(status=500, json=refused),
        times=1,
    )
    await visitor.button("Compare").click()
    await visitor.page.locator(".errors").get_by_text("Not now.").wait_for()
    await expect(choice).to_have_count(0)
    await visitor.button("Compare").click()
    await expect(choice).to_be_checked()
    await expect(visitor.button("Copy 1 variable to payments")).to_be_visible()


async def test_what_others_have_changed_shows_once_one_comes_back(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant, visitor = await comparing(sqlite_site, crowd)
    for key in ("HERE", "LEVEL"):
        await visitor.page.get_by_label(f"Choose {key}").check()
    await sqlite_site.make(tenant, "LATER", "x", "payments")
    (level,) = [
        one["id"] for one in await tenant.variables() if one["attributes"]["key"] == "LEVEL"
    ]
    await sqlite_site.change(tenant, level, value="warn")
    await visitor.page.get_by_label("Choose HERE").focus()
    await visitor.page.evaluate(COMES_BACK)
    await visitor.page.get_by_label("Choose LATER").wait_for()
    await expect(visitor.page.get_by_label("Choose HERE")).to_be_checked()
    await expect(visitor.page.get_by_label("Choose HERE")).to_be_focused()
    # It is another than the one that was chosen.
    await expect(visitor.page.get_by_label("Choose LEVEL")).not_to_be_checked()


async def test_what_could_not_be_shown_is_no_longer_said_once_it_is(
    sqlite_site: Site, crowd: Crowd
) -> None:
    _, visitor = await comparing(sqlite_site, crowd)
    page = visitor.page
    refused = {"status": 403, "json": {"errors": [{"status": "403", "detail": "Not for you."}]}}
    await page.route("**/vars", lambda route: route.fulfill(**refused), times=1)
    await page.evaluate(COMES_BACK)
    told = page.get_by_text("What there is now is not shown. Not for you.")
    await told.wait_for()
    await expect(page.get_by_role("checkbox")).to_have_count(0)
    await visitor.button("Compare").click()
    await page.get_by_label("Choose HERE").wait_for()
    await expect(told).to_have_count(0)


async def test_what_moves_with_what_stands_above_it_takes_no_click_at_once(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    level = await site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    page = visitor.page
    await page.get_by_label("Choose LEVEL").check()
    await expect(page.locator(".veil")).to_have_count(0)
    before, _ = await page.evaluate(TAKES)
    await page.evaluate(NOTHING_SETTLES)
    await site.change(tenant, level, value="warn")
    await page.evaluate(COMES_BACK)
    await expect(page.get_by_role("button", name="Copy ")).to_have_count(0)
    now, takes = await page.evaluate(TAKES)
    assert (now < before, takes) == (True, "veil")


async def test_what_is_as_it_was_is_not_drawn_anew(sqlite_site: Site, crowd: Crowd) -> None:
    tenant, visitor = await comparing(sqlite_site, crowd)
    row = await visitor.page.locator(".compared tbody tr").first.element_handle()
    assert row is not None
    async with visitor.page.expect_response("**/vars"), visitor.page.expect_response("**/vars"):
        await visitor.page.evaluate(COMES_BACK)
    await sqlite_site.make(tenant, "LATER", "x", "payments")
    assert await row.evaluate("(row) => row.isConnected")
    await visitor.page.evaluate(COMES_BACK)
    await visitor.page.get_by_label("Choose LATER").wait_for()


async def test_who_may_less_is_offered_less(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await fill(site, tenant)
    visitor = await crowd.member(site, tenant, "writer")
    await compare(visitor)
    await visitor.page.get_by_text("There is no workspace of this name that you may").wait_for()
    await grant(tenant, "writers", "read", "payments")
    await visitor.button("Compare").click()
    await group(visitor, "Only in network").wait_for()
    # They may write in `network` alone, and owners alone copy what is sensitive.
    offered = visitor.page.get_by_label("Choose")
    assert await offered.count() == 2
    for title in ("Only in payments", "Different"):
        await group(visitor, title).get_by_label("Choose").check()
    copies = visitor.page.get_by_role("button", name="Copy ")
    assert await copies.all_inner_texts() == ["Copy 2 variables to network"]


async def test_what_they_get_of_sets_is_compared_and_not_copied(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await put(tenant, await make_set(tenant, "for all", **EVERYWHERE), "A", "of the set")
    await site.make(tenant, "A", "own")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    assert await keys(visitor, "Only in network") == ["A"]
    await visitor.page.get_by_role("radio", name="All that they get").check()
    await group(visitor, "Different").wait_for()
    assert await keys(visitor, "Different") == ["A"]
    assert await visitor.page.get_by_role("checkbox").count() == 0
    inspection = Inspection(visitor.page)
    await inspection.look("compare")
    assert inspection.found == []


async def test_whoever_comes_back_while_another_one_is_read_sees_that_one(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await fill(site, tenant)
    await make_workspaces(tenant, "third")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    async with held(
        visitor.page, f"**/workspaces/{tenant.workspaces['third']}/vars"
    ) as is_asked_for:
        await visitor.page.get_by_label("With workspace").fill("third")
        await visitor.button("Compare").click()
        await is_asked_for()
        await visitor.page.evaluate(COMES_BACK)
    await visitor.page.get_by_role("columnheader", name="third").first.wait_for()


async def test_what_nobody_sees_of_two_values_is_said_and_whose_each_is(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "LEVEL", "info")
    await site.make(tenant, "LEVEL", "info ", "payments")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    values = group(visitor, "Different").get_by_role("cell")
    await expect(values).to_have_text(["info", re.compile("ends with a blank"), ""])
    # Where a screen has no room for columns, each says which it is of.
    await visitor.page.set_viewport_size({"width": 360, "height": 640})
    await expect(visitor.page.get_by_role("columnheader")).to_have_count(0)
    cells = group(visitor, "Different").locator("td")
    said = await cells.evaluate_all(BEFORE)
    assert said == ['"network: "', '"payments: "', "none"]


async def test_long_values_are_seen_where_they_differ(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    same = "same " * 100
    await site.make(tenant, "HOSTS", f"{same}here{same}")
    await site.make(tenant, "HOSTS", f"{same}there", "payments")
    await site.make(tenant, "LINES", "a\n  b")
    await site.make(tenant, "LINES", "a\r\nb", "payments")
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    cells = group(visitor, "Different").get_by_role("row", name="HOSTS").locator("td code")
    await expect(cells).to_have_text([re.compile("^…same .* here"), re.compile("^….* there$")])
    blanks = group(visitor, "Different").get_by_role("row", name="LINES").locator("td")
    told = "a b2 linesdiffers in blanks or line ends"
    await expect(blanks).to_have_text([told, told, ""])

    await visitor.open()
    await visitor.page.evaluate(PASTE, f"HOSTS={same.strip()}\nOTHER=x\n")
    await visitor.button("Preview").click()
    values = visitor.page.get_by_role("dialog").get_by_role("row", name="HOSTS").locator("code")
    await expect(values).to_have_text([re.compile("here"), re.compile("^…[same ]+$")])


async def test_all_of_many_are_chosen_also_those_that_have_no_row_yet(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    items = [
        variable_document(key=f"KEY_{number:03}", value="x", category="env")["data"]
        for number in range(202)
    ]
    path = f"/workspaces/{tenant.workspaces['payments']}/actions/apply"
    answer = await tenant.call("owner", "POST", path, items_document(*items))
    assert answer.status_code == 200, answer.text
    visitor = await crowd.member(site, tenant)
    await compared(visitor)
    there, page = group(visitor, "Only in payments"), visitor.page
    await expect(there.get_by_label("Choose")).to_have_count(200)
    await there.get_by_label("All:").check()
    await visitor.button("Copy 202 variables to network").wait_for()
    await visitor.button("Show 2 more").press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Choose KEY_200")).to_be_focused()
    await expect(page.get_by_label("Choose KEY_201")).to_be_checked()
    await page.get_by_label("Choose KEY_200").uncheck()
    await visitor.button("Copy 201 variables to network").click()
    await visitor.button("Copy 201 variables").click()
    await page.get_by_text("Copied: 201 new.").first.wait_for()
    await expect(there.locator("tbody th > bdi")).to_have_text(["KEY_200"])
