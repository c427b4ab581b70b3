"""Who has access to a workspace, and where a team has some: seen, given, changed, taken away."""

import asyncio
import re
from contextlib import suppress

from playwright.async_api import Error, Locator, Route, expect

from tests.console.visitors import Crowd, Site, Visitor, held, overtaken, small_pages
from tests.support.tenant import Tenant, linkage_document, variable_document


async def visit(
    site: Site, crowd: Crowd, tenant: Tenant, who: str = "owner", workspace: str = "network"
) -> Visitor:
    """Somebody who looks at the access to a workspace."""
    visitor = await crowd.member(site, tenant, who, workspace)
    await visitor.page.get_by_role("link", name="Access").click()
    await visitor.page.get_by_role("heading", level=2, name="Teams").wait_for()
    return visitor


def rows(visitor: Visitor, which: int = 0) -> Locator:
    """Of a list of the page: teams, and who has access."""
    return visitor.page.locator("main ul.rows").nth(which).locator("> li")


async def give(visitor: Visitor, label: str, name: str, level: str = "read") -> None:
    """Fills in and sends the form."""
    form = visitor.page.get_by_role("form", name="Give access")
    await form.get_by_label(label, exact=True).fill(name)
    await form.get_by_role("radio", name=level, exact=True).check()
    await form.get_by_role("button", name="Give access").click()


async def statuses(tenant: Tenant, who: str, workspace: str = "payments") -> int:
    """What reading the variables of a workspace is answered with."""
    return (await tenant.call(who, "GET", tenant.vars_path(workspace))).status_code


async def test_what_has_led_to_a_question_waits_for_nothing_while_that_is_open(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await visit(sqlite_site, crowd, await sqlite_site.tenant())
    page = visitor.page
    remove = page.get_by_label("Remove the access of ").first
    async with held(page, "**/workspaces/*/access?*"):
        await remove.click()
        await expect(remove).to_have_css("opacity", "0.5")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await expect(remove).to_have_css("opacity", "1")
    async with held(page, "**/team-workspaces/*"):
        await visitor.button("Take away").click()
        await expect(remove).to_have_css("opacity", "0.5")


async def test_a_team_is_given_access_which_is_changed_and_taken_away(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    mark = tenant.organization.removeprefix("org-")
    visitor = await visit(site, crowd, tenant, workspace="payments")
    page = visitor.page
    await page.get_by_text("No team has access yet").first.wait_for()
    await give(visitor, "Team", "READERS")
    await expect(rows(visitor)).to_contain_text(["readers"])
    reader = rows(visitor, 1).filter(has_text=f"reader-{mark}")
    await expect(reader).to_contain_text("through readers")
    assert await statuses(tenant, "reader") == 200

    await visitor.button("Change to read and write: readers").click()
    await expect(reader).to_contain_text("read and write")
    await expect(visitor.button("Change to read: readers")).to_be_focused()
    document = variable_document(category="env")
    wrote = await tenant.call("reader", "POST", tenant.vars_path("payments"), document)
    assert wrote.status_code == 201

    await visitor.button("Remove the access of readers").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text(f"reader-{mark} loses access at once.")
    await dialog.get_by_role("button", name="Take away").click()
    await page.get_by_text("No team has access yet").first.wait_for()
    await reader.wait_for(state="detached")
    assert await statuses(tenant, "reader") == 404

    await give(visitor, "Team", "readers")  # the same as before, and yet another change
    await reader.wait_for()
    assert await statuses(tenant, "reader") == 200


async def test_what_was_changed_back_is_changed_once_more(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, workspace="payments")
    await give(visitor, "Team", "readers")
    await visitor.button("Change to read and write: readers").click()
    await visitor.button("Change to read: readers").click()
    await visitor.button("Change to read and write: readers").wait_for()
    await give(visitor, "Team", "crew")  # the list is drawn anew
    await visitor.button("Change to read and write: crew").wait_for()
    await visitor.button("Change to read and write: readers").click()
    await visitor.button("Change to read: readers").wait_for()
    document = variable_document(category="env")
    wrote = await tenant.call("reader", "POST", tenant.vars_path("payments"), document)
    assert wrote.status_code == 201


async def test_what_was_changed_is_as_it_is_now_once_more_of_the_list_is_shown(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await small_pages(visitor.page, "**/team-workspaces?*", 1)
    await visitor.go(f"/{tenant.organization}/workspaces/network/access")
    await visitor.sign_in("owner")
    await expect(rows(visitor)).to_have_count(1)
    change = rows(visitor).first.get_by_role("button", name=re.compile("Change to"))
    before = str(await change.get_attribute("aria-label"))
    await change.click()
    await expect(change).to_be_focused()
    await expect(change).not_to_have_accessible_name(before)
    async with held(visitor.page, "**/team-workspaces?*") as is_asked_for:
        await visitor.button("Show more").click()
        await is_asked_for()
        await change.click()
        await expect(change).to_have_accessible_name(before)
    await expect(rows(visitor)).to_have_count(2)
    await expect(change).to_have_accessible_name(before)


async def test_who_has_access_is_as_it_was_changed_last(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    reader = rows(visitor, 1).filter(has_text="reader-")
    await expect(reader).to_have_count(1)
    async with overtaken(visitor.page, "**/access?*") as is_answered:
        await visitor.button("Change to read and write: readers").click()
        await is_answered()
        await visitor.button("Remove the access of readers").click()
        await visitor.button("Take away").click()
        await expect(reader).to_have_count(0)
    await expect(reader).to_have_count(0)


async def test_it_says_through_which_teams_and_tokens(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    mark = tenant.organization.removeprefix("org-")
    path = tenant.linkage_path("readers")
    await tenant.call("owner", "POST", path, linkage_document(tenant.users["writer"]))
    visitor = await visit(sqlite_site, crowd, tenant)
    holders = rows(visitor, 1)
    await expect(holders).to_have_count(6)
    names = await holders.locator(".name").all_text_contents()
    assert names == sorted(names, key=str.lower)
    await visitor.page.get_by_label("Filter by name").fill("WRITER")
    await expect(holders).to_have_count(2)
    await visitor.page.get_by_label("Filter by name").fill("")
    writer = holders.filter(has_text=f"writer-{mark}")
    await expect(writer).to_contain_text("through writers, readers (read)read and write")
    reader = holders.filter(has_text=f"reader-{mark}")
    await expect(reader).to_contain_text("through readersread")
    tokens = holders.filter(has_text="token of the")
    await expect(tokens).to_contain_text(
        ["token of the organization", "token of the team", "token of the team"]
    )
    await visitor.button("Remove the access of readers").click()
    dialog = visitor.page.get_by_role("dialog")
    await expect(dialog).to_contain_text(f"reader-{mark} loses access at once.")
    await dialog.get_by_role("button", name="Cancel").click()
    await writer.get_by_role("link", name="readers").click()
    await visitor.page.get_by_role("heading", level=1, name="readers").wait_for()


async def test_what_cannot_be_given_is_told_at_the_field(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    fault = visitor.page.locator(".field > .error")
    for name, told in (
        ("", "Name a team first."),
        ("<img src=x onerror=alert(1)>", "There is no team of this name."),
        ("write", "There is no team of this name."),
        ("owners", "may do everything in every workspace"),
        ("writers", "already has access to this workspace"),
    ):
        await give(visitor, "Team", name)
        await expect(fault).to_contain_text(told)
        await expect(visitor.page.get_by_label("Team", exact=True)).to_have_value(name)


async def test_who_manages_workspaces_and_teams_is_offered_nothing_that_owners_alone_do(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "SECRET", "s", sensitive=True)
    rights = {"manage-workspaces": True, "manage-teams": True}
    data = {"type": "teams", "attributes": {"organization-access": rights}}
    path = f"/teams/{tenant.teams['readers']}"
    assert (await tenant.call("owner", "PATCH", path, {"data": data})).status_code == 200
    visitor = await visit(sqlite_site, crowd, tenant, "reader")
    page, offered = visitor.page, visitor.page.get_by_role("form", name="Give access")
    await expect(rows(visitor)).to_have_count(2)
    await expect(page.get_by_role("heading", name="Who has access")).to_have_count(0)
    await expect(offered).to_have_count(0)

    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['crew']}/workspaces")
    await page.get_by_text("No workspace yet").wait_for()
    await expect(offered).to_have_count(0)

    await visitor.go(f"/{tenant.organization}/teams")
    await visitor.button("New team").click()
    await page.get_by_label("Name", exact=True).fill("a/b")
    await expect(page.get_by_label("Manages members")).to_have_count(0)
    await visitor.button("Create team").click()
    await page.get_by_role("heading", level=1, name="a/b").wait_for()


async def test_a_name_is_typed_where_none_can_be_suggested(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, workspace="payments")

    async def refuse(route: Route) -> None:
        await route.fulfill(status=400, json={"errors": [{"detail": "Not now."}]})

    await visitor.page.route("**/teams?q=*", refuse)
    async with visitor.page.expect_response("**/teams?q=readers*"):
        await visitor.page.get_by_label("Team", exact=True).fill("readers")
    await give(visitor, "Team", "readers")
    await expect(rows(visitor)).to_contain_text(["readers"])


async def test_nothing_opens_over_the_form_that_one_signs_in_with(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    answered = asyncio.Event()

    async def answer_late(route: Route) -> None:
        await visitor.button("Sign out").click()
        with suppress(Error):  # nobody waits for it any more
            await route.fulfill(response=await route.fetch())
        answered.set()

    await visitor.page.route("**/access?*", answer_late, times=1)
    await visitor.button("Remove the access of readers").click()
    await answered.wait()
    await visitor.sign_in("reader")
    await visitor.page.get_by_role("heading", level=1, name=tenant.organization).wait_for()
    assert await visitor.page.get_by_role("dialog").count() == 0


async def test_who_may_not_is_offered_nothing(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, "writer")
    await expect(rows(visitor)).to_have_count(2)
    main = visitor.page.get_by_role("main")
    assert await main.get_by_role("button").count() == 0
    await expect(main.locator("ul.rows:visible")).to_have_count(1)
    path = f"/workspaces/{tenant.workspaces['network']}/access"
    assert (await tenant.call("writer", "GET", path)).status_code == 403
    await rows(visitor).get_by_role("link", name="readers").click()
    await visitor.page.get_by_role("heading", level=1, name="readers").wait_for()
    await visitor.page.get_by_role("link", name="Workspaces").last.click()
    await visitor.page.get_by_role("link", name="network").wait_for()
    assert await main.get_by_role("button").count() == 0
    await visitor.go(f"/{tenant.organization}/workspaces/payments/access")
    await visitor.page.get_by_role("heading", name="Nothing here").wait_for()


async def test_a_team_is_given_workspaces(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['crew']}/workspaces")
    await visitor.sign_in("organization-token")
    page = visitor.page
    await page.get_by_text("No workspace yet").first.wait_for()
    await give(visitor, "Workspace", "pay*")
    await page.get_by_text("There is no workspace of this name.").first.wait_for()
    await give(visitor, "Workspace", "payments", "read and write")
    await rows(visitor).get_by_role("link", name="payments").wait_for()
    await visitor.button("Remove the access of payments").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Nobody loses all access")
    await dialog.get_by_role("button", name="Take away").click()
    await page.get_by_text("No workspace yet").first.wait_for()

    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['owners']}/workspaces")
    await page.get_by_text("Owners may do everything in every workspace").first.wait_for()
    assert await page.get_by_role("main").get_by_role("button").count() == 0


async def test_two_change_the_same_grant(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    first = await visit(sqlite_site, crowd, tenant)
    second = await visit(sqlite_site, crowd, tenant, "owners-token")
    for visitor in (first, second):
        await visitor.button("Remove the access of readers").click()
    for visitor in (first, second):  # what is gone already is as good
        await visitor.page.get_by_role("dialog").get_by_role("button", name="Take away").click()
        await expect(rows(visitor)).to_have_count(1)
    await second.button("Remove the access of writers").click()
    await second.page.get_by_role("dialog").get_by_role("button", name="Take away").click()
    await second.page.get_by_text("No team has access yet").first.wait_for()
    await first.button("Change to read: writers").click()
    await first.page.get_by_role("status").get_by_text("does not exist").wait_for()
    await first.page.get_by_text("No team has access yet").first.wait_for(state="attached")
