"""For everybody: both themes, a narrow screen, and the keyboard alone."""

from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.console.accessibility import WIDEST, Axe, Inspection
from tests.console.deliveries import hand_out, propose
from tests.console.visitors import Crowd, Site, Visitor
from tests.support.tenant import Tenant

# Its colors are far enough from each other in the light.
VIOLATIONS = """<style>
  body { background: #fff; color: #000; }
  @media (prefers-color-scheme: dark) { body { color: #ddd; } }
</style><p>Read this.</p><button aria-label="Delete">Keep</button>"""
TWO_MINUTES_BEFORE_IDLING_ENDS_IT = """() => {
  const now = Date.now;
  Date.now = () => now() + 28.5 * 60 * 1000;
  document.dispatchEvent(new Event("visibilitychange"));
}"""
COVERED = """() => {
  const one = document.activeElement.getBoundingClientRect();
  const told = document.querySelector("#notices .notice").getBoundingClientRect();
  return one.bottom > told.top && one.top < told.bottom && one.right > told.left;
}"""
ABOVE = """() => document.querySelector("#page").getBoundingClientRect().bottom
  < document.querySelector("#notices .notice").getBoundingClientRect().top"""
Look = Callable[[str], Awaitable[None]]


async def show_everything(visitor: Visitor, tenant: Tenant, look: Look) -> None:
    """Goes through all that the console shows, and looks at each."""
    page = visitor.page
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await look("sign in")
    await visitor.sign_in("owner")
    await visitor.page.evaluate(TWO_MINUTES_BEFORE_IDLING_ENDS_IT)
    await visitor.button("Stay signed in").wait_for()
    await look("asked to stay")
    await visitor.button("Stay signed in").click()
    await page.get_by_text("No variables yet").first.wait_for()
    await look("no variables")
    await visitor.go(f"/{tenant.organization}/workspaces")
    await page.get_by_role("link", name="payments").wait_for()
    await look("workspaces")
    await visitor.button("New workspace").click()
    await page.get_by_role("form", name="A new workspace").wait_for()
    await look("a new workspace")
    await visitor.open("payments")
    await look("variables")
    await page.keyboard.press("?")
    await page.get_by_role("dialog").wait_for()
    await look("keys that act")
    await visitor.button("Close").click()
    await page.get_by_label("Filter variables").fill("nothing has this")
    await look("nothing found")
    await page.get_by_label("Filter variables").fill("")
    await editing(visitor, tenant, look)
    await dialogs(visitor, look)
    await visitor.go(f"/{tenant.organization}/workspaces/payments/settings")
    await visitor.button("Delete workspace").click()
    await page.get_by_role("dialog").wait_for()
    await look("delete a workspace")
    await visitor.button("Cancel").click()
    await look("settings of a workspace")
    await visitor.go(f"/{tenant.organization}/workspaces/payments/activity")
    await page.get_by_role("link", name="zones").first.wait_for()
    await look("activity")
    await visitor.go(f"/{tenant.organization}/activity")
    await page.get_by_role("link", name="zones").first.wait_for()
    await look("activity of the organization")
    await teams(visitor, tenant, look)
    await visitor.go(f"/{tenant.organization}/workspaces")
    await page.get_by_label("Find a key anywhere").fill("z")
    await page.get_by_role("link", name="zones").wait_for()
    await look("keys")
    await members_and_access(visitor, tenant, look)
    await runners(visitor, tenant, look)
    await visitor.go("/settings/tokens")
    await page.get_by_label("Description", exact=True).fill("for a robot")
    await visitor.button("Create token").click()
    await page.get_by_label("The new token").wait_for()
    await look("tokens")
    await visitor.button("Revoke for a robot").click()
    await page.get_by_role("dialog").wait_for()
    await look("revoke a token")
    await visitor.button("Cancel").click()
    await visitor.go("/nothing/there/at/all")
    await page.get_by_role("heading", name="Nothing here").wait_for()
    await look("nothing here")
    for who, text in (("invited_writer", "invited"), ("admin", "You are in no organization yet")):
        await visitor.button("Sign out").click()
        await visitor.sign_in(who)
        await page.get_by_text(text).first.wait_for()
        await look(f"organizations of {who}")


async def editing(visitor: Visitor, tenant: Tenant, look: Look) -> None:
    """The forms of variables."""
    form = await visitor.add("two words", '["a"\n"b"]')
    await form.get_by_label("HCL").check()
    await form.get_by_label("Sensitive").check()
    await form.get_by_role("button", name="Add variable").click()
    await form.get_by_text("white space").wait_for()
    await form.get_by_text("Line 2").first.wait_for()
    await look("errors")
    await form.get_by_label("Sensitive").uncheck()
    await form.get_by_label("HCL").uncheck()
    await form.get_by_label("Value").fill("ends with a line end\n")
    await form.get_by_role("button", name="Add variable").click()
    await visitor.button("Save it so").wait_for()
    await look("what nobody sees is asked about")
    await visitor.button("Back to the form").click()
    await visitor.page.keyboard.press("Escape")
    await visitor.button("Leave it").wait_for()
    await look("leave what is typed")
    await visitor.button("Leave it").click()
    form = await visitor.edit("PSK")
    await look("write-only")
    await form.get_by_role("button", name="Cancel").click()
    form = await visitor.edit("zones")
    await form.locator(".evaluated").wait_for()
    (id_,) = (
        one["id"]
        for one in await tenant.variables("payments")
        if one["attributes"]["key"] == "zones"
    )
    await visitor.site.change(tenant, id_, "payments", description="theirs")
    await form.get_by_label("Value").fill("[1, 2]")
    await form.get_by_role("button", name="Save").click()
    await visitor.page.get_by_text("changed description").first.wait_for()
    await look("conflict")
    await visitor.button("Keep theirs").click()


async def members_and_access(visitor: Visitor, tenant: Tenant, look: Look) -> None:
    """Who is in the organization, and who has access to what."""
    page = visitor.page
    await visitor.go(f"/{tenant.organization}/members")
    await visitor.button("Invite").click()
    form = page.get_by_role("form", name="Invite people")
    await form.get_by_label("E-mail addresses").fill(f"{'x' * 60}@example.com nobody@")
    await form.get_by_label("crew").check()
    await form.get_by_role("button", name="Invite").click()
    await form.get_by_text("Invited: ").wait_for()
    await look("members")
    await visitor.button("Cancel").click()
    await visitor.go(f"/{tenant.organization}/workspaces/network/access")
    await page.get_by_role("link", name="owners").first.wait_for()
    await visitor.button("Give access").click()
    await page.get_by_text("Name a team first.").first.wait_for()
    await look("access")
    await visitor.button("Remove the access of readers").click()
    await page.get_by_text("loses access at once").first.wait_for()
    await look("access taken away")
    await visitor.button("Cancel").click()
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['writers']}/workspaces")
    await page.get_by_role("link", name="network").wait_for()
    await look("workspaces of a team")


async def runners(visitor: Visitor, tenant: Tenant, look: Look) -> None:
    """Who is handed values, and what was handed out."""
    page = visitor.page
    await visitor.go(f"/{tenant.organization}/runners")
    await page.get_by_text("No runner yet").wait_for()
    await look("no runners")
    await hand_out(visitor.site, tenant, await propose(tenant, "nightly"), 100, {})
    await page.reload()
    await page.get_by_text("not delivered for 90 days").wait_for()
    await look("runners")
    await visitor.button("Propose a runner").click()
    await visitor.button("Propose").click()
    await page.locator(".error").first.wait_for()
    await look("a new runner")
    await page.get_by_label("It has a key of its own").check()
    await look("a new runner with a key")
    await visitor.button("Cancel").click()
    await visitor.button("Delete nightly").click()
    await page.get_by_role("dialog").wait_for()
    await look("delete a runner")
    await visitor.button("Cancel").click()


async def dialogs(visitor: Visitor, look: Look) -> None:
    """The dialogs of a workspace."""
    page = visitor.page
    await visitor.button("Import").click()
    await page.get_by_label("Contents of the file").fill("A=$x\n")
    await page.get_by_role("radio", name=".env").check()
    await visitor.button("Preview").click()
    await page.get_by_text("Nothing is imported").first.wait_for()
    await look("faults of a file")
    await page.get_by_label("Contents of the file").fill("A=1\nLONG='" + "x" * 400 + "'\nPSK=2")
    await visitor.button("Preview").click()
    await page.get_by_role("dialog").get_by_role("table").wait_for()
    await look("import")
    await visitor.button("Cancel").click()
    await visitor.button("Copy from …").click()
    await page.locator("datalist option").first.wait_for(state="attached")
    await look("copy")
    await visitor.button("Cancel").click()
    await visitor.button("Delete PSK").click()
    await visitor.page.get_by_text("Deleted in ten seconds").wait_for()
    await look("delete")
    await visitor.button("Undo: PSK").click()


async def teams(visitor: Visitor, tenant: Tenant, look: Look) -> None:
    """The teams, and what is done with one."""
    page = visitor.page
    await visitor.go(f"/{tenant.organization}/teams")
    await page.get_by_role("link", name="T" * 90).wait_for()
    await visitor.button("New team").click()
    await look("teams")
    await page.get_by_role("link", name="T" * 90).click()
    await page.get_by_text("Nobody is in this team yet").first.wait_for()
    await look("a team of nobody")
    await visitor.button("Change team").click()
    await page.get_by_label("Name", exact=True).fill("a:b")
    await visitor.button("Save").click()
    await page.locator(".field .error").wait_for()
    await look("errors of a team")
    await visitor.button("Cancel").click()
    await visitor.button("Delete team").click()
    await look("delete a team")
    await visitor.button("Cancel").click()
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['writers']}")
    await visitor.button("Add members").click()
    await page.get_by_label("Whom to add").fill("x" * 300 + f" a@b.c {tenant.organization}")
    await visitor.button("Add to the team").click()
    await page.get_by_text("Nobody is added yet").first.wait_for()
    await look("who cannot be added")
    await visitor.button("Cancel").click()
    await page.get_by_role("button", name="Remove").first.click()
    await page.get_by_role("dialog").wait_for()
    await look("remove a member")
    await visitor.button("Cancel").click()
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_text("added").first.wait_for()
    await look("activity of a team")


async def furnished(site: Site) -> Tenant:
    """With something to look at in `payments`."""
    tenant = await site.tenant()
    await site.make(tenant, "PSK", "x", workspace="payments", sensitive=True)
    await site.make(tenant, "zones", "[1]", workspace="payments", category=site.tool, hcl=True)
    await site.make(tenant, "L" * 128, "x" * 400, workspace="payments", description="d" * 512)
    team = {"data": {"type": "teams", "attributes": {"name": "T" * 90}}}
    path = f"/organizations/{tenant.organization}/teams"
    assert (await tenant.call("owner", "POST", path, team)).is_success
    return tenant


async def test_every_page_and_dialog_is_for_everybody(sqlite_site: Site, crowd: Crowd) -> None:
    """In both themes axe finds nothing, and a narrow screen scrolls in one direction only."""
    tenant = await furnished(sqlite_site)
    visitor = await crowd.visitor(sqlite_site, tenant)
    inspection = Inspection(visitor.page)
    await show_everything(visitor, tenant, inspection.look)
    assert not inspection.found, "\n".join(inspection.found)


async def test_a_violation_that_is_there_is_found(window: BrowserContext) -> None:
    """The control."""
    async with await window.new_page() as page:
        await page.set_content(VIOLATIONS)
        found = await Axe().violations(page)
    rules = {one.partition("\n")[0] for one in found}
    assert rules >= {"label-content-name-mismatch", "color-contrast"}


async def test_which_page_it_is_is_seen_in_colors_of_the_system(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.page.emulate_media(forced_colors="active")
    lines = await visitor.page.locator(".pages a").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).borderBottomColor)"
    )
    assert lines.count(lines[0]) == 1, lines
    await visitor.page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("width", [640, 375, 320])  # a window of 1280, enlarged; phones
async def test_sorting_is_seen_and_used_on_narrow_screens(
    sqlite_site: Site, crowd: Crowd, width: int
) -> None:
    tenant = await furnished(sqlite_site)
    visitor = await crowd.member(sqlite_site, tenant, workspace="payments", width=width)
    keys = visitor.page.locator("tbody .name")
    before = await keys.all_text_contents()
    await visitor.button("Key").click()
    assert await keys.all_text_contents() == before[::-1]
    header = visitor.page.locator("header .brand, header .trail a, header .button")
    lines = "all => all.map((one) => Math.round(one.getBoundingClientRect().height))"
    assert max(await header.evaluate_all(lines)) < 48, "a name in the header has several lines"
    widths = "all => all.map((one) => one.getBoundingClientRect().width)"
    names = visitor.page.locator("header .trail a")
    assert min(await names.evaluate_all(widths)) > 32, "nobody can read where one is"


FOCUSED = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const around = getComputedStyle(one.closest(".editor, .button, label") ?? one);
  const beside = one.nextElementSibling && getComputedStyle(one.nextElementSibling);
  const seen = [style, around, beside].some((one) => one && one.outlineStyle !== "none");
  const label = one.getAttribute("aria-label") ?? one.labels?.[0]?.innerText ?? one.innerText;
  return [(label ?? "").trim(), seen];
}"""


async def tab_to(page: Page, name: str) -> None:
    """Goes on with the Tab key until the focus is there; it is seen wherever it is."""
    for _ in range(80):
        await page.keyboard.press("Tab")
        label, is_seen = await page.evaluate(FOCUSED)
        if label == name:
            assert is_seen, f"nobody sees that {name} has the focus"
            return
    raise AssertionError(f"the Tab key never reaches {name}")


async def test_the_keyboard_is_enough(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.visitor(site, tenant)
    page, keyboard = visitor.page, visitor.page.keyboard
    await visitor.go("/")
    await page.get_by_label("Token").wait_for()
    await keyboard.type(tenant.tokens["owner"])
    await keyboard.press("Enter")
    await page.get_by_role("heading", name=tenant.organization).wait_for()
    await page.reload()
    await page.get_by_role("heading", name=tenant.organization).wait_for()
    await keyboard.press("Tab")
    assert (await page.evaluate(FOCUSED))[0] == "Skip to the content"
    await keyboard.press("Enter")
    await tab_to(page, "network\nDefault Project\n0 variables\nread and write")
    await keyboard.press("Enter")
    await page.get_by_role("heading", name="network").wait_for()

    await tab_to(page, "Add variable")
    await keyboard.press("Enter")
    await keyboard.type("zones")
    await tab_to(page, site.tool)
    await keyboard.press("ArrowRight")
    await keyboard.press("ArrowLeft")
    await tab_to(page, "Value")
    await keyboard.type("[1, 2]")
    await tab_to(page, "HCL")
    await keyboard.press("Space")
    await tab_to(page, "Add variable")
    await keyboard.press("Enter")
    await visitor.row("zones").wait_for()
    assert (await site.stored(tenant))["zones"]["hcl"] is True

    await tab_to(page, "Delete zones")
    await keyboard.press("Enter")
    await expect(visitor.button("Undo: zones")).to_be_focused()
    await keyboard.press("Enter")
    await expect(visitor.button("Delete zones")).to_be_focused()
    await keyboard.press("Enter")
    await tab_to(page, "Delete now: zones")
    await keyboard.press("Enter")
    await page.get_by_text("No variables yet").first.wait_for()


async def test_whoever_cancels_a_form_is_back_at_its_button(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    here = f"/{tenant.organization}"
    for path, opener in (
        ("/workspaces/network", "Add variable"),
        ("/members", "Invite"),
        ("/teams", "New team"),
        (f"/teams/{tenant.teams['crew']}", "Add members"),
        (f"/teams/{tenant.teams['crew']}", "Change team"),
    ):
        await visitor.go(here + path)
        await visitor.button(opener).press("Enter")
        await tab_to(visitor.page, "Cancel")
        await visitor.page.keyboard.press("Enter")
        await expect(visitor.button(opener)).to_be_focused()


async def test_a_long_value_in_a_conflict_is_read_by_the_keyboard(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    id_ = await site.make(tenant, "region", "eu")
    await site.make(tenant, "zone", "eu")
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("region")
    await site.change(tenant, id_, value="us\n" * 60)
    await form.get_by_label("Value").fill("asia")
    await form.get_by_role("button", name="Save").click()
    now = visitor.page.locator(".conflict pre").first
    await now.press("ArrowDown")
    await expect(now).to_be_focused()
    await visitor.page.wait_for_function("() => document.activeElement.scrollTop > 0")


async def test_no_line_at_the_foot_of_the_window_covers_what_has_the_focus(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    for number in range(30):
        await sqlite_site.make(tenant, f"KEY_{number:02}")
    visitor = await crowd.member(sqlite_site, tenant, width=320)
    page = visitor.page
    form = await visitor.add("KEY_30", "x")
    await form.get_by_role("button", name="Add variable").click()
    await page.get_by_text("KEY_30 is added.").first.wait_for()
    await visitor.button("Edit KEY_00").focus()
    for _ in range(60):
        await page.keyboard.press("Tab")
        assert not await page.evaluate(COVERED)
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert await page.evaluate(ABOVE)


async def test_long_names_leave_a_narrow_screen_its_width(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    name = {"name": "w" * 90, "tag-names": ["t" * 80]}
    document = {"data": {"type": "workspaces", "attributes": name}}
    path = f"/organizations/{tenant.organization}/workspaces"
    assert (await tenant.call("owner", "POST", path, document)).is_success
    await site.make(tenant, "region")
    secrets = [await tenant.make_variable(f"password_{one}", sensitive=True) for one in range(9)]
    versions = {one["id"]: one["attributes"]["version-id"] for one in secrets}
    runner = await propose(tenant, "laptop")
    await hand_out(site, tenant, runner, 1, versions)
    assert (await tenant.call("owner", "DELETE", f"/runners/{runner}")).is_success
    visitor = await crowd.member(site, tenant, width=320)
    page = visitor.page
    for place, seen in (
        ("workspaces", "Choose all workspaces"),
        ("runners", "rotate password_0"),
        (f"workspaces/network/compare?with={name['name']}", "region"),
    ):
        await visitor.go(f"/{tenant.organization}/{place}")
        await page.locator("main").get_by_text(seen).first.wait_for()
        if "compare" in place:
            await page.get_by_label(seen).check()
            await visitor.button(f"Copy 1 variable to {name['name']}").wait_for()
        assert not await page.evaluate(WIDEST), place
