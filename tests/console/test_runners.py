"""Runners of an organization: what owners propose and look at, end to end."""

import json
import re

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from tests.console.deliveries import hand_out, machine_key
from tests.console.visitors import Crowd, Site, Visitor, held
from tests.support.deployment import operator
from tests.support.patience import HANGS
from tests.support.tenant import Tenant

GITHUB = "https://token.actions.githubusercontent.com"
IN_80_DAYS = "new Date(Date.now() + 80 * 86_400_000).toLocaleDateString('sv')"
COMMAND = re.compile(r"^teamvars approvals approve (run-\w+)@([0-9a-f]{64})$")


async def visit(crowd: Crowd, site: Site, tenant: Tenant, who: str = "owner") -> Visitor:
    """Somebody who looks at the runners."""
    return await crowd.arrived(site, tenant, "runners", who)


def row(visitor: Visitor, text: str) -> Locator:
    """The row with that text in it."""
    return visitor.page.locator("ul.rows > li").filter(has_text=text)


async def propose(visitor: Visitor, name: str, ends: str = "") -> Locator:
    """Proposes a machine for `network`, perhaps until a day; returns its row."""
    await visitor.button("Propose a runner").click()
    form = visitor.page.get_by_role("form", name="A new runner")
    await form.get_by_label("Name", exact=True).fill(name)
    await form.get_by_role("radio", name="It has a key of its own").check()
    await form.get_by_label("Public key").fill(machine_key())
    await form.get_by_label("Workspaces").fill("NETWORK")
    if ends:
        await form.get_by_label("Ends on").fill(ends)
    await form.get_by_role("button", name="Propose").click()
    await form.wait_for(state="detached")
    return row(visitor, name).first


async def approve(site: Site, command: str) -> str:
    """Does what the command does that the page shows; returns the runner's id."""
    found = COMMAND.match(command)
    assert found is not None
    await site.served.services.approvals.approve(operator(), found[1], found[2])
    return found[1]


async def test_an_owner_proposes_a_runner_and_sees_what_is_to_be_approved(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await visit(crowd, site, tenant)
    await visitor.page.get_by_text("No runner yet").wait_for()
    proposed = await propose(visitor, "backup")
    await expect(proposed.locator(".badge")).to_have_text(["waits for approval"])
    await expect(proposed).to_contain_text("1 workspace")
    await approve(site, await proposed.locator(".notice code").inner_text())
    await visitor.page.reload()
    await expect(row(visitor, "backup").locator(".badge")).to_have_text(["approved"])
    await expect(row(visitor, "backup").locator(".notice")).to_have_count(0)
    reader = await crowd.member(site, tenant, "reader")
    await reader.page.get_by_role("link", name="Access").click()
    await expect(row(reader, "backup").locator(".badge")).to_have_text(["approved"])

    await visitor.button("Change backup").click()
    form = visitor.page.get_by_role("form", name="Change the runner")
    await expect(form.get_by_label("Workspaces")).to_have_value("network")
    await form.get_by_label("Patterns of names").fill("net*\npay*")
    await form.get_by_role("button", name="Propose").click()
    await expect(row(visitor, "backup").locator(".badge")).to_have_text(
        ["a change waits for approval"]
    )
    await visitor.button("Delete backup").click()
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await visitor.page.get_by_text("No runner yet").wait_for()


@pytest.mark.parametrize("site", ["postgres"], indirect=True)
async def test_where_owners_approve_they_do_so_here_and_take_it_back(
    site: Site, crowd: Crowd
) -> None:
    visitor = await visit(crowd, site, await site.tenant())
    proposed = await propose(visitor, "backup")
    await expect(proposed.locator("code")).to_have_count(0)
    for button, then, words in (
        ("Approve backup", "Approve", "approved"),
        ("Revoke the approval of backup", "Revoke", "waits for approval"),
    ):
        dialog = visitor.page.get_by_role("dialog")
        await visitor.button(button).click()
        await dialog.get_by_role("button", name="Cancel").click()
        await visitor.button(button).click()
        await dialog.get_by_role("button", name=then).click()
        await expect(row(visitor, "backup").locator(".badge")).to_have_text([words])


@pytest.mark.parametrize("site", ["postgres"], indirect=True)
async def test_what_is_no_longer_as_it_was_is_shown_to_whoever_wants_to_approve_it(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await visit(crowd, site, tenant)
    await propose(visitor, "backup")
    path = f"/organizations/{tenant.organization}/runners"
    (runner,) = (await tenant.call("owner", "GET", path)).json()["data"]
    attributes = {"include-sensitive": False}
    document = {"data": {"type": "runners", "id": runner["id"], "attributes": attributes}}
    changed = await tenant.call("owner", "PATCH", f"/runners/{runner['id']}", document)
    assert changed.is_success, changed.text
    badges = row(visitor, "backup").locator(".badge")
    await expect(badges).to_have_text(["waits for approval"])
    await visitor.button("Approve backup").click()
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    await expect(badges).to_have_text(["waits for approval", "nothing sensitive"])


async def test_a_change_that_is_proposed_at_once_keeps_the_workspaces(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await visit(crowd, sqlite_site, await sqlite_site.tenant())
    await propose(visitor, "backup")
    form = visitor.page.get_by_role("form", name="Change the runner")
    async with held(visitor.page, "**/v2/workspaces/*") as are_asked_for:
        await visitor.button("Change backup").click()
        await are_asked_for()
        await form.get_by_label("Name", exact=True).fill("renamed")
        await form.get_by_role("button", name="Propose").click()
    await expect(row(visitor, "renamed")).to_contain_text("1 workspace")


async def test_what_others_have_changed_of_a_runner_is_not_changed_back(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """A tab has shown the form for a while, and another one was faster."""
    tenant = await sqlite_site.tenant()
    slow = await visit(crowd, sqlite_site, tenant)
    await propose(slow, "backup")
    fast = await visit(crowd, sqlite_site, tenant)
    changing: list[Locator] = []
    for visitor in (slow, fast):
        await visitor.button("Change backup").click()
        changing.append(visitor.page.get_by_role("form", name="Change the runner"))
        await expect(changing[-1].get_by_label("Workspaces")).to_have_value("network")
    mine, theirs = changing
    await theirs.get_by_label("Workspaces").fill("payments")
    await theirs.get_by_label("Sensitive values too").uncheck()
    await theirs.get_by_role("button", name="Propose").click()
    await theirs.wait_for(state="detached")
    await mine.get_by_label("Description").fill("every night")
    await mine.get_by_role("button", name="Propose").click()
    await mine.wait_for(state="detached")
    path = f"/organizations/{tenant.organization}/runners"
    (runner,) = (await tenant.call("owner", "GET", path)).json()["data"]
    named = runner["relationships"]["workspaces"]["data"]
    assert [one["id"] for one in named] == [tenant.workspaces["payments"]]
    assert not runner["attributes"]["include-sensitive"]
    assert runner["attributes"]["description"] == "every night"


async def test_conditions_that_no_line_can_say_keep_nobody_from_changing_the_rest(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """Programs may propose any claim, and any text that it has to be."""
    visitor = await visit(crowd, sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await propose(visitor, "ci")
    conditions = {"the claim": " ", "sub": "one\ntwo"}

    async def answer(route: Route) -> None:
        answer = await route.fetch()
        document = await answer.json()
        for runner in document["data"]:
            runner["attributes"] |= {
                "issuer": GITHUB,
                "conditions": conditions,
                "public-key": None,
            }
        await route.fulfill(response=answer, json=document)

    await page.route("**/runners?*", answer)
    await page.reload()
    await visitor.button("Change ci").click()
    form = page.get_by_role("form", name="Change the runner")
    await form.get_by_label("Description").fill("every night")
    async with page.expect_request(lambda one: one.method == "PATCH") as sent:
        await form.get_by_role("button", name="Propose").click()
    proposed = json.loads((await sent.value).post_data or "")["data"]
    assert proposed["attributes"] == {"description": "every night"}
    assert "relationships" not in proposed


async def test_what_is_wrong_with_a_proposal_is_told_at_its_field(site: Site, crowd: Crowd) -> None:
    visitor = await visit(crowd, site, await site.tenant())
    await visitor.button("Propose a runner").click()
    form = visitor.page.get_by_role("form", name="A new runner")
    await form.get_by_label("Name", exact=True).fill("ci")
    await form.get_by_label("Issuer", exact=True).fill(GITHUB)
    await form.get_by_label("Conditions").fill("everything")
    send = form.get_by_role("button", name="Propose")
    await send.click()
    await expect(form.locator(".error").first).to_contain_text("claim = value")
    await form.get_by_label("Conditions").fill("ref = main\nref = next")
    await send.click()
    await expect(form.locator(".error").first).to_contain_text("each claim once")
    await form.get_by_label("Conditions").fill("event_name = issue_comment")
    await form.get_by_label("Workspaces").fill("nowhere")
    await send.click()
    await expect(form.locator(".error").first).to_contain_text("no workspace nowhere")
    await form.get_by_label("Workspaces").fill("network")
    await send.click()
    told = form.locator(".field", has=visitor.page.get_by_label("Conditions")).locator(".error")
    await expect(told.filter(has_text="repository_id")).to_have_count(1)
    await expect(told.filter(has_text="strangers")).to_have_count(1)
    await visitor.button("Cancel").click()


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Auckland"])
async def test_a_runner_ends_on_the_day_that_was_typed_where_one_is(
    sqlite_site: Site, browser: Browser, zone: str
) -> None:
    context = await browser.new_context(timezone_id=zone, reduced_motion="reduce")
    context.set_default_timeout(HANGS * 1000)
    async with context:
        crowd = Crowd(context)
        visitor = await visit(crowd, sqlite_site, await sqlite_site.tenant())
        day = str(await visitor.page.evaluate(IN_80_DAYS))
        proposed = await propose(visitor, "backup", day)
        ends = proposed.locator("time")
        await expect(ends).to_have_text(re.compile(rf"^{int(day[8:])} \w+ {day[:4]}, 00:00$"))
        await visitor.button("Change backup").click()
        await expect(visitor.page.get_by_label("Ends on")).to_have_value(day)
        assert crowd.complaints == []


async def test_a_day_on_which_clocks_are_set_is_that_day(
    sqlite_site: Site, browser: Browser
) -> None:
    context = await browser.new_context(timezone_id="Australia/Sydney", reduced_motion="reduce")
    context.set_default_timeout(HANGS * 1000)
    async with context:
        crowd = Crowd(context)
        await context.clock.set_fixed_time("2027-07-06T00:30:00+10:00")  # 89 days before
        visitor = await visit(crowd, sqlite_site, await sqlite_site.tenant())
        await visitor.button("Propose a runner").click()
        await expect(visitor.page.get_by_label("Ends on")).to_have_value("2027-10-03")
        assert crowd.complaints == []


async def test_deliveries_say_what_to_rotate_and_what_nobody_uses(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    secret = await tenant.make_variable("password", sensitive=True)
    versions = {secret["id"]: secret["attributes"]["version-id"]}
    visitor = await visit(crowd, site, tenant)
    for name, days in (("old", 91), ("young", 1)):
        proposed = await propose(visitor, name)
        runner_id = await approve(site, await proposed.locator(".notice code").inner_text())
        await hand_out(site, tenant, runner_id, days, versions)
    await visitor.page.reload()
    await expect(row(visitor, "network to old").locator(".badge")).to_have_text(
        ["not delivered for 90 days"]
    )
    young = row(visitor, "network to young")
    await expect(young.locator(".badge")).to_have_count(0)
    link = young.get_by_role("link", name="the run")
    await expect(link).to_have_attribute("href", re.compile("^https://github.com/"))
    await visitor.button("Delete young").click()
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row(visitor, "rotate password")).to_have_count(1)
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.button("Edit password").click()
    form = visitor.page.get_by_role("form", name="Edit password")
    await expect(form.locator(".hint").last).to_contain_text("Last handed to run-")
    await expect(form.get_by_role("link", name="the run")).to_have_count(1)


async def test_only_owners_find_the_runners(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await visit(crowd, site, tenant, "writer")
    await visitor.page.get_by_role("heading", level=1, name="That did not work").wait_for()
    await visitor.go(f"/{tenant.organization}/workspaces")
    pages = visitor.page.get_by_role("navigation", name="Of this organization")
    await expect(pages.get_by_role("link", name="Teams")).to_have_count(1)
    await expect(pages.get_by_role("link", name="Runners")).to_have_count(0)
