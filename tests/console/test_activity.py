"""What has changed in a workspace, for whoever reads its variables."""

import asyncio
import re

from playwright.async_api import expect

from tests.console.test_variable_sets import NOTHING_SETTLES
from tests.console.visitors import PAINTED, WHEN, Crowd, Site, held, small_pages
from tests.support.tenant import linkage_document, variable_document


async def test_who_changed_what_when_and_with_which_token(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    id_ = await site.make(tenant, "region", "canary-value", description="<b>x</b>")
    await site.make(tenant, "gone", "canary-value", sensitive=True)
    mine = f"/users/{tenant.users['writer']}/authentication-tokens"
    token = {"data": {"type": "authentication-tokens", "attributes": {"description": "<i>ci</i>"}}}
    made = (await tenant.call("writer", "POST", mine, token)).json()["data"]["attributes"]["token"]
    changed = {"type": "vars", "id": id_, "attributes": {"key": "<b>new", "value": "canary-2"}}
    path, bearer = f"{tenant.vars_path()}/{id_}", {"Authorization": f"Bearer {made}"}
    answer = await tenant.call(None, "PATCH", path, {"data": changed}, bearer)
    assert answer.status_code == 200, answer.text
    gone = (await tenant.variables())[1]["id"]
    await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{gone}")

    visitor = await crowd.member(site, tenant, "reader")
    page = visitor.page
    await page.get_by_role("link", name="Activity").click()
    rows = page.locator("ol.rows > li")
    await expect(rows).to_have_count(4)
    deleted, update = rows.nth(0), rows.nth(1)
    await expect(deleted).to_contain_text("owner-")
    await expect(deleted).to_contain_text("deleted gone")
    assert await deleted.get_by_role("link").count() == 0
    await expect(update).to_contain_text("writer-")
    await expect(update).to_contain_text("changed <b>new, which was region")
    await expect(update.locator(".badge")).to_have_text(["key", "value"])
    await expect(update).to_contain_text(re.compile(rf"{WHEN} with <i>ci</i>"))
    assert "canary" not in await page.content()

    await update.get_by_role("link", name="<b>new").click()
    await visitor.row("<b>new").wait_for()
    assert await page.locator("tbody tr").count() == 1


async def test_older_changes_stand_in_their_order_however_often_one_asks_for_them(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    crew, plain = tenant.linkage_path(), linkage_document(tenant.users["plain"])
    for number in range(50):
        await site.make(tenant, f"old-{number}")
    for method in ("POST", "DELETE") * 25:
        assert (await tenant.call("owner", method, crew, plain)).status_code == 204
    for number in range(50):
        await site.make(tenant, f"new-{number}")
    visitor = await crowd.member(site, tenant, "owner")
    page = visitor.page
    rows = page.locator("ol.rows > li")
    await visitor.go(f"/{tenant.organization}/activity")
    await expect(rows).to_have_count(50)
    async with held(page, "**/organization-memberships?*") as is_asked:
        for _ in range(3):
            await visitor.button("Older").press("Enter")
            await is_asked()  # who has come and gone, for their names
            await page.evaluate(PAINTED)
    await expect(rows.nth(99)).to_contain_text("plain-")
    assert all("plain-" in row for row in (await rows.all_inner_texts())[50:100])


async def test_whoever_is_named_already_is_not_asked_for_again(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    crew, plain = tenant.linkage_path(), linkage_document(tenant.users["plain"])
    for method in ("POST", "DELETE") * 2:
        assert (await tenant.call("owner", method, crew, plain)).status_code == 204
    visitor = await crowd.visitor(sqlite_site, tenant)
    await small_pages(visitor.page, "**/audit-events*", 2)
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['crew']}/activity")
    await visitor.sign_in("owner")
    rows = visitor.page.locator("ol.rows > li")
    await expect(rows).to_have_count(2)
    asked: list[str] = []
    visitor.page.on("request", lambda one: asked.append(one.url))
    await visitor.button("Older").press("Enter")
    await expect(rows.nth(3)).to_contain_text("plain-")
    assert [one for one in asked if "organization-memberships" in one] == []


async def test_older_changes_whose_names_could_not_be_read_are_shown_once_they_can(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    crew = tenant.linkage_path()
    for who in ("reader", "plain"):
        for method in ("POST", "DELETE"):
            document = linkage_document(tenant.users[who])
            assert (await tenant.call("owner", method, crew, document)).status_code == 204
    visitor = await crowd.visitor(sqlite_site, tenant)
    page = visitor.page
    await small_pages(page, "**/audit-events*", 2)
    await visitor.be("owner")
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['crew']}/activity")
    rows = page.locator("ol.rows > li")
    await expect(rows).to_have_count(2)
    refused = {"errors": [{"status": "500", "code": "internal_error", "detail": "No names now."}]}
    await page.route(
        "**/organization-memberships?*",
        lambda route: route.fulfill(status=500, json=refused),
        times=1,
    )
    await visitor.button("Older").press("Enter")
    await page.locator("#notices").get_by_text("No names now.").wait_for()
    await expect(visitor.button("Older")).to_be_focused()
    await visitor.button("Older").press("Enter")
    await expect(rows.nth(3)).to_contain_text("added reader-")


async def test_older_changes_and_those_of_one_key(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    keys = [f"k{number}" for number in range(60)] + [f"l{number}" for number in range(50)]
    documents = [variable_document(key=key, category="env") for key in keys]
    await asyncio.gather(
        *(tenant.call("owner", "POST", tenant.vars_path(), one) for one in documents)
    )
    visitor = await crowd.member(site, tenant, "reader")
    page = visitor.page
    await page.get_by_role("link", name="Activity").click()
    rows = page.locator("ol.rows > li")
    await expect(rows).to_have_count(50)
    await site.make(tenant, "meanwhile")
    await visitor.button("Older").press("Enter")
    await expect(rows).to_have_count(99)  # one has moved on to the next page
    await expect(visitor.button("Older")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(110)
    await expect(visitor.button("Older")).to_have_count(0)
    await expect(page.locator("h1")).to_be_focused()

    await page.get_by_label("Key", exact=True).fill("k7")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await page.get_by_label("Key", exact=True).fill("")
    await page.get_by_label("Part of a key").fill("K5")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(11)  # k5, and k50 to k59
    await page.reload()
    await expect(page.get_by_label("Part of a key")).to_have_value("K5")
    await expect(rows).to_have_count(11)
    await page.get_by_label("Part of a key").fill("")
    await page.get_by_label("Key", exact=True).fill("nothing")
    await visitor.button("Show").click()
    await page.get_by_text("No such changes").first.wait_for()


async def test_a_variable_leads_to_its_changes(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "region", "eu")
    await sqlite_site.make(tenant, "other", "eu")
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.edit("region")
    await visitor.page.get_by_role("link", name="Who changed it").click()
    rows = visitor.page.locator("ol.rows > li")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("added region")


async def test_owners_see_what_has_changed_in_the_organization(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "region", "eu", workspace="payments")
    await site.make(tenant, "region", "eu", workspace="network")
    team = {"data": {"type": "teams", "attributes": {"name": "crew two"}}}
    path = f"/organizations/{tenant.organization}/teams"
    assert (await tenant.call("owner", "POST", path, team)).is_success
    visitor = await crowd.visitor(site, tenant)
    page = visitor.page
    await visitor.go(f"/{tenant.organization}")
    await visitor.sign_in("owner")
    await page.get_by_role("link", name="Activity").click()
    rows = page.locator("ol.rows > li")
    made = rows.filter(has_text="made the team crew two")
    await made.get_by_role("link", name="crew two").click()
    await page.get_by_role("heading", name="crew two").wait_for()
    await page.go_back()
    await rows.filter(has_text="added region").filter(has_text="in payments").wait_for()

    await page.get_by_label("Part of a key").fill("REG")
    await page.get_by_label("Workspace", exact=True).fill("payments")
    await page.get_by_label("By whom").fill(f"owner-{tenant.organization.removeprefix('org-')}")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("link", name="region").click()
    await page.get_by_role("heading", name="payments").wait_for()
    await visitor.row("region").wait_for()

    reader = await crowd.visitor(site, tenant)
    await reader.go(f"/{tenant.organization}")
    await reader.sign_in("reader")
    await reader.page.get_by_role("link", name="Workspaces").wait_for()
    assert await reader.page.get_by_role("link", name="Activity").count() == 0


async def test_changes_of_people_and_access_read_as_sentences(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    base, crew = f"/organizations/{tenant.organization}", tenant.teams["crew"]
    person = {
        "data": {"type": "organization-memberships", "attributes": {"email": "new@sent.ence"}}
    }
    made = await tenant.call("owner", "POST", f"{base}/organization-memberships", person)
    member = {"data": [{"type": "organization-memberships", "id": made.json()["data"]["id"]}]}
    path = f"/teams/{crew}/relationships/organization-memberships"
    assert (await tenant.call("owner", "POST", path, member)).is_success
    again = f"/organization-memberships/{made.json()['data']['id']}/actions/resend"
    assert (await tenant.call("owner", "POST", again)).is_success
    grant = {
        "type": "team-workspaces",
        "attributes": {"access": "write"},
        "relationships": {
            "team": {"data": {"type": "teams", "id": crew}},
            "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}},
        },
    }
    given = await tenant.call("owner", "POST", "/team-workspaces", {"data": grant})
    assert given.is_success, given.text
    gone = f"/team-workspaces/{given.json()['data']['id']}"
    assert (await tenant.call("owner", "DELETE", gone)).is_success
    visitor = await crowd.arrived(sqlite_site, tenant, "activity")
    rows = visitor.page.locator("ol.rows > li .name")
    for text in (
        "invited new@sent.ence",
        "renewed the invitation of new@sent.ence",
        "added new@sent.ence to the organization",
        "added new@sent.ence to crew",
        "took away access to network from crew",
    ):
        await rows.filter(has_text=text).first.wait_for()
    given_row = rows.filter(has_text="gave access to network for crew").first
    await expect(given_row.locator(".badge")).to_have_text("write")


async def test_what_cannot_be_looked_for_is_told_by_the_api_beside_its_fields(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "activity?since=2026-13-45")
    await expect(visitor.page.get_by_text("filter[since]")).to_be_visible()
    await visitor.page.get_by_label("Key", exact=True).fill("REGION")
    since = visitor.page.get_by_label("Since")
    await since.fill("20260-01-01")  # a digit too many, which browsers take
    await visitor.button("Show").click()
    await expect(visitor.page.get_by_text("filter[since]")).to_be_visible()
    await expect(since).to_have_value("20260-01-01")
    await since.fill("2026-01-01")
    await visitor.button("Show").click()
    await visitor.page.get_by_text("No such changes").first.wait_for()
    assert visitor.page.url.endswith("?key=REGION&since=2026-01-01")


async def test_changes_since_a_day_and_the_workspaces_that_teams_were_given(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, f"teams/{tenant.teams['writers']}/activity")
    rows = visitor.page.locator("ol.rows > li")
    await expect(rows.filter(has_text="gave access to network")).to_have_count(1)
    await visitor.go(f"/{tenant.organization}/activity?since=2000-01-01")
    await expect(visitor.page.get_by_label("Since")).to_have_value("2000-01-01")
    await expect(rows.filter(has_text="gave access to network for")).to_have_count(2)
    await visitor.page.get_by_label("Since").fill("2100-01-01")
    await visitor.button("Show").click()
    await visitor.page.get_by_text("No such changes").first.wait_for()
    assert visitor.page.url.endswith("?since=2100-01-01")


async def test_older_changes_leave_what_one_reads_to_take_clicks(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    for number in range(52):
        await sqlite_site.make(tenant, f"K-{number}")
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    await page.get_by_role("link", name="Activity").click()
    rows = page.locator("ol.rows > li")
    await expect(rows).to_have_count(50)
    await expect(page.locator(".veil")).to_have_count(0)
    await page.evaluate(NOTHING_SETTLES)
    await visitor.button("Older").click()
    await expect(rows).to_have_count(52)
    await expect(page.locator(".veil:visible")).to_have_count(1)
    await rows.nth(0).get_by_role("link", name="K-51").click()
    await visitor.row("K-51").wait_for()
