"""The people of an organization: invited, removed, found; and who may not is offered nothing."""

import re

from playwright.async_api import Locator, Route, expect

from tests.console.test_access import tab_to
from tests.console.visitors import WHEN, Crowd, Site, Visitor, held, small_pages
from tests.support.tenant import Tenant

HOSTILE = "<img/src=x/onerror=alert(1)>@example.com"


def address(name: str, tenant: Tenant) -> str:
    """One of the test's own."""
    return f"{name}-{tenant.organization.removeprefix('org-')}@example.com"


async def members(tenant: Tenant) -> dict[str, tuple[str, list[str]]]:
    """Status and teams of each member, by address."""
    path = f"/organizations/{tenant.organization}/organization-memberships?page[size]=100"
    found = (await tenant.call("owner", "GET", path)).json()["data"]
    names = {id_: name for name, id_ in tenant.teams.items()}
    return {
        one["attributes"]["email"]: (
            one["attributes"]["status"],
            [names[team["id"]] for team in one["relationships"]["teams"]["data"]],
        )
        for one in found
    }


async def invite(tenant: Tenant, email: str) -> str:
    """An invitation by the owner; returns the id of the membership."""
    path = f"/organizations/{tenant.organization}/organization-memberships"
    data = {"type": "organization-memberships", "attributes": {"email": email}}
    answer = await tenant.call("owner", "POST", path, {"data": data})
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


async def visit(site: Site, crowd: Crowd, tenant: Tenant, who: str = "owner") -> Visitor:
    """Somebody who looks at the members."""
    visitor = await crowd.arrived(site, tenant, "members", who)
    await rows(visitor).first.wait_for()
    return visitor


def rows(visitor: Visitor) -> Locator:
    """Of the list."""
    return visitor.page.locator("main ul.rows > li")


def row(visitor: Visitor, text: str) -> Locator:
    """The one with this text."""
    return rows(visitor).filter(has_text=text)


async def type_addresses(visitor: Visitor, text: str) -> tuple[Locator, Locator]:
    """Opens the form and fills it in; returns it and its field."""
    await visitor.button("Invite").first.click()
    form = visitor.page.get_by_role("form", name="Invite people")
    field = form.get_by_label("E-mail addresses")
    await field.fill(text)
    return form, field


async def test_several_are_invited_at_once_and_each_bad_one_is_marked(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    first, second, known = (address(one, tenant) for one in ("first", "second", "reader"))
    visitor = await visit(site, crowd, tenant)
    bad = "no\u202ee@example.com"
    typed = f"{first}, {bad}, Second One <{second}>\n{known}"
    form, field = await type_addresses(visitor, typed)
    await form.get_by_label("crew").check()
    await form.get_by_role("button", name="Invite").click()
    await form.get_by_text(f"Invited: {first}, {second}.").wait_for()
    await expect(field).to_have_value(f"{bad}\n{known}")
    await expect(field).to_be_focused()
    faults = form.locator(".field > .error")
    await expect(faults.nth(0)).to_contain_text("no\\u202ee@example.com: This must be")
    await expect(faults.nth(1)).to_contain_text(
        f"{known}: The user with this address is already in"
    )
    found = await members(tenant)
    assert (found[first], found[second]) == (("invited", ["crew"]),) * 2
    await expect(row(visitor, second)).to_contain_text(re.compile(f"ends {WHEN}"))
    await expect(row(visitor, second).get_by_role("link")).to_have_text(["crew"])
    await visitor.page.get_by_text("This server sends no mail.").first.wait_for()

    third = address("third", tenant)
    await field.fill(third)
    await form.get_by_role("button", name="Invite").click()
    await form.wait_for(state="detached")
    await row(visitor, third).wait_for()
    assert (await members(tenant))[third] == ("invited", ["crew"])


async def test_nobody_is_invited_while_a_piece_is_no_address(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    typed = f"{address('first', tenant)} second@example,com"
    form, field = await type_addresses(visitor, typed)
    await form.get_by_role("button", name="Invite").click()
    await form.get_by_text("Nobody is invited yet. There is no @ in: com").wait_for()
    await expect(field).to_have_value(typed)
    await expect(field).to_be_focused()
    assert len(await members(tenant)) == len(tenant.memberships)


async def test_a_connection_that_breaks_invites_nobody_twice_and_loses_no_address(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    first, second = address("first", tenant), address("second", tenant)
    visitor = await visit(sqlite_site, crowd, tenant)
    seen: list[str] = []

    async def break_after_the_first(route: Route) -> None:
        if route.request.method != "POST":
            await route.continue_()
            return
        seen.append(route.request.headers["idempotency-key"])
        if len(seen) == 1:
            await route.fetch()  # it happens, and nobody hears of it
        if len(seen) != 2:
            await route.abort()
        else:
            await route.continue_()

    await visitor.page.route("**/organization-memberships", break_after_the_first)
    form, field = await type_addresses(visitor, f"{first} {second}")
    await form.get_by_role("button", name="Invite").click()
    await form.get_by_text("The server could not be reached").wait_for()
    await form.get_by_text(f"Invited: {first}.").wait_for()
    await expect(field).to_have_value(second)
    assert [seen.count(key) for key in dict.fromkeys(seen)] == [2, 3]
    await visitor.page.unroute("**/organization-memberships")
    await form.get_by_role("button", name="Invite").click()
    await row(visitor, second).wait_for()
    assert len(await members(tenant)) == len(tenant.memberships) + 2
    visitor.complaints.clear()  # of the answers that never came


async def test_whom_a_mail_program_lists_is_invited_and_nobody_is_left_out(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    dave, erin, frank = (address(one, tenant) for one in ("dave", "erin", "frank"))
    visitor = await visit(sqlite_site, crowd, tenant)
    form, _ = await type_addresses(visitor, f"Dave D <{dave}> Erin <{erin}> {frank}")
    await form.get_by_role("button", name="Invite").click()
    await visitor.page.get_by_text(f"Invited: {dave}, {erin}, {frank}.").first.wait_for()
    assert {dave, erin, frank} < (await members(tenant)).keys()


async def test_whoever_cancels_meanwhile_invites_nobody_else(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    first, second = address("first", tenant), address("second", tenant)
    visitor = await visit(sqlite_site, crowd, tenant)
    form, _ = await type_addresses(visitor, f"{first} {second}")

    async def cancel(route: Route) -> None:
        await form.get_by_role("button", name="Cancel").click()
        await route.continue_()

    await visitor.page.route("**/organization-memberships", cancel, times=1)
    await form.get_by_role("button", name="Invite").click()
    await row(visitor, first).wait_for()
    assert second not in await members(tenant)


async def test_whoever_is_signed_out_meanwhile_finds_those_who_are_not_invited(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    first, second = address("first", tenant), address("second", tenant)
    visitor = await visit(sqlite_site, crowd, tenant)

    async def refuse_the_second(route: Route) -> None:
        if second in (route.request.post_data or ""):
            await route.fulfill(status=401, json={"errors": [{"status": "401"}]})
        else:
            await route.continue_()

    await visitor.page.route("**/organization-memberships", refuse_the_second)
    form, field = await type_addresses(visitor, f"{first} {second}")
    await form.get_by_role("button", name="Invite").click()
    await visitor.page.get_by_label("Token").wait_for()
    await visitor.sign_in("owner")
    await expect(field).to_have_value(second)
    await expect(form).to_contain_text(f"Invited: {first}.")


async def test_an_invitation_is_renewed_and_taken_back(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    email = address("later", tenant)
    await invite(tenant, email)
    await invite(tenant, HOSTILE)
    visitor = await visit(sqlite_site, crowd, tenant)
    page = visitor.page
    await page.get_by_role("radio", name="Invited").check()
    await page.get_by_text("4 invitations").first.wait_for()
    await row(visitor, HOSTILE).wait_for()
    assert await page.locator("main img").count() == 0
    await expect(row(visitor, "invited_writer-")).to_contain_text("no link yet")
    await visitor.button(f"Renew the invitation of {email}").click()
    await page.get_by_text(
        f"The invitation of {email} is valid for seven days again."
    ).first.wait_for()
    renewed = re.compile(f"renewed, not sent, ends {WHEN}")
    await expect(row(visitor, email)).to_contain_text(renewed)
    await visitor.button(f"Revoke the invitation of {email}").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    await expect(rows(visitor)).to_have_count(3)
    assert email not in await members(tenant)


async def test_who_was_faster_is_told(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    gone, email = address("gone", tenant), address("later", tenant)
    ids = [await invite(tenant, one) for one in (gone, email)]
    visitor = await visit(sqlite_site, crowd, tenant)
    for id_ in ids:
        await tenant.call("owner", "DELETE", f"/organization-memberships/{id_}")
    await visitor.button(f"Revoke the invitation of {gone}").click()
    dialog = visitor.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Revoke", exact=True).click()
    await row(visitor, gone).wait_for(state="detached")
    await invite(tenant, email)  # another one, of the same address
    await visitor.page.reload()
    again = visitor.button(f"Renew the invitation of {email}")
    await again.wait_for()
    id_ = await membership_of(tenant, email)
    await tenant.call("owner", "DELETE", f"/organization-memberships/{id_}")
    await again.click()
    await visitor.page.get_by_role("status").get_by_text("does not exist").wait_for()
    await row(visitor, email).wait_for(state="detached")


async def membership_of(tenant: Tenant, email: str) -> str:
    """The id of the membership with that address."""
    path = f"/organizations/{tenant.organization}/organization-memberships?filter[email]={email}"
    (found,) = (await tenant.call("owner", "GET", path)).json()["data"]
    id_: str = found["id"]
    return id_


async def test_somebody_is_removed_but_not_the_last_owner(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    mark = tenant.organization.removeprefix("org-")
    visitor = await visit(site, crowd, tenant)
    dialog = visitor.page.get_by_role("dialog")
    await visitor.button(f"Remove writer-{mark}").click()
    await expect(dialog).to_contain_text("their tokens stop working here")
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    await visitor.button(f"Remove writer-{mark}").wait_for(state="detached")
    assert (await tenant.call("writer", "GET", tenant.vars_path())).status_code == 404

    await visitor.button(f"Remove owner-{mark}").click()
    await expect(dialog).to_contain_text("This is you.")
    await dialog.get_by_role("button", name="Remove", exact=True).click()
    note = row(visitor, f"owner-{mark}").get_by_role("note")
    await expect(note).to_contain_text("Add another owner first.")
    await expect(note).to_be_focused()
    assert address("owner", tenant) in await members(tenant)


async def test_people_are_found_by_name_and_address(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, "plain")
    await expect(rows(visitor)).to_have_count(9)
    search = visitor.page.get_by_label("Filter by name or address")
    await search.press_sequentially("WRITER-", delay=20)
    await visitor.page.get_by_role("main").get_by_text("2 members found").wait_for()
    await visitor.page.get_by_role("radio", name="Active").check()
    await expect(rows(visitor)).to_have_count(1)
    await rows(visitor).get_by_role("link", name="writers").click()
    await visitor.page.get_by_role("heading", level=1, name="writers").wait_for()
    await visitor.page.go_back()
    await visitor.page.get_by_role("heading", level=1, name=tenant.organization).wait_for()
    await visitor.page.get_by_label("Filter by name or address").fill("nobody-at-all")
    await visitor.page.get_by_text("Nobody has this in their name or address.").first.wait_for()


async def test_who_may_not_is_offered_nothing(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, "manager")
    await expect(rows(visitor)).to_have_count(9)
    assert await visitor.page.get_by_role("main").get_by_role("button").count() == 0
    path = f"/organization-memberships/{tenant.memberships['invited']}"
    for method, below in (("POST", "/actions/resend"), ("POST", "/actions/revoke"), ("DELETE", "")):
        assert (await tenant.call("manager", method, path + below)).status_code == 403


async def test_a_team_of_owners_invites_with_its_token(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant, "owners-token")
    form, _ = await type_addresses(visitor, email := address("new", tenant))
    await form.get_by_role("button", name="Invite").click()
    await row(visitor, email).wait_for()


async def test_teams_that_are_not_shown_to_whoever_invites_are_counted(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await visit(sqlite_site, crowd, await sqlite_site.tenant())
    await small_pages(visitor.page, "**/teams?*", 4)
    form, _ = await type_addresses(visitor, address("new", visitor.tenant))
    await form.get_by_text("And 2 more teams, found by name.").wait_for()


async def test_a_team_that_is_chosen_is_not_one_of_those_that_are_not_shown(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    await small_pages(visitor.page, "**/teams?*", 4)
    chosen = tenant.teams["writers"]  # the last one by name
    await visitor.go(f"/{tenant.organization}/members?invite=new@example.com&team={chosen}")
    form = visitor.page.get_by_role("form", name="Invite people")
    await expect(form.get_by_label("writers")).to_be_checked()
    await form.get_by_text("And 1 more team, found by name.").wait_for()


async def test_of_many_teams_any_is_found_and_chosen(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    for number in range(12):
        team = {"data": {"type": "teams", "attributes": {"name": f"area {number} {'x' * 80}"}}}
        answer = await tenant.call(
            "owner", "POST", f"/organizations/{tenant.organization}/teams", team
        )
        assert answer.status_code == 201, answer.text
    visitor = await visit(sqlite_site, crowd, tenant)
    form, _ = await type_addresses(visitor, email := address("new", tenant))
    await form.get_by_label("crew").check()
    await form.get_by_label("Find a team").fill("read")
    await expect(form.get_by_role("checkbox")).to_have_count(2)
    await form.get_by_label("readers").check()
    await form.get_by_role("button", name="Invite").click()
    await row(visitor, email).wait_for()
    assert sorted((await members(tenant))[email][1]) == ["crew", "readers"]


async def test_the_team_of_an_address_is_joined_though_its_name_is_not_known_yet(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    email, crew = address("new", tenant), tenant.teams["crew"]
    form = visitor.page.get_by_role("form", name="Invite people")
    async with held(visitor.page, f"**/teams/{crew}") as is_asked_for:
        await visitor.go(f"/{tenant.organization}/members?invite={email}&team={crew}")
        await is_asked_for()
        await form.get_by_role("button", name="Invite").click()
        await row(visitor, email).wait_for()
    assert (await members(tenant))[email] == ("invited", ["crew"])


async def test_more_of_a_list_is_never_of_what_was_chosen_before(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    lists = "**/organization-memberships?*"
    await small_pages(visitor.page, lists, 3)
    await visitor.go(f"/{tenant.organization}/members")
    await visitor.sign_in("owner")
    await expect(rows(visitor)).to_have_count(3)
    refused = {"errors": [{"status": "403", "code": "forbidden", "detail": "Not today."}]}
    await visitor.page.route(lists, lambda route: route.fulfill(status=403, json=refused), times=1)
    await visitor.page.get_by_role("radio", name="Invited").check()
    await visitor.page.get_by_text("Not today.").first.wait_for()
    await expect(rows(visitor)).to_have_count(1)
    await expect(rows(visitor)).to_have_text("This could not be read.")
    await visitor.button("Try again").click()
    await expect(rows(visitor).locator(".badge")).to_have_text(["invited", "invited"])
    await expect(rows(visitor)).to_have_count(2)


async def test_the_keyboard_is_enough_to_invite(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await visit(sqlite_site, crowd, tenant)
    page, keyboard = visitor.page, visitor.page.keyboard
    await tab_to(page, "Invite")
    await keyboard.press("Enter")
    await keyboard.type(email := address("new", tenant))
    await tab_to(page, "crew")
    await keyboard.press("Space")
    await tab_to(page, "Invite")
    await keyboard.press("Enter")
    await row(visitor, email).wait_for()
    await expect(visitor.button("Invite")).to_be_focused()
    await tab_to(page, f"Revoke the invitation of {email}")
    await keyboard.press("Enter")
    await page.get_by_role("dialog").wait_for()
    await tab_to(page, "Revoke")
    await keyboard.press("Enter")
    await row(visitor, email).wait_for(state="detached")
    assert await page.evaluate("document.activeElement.tagName") == "H1"


async def test_somebody_invited_accepts_where_their_organizations_are(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.visitor(site, tenant)
    await visitor.go("/")
    await visitor.sign_in("invited_writer")
    accept = visitor.button(f"Accept the invitation to {tenant.organization}")
    await accept.wait_for()
    await visitor.page.keyboard.press("n")  # which adds something where that can be done
    await expect(visitor.page.get_by_text("invited", exact=True)).to_be_visible()
    await visitor.page.keyboard.press("?")
    await visitor.button("Close").click()
    await accept.click()
    await visitor.page.get_by_role("heading", name=tenant.organization).wait_for()
    await visitor.page.get_by_role("link", name="network").wait_for()
    await visitor.go("/")
    await visitor.page.get_by_role("link", name="network").wait_for()
