"""What is found is changed in several workspaces: looked at first, each workspace whole."""

import json

from playwright.async_api import Route, expect

from tests.console.accessibility import Inspection
from tests.console.visitors import Crowd, Site, Visitor, on_each_engine
from tests.support.tenant import Tenant
from tests.web.test_variable_search import make_workspaces


async def found(site: Site, crowd: Crowd, tenant: Tenant, key: str, who: str = "owner") -> Visitor:
    """Somebody who has looked for a key in all workspaces."""
    visitor = await crowd.visitor(site, tenant)
    await visitor.go(f"/{tenant.organization}/workspaces?key={key}")
    await visitor.sign_in(who)
    await visitor.page.get_by_label("Choose all").wait_for()
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
    await page.get_by_label("Choose all").check()
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
    await page.get_by_label("Choose all").check()
    await visitor.button("Set value …").click()
    await page.get_by_label("The new value").fill("new")
    await visitor.button("Preview").click()
    await visitor.button("Set: 2 variables in 2 workspaces").click()
    await page.get_by_text("1 variable in 1 workspace failed").wait_for()
    await page.get_by_text("Not today.").wait_for()
    assert (await site.stored(tenant))["LEVEL"]["value"] == "new"
    assert (await site.stored(tenant, "payments"))["LEVEL"]["value"] == "old"
    await visitor.button("Close").click()
    await expect(page.get_by_label("Choose LEVEL in payments")).to_be_checked()
    await expect(page.get_by_label("Choose LEVEL in network")).not_to_be_checked()

    await visitor.button("Set value …").click()
    await page.get_by_label("The new value").fill("new")
    await visitor.button("Preview").click()
    await visitor.button("Set: 1 variable in 1 workspace").click()
    await page.get_by_text("Not today.").wait_for()
    await page.unroute(path)
    await visitor.button("Try again").click()
    await page.get_by_text("1 variable in 1 workspace set.").first.wait_for()
    assert (await site.stored(tenant, "payments"))["LEVEL"]["value"] == "new"


async def test_a_selection_is_made_sensitive_or_deleted_once_it_was_counted(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "KEY_1", "x")
    await site.make(tenant, "KEY_2", "x", sensitive=True)
    changed = await site.make(tenant, "KEY_1", "x", "payments")
    visitor = await found(site, crowd, tenant, "key_")
    page = visitor.page
    await page.get_by_label("Choose all").check()
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
    await visitor.page.get_by_label("Choose all").check()
    await visitor.button("Delete …").click()
    await visitor.page.get_by_role("dialog").locator("li.error").wait_for()
    assert await visitor.page.get_by_role("dialog").locator("button.primary:visible").count() == 0


@on_each_engine
async def test_a_key_is_added_to_workspaces_that_do_not_have_it(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await make_workspaces(tenant, "third")
    await site.make(tenant, "DB_URL", "own", "payments")
    visitor = await crowd.visitor(site, tenant)
    page = visitor.page
    await visitor.go(f"/{tenant.organization}/workspaces")
    await visitor.sign_in("owner")
    await visitor.button("Add a key …").click()
    await expect(page.get_by_label("Key", exact=True)).to_be_focused()
    await page.get_by_label("Key", exact=True).fill("DB_URL")
    await page.get_by_role("radio", name="env").check()
    await page.get_by_label("Value", exact=True).fill("new-one")
    await page.get_by_label("Sensitive", exact=True).check()
    await page.get_by_label("Workspaces", exact=True).fill("network\nnetwork\npayments\nthird")
    await visitor.button("Preview").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_text(
        ["networkDB_URL new", "paymentsIt is there already, and stays as it is.", "thirdDB_URL new"]
    )
    await page.get_by_text("nobody can read these values again").wait_for()
    assert await page.get_by_text("new-one").count() == 0
    inspection = Inspection(page)
    await inspection.look("a new key")
    assert inspection.found == []
    assert "DB_URL" not in await site.stored(tenant)
    await visitor.button("Add: 2 variables in 2 workspaces").click()
    await page.get_by_text("2 variables in 2 workspaces added.").first.wait_for()
    for workspace in ("network", "third"):
        assert (await site.stored(tenant, workspace))["DB_URL"]["sensitive"]
    assert (await site.stored(tenant, "payments"))["DB_URL"]["value"] == "own"
    await visitor.button("Close").click()
    await visitor.button("Add a key …").click()
    await expect(page.get_by_label("Workspaces", exact=True)).to_have_value("payments")


async def test_who_may_write_nowhere_is_not_offered_to_add_a_key(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.visitor(site, tenant)
    await visitor.go(f"/{tenant.organization}/workspaces")
    await visitor.sign_in("reader")
    await visitor.page.get_by_role("link", name="network").wait_for()
    await expect(visitor.button("Add a key …")).to_have_count(0)
