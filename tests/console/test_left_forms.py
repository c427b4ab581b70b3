"""Whoever leaves a form, or its page, while it looks for what it names, changes nothing by it, and
is told what has failed that was sent already. A page that was left is seen until another one is
there.
"""

import re
from collections.abc import Awaitable
from dataclasses import dataclass

import pytest
from playwright.async_api import Locator, Page, expect

from tests.console.test_imports import PASTE
from tests.console.test_projects import make_project
from tests.console.test_teams import username
from tests.console.visitors import Crowd, Site, held

STAYS_SEEN = """() => {
  const real = window.setTimeout;
  window.setTimeout = (act, ms) => (ms === 200 ? 0 : real(act, ms));
}"""
"""However long the next page takes, nothing says in its place that it is loaded."""
NEXT = re.compile(r"/organizations/[^/?]+$")
"""What the page of an organization's workspaces asks for."""
FAILED = "What you sent before you went on has failed."


@dataclass(frozen=True)
class Form:
    """Where it is, what opens it, what is typed there, what sends it, and what it looks for."""

    path: str
    opens: str
    label: str
    typed: str
    sends: str
    looked: str


MEMBERS = Form(
    "teams/{crew}", "Add members", "Whom to add", "{reader}", "Add to the team", r"filter\[user\]="
)
INVITATIONS = Form(
    "members", "Invite", "E-mail addresses", "a@b.example c@d.example", "Invite", "memberships$"
)
RUNNER = Form(
    "runners", "Propose a runner", "Workspaces", "network", "Propose", "search.wildcard-name"
)
PROJECT = Form(
    "projects/{project}/access", "Give access", "Team", "crew", "Give access", "filter.names"
)
WORKSPACE = Form("workspaces/payments/access", "", "Team", "crew", "Give access", "filter.names")


@pytest.mark.parametrize(
    ("form", "way"),
    [
        *((one, "Cancel") for one in (MEMBERS, INVITATIONS, RUNNER, PROJECT)),
        *((one, "page") for one in (MEMBERS, INVITATIONS, RUNNER, PROJECT, WORKSPACE)),
    ],
    ids=lambda one: one if isinstance(one, str) else one.path.split("/")[0],
)
async def test_whoever_leaves_meanwhile_changes_nothing(
    sqlite_site: Site, crowd: Crowd, form: Form, way: str
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    path = form.path.format(crew=tenant.teams["crew"], project=shop)
    visitor = await crowd.arrived(sqlite_site, tenant, path)
    page, sent = visitor.page, list[str]()
    if form.opens:
        await visitor.button(form.opens).click()
    sends = page.locator("form").get_by_role("button", name=form.sends, exact=True)
    typed = form.typed.format(reader=username(tenant, "reader"))
    await page.get_by_label(form.label, exact=True).fill(typed)
    looked = re.compile(form.looked)
    async with held(page, NEXT):
        async with page.expect_response(looked), held(page, looked) as is_asked_for:
            await sends.click()
            await is_asked_for()
            page.on("request", lambda one: sent.append(one.method))
            await page.evaluate(STAYS_SEEN)
            if way == "Cancel":
                await visitor.button("Cancel").click()
            else:
                where = page.get_by_role("navigation", name="Where you are")
                await where.get_by_role("link").first.click()
                if form.opens:
                    await visitor.button("Leave it").click()
        await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    assert set(sent) == {"GET"}


async def leave(page: Page) -> None:
    """Escape, and yes where that is asked."""
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Leave it").click()


async def send_and_leave(
    page: Page, where: str, sends: Locator, leaving: Awaitable[object]
) -> None:
    """Sends a form, and leaves it before there is an answer from there."""
    async with held(page, where) as is_sent:
        await sends.click()
        await is_sent()
        await leaving


async def test_what_is_refused_of_a_form_that_was_left_is_told(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "LEVEL", "info", category=sqlite_site.tool)
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.add("LEVEL", "debug")
    page = visitor.page
    adds = form.get_by_role("button", name="Add variable")
    await send_and_leave(page, "**/vars", adds, leave(page))
    notice = page.locator("#notices .notice")
    await expect(notice).to_contain_text(FAILED)
    await expect(notice).to_contain_text("already")


async def test_what_somebody_else_was_faster_with_is_told_of_a_form_that_was_left(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    id_ = await sqlite_site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    notice = page.locator("#notices .notice")

    form = await visitor.edit("LEVEL")
    await form.get_by_label("Value").fill("debug")
    await sqlite_site.change(tenant, id_, value="theirs")
    saves, cancels = (form.get_by_role("button", name=name) for name in ("Save", "Cancel"))
    await send_and_leave(page, f"**/vars/{id_}", saves, cancels.click())
    await expect(notice).to_contain_text(FAILED)
    await visitor.button("Close this notice").click()

    await page.evaluate(PASTE, "LEVEL=mine\nOTHER=mine\n")
    await visitor.button("Preview").click()
    await visitor.button("Apply 2 changes").wait_for()
    await sqlite_site.change(tenant, id_, value="theirs again")
    applies = visitor.button("Apply 2 changes")
    await send_and_leave(page, "**/actions/apply", applies, leave(page))
    await expect(notice).to_contain_text(FAILED)
    assert (await sqlite_site.stored(tenant))["LEVEL"]["value"] == "theirs again"

    await visitor.go(f"/{tenant.organization}/workspaces/network/compare?with=payments")
    await page.get_by_label("Choose LEVEL").check()
    await visitor.button("Copy 1 variable to payments").click()
    await visitor.button("Copy 1 variable").wait_for()
    await sqlite_site.change(tenant, id_, value="and again")
    copies = visitor.button("Copy 1 variable")
    await send_and_leave(page, "**/actions/copy", copies, page.keyboard.press("Escape"))
    await expect(notice).to_contain_text(FAILED)


async def test_what_nobody_has_answered_of_a_dialog_that_was_left_is_not_said_to_be_kept(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces/network/settings")
    page = visitor.page
    await visitor.button("Delete workspace").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Type the name to confirm").fill("network")
    await page.route(f"**/workspaces/{tenant.workspaces['network']}", lambda route: route.abort())
    async with held(page, f"**/workspaces/{tenant.workspaces['network']}") as is_sent:
        await dialog.get_by_role("button", name="Delete", exact=True).click()
        await is_sent()
        await page.keyboard.press("Escape")
        await dialog.wait_for(state="detached")
    await page.get_by_text("No answer came to what you sent before you went on").wait_for()


async def test_nobody_is_asked_about_what_is_saved_by_then(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    page, question = visitor.page, visitor.page.get_by_role("dialog", name="Leave what you typed?")

    async def asks(leaving: Awaitable[object]) -> None:
        await leaving
        await question.wait_for()

    form = await visitor.add("LEVEL", "info")
    await form.get_by_label("env").check()
    adds, escape = form.get_by_role("button", name="Add variable"), page.keyboard.press("Escape")
    await send_and_leave(page, "**/vars", adds, asks(escape))
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_text("LEVEL is added.").wait_for()
    await expect(page.get_by_role("heading", level=1)).to_be_focused()

    await page.evaluate(PASTE, "LEVEL=debug\nDEBUG=1\n")
    await visitor.button("Preview").click()
    await visitor.button("Apply 2 changes").wait_for()
    applies, escape = visitor.button("Apply 2 changes"), page.keyboard.press("Escape")
    await send_and_leave(page, "**/actions/apply", applies, asks(escape))
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await visitor.row("LEVEL").get_by_text("debug").wait_for()

    form = await visitor.edit("LEVEL")
    await form.get_by_label("Value").fill("error")
    saves, access = form.get_by_role("button", name="Save"), page.get_by_role("link", name="Access")
    await send_and_leave(page, "**/vars/*", saves, asks(access.first.click()))
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await (
        visitor.row("LEVEL").get_by_text("error").wait_for()
    )  # it is what came of it that they see
    assert (await sqlite_site.stored(tenant))["LEVEL"]["value"] == "error"


async def test_whoever_goes_back_twice_is_asked_once(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "workspaces")
    page, question = visitor.page, visitor.page.get_by_role("dialog", name="Leave what you typed?")
    await page.get_by_role("link", name="network").click()
    await visitor.add("LEVEL", "info")
    await page.go_back()
    await question.wait_for()
    await page.go_back()
    await expect(question).to_have_count(1)
    await visitor.button("Stay").click()
    await expect(question).to_have_count(0)
    await expect(page.get_by_label("Value", exact=True)).to_be_focused()


async def test_what_was_only_looked_for_in_a_dialog_that_was_left_fails_in_silence(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page, named = visitor.page, "**/workspaces/nowhere"
    await visitor.button("Copy from …").click()
    await page.get_by_label("From workspace").fill("nowhere")
    async with page.expect_response(named), held(page, named) as is_asked_for:
        await visitor.button("Preview").click()
        await is_asked_for()
        await page.keyboard.press("Escape")
        await page.get_by_role("dialog").wait_for(state="detached")
    await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    await expect(page.locator("#notices .notice")).to_have_count(0)
