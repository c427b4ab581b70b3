"""`/app/settings/tokens`, where `terraform login` sends people: one's own tokens."""

import re
from datetime import datetime, timedelta

from playwright.async_api import Route, expect

from tests.console.visitors import WHEN, Crowd, Site, Visitor, overtaken

TOKENS = "**/authentication-tokens*"


async def test_a_token_is_made_shown_once_used_and_revoked(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await crowd.visitor(site, tenant)
    page = visitor.page
    await visitor.go("/settings/tokens?source=terraform-login")
    await visitor.sign_in("writer")
    description = page.get_by_label("Description", exact=True)
    assert await description.input_value() == "terraform login"
    await description.fill("<b>robot</b>")
    await page.get_by_role("radio", name="30 days").check()
    await visitor.button("Create token").click()
    made = await page.get_by_label("The new token").input_value()
    row = page.get_by_role("listitem").filter(has_text="<b>robot</b>")
    await row.get_by_text(re.compile(f"ends {WHEN}")).wait_for()
    begun, ends = await row.locator("time").evaluate_all("all => all.map((one) => one.dateTime)")
    lives = datetime.fromisoformat(ends) - datetime.fromisoformat(begun)
    assert round(lives / timedelta(days=1)) == 30
    account = await tenant.call(None, "GET", "/account/details", None, bearer(made))
    assert account.json()["data"]["id"] == tenant.users["writer"]

    await visitor.button("I have it").click()
    assert await page.get_by_label("The new token").count() == 0
    await expect(page.get_by_role("heading", name="A new token")).to_be_focused()
    await page.reload()
    await row.wait_for()
    assert made not in await page.content()

    await visitor.button("Revoke <b>robot</b>").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    await row.wait_for(state="detached")
    gone = await tenant.call(None, "GET", "/account/details", None, bearer(made))
    assert gone.status_code == 401


async def at_tokens(site: Site, crowd: Crowd) -> Visitor:
    """A writer, who looks at their own tokens."""
    visitor = await crowd.visitor(site, await site.tenant())
    await visitor.go("/settings/tokens")
    await visitor.sign_in("writer")
    return visitor


async def test_no_token_is_made_over_one_that_is_still_shown(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await at_tokens(sqlite_site, crowd)
    page = visitor.page
    await visitor.button("Create token").click()
    made = await page.get_by_label("The new token").input_value()
    await visitor.button("Create token").click()
    await page.get_by_text("Take the token below first").wait_for()
    await expect(page.get_by_label("The new token")).to_have_value(made)
    await expect(page.get_by_role("listitem")).to_have_count(2)
    await visitor.button("I have it").click()
    await visitor.button("Create token").click()
    await expect(page.get_by_role("listitem")).to_have_count(3)


async def test_a_token_that_is_revoked_comes_back_with_no_older_list(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await at_tokens(sqlite_site, crowd)
    page, tenant = visitor.page, visitor.tenant
    mine = f"/users/{tenant.users['writer']}/authentication-tokens"
    said = {"data": {"type": "authentication-tokens", "attributes": {"description": "old"}}}
    assert (await tenant.call("writer", "POST", mine, said)).is_success
    await page.reload()
    await page.get_by_label("Description", exact=True).fill("new")
    async with overtaken(page, "**/authentication-tokens?*") as is_answered:
        await visitor.button("Create token").click()
        await is_answered()
        await visitor.button("Revoke old").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
        await expect(visitor.button("Revoke new")).to_be_visible()
    await expect(visitor.button("Revoke old")).to_have_count(0)


async def test_a_token_that_the_browser_does_not_copy_is_selected(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await at_tokens(sqlite_site, crowd)
    page = visitor.page
    await visitor.button("Create token").click()
    made = await page.get_by_label("The new token").input_value()
    await page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error()))")
    await visitor.button("Copy").click()
    await page.get_by_text("copy it with your keyboard").wait_for(state="attached")
    assert await page.evaluate("getSelection().toString()") == made


async def test_a_token_whose_answer_is_lost_is_told_of_before_another_is_made(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await at_tokens(sqlite_site, crowd)
    page = visitor.page

    async def lose(route: Route) -> None:
        if route.request.method == "POST":
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await page.route(TOKENS, lose)
    await visitor.button("Create token").click()
    await page.locator("form .error").wait_for()
    await page.unroute(TOKENS)
    await visitor.button("Create token").click()
    await expect(page.get_by_role("listitem")).to_have_count(2)
    await page.locator("form .error").wait_for()
    await visitor.button("Create token").click()
    await page.get_by_label("The new token").wait_for()
    await expect(page.get_by_role("listitem")).to_have_count(3)


async def test_revoking_the_token_one_has_signs_out(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go("/settings/tokens")
    await visitor.sign_in("writer")
    await visitor.button("Revoke the token without a description").click()
    dialog = visitor.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("so are you")
    await dialog.get_by_role("button", name="Revoke", exact=True).click()
    await visitor.page.get_by_text("The token is no longer valid").first.wait_for()


async def test_a_team_reads_that_users_alone_have_tokens_here(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.visitor(sqlite_site, await sqlite_site.tenant())
    await visitor.go("/settings/tokens")
    await visitor.sign_in("writers-token")
    await visitor.page.get_by_text("Only users have tokens of their own").first.wait_for()
    assert await visitor.page.get_by_role("link", name="Tokens").count() == 0


def bearer(token: str) -> dict[str, str]:
    """The header of a request with that token."""
    return {"Authorization": f"Bearer {token}"}
