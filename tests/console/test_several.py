"""What is found is changed in several workspaces: looked at first, each workspace whole."""

import asyncio
import json

import pytest
from playwright.async_api import Route, expect

from tests.console.accessibility import Inspection
from tests.console.test_variable_sets import make_set
from tests.console.visitors import PAINTED, Crowd, Site, Visitor, held, on_each_engine
from tests.support.tenant import Tenant
from tests.web.test_variable_search import make_workspaces


async def found(site: Site, crowd: Crowd, tenant: Tenant, key: str, who: str = "owner") -> Visitor:
    """Somebody who has looked for a key in all workspaces."""
    visitor = await crowd.arrived(site, tenant, f"workspaces?key={key}", who)
    await visitor.page.get_by_label("Choose all variables").wait_for()
    return visitor


@on_each_engine
async def test_one_value_is_set_in_several_workspaces_once_it_is_said_what_becomes_sensitive(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "PSK", "old", sensitive=True)
    await site.make(tenant, "PSK", "old", "payments")
    visitor = await found(site, crowd, tenant, "psk")
    page = visitor.page
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Set value …").click()
    await page.get_by_label("The new value").fill("rotated")
    await visitor.button("Preview").click()
    await page.get_by_text("Choose whether those that can be read become sensitive.").wait_for()
    await page.get_by_role("radio", name="Make all of them sensitive").check()
    await visitor.button("Preview").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_text(["networkPSK value", "paymentsPSK value, sensitive"])
    assert await page.get_by_text("rotated").count() == 0
    inspection = Inspection(page)
    await inspection.look("several")
    assert inspection.found == []
    await visitor.button("Set: 2 variables in 2 workspaces").click()
    await page.get_by_text("2 variables in 2 workspaces set.").first.wait_for()
    for workspace in ("network", "payments"):
        stored = (await site.stored(tenant, workspace))["PSK"]
        assert (stored["sensitive"], stored["value"]) == (True, None)
    await expect(page.get_by_text("write-only")).to_have_count(2)


async def test_what_fails_stays_chosen_and_is_tried_again(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "LEVEL", "old")
    await site.make(tenant, "LEVEL", "old", "payments")
    visitor = await found(site, crowd, tenant, "level")
    page = visitor.page
    refused = {"errors": [{"status": "403", "code": "forbidden", "detail": "Not today."}]}

    async def refuse(route: Route) -> None:
        if json.loads(route.request.post_data or "{}")["meta"]["dry-run"]:
            await route.continue_()
        else:
            await route.fulfill(status=403, json=refused)

    path = f"**/workspaces/{tenant.workspaces['payments']}/actions/apply"
    await page.route(path, refuse)
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Set value …").click()
    await page.get_by_label("The new value").fill("new")
    await visitor.button("Preview").click()
    await visitor.button("Set: 2 variables in 2 workspaces").click()
    await page.get_by_text("1 variable in 1 workspace failed").wait_for()
    await page.get_by_text("Not today.").wait_for()
    await expect(page.get_by_role("heading", name="Set one value")).to_be_focused()
    assert (await site.stored(tenant))["LEVEL"]["value"] == "new"
    assert (await site.stored(tenant, "payments"))["LEVEL"]["value"] == "old"
    await visitor.button("Close").click()
    await expect(page.get_by_label("Choose LEVEL in payments")).to_be_checked()
    await expect(page.get_by_label("Choose LEVEL in network")).not_to_be_checked()
    await expect(visitor.button("Set value …")).to_be_focused()

    await visitor.button("Set value …").click()
    await page.get_by_label("The new value").fill("new")
    await visitor.button("Preview").click()
    await visitor.button("Set: 1 variable in 1 workspace").click()
    await page.get_by_text("Not today.").wait_for()
    await page.unroute(path)
    await visitor.button("Try again").click()
    await page.get_by_text("1 variable in 1 workspace set.").first.wait_for()
    assert (await site.stored(tenant, "payments"))["LEVEL"]["value"] == "new"


async def test_what_is_gone_does_not_stay_chosen(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    id_ = await site.make(tenant, "LEVEL")
    await site.make(tenant, "LEVEL", workspace="payments")
    visitor = await found(site, crowd, tenant, "level")
    page = visitor.page
    await expect(page.locator("#announcements")).to_have_text("2 variables found")
    await page.get_by_label("Choose all variables").check()
    assert (await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{id_}")).is_success
    await visitor.button("Set value …").click()
    await visitor.button("Cancel").click()
    await page.get_by_label("1 variable chosen").wait_for()

    await visitor.go(f"/{tenant.organization}/workspaces")
    for workspace in ("network", "payments"):
        await page.get_by_label(f"Choose {workspace}").check()
    path = f"/workspaces/{tenant.workspaces['network']}"
    assert (await tenant.call("owner", "DELETE", path)).is_success
    await visitor.button("Set a key in 2 workspaces …").click()
    await visitor.button("Cancel").click()
    await page.get_by_label("1 workspace chosen").wait_for()


async def test_a_selection_is_made_sensitive_or_deleted_once_it_was_counted(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "KEY_1", "x")
    await site.make(tenant, "KEY_2", "x", sensitive=True)
    changed = await site.make(tenant, "KEY_1", "x", "payments")
    visitor = await found(site, crowd, tenant, "key_")
    page = visitor.page
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Make sensitive …").click()
    await page.get_by_text("nobody can read these values again").wait_for()
    # What somebody has changed since it was found is not what was chosen.
    await site.change(tenant, changed, "payments", value="y")
    await visitor.button("Make sensitive: 2 variables in 2 workspaces").click()
    await page.get_by_text("1 variable in 1 workspace failed").wait_for()
    assert (await site.stored(tenant))["KEY_1"]["sensitive"]
    assert (await site.stored(tenant, "payments"))["KEY_1"]["value"] == "y"
    await visitor.button("Close").click()
    await expect(page.get_by_label("Choose KEY_1 in payments")).to_be_checked()

    await page.get_by_label("variable chosen").check()
    await visitor.button("Delete …").click()
    await visitor.button("Delete: 3 variables in 2 workspaces").click()
    await page.get_by_text("3 variables in 2 workspaces deleted.").first.wait_for()
    assert await site.stored(tenant) == await site.stored(tenant, "payments") == {}


async def test_where_one_may_not_write_nothing_is_offered_to_be_done(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "KEY", "x")
    visitor = await found(site, crowd, tenant, "key", "reader")
    await visitor.page.get_by_label("Choose all variables").check()
    await visitor.button("Delete …").click()
    await visitor.page.get_by_role("dialog").locator("li.error").wait_for()
    assert await visitor.page.get_by_role("dialog").locator("button.primary:visible").count() == 0


async def test_a_key_is_set_in_workspaces_that_are_ticked(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await make_workspaces(tenant, "third", "other")
    await site.make(tenant, "DB_URL", "own", "payments")
    await site.make(tenant, "DB_URL", "new-one", "third")
    visitor = await crowd.arrived(site, tenant, "workspaces?key=DB_URL")
    page = visitor.page
    await page.get_by_label("Choose DB_URL in third").wait_for()
    await page.get_by_label("Find a key anywhere").fill("")
    for name in ("network", "payments", "third"):
        await page.get_by_label(f"Choose {name}").check()
    await page.get_by_text("3 workspaces chosen").wait_for()
    await page.get_by_label("Filter by name").fill("oth")
    await page.get_by_label("Choose other").wait_for()
    await page.get_by_label("Find a key anywhere").fill("DB_URL")
    await page.get_by_label("Choose DB_URL in third").wait_for()
    await visitor.button("Set a key in 3 workspaces …").click()
    await expect(page.get_by_label("Key", exact=True)).to_have_value("DB_URL")
    await expect(page.get_by_label("Value", exact=True)).to_be_focused()
    await page.get_by_role("radio", name="env").check()
    await page.get_by_label("Value", exact=True).fill("new-one")
    await visitor.button("Preview").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_text(
        ["networkDB_URL new", "paymentsDB_URL value", "thirdDB_URL the same"]
    )
    assert await page.get_by_text("new-one").count() == 0
    inspection = Inspection(page)
    await inspection.look("a key in ticked workspaces")
    assert inspection.found == []
    await visitor.button("Set: 3 variables in 3 workspaces").click()
    await page.get_by_text("3 variables in 3 workspaces set.").first.wait_for()
    for workspace in ("network", "payments", "third"):
        assert (await site.stored(tenant, workspace))["DB_URL"]["value"] == "new-one"
    assert "DB_URL" not in await site.stored(tenant, "other")
    await expect(visitor.button("Set a key …")).to_be_visible()
    assert await visitor.button("Set a key …").inner_text() == "Set a key …"  # with no gaps in it


async def test_of_many_workspaces_that_are_ticked_the_first_are_named(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await make_workspaces(tenant, *(f"a{number}" for number in range(19)))
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    await visitor.page.get_by_label("Choose all workspaces").check()
    await visitor.button("Set a key in 21 workspaces …").click()
    await visitor.page.get_by_role("dialog").get_by_text("network and 1 more.").wait_for()


async def test_what_is_there_stays_where_that_is_said_and_its_workspace_stays_ticked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "DB_URL", "own", "payments")
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page = visitor.page
    await visitor.button("Set a key …").click()
    await expect(page.get_by_label("Key", exact=True)).to_be_focused()
    await page.get_by_label("Key", exact=True).fill("DB_URL")
    await page.get_by_role("radio", name="env").check()
    await page.get_by_label("Value", exact=True).fill("new-one")
    await page.get_by_label("Sensitive", exact=True).check()
    await page.get_by_label("Workspaces", exact=True).fill("network\nnetwork\npayments")
    await page.get_by_role("radio", name="It stays as it is").check()
    await visitor.button("Preview").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_text(
        ["networkDB_URL new", "paymentsIt is there already, and stays as it is."]
    )
    await page.get_by_text("nobody can read these values again").wait_for()
    assert "DB_URL" not in await site.stored(tenant)
    await visitor.button("Set: 1 variable in 1 workspace").click()
    await page.get_by_text("1 variable in 1 workspace set.").first.wait_for()
    assert (await site.stored(tenant))["DB_URL"]["sensitive"]
    assert (await site.stored(tenant, "payments"))["DB_URL"]["value"] == "own"
    await visitor.button("Close").click()
    await expect(page.get_by_label("Choose payments")).to_be_checked()
    await expect(page.get_by_label("Choose network")).not_to_be_checked()


async def test_what_one_ticks_while_the_workspaces_are_read_again_stays_ticked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page = visitor.page
    await page.get_by_label("Choose network").check()
    await visitor.button("Set a key in 1 workspace …").click()
    await page.get_by_label("Key", exact=True).fill("PSK")
    await page.get_by_label("Value", exact=True).fill("new-one")
    await visitor.button("Preview").click()
    async with held(page, "**/workspaces?*") as are_asked_for:
        await visitor.button("Set: 1 variable in 1 workspace").click()
        await are_asked_for()
        await page.get_by_label("Choose payments").check()
    await expect(page.get_by_role("listitem").filter(has_text="network")).to_contain_text("1 var")
    await expect(page.get_by_label("Choose payments")).to_be_checked()
    await expect(page.get_by_label("Choose network")).not_to_be_checked()
    await expect(visitor.button("Set a key in 1 workspace …")).to_be_visible()


async def test_what_one_ticks_while_a_search_is_repeated_stays_ticked_until_one_looks_for_another(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "PSK", "old")
    await site.make(tenant, "PSK", "old", "payments")
    visitor = await found(site, crowd, tenant, "psk")
    page = visitor.page
    await page.get_by_label("Choose PSK in network").check()
    await visitor.button("Make sensitive …").click()
    async with held(page, "**/vars?*") as are_asked_for:
        await visitor.button("Make sensitive: 1 variable in 1 workspace").click()
        await are_asked_for()
        await page.get_by_label("Choose PSK in payments").check()
    await page.get_by_text("write-only").wait_for()
    await expect(page.get_by_label("Choose PSK in payments")).to_be_checked()
    await expect(page.get_by_label("Choose PSK in network")).not_to_be_checked()
    await page.get_by_label("Find a key anywhere").fill("PS")
    await expect(page.get_by_label("Choose PSK in payments")).not_to_be_checked()


async def test_a_search_goes_on_from_what_is_shown_and_never_from_what_was_typed_before(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await asyncio.gather(*(site.make(tenant, f"KEY_{number:02}") for number in range(60)))
    await site.make(tenant, "PSK")
    visitor = await found(site, crowd, tenant, "key_")
    page, rows = visitor.page, visitor.page.locator("main ul.rows > li:visible")
    await expect(rows).to_have_count(50)
    async with held(page, "**/vars?*") as is_asked_for:
        await page.get_by_label("Find a key anywhere").fill("psk")
        await is_asked_for()
        await visitor.button("Search on").click()
    await expect(rows).to_have_count(1)
    await page.get_by_label("Find a key anywhere").fill("key")
    await visitor.button("Search on").dblclick()
    await expect(rows).to_have_count(60)
    await expect(visitor.button("Search on")).to_be_hidden()

    refused = {"errors": [{"status": "403", "code": "forbidden", "detail": "Not today."}]}
    await page.route("**/vars?*", lambda route: route.fulfill(status=403, json=refused), times=1)
    await page.get_by_label("Choose KEY_00 in network").check()
    await page.get_by_label("Find a key anywhere").fill("psk")
    await expect(rows).to_have_count(1)
    await expect(rows).to_have_text("This could not be read.")
    await expect(visitor.button("Delete …")).to_be_hidden()
    await visitor.button("Try again").click()
    await page.get_by_label("Choose PSK in network").wait_for()


async def test_a_value_is_kept_where_nobody_could_say_what_would_become_of_it(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "LEVEL", "old")
    visitor = await found(site, crowd, tenant, "level")
    page, value = visitor.page, visitor.page.get_by_label("The new value")
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Set value …").click()
    await value.fill("new")
    await page.route("**/actions/apply", lambda route: route.abort())
    await visitor.button("Preview").click()
    await page.locator("dialog .errors").get_by_text("could not be reached").wait_for()
    await page.unroute("**/actions/apply")
    await expect(value).to_have_value("new")
    await visitor.button("Preview").click()
    await visitor.button("Set: 1 variable in 1 workspace").click()
    await page.get_by_text("1 variable in 1 workspace set.").first.wait_for()
    assert (await site.stored(tenant))["LEVEL"]["value"] == "new"


async def test_what_was_typed_is_kept_behind_its_preview(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page, form = visitor.page, visitor.page.get_by_role("dialog")
    await page.get_by_role("button", name="Set a key").click()
    await form.get_by_label("Key").fill("LEVEL")
    value = form.get_by_role("textbox", name="Value")
    await value.fill("deb")
    await form.get_by_role("textbox", name="Workspaces").fill("network")
    await visitor.button("Preview").click()
    await visitor.button("Set: 1 variable in 1 workspace").wait_for()
    await page.keyboard.press("Escape")
    await visitor.button("Stay").click()
    await visitor.button("Back").click()
    await expect(value).to_be_focused()
    await value.press_sequentially("ug")
    await visitor.button("Preview").click()
    await visitor.button("Set: 1 variable in 1 workspace").click()
    await page.get_by_text("1 variable in 1 workspace set.").first.wait_for()
    assert (await site.stored(tenant))["LEVEL"]["value"] == "debug"


async def test_whoever_closes_the_dialog_deletes_nothing_that_was_not_under_way(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await make_workspaces(tenant, "a", "b", "c", "d")
    for workspace in ("network", "payments", "a", "b", "c", "d"):
        await site.make(tenant, "LEVEL", "x", workspace)
    await site.make(tenant, "OTHER_LEVEL", "x")
    visitor = await found(site, crowd, tenant, "level")
    page = visitor.page
    await page.get_by_label("Choose all variables").check()
    await page.get_by_label("Choose OTHER_LEVEL").uncheck()
    await visitor.button("Delete …").click()
    delete = visitor.button("Delete: 6 variables in 6 workspaces")
    await delete.wait_for()
    async with held(page, "**/actions/apply") as is_asked_for:
        await delete.click()
        await is_asked_for()
        await page.keyboard.press("Escape")
        await page.locator("dialog").wait_for(state="detached")
        await page.get_by_label("Choose OTHER_LEVEL").check()
    await page.get_by_text("4 variables in 4 workspaces deleted.").first.wait_for()
    await page.get_by_text("3 variables chosen").wait_for()  # two of them are left
    await expect(page.get_by_label("Choose LEVEL in")).to_have_count(2)


async def test_whoever_leaves_the_page_is_told_what_was_under_way_and_deletes_nothing_else(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    places = ("network", "payments", "a", "b", "c", "d")
    await make_workspaces(tenant, *places[2:])
    for workspace in places:
        await site.make(tenant, "LEVEL", "x", workspace)
    visitor = await found(site, crowd, tenant, "level")
    page = visitor.page
    await page.get_by_role("link", name="Teams").click()
    await visitor.button("New team").wait_for()  # until then the field is that of the page before
    await page.get_by_role("link", name="Workspaces").click()
    await page.get_by_label("Find a key anywhere").fill("level")
    await page.get_by_label("Choose all variables").check()
    await visitor.button("Delete …").click()
    delete = visitor.button("Delete: 6 variables in 6 workspaces")
    await delete.wait_for()
    async with held(page, "**/actions/apply") as is_asked_for:
        await delete.click()
        await is_asked_for()
        await page.go_back()
        await visitor.button("New team").wait_for()
    await page.get_by_text("4 variables in 4 workspaces deleted.").first.wait_for()
    answer = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/vars?q=level")
    assert len(answer.json()["data"]) == 2


async def test_no_preview_goes_on_behind_a_form_once_one_of_them_has_failed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await make_workspaces(tenant, "a", "b", "c", "d")
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    page, is_told = visitor.page, asyncio.Event()
    begun: list[str] = []

    async def answer(route: Route) -> None:
        begun.append(route.request.url)
        if len(begun) == 1:
            await route.fulfill(status=500, json={"errors": []})
            await page.evaluate(PAINTED)
            is_told.set()
        else:
            await is_told.wait()
            await route.continue_()

    await page.get_by_label("Choose all workspaces").check()
    await visitor.button("Set a key in 6 workspaces …").click()
    await page.get_by_label("Key", exact=True).fill("PSK")
    await page.get_by_label("Value", exact=True).fill("new-one")
    await page.get_by_role("radio", name="It stays as it is").check()
    await page.route("**/actions/apply", answer)
    await visitor.button("Preview").click()
    await page.locator("dialog .errors").wait_for()
    assert len(begun) == 4
    await visitor.button("Preview").click()
    await visitor.button("Set: 6 variables in 6 workspaces").wait_for()
    assert len(begun) == 10


@pytest.mark.parametrize(
    ("label", "asks"), [("Filter by name", "**/workspaces?*"), ("Find a key anywhere", "**/vars?*")]
)
async def test_a_list_that_one_leaves_is_not_said_to_be_unreadable(
    sqlite_site: Site, crowd: Crowd, label: str, asks: str
) -> None:
    visitor = await crowd.arrived(sqlite_site, await sqlite_site.tenant(), "workspaces")
    page = visitor.page
    await page.get_by_label("Choose network").wait_for()
    await page.evaluate(
        """new MutationObserver(() => {
          window.said ||= document.body.textContent.includes("could not be read");
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    async with held(page, asks) as is_asked_for, held(page, "**/teams?*"):
        await page.get_by_label(label).fill("pay")
        await is_asked_for()
        await page.get_by_role("link", name="Teams").click()
        await page.evaluate(PAINTED)
    assert not await page.evaluate("window.said")


async def test_where_some_of_a_key_are_sensitive_it_is_asked_what_others_become(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "PSK", "old", sensitive=True)
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page = visitor.page
    await page.get_by_label("Choose all workspaces").check()
    await visitor.button("Set a key in 2 workspaces …").click()
    key = page.get_by_label("Key", exact=True)
    await page.get_by_role("radio", name="env").check()
    await page.get_by_label("Value", exact=True).fill("rotated")
    await visitor.button("Preview").click()
    await expect(key).to_have_accessible_description("Name a key first.")
    await expect(key).to_be_focused()
    await key.fill("PSK")
    await visitor.button("Preview").click()
    await page.get_by_text("Choose whether those that can be read become sensitive.").wait_for()
    await page.get_by_role("radio", name="Make all of them sensitive").check()
    await visitor.button("Preview").click()
    # Somebody sets it meanwhile: that is not what was looked at.
    await page.get_by_text("PSK new").wait_for()
    await site.make(tenant, "PSK", "theirs", "payments")
    await visitor.button("Set: 2 variables in 2 workspaces").click()
    await page.get_by_text("1 variable in 1 workspace failed").wait_for()
    assert (await site.stored(tenant))["PSK"]["sensitive"]
    assert (await site.stored(tenant, "payments"))["PSK"]["value"] == "theirs"


async def test_what_was_asked_of_others_is_not_asked_any_more(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "PSK", "old", sensitive=True)
    visitor = await crowd.arrived(site, tenant, "workspaces")
    page, form = visitor.page, visitor.page.get_by_role("dialog")
    await page.get_by_role("button", name="Set a key").click()
    await form.get_by_label("Key").fill("PSK")
    await form.get_by_role("radio", name="env").check()
    await form.get_by_role("textbox", name="Value").fill("new")
    places = form.get_by_role("textbox", name="Workspaces")
    await places.fill("network\npayments")
    await visitor.button("Preview").click()
    await page.get_by_text("1 of 2 are sensitive").wait_for()
    await places.fill("network")
    await visitor.button("Preview").click()
    await visitor.button("Back").click()
    await expect(page.get_by_text("1 of 2 are sensitive")).to_have_count(0)


async def test_a_key_is_set_in_variable_sets_once_it_is_said_whom_it_reaches(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await make_set(tenant, "Cloud", "network")
    await make_set(tenant, "Shared")
    visitor = await crowd.arrived(site, tenant, "varsets")
    page = visitor.page
    await page.get_by_label("Choose Cloud").wait_for()
    await expect(visitor.button("Set a key …")).to_be_hidden()
    await page.get_by_label("Choose all variable sets").check()
    await visitor.button("Set a key in 2 variable sets …").click()
    await page.get_by_text("In Cloud, Shared.").wait_for()
    await page.get_by_label("Key", exact=True).fill("REGION")
    await page.get_by_label("Value", exact=True).fill("eu")
    await visitor.button("Preview").click()
    rows = page.get_by_role("dialog").locator("table.results > tbody > tr")
    await expect(rows).to_contain_text(
        [
            "REGION new1 workspace gains a value.",
            "REGION newNothing changes in any workspace.",
        ]
    )
    await visitor.button("Set: 2 variables in 2 variable sets").click()
    await page.get_by_text("2 variables in 2 variable sets set.").first.wait_for()
    await expect(page.get_by_role("heading", level=1)).to_be_focused()  # the button is hidden

    await visitor.go(f"/{tenant.organization}/workspaces?key=region")
    await page.get_by_label("Choose REGION in Shared").check()
    await visitor.button("Delete …").click()
    await visitor.button("Delete: 1 variable in 1 variable set").click()
    await page.get_by_text("1 variable in 1 variable set deleted.").first.wait_for()
    await expect(page.get_by_label("Choose REGION in Cloud")).to_be_visible()
    await expect(page.get_by_label("Choose REGION in Shared")).to_have_count(0)


async def test_who_may_write_nowhere_is_not_offered_to_set_a_key(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.arrived(site, tenant, "workspaces", "reader")
    await visitor.page.get_by_role("link", name="network").wait_for()
    await expect(visitor.button("Set a key …")).to_be_hidden()
    await expect(visitor.page.get_by_role("checkbox")).to_have_count(0)
