"""Projects and variable sets for everybody: both themes, a narrow screen, the keyboard alone."""

from playwright.async_api import Page, expect

from tests.console.accessibility import Inspection
from tests.console.test_projects import give, make_project
from tests.console.test_variable_sets import EVERYWHERE, FIRST, confirm, make_set, put
from tests.console.visitors import Crowd, Site, Visitor
from tests.support.tenant import Tenant

LONG = "L" * 90


async def test_pages_of_projects_are_for_everybody(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant, "P" * 40, "payments")
    await give(tenant, shop, "crew", "maintain")
    visitor = await crowd.arrived(sqlite_site, tenant, "projects")
    page, inspection = visitor.page, Inspection(visitor.page)
    look = inspection.look
    await visitor.button("New project").click()
    await page.get_by_label("Name", exact=True).fill("a/b")
    await visitor.button("Create project").click()
    await page.locator(".field .error").wait_for()
    await look("projects")
    await visitor.go(f"/{tenant.organization}/projects/{shop}")
    await visitor.button("Move workspaces here").click()
    await page.get_by_label("Workspaces", exact=True).press_sequentially("net", delay=20)
    await visitor.button("Take network").wait_for()
    await look("a project")
    await visitor.button("Take network").click()
    await visitor.button("Move …").click()
    await page.get_by_role("dialog").get_by_text("gains").wait_for()
    await look("who gains and loses")
    await confirm(visitor, "Cancel").click()
    await visitor.go(f"/{tenant.organization}/projects/{shop}/access")
    await visitor.button("Change the access of crew").click()
    await page.get_by_role("radio", name="custom").check()
    await page.get_by_role("group", name="The project's own variable sets").wait_for()
    await look("access to a project")
    await visitor.button("Cancel").click()
    await visitor.button("Remove the access of crew").click()
    await page.get_by_role("dialog").wait_for()
    await look("access to a project taken away")
    await confirm(visitor, "Cancel").click()
    await page.get_by_role("link", name="Variable sets").click()
    await visitor.button("New variable set").click()
    await look("sets of a project")
    for place in (f"{shop}/settings", f"{tenant.project}/settings"):
        await visitor.go(f"/{tenant.organization}/projects/{place}")
        await page.get_by_role("heading", name="Delete the project").wait_for()
        await look("settings of a project")
    assert not inspection.found, "\n".join(inspection.found)


async def shared(tenant: Tenant) -> str:
    """A set with a long name, among others that it rivals with."""
    set_id = await make_set(tenant, LONG, "network", description="d" * 300)
    first = await make_set(tenant, "First", "network", **FIRST)
    for one in (set_id, first, await make_set(tenant, "Everywhere", **EVERYWHERE)):
        await put(tenant, one, "K" * 128 if one == set_id else "REGION", "x" * 400)
        await put(tenant, one, f"S{one[-4:]}", "x", sensitive=True)
    await put(tenant, set_id, "REGION")
    return set_id


async def test_pages_of_variable_sets_are_for_everybody(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "varsets")
    page, inspection = visitor.page, Inspection(visitor.page)
    look = inspection.look
    await page.get_by_text("No variable set yet").wait_for()
    await look("no variable sets")
    set_id = await shared(tenant)
    await visitor.go(f"/{tenant.organization}/varsets")
    await visitor.button("New variable set").click()
    await visitor.button("Create variable set").click()
    await page.locator(".field .error").wait_for()
    await look("variable sets")
    await page.get_by_role("link", name="Everywhere").click()
    await page.get_by_text("reach every runner").wait_for()
    await look("variables of a set")
    await visitor.go(f"/{tenant.organization}/varsets/{set_id}/attached")
    await attaching(visitor, inspection)
    await visitor.go(f"/{tenant.organization}/varsets/{set_id}/settings")
    await look("settings of a variable set")
    await visitor.button("Delete variable set").click()
    await page.get_by_role("dialog").wait_for()
    await look("delete a variable set")
    await confirm(visitor, "Cancel").click()
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_text("added").first.wait_for()
    await look("activity of a variable set")
    await visitor.open("network")
    await page.get_by_text("overridden by").first.wait_for()
    await look("what a workspace inherits")
    assert not inspection.found, "\n".join(inspection.found)


async def attaching(visitor: Visitor, inspection: Inspection) -> None:
    """What becomes of workspaces is read first."""
    page = visitor.page
    await visitor.button("Attach to workspaces").click()
    await visitor.button("Attach …").click()
    await page.locator(".field .error").wait_for()
    await inspection.look("workspaces of a set")
    await page.get_by_label("Workspaces", exact=True).fill("payments")
    await visitor.button("Attach …").click()
    await page.get_by_role("dialog").get_by_text("gets").first.wait_for()
    await inspection.look("what a set does")
    await confirm(visitor, "Cancel").click()


async def press_to(page: Page, name: str) -> None:
    """Goes on with the Tab key until what is called so has the focus, and presses it."""
    focused = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
    )
    for _ in range(60):
        await page.keyboard.press("Tab")
        if (await page.evaluate(focused)).strip() == name:
            return await page.keyboard.press("Enter")
    raise AssertionError(f"the Tab key never reaches {name}")


async def test_a_set_is_attached_and_detached_by_the_keyboard_alone(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    await put(tenant, await make_set(tenant, "Shared"), "REGION")
    visitor = await crowd.arrived(site, tenant, "varsets")
    page = visitor.page
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", level=1, name="Shared").wait_for()
    await press_to(page, "Attached to")
    await page.get_by_text("Attached to no workspace").first.wait_for()
    await page.keyboard.press("n")
    await page.keyboard.type("network")
    await page.keyboard.press("Control+Enter")
    await page.get_by_role("dialog").wait_for()
    await press_to(page, "Attach")
    await page.get_by_text("Attached to 1 workspace").first.wait_for()
    await press_to(page, "Detach it from network")
    await page.get_by_role("dialog").wait_for()
    await press_to(page, "Detach")
    await expect(page.get_by_role("main")).to_contain_text("Attached to no workspace")
