"""The teams of an organization and who is in them: what people do with them, end to end."""

import re

from playwright.async_api import Locator, Page, Route, expect

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.memberships import Status
from teamvars.services.directory_files.files import Options
from tests.console.test_access import tab_to
from tests.console.visitors import Crowd, Site, Visitor, held, overtaken
from tests.support.deployment import operator
from tests.support.tenant import Tenant, linkage_document

MEMBERSHIPS = "organization-memberships"
CHANGES = f"**/relationships/{MEMBERSHIPS}"
"""Requests that change who is in a team: those that read have a query."""
RTL = "\u202e"


async def visit(
    crowd: Crowd, site: Site, tenant: Tenant, who: str = "owner", team: str = ""
) -> Visitor:
    """Somebody who looks at a team, or at the list of them."""
    below = f"/{tenant.teams[team]}" if team else ""
    visitor = await crowd.arrived(site, tenant, f"teams{below}", who)
    title = team or tenant.organization
    await visitor.page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
    return visitor


def username(tenant: Tenant, who: str) -> str:
    """What one of the tenant's people is called."""
    return f"{who}-{tenant.organization.removeprefix('org-')}"


def row(visitor: Visitor, text: str) -> Locator:
    """The row with that text in it."""
    return visitor.page.locator("ul.rows > li").filter(has_text=text)


async def add(visitor: Visitor, *words: str) -> Locator:
    """Fills in the form and sends it; returns the form."""
    form = visitor.page.get_by_role("form", name="Add members")
    if not await form.count():
        await visitor.button("Add members").click()
    await form.get_by_label("Whom to add").fill("\n".join(words))
    await form.get_by_role("button", name="Add to the team").click()
    return form


async def test_an_owner_makes_changes_and_deletes_a_team(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await visit(crowd, site, tenant)
    page = visitor.page
    await expect(row(visitor, "writers")).to_contain_text("2 members")
    await expect(row(visitor, "secret").locator(".badge")).to_have_text("secret")
    await page.get_by_label("Filter by name").press_sequentially("REW", delay=20)
    await expect(page.locator("ul.rows > li")).to_have_count(1)

    await visitor.button("New team").click()
    await page.get_by_label("Name", exact=True).fill("a:b")
    await visitor.button("Create team").click()
    await page.locator(".field .error").wait_for()
    await page.get_by_label("Name", exact=True).fill("crew")
    await visitor.button("Create team").click()
    await expect(page.locator(".field .error")).to_contain_text("There is a team")
    await page.get_by_label("Name", exact=True).fill("night shift")
    await page.get_by_role("radio", name="Its members and owners").check()
    await page.get_by_label("Manages members").check()
    await visitor.button("Create team").click()
    await page.get_by_role("heading", name="night shift").wait_for()
    await page.get_by_text("Nobody is in this team yet").first.wait_for()
    await expect(page.locator(".workspace-head .badge")).to_have_text(["secret", "manages members"])
    trail = page.get_by_role("navigation", name="Where you are")
    await expect(trail.get_by_role("link")).to_have_text([tenant.organization, "night shift"])

    await visitor.button("Change team").click()
    await page.get_by_label("Name", exact=True).fill("day shift")
    await page.get_by_role("radio", name="Everybody in the organization").check()
    await visitor.button("Save").click()
    await page.get_by_role("heading", name="day shift").wait_for()
    await expect(page.locator(".workspace-head .badge")).to_have_text(["manages members"])
    await expect(trail.get_by_role("link").last).to_have_text("day shift")
    await page.get_by_role("link", name="Activity").click()
    changed = page.locator("ol.rows > li").filter(has_text="changed the team")
    await expect(changed.locator(".badge")).to_have_text(["name", "visibility"])

    await page.get_by_role("link", name="Members").click()
    await visitor.button("Delete team").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    await dialog.get_by_label("Type the name to confirm").fill("day shift")
    await dialog.get_by_role("button", name="Delete").click()
    await page.get_by_text("6 teams you can see").first.wait_for()


async def test_several_are_added_at_once_and_all_or_none(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    path = tenant.linkage_path("crew", MEMBERSHIPS)
    inside = linkage_document(tenant.memberships["reader"], type_=MEMBERSHIPS)
    assert (await tenant.call("owner", "POST", path, inside)).is_success
    visitor = await visit(crowd, site, tenant, team="crew")
    plain, manager, reader = (username(tenant, one) for one in ("plain", "manager", "reader"))
    invited = f"{username(tenant, 'invited')}@example.com"
    hostile = "<img/onerror=alert(1)>"
    words = (f"{plain.upper()},{manager}@EXAMPLE.com; {plain}", hostile, f"{RTL}x@y.z", reader)
    form = await add(visitor, *words, invited)
    errors = form.locator("li.error")
    await expect(errors).to_have_text(
        [
            re.compile(rf"^{re.escape(hostile)}: Nobody in the organization"),
            re.compile(r"^\\u202ex@y.z: Nobody in the organization .*Invite them"),
        ]
    )
    await expect(form).to_contain_text("Nobody is added yet: 2 of 6 cannot be.")
    await expect(form).to_contain_text(f"Already in the team: {reader}.")
    assert await tenant.members() == {tenant.memberships["reader"]}
    area = form.get_by_label("Whom to add")
    assert await area.get_attribute("aria-invalid") == "true"
    await errors.first.get_by_role("button").click()
    selected = "(one) => one.value.slice(one.selectionStart, one.selectionEnd)"
    assert await area.evaluate(selected) == hostile

    await form.get_by_role("button", name="Leave these out").click()
    assert hostile not in await area.input_value()
    await form.get_by_role("button", name="Add to the team").click()
    notice = visitor.page.locator(".place .notice")
    await expect(notice).to_contain_text(f"Already in the team: {reader}.")
    await expect(notice).to_contain_text(f"Added: {plain}, {manager}")
    people = ("reader", "plain", "manager", "invited")
    assert await tenant.members() == {tenant.memberships[one] for one in people}
    await expect(row(visitor, invited).locator(".badge")).to_have_text("invited")
    await expect(row(visitor, manager)).to_contain_text(f"{manager}@example.com")

    await visitor.page.get_by_label("Filter by name or address").fill("MANAGER-")
    await expect(visitor.page.locator("ul.rows > li")).to_have_count(1)
    await visitor.page.get_by_role("link", name="Activity").click()
    first, last = (visitor.page.locator("ol.rows > li").nth(at) for at in (0, 1))
    for one in (plain, manager, username(tenant, "invited")):
        await expect(first.locator(".name")).to_contain_text(one)
    await expect(last.locator(".name")).to_have_text(f"{username(tenant, 'owner')} added {reader}")


async def test_what_the_api_says_of_one_of_them_stands_at_that_one(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    plain, reader = username(tenant, "plain"), username(tenant, "reader")

    async def meanwhile(route: Route) -> None:
        """Somebody leaves the organization after they were looked up."""
        path = f"/{MEMBERSHIPS}/{tenant.memberships['plain']}"
        assert (await tenant.call("owner", "DELETE", path)).is_success
        await route.continue_()

    await visitor.page.route(CHANGES, meanwhile, times=1)
    form = await add(visitor, reader, plain)
    await expect(form.locator("li.error")).to_have_text(re.compile(f"^{plain}: No "))
    await expect(form.get_by_label("Whom to add")).to_have_value(f"{reader}\n{plain}")
    assert await tenant.members() == set()


async def test_somebody_is_removed_and_the_last_owner_is_not(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await visit(crowd, site, tenant, team="writers")
    writer, owner = username(tenant, "writer"), username(tenant, "owner")
    await visitor.button(f"Remove {writer}").click()
    dialog = visitor.page.get_by_role("dialog")
    await expect(dialog).to_contain_text(f"They stay in {tenant.organization}")
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await expect(visitor.page.locator("ul.rows > li")).to_have_count(1)
    assert await tenant.members("writers") == {tenant.memberships["invited_writer"]}

    # Of the two in the owners team one is disabled, which the list does not tell.
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['owners']}")
    await visitor.button(f"Remove {owner}").click()
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await expect(row(visitor, owner)).to_contain_text("Add another owner first")
    await expect(row(visitor, owner).get_by_role("note")).to_be_focused()
    await visitor.button(f"Remove {username(tenant, 'disabled')}").click()
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await expect(visitor.page.locator("ul.rows > li")).to_have_count(1)
    await expect(row(visitor, owner)).to_contain_text("Add another owner first")
    await expect(row(visitor, owner).get_by_role("button")).to_have_count(0)
    await expect(visitor.button("Delete team")).to_have_count(0)

    await add(visitor, username(tenant, "plain"))
    await visitor.button(f"Remove {owner}").click()
    await expect(dialog).to_contain_text("This is you.")
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await expect(visitor.page.get_by_role("heading", level=1)).to_have_text(tenant.organization)
    await expect(visitor.button("New team")).to_have_count(0)


async def test_who_is_the_last_owner_is_said_by_no_older_answer(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    reader = username(tenant, "reader")
    visitor = await visit(crowd, sqlite_site, tenant, team="owners")
    page = visitor.page
    async with overtaken(page, re.compile(r"status\]=active")) as is_answered:
        await visitor.button(f"Remove {username(tenant, 'disabled')}").click()
        await visitor.button("Remove").click()
        await is_answered()
        await add(visitor, reader)
        await page.get_by_text(f"Added: {reader}").first.wait_for()
        await expect(visitor.button(f"Remove {reader}")).to_be_visible()
    await expect(visitor.button(f"Remove {reader}")).to_be_visible()


async def test_who_may_not_is_offered_nothing(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    for who, team, may in (
        ("plain", "writers", False),
        ("manager", "writers", True),
        ("manager", "owners", False),
        ("writers-token", "readers", False),
    ):
        visitor = await visit(crowd, sqlite_site, tenant, who, team)
        page = visitor.page
        await page.locator("ul.rows > li").first.wait_for()
        for one in ("Change team", "Delete team"):
            assert await visitor.button(one).count() == 0
        assert await visitor.button("Add members").count() == int(may)
        assert await page.get_by_role("link", name="Activity").count() == int(may)
        assert (await page.get_by_role("button", name="Remove").count() > 0) is may
    visitor = await visit(crowd, sqlite_site, tenant, "plain")
    await row(visitor, "writers").wait_for()
    assert await visitor.button("New team").count() == 0
    assert await row(visitor, "secret").count() == 0
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['secret']}")
    await visitor.page.get_by_role("heading", name="Nothing here").wait_for()
    mine = linkage_document(tenant.users["plain"])
    refused = await tenant.call("plain", "POST", tenant.linkage_path("writers"), mine)
    assert refused.status_code == 403


async def test_whoever_loses_the_right_while_looking_is_told_and_loses_no_text(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, "manager", "crew")
    await visitor.button("Add members").click()
    await tenant.call(
        "owner",
        "DELETE",
        tenant.linkage_path("managers"),
        linkage_document(tenant.users["manager"]),
    )
    form = await add(visitor, username(tenant, "plain"))
    await expect(form.locator(".errors")).to_contain_text("not change its members")
    await expect(form.get_by_label("Whom to add")).to_have_value(username(tenant, "plain"))


async def test_a_connection_that_breaks_in_a_save_adds_once(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")

    async def lose(route: Route) -> None:
        """The server does it, and its answer is lost."""
        await route.fetch()
        await route.abort()

    await visitor.page.route(CHANGES, lose, times=1)
    await add(visitor, username(tenant, "plain"))
    await expect(visitor.page.locator(".place .notice")).to_contain_text("Added: plain-")
    assert await tenant.members() == {tenant.memberships["plain"]}


async def test_a_late_answer_ends_no_form_that_was_opened_meanwhile(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    named = visitor.page.get_by_label("Name", exact=True)

    async def answer_late(route: Route) -> None:
        await visitor.button("Cancel").click()
        await visitor.button("Change team").click()
        await named.fill("typed meanwhile")
        await route.continue_()

    await visitor.page.route(CHANGES, answer_late, times=1)
    await add(visitor, username(tenant, "plain"))
    await row(visitor, username(tenant, "plain")).wait_for()
    await expect(named).to_have_value("typed meanwhile")


async def test_a_late_answer_asks_nothing_of_whoever_has_gone_on_to_type(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    page = visitor.page
    saved = f"**/teams/{tenant.teams['crew']}"
    async with page.expect_response(saved), held(page, saved) as is_sent:
        await visitor.button("Change team").click()
        await page.get_by_label("Manages members").check()
        await visitor.button("Save").click()
        await is_sent()
        await visitor.button("Cancel").click()
        await visitor.button("Add members").click()
        await page.get_by_label("Whom to add").press_sequentially("half of ")
    await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.type("the letters")
    await expect(page.get_by_label("Whom to add")).to_have_value("half of the letters")


async def test_a_team_of_many_is_shown_in_pages(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    mark = tenant.organization
    people = [f"p{number:03}-{mark}" for number in range(120)]
    entry = OrganizationEntry(
        tenant.organization,
        dict.fromkeys(people, Status.ACTIVE),
        teams=(TeamEntry("crew", members=tuple(people)),),
    )
    directory = Directory(tuple(map(UserEntry, people)), (entry,))
    await tenant.deployment.services.directory.apply(operator(), directory, Options())
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    rows = visitor.page.locator("ul.rows > li")
    await expect(rows).to_have_count(100)
    await visitor.page.get_by_text("120 members").first.wait_for()
    await visitor.button("Show more").click()
    await expect(rows).to_have_count(120)
    last = await rows.last.locator("bdi").first.inner_text()
    await visitor.button(f"Remove {last}").click()
    dialog = visitor.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await expect(rows).to_have_count(119)


async def test_of_those_who_are_nobody_the_reason_is_all_that_is_said(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    form = await add(await visit(crowd, sqlite_site, tenant, team="crew"), "nobody")
    await expect(form.get_by_role("alert").first).to_have_text(
        "nobody: Nobody in the organization has this name or address."
    )


async def test_the_keyboard_is_enough_to_add_somebody(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant)
    page, keyboard = visitor.page, visitor.page.keyboard
    await tab_to(page, "crew\n0 members")
    await keyboard.press("Enter")
    await page.get_by_role("heading", name="crew").wait_for()
    await tab_to(page, "Add members")
    await keyboard.press("Enter")
    await keyboard.type(f"{username(tenant, 'plain')} nobody")
    await tab_to(page, "Add to the team")
    await keyboard.press("Enter")
    await page.get_by_text("1 of 2 cannot be").first.wait_for()
    await tab_to(page, "nobody")
    await keyboard.press("Enter")
    await keyboard.press("Delete")
    await tab_to(page, "Add to the team")
    await keyboard.press("Enter")
    await row(visitor, username(tenant, "plain")).wait_for()
    await tab_to(page, f"Remove {username(tenant, 'plain')}")
    await keyboard.press("Enter")
    await page.get_by_role("dialog").wait_for()
    await tab_to(page, "Remove")
    await keyboard.press("Enter")
    await page.get_by_text("Nobody is in this team yet").first.wait_for()


async def test_what_is_typed_is_not_left_unasked(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    page: Page = visitor.page
    await visitor.button("Add members").click()
    await page.get_by_label("Whom to add").fill("somebody")
    await visitor.button("Change team").click()
    await expect(page.get_by_label("Whom to add")).to_have_value("somebody")
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_role("dialog").get_by_text("It has not been saved").wait_for()
    await visitor.button("Stay").click()
    await expect(page.get_by_label("Whom to add")).to_have_value("somebody")


async def test_whoever_is_not_found_can_be_invited_with_what_was_typed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    somebody = f"new+1@{tenant.organization}.example"
    form = await add(visitor, somebody)
    await form.get_by_role("link", name="Invite them").click()
    await visitor.button("Leave it").click()
    form = visitor.page.get_by_role("form", name="Invite people")
    await expect(form.get_by_label("E-mail addresses")).to_have_value(somebody)
    await expect(form.get_by_label("crew")).to_be_checked()
    await expect(form.get_by_label("writers")).not_to_be_checked()
    await form.get_by_role("button", name="Invite").click()
    await visitor.page.get_by_text("Invited: ").first.wait_for()
    assert len(await tenant.members()) == 1


async def test_members_are_suggested_while_one_types(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(crowd, sqlite_site, tenant, team="crew")
    await visitor.button("Add members").click()
    area = visitor.page.get_by_label("Whom to add")
    plain, reader = username(tenant, "plain"), username(tenant, "reader")
    for word, found in (("pla", plain), ("READ", reader)):
        await area.press_sequentially(word)
        await visitor.button(f"Take {found}").click()
        await expect(area).to_be_focused()
    await expect(area).to_have_value(f"{plain}\n{reader}\n")
    await area.press("Control+Enter")
    await row(visitor, reader).wait_for()
    assert await tenant.members() == {tenant.memberships[one] for one in ("plain", "reader")}
