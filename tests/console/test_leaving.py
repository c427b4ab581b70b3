"""What somebody leaves behind, and whether members have to sign in, at an organization's pages."""

from playwright.async_api import expect

from tests.console.visitors import Crowd, Site


async def test_an_owner_sees_what_somebody_leaves_behind_and_ends_it(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    path = f"/teams/{tenant.teams['readers']}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {"description": "for ci"}}}
    assert (await tenant.call("owner", "POST", path, document)).status_code == 201
    visitor = await crowd.arrived(site, tenant, "members")
    page = visitor.page
    username = f"owner-{tenant.organization.removeprefix('org-')}"
    await page.get_by_role("link", name=f"Leaving: what {username} leaves behind").click()
    await page.get_by_role("heading", name="What they leave behind").wait_for()
    await expect(page.get_by_role("listitem").filter(has_text="for ci")).to_be_visible()
    await page.get_by_role("link", name="owners").wait_for()
    await visitor.button("End 1 thing").click()
    await page.get_by_role("dialog").get_by_role("button", name="End it").click()
    await page.get_by_text("It has ended.").first.wait_for()
    await expect(page.get_by_role("listitem").filter(has_text="for ci")).to_have_count(0)
    listed = await tenant.call("owner", "GET", path)
    assert listed.json()["data"] == []


async def test_whoever_has_not_signed_in_is_told_that_they_cannot_have_others_do_so(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.arrived(sqlite_site, tenant, "settings")
    page = visitor.page
    await page.get_by_label("Members have to sign in").check()
    await visitor.button("Save").click()
    await page.get_by_text("Only an owner who has signed in").first.wait_for()
    seen = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    assert seen.json()["data"]["attributes"]["sso-required"] is False
