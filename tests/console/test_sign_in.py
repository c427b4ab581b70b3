"""Signing in and out: a token for one tab, that is never in a URL, and no text that is lost."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.console.visitors import KEEPS_NOTHING, Crowd, Site, Visitor, held
from tests.support.tenant import Tenant

MINUTE = 60 * 1000


async def test_the_way_in_leads_from_the_index_to_ones_workspaces(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await crowd.visitor(site, tenant)
    await visitor.page.goto(site.url)
    assert visitor.page.url == f"{site.url}/app/"

    token = visitor.page.get_by_label("Token")
    await expect(token).to_have_attribute("autocomplete", "current-password")
    await expect(visitor.page.locator("[autocomplete=username]")).to_have_value(
        site.url.removeprefix("http://")
    )
    await visitor.page.get_by_text("Whoever opens an invitation gets one").wait_for()
    await token.fill("tvu_wrong")
    await visitor.button("Sign in").click()
    await visitor.page.get_by_text("This is not a token").first.wait_for()

    await visitor.sign_in("owner")
    await visitor.page.get_by_role("heading", name=tenant.organization).wait_for()
    assert visitor.page.url.endswith(f"/{tenant.organization}/workspaces")
    row = visitor.page.get_by_role("listitem").filter(has_text="network")
    await row.get_by_text("0 variables").wait_for()
    await row.get_by_text("read and write").wait_for()

    await visitor.page.get_by_label("Filter by name").fill("pay")
    await row.wait_for(state="detached")
    await visitor.page.get_by_role("link", name="payments").click()
    await visitor.page.get_by_role("heading", name="payments").wait_for()
    await visitor.page.go_back()
    await expect(visitor.page.get_by_label("Filter by name")).to_have_value("pay")
    await visitor.page.get_by_role("link", name="payments").wait_for()
    await visitor.page.get_by_label("Filter by name").fill("")
    await row.wait_for()


async def test_what_was_pasted_with_a_token_and_is_not_seen_is_no_fault_of_the_server(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go("/")
    await visitor.paste(tenant.tokens["owner"] + "\u200b")
    await visitor.page.locator("form .error").wait_for()
    await expect(visitor.page.locator("form .error")).to_contain_text("This is not a token")
    await expect(visitor.page.locator("#notices")).to_be_empty()


async def test_a_token_is_kept_for_the_tab_alone_and_is_in_no_url(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.page.reload()
    await visitor.page.get_by_role("heading", name="network").wait_for()
    token = tenant.tokens["owner"]
    assert token not in visitor.page.url
    assert token not in await visitor.page.evaluate("JSON.stringify(history.state) ?? ''")
    assert await visitor.page.evaluate("localStorage.length + document.cookie.length") == 0
    assert token not in sqlite_site.served.server.log

    another = await visitor.context.new_page()
    visitor.watch(another)
    await another.goto(visitor.page.url)
    await another.get_by_role("heading", name="Sign in").wait_for()

    await visitor.button("Sign out").click()
    await visitor.page.get_by_text("You are signed out.").first.wait_for()
    assert await visitor.page.evaluate("sessionStorage.length") == 0
    assert await visitor.page.get_by_text("network").count() == 0
    await visitor.sign_in("plain")  # who may see nothing of where the former one was
    await visitor.page.get_by_text("No workspace that you may see").first.wait_for()


async def test_whoever_has_signed_in_and_waits_for_the_page_reads_that(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go(f"/{tenant.organization}/workspaces")
    async with held(visitor.page, "**/organizations/*"):
        await visitor.paste(tenant.tokens["owner"])
        await expect(visitor.page.get_by_text("Loading …")).to_be_visible()
    await expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()


async def test_where_the_browser_keeps_nothing_one_is_told_and_signs_in_all_the_same(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    page = visitor.page
    await page.add_init_script(KEEPS_NOTHING)
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    told = page.get_by_text("The settings of this browser let this page keep nothing")
    await told.wait_for()
    await visitor.sign_in("owner")
    await page.get_by_role("heading", level=1, name="network").wait_for()
    await visitor.button("Sign out").click()
    await told.wait_for()
    await expect(page.get_by_role("heading", level=1, name="network")).to_have_count(0)


async def test_whoever_idles_is_signed_out_and_comes_back_to_the_same_page(
    sqlite_site: Site, timeless: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await timeless.visitor(sqlite_site, tenant)
    await visitor.page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    form = await visitor.add("half", "a thought")
    await idle(visitor, minutes=29)
    await visitor.page.get_by_text("In two minutes you are signed out").wait_for()
    assert await form.is_visible()
    await visitor.page.keyboard.press("Shift")  # whoever is there, stays
    await expect(visitor.page.get_by_text("In two minutes you are signed out")).to_have_count(0)
    await idle(visitor, minutes=29)
    assert await form.is_visible()

    await idle(visitor, minutes=2)
    await visitor.page.get_by_text("You were signed out after 30 minutes").first.wait_for()
    assert not await form.is_visible()
    assert await visitor.page.evaluate("sessionStorage.length") == 0

    await visitor.sign_in("owner")
    await visitor.page.get_by_role("heading", level=1, name="network").wait_for()
    assert await form.count() == 0


async def test_the_question_whether_one_stays_is_in_front_of_a_dialog(
    sqlite_site: Site, timeless: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await timeless.visitor(sqlite_site, tenant, width=320)
    await visitor.page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    await visitor.button("Import").click()
    contents = visitor.page.get_by_label("Contents of the file")
    await contents.fill("a = 1\n" * 40)
    await idle(visitor, minutes=29)
    dialog, question = visitor.page.get_by_role("dialog"), "In two minutes you are signed out"
    await dialog.get_by_text(question).wait_for()
    await visitor.button("Stay signed in").click()  # as a click lands, on what is in front
    await expect(visitor.page.get_by_text(question)).to_have_count(0)
    await idle(visitor, minutes=29)
    await visitor.button("Stay signed in").press("Enter")
    await expect(dialog.get_by_role("heading")).to_be_focused()
    await dialog.get_by_role("button", name="Cancel").press("Enter")
    await expect(visitor.page.locator("body > #notices")).to_have_count(1)


async def idle(visitor: Visitor, minutes: int) -> None:
    """Nobody touches anything, while the machine is awake."""
    for _ in range(minutes):
        await visitor.page.clock.fast_forward(MINUTE)


@pytest.mark.parametrize(
    ("is_hidden", "steps"), [(False, [31]), (True, [1] * 31)], ids=["asleep", "behind another tab"]
)
async def test_what_was_typed_waits_where_nobody_saw_that_one_was_asked_to_stay(
    sqlite_site: Site, timeless: Crowd, is_hidden: bool, steps: list[int]
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await timeless.visitor(sqlite_site, tenant)
    await visitor.page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    form = await visitor.add("half", "a thought")
    hidden = f"Object.defineProperty(document, 'hidden', {{ value: {str(is_hidden).lower()} }})"
    await visitor.page.evaluate(hidden)
    for minutes in steps:
        await visitor.page.clock.fast_forward(minutes * MINUTE)
    await visitor.page.get_by_text("nor saw that it asked").first.wait_for()
    assert not await form.is_visible()
    assert await visitor.page.evaluate("sessionStorage.length") == 0
    await visitor.sign_in("owner")
    assert await form.get_by_label("Value").input_value() == "a thought"


async def renewed(tenant: Tenant) -> str:
    """Another token of the writer, in the place of the one they are signed in with."""
    mine = f"/users/{tenant.users['writer']}/authentication-tokens"
    (token,) = (await tenant.call("writer", "GET", mine)).json()["data"]
    made = (await tenant.call("writer", "POST", mine, {})).json()["data"]["attributes"]["token"]
    await tenant.call("writer", "DELETE", f"/authentication-tokens/{token['id']}")
    return str(made)


async def test_a_token_that_is_revoked_signs_out_and_loses_no_typed_text(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.member(site, tenant, "writer")
    form = await visitor.add("kept", "typed by hand")
    another = await renewed(tenant)
    await form.get_by_role("button", name="Add variable").click()
    await visitor.page.get_by_text("The token is no longer valid").first.wait_for()
    await expect(visitor.page).to_have_title("Sign in · teamvars")
    await visitor.paste(another)
    await expect(visitor.page).to_have_title("network · Variables · teamvars")
    await expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()
    assert await form.get_by_label("Value").input_value() == "typed by hand"
    await form.get_by_role("button", name="Add variable").click()
    await visitor.row("kept").wait_for()


async def test_a_page_that_one_has_left_does_not_return_with_what_was_typed_there(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    form = await visitor.add("left", "typed by hand")
    another = await renewed(tenant)
    await visitor.page.get_by_role("link", name="Activity").click()
    await visitor.button("Leave it").click()
    await visitor.page.get_by_text("The token is no longer valid").first.wait_for()
    await visitor.paste(another)
    await visitor.page.get_by_text("Nothing has changed yet").wait_for()
    await expect(form).to_have_count(0)


async def test_a_page_that_one_leaves_while_signed_out_does_not_return_either(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    form = await visitor.add("kept", "typed by hand")
    another = await renewed(tenant)
    await form.get_by_role("button", name="Add variable").click()
    await visitor.page.get_by_text("What you typed is still there").first.wait_for()
    await visitor.page.get_by_role("link", name="teamvars").click()
    await visitor.button("Leave it").click()
    await visitor.paste(another)
    await visitor.page.get_by_role("heading", level=1, name=tenant.organization).wait_for()
    await expect(form).to_have_count(0)


async def test_whoever_goes_back_while_signed_out_comes_to_the_page_before(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    page = visitor.page
    form = await visitor.add("KEY_OF_SOMEBODY", "x")
    await form.get_by_role("button", name="Add variable").click()
    await page.get_by_text("KEY_OF_SOMEBODY is added.").wait_for()
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_text("Who changed what").wait_for()
    before = page.url
    await page.get_by_role("link", name="Access").click()
    await page.get_by_role("heading", name="Runners").wait_for()
    another = await renewed(tenant)
    await page.get_by_role("link", name="Compare").click()
    await page.get_by_text("The token is no longer valid").first.wait_for()
    for _ in range(2):
        await page.go_back()
    assert page.url == before
    await visitor.paste(another)
    await page.get_by_text("Who changed what").wait_for()


async def test_what_a_page_has_told_is_gone_once_somebody_has_to_sign_in(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    for key in ("KEY_OF_SOMEBODY", "another"):
        form = await visitor.add(key, "x")
        if key == "another":
            await renewed(tenant)
        await form.get_by_role("button", name="Add variable").click()
        await form.wait_for(state="hidden")
    await visitor.page.get_by_text("What you typed is still there").first.wait_for()
    await expect(visitor.page.locator("#notices")).to_be_empty()


async def test_a_dialog_with_something_typed_in_it_waits_as_well(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    await visitor.button("Import").click()
    contents = visitor.page.get_by_label("Contents of the file")
    await contents.fill('kept = "typed by hand"\n')
    another = await renewed(tenant)
    await visitor.button("Preview").click()
    await visitor.page.get_by_text("What you typed is still there").first.wait_for()
    assert not await contents.is_visible()
    await visitor.paste(another)
    assert await contents.input_value() == 'kept = "typed by hand"\n'
    await visitor.button("Preview").click()
    await visitor.button("Apply 1 change").click()
    await visitor.row("kept").wait_for()


async def test_whoever_comes_next_finds_nothing_of_who_was_there(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "SECRETIVE", "for readers", workspace="payments")
    visitor = await crowd.member(sqlite_site, tenant, workspace="payments")
    await visitor.add("half", "a thought of the owner")
    await visitor.button("Sign out").click()
    await visitor.sign_in("reader")
    await visitor.page.get_by_text("network").first.wait_for()
    html = await visitor.page.content()
    assert "SECRETIVE" not in html
    assert "a thought of the owner" not in html


async def test_what_is_under_way_when_one_signs_out_comes_to_nothing(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    form = await visitor.add("half", "a thought")
    held: asyncio.Future[Route] = asyncio.get_running_loop().create_future()
    await visitor.page.route("**/vars", lambda route: held.set_result(route), times=1)
    await form.get_by_role("button", name="Add variable").click()
    await held
    async with visitor.page.expect_event("requestfailed"):
        await visitor.button("Sign out").click()
    await visitor.sign_in("reader")
    await visitor.page.reload()
    await visitor.button("Sign out").wait_for()


async def test_who_has_no_workspace_reads_what_to_do(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go("/")
    await visitor.sign_in("plain")
    await visitor.page.get_by_text("No workspace that you may see").first.wait_for()
    await visitor.button("Sign out").click()
    await visitor.sign_in("admin")
    await visitor.go("/")
    await visitor.page.get_by_text("You are in no organization yet").first.wait_for()
