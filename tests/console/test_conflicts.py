"""Two people edit one variable: the slower one sees both versions, and chooses."""

import pytest
from playwright.async_api import expect

from tests.console.visitors import Crowd, Site


@pytest.mark.parametrize(
    ("site", "choice"),
    [
        ("sqlite", "Save mine"),
        ("postgres", "Save mine"),
        ("sqlite", "Keep theirs"),
        ("sqlite", "Back to the form"),
    ],
    indirect=["site"],
)
async def test_the_slower_editor_sees_both_versions_and_chooses(
    site: Site, crowd: Crowd, choice: str
) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "region", "eu", category=site.tool, description="at first")
    slow = await crowd.member(site, tenant, "owner")
    fast = await crowd.member(site, tenant, "writer")
    mine, theirs = await slow.edit("region"), await fast.edit("region")
    await theirs.get_by_label("Value").fill("us\n<b>bold</b>")
    await theirs.get_by_role("button", name="Save").click()
    await theirs.wait_for(state="detached")

    await mine.get_by_label("Value").fill("asia")
    await mine.get_by_label("Description").fill("mine")
    await mine.get_by_role("button", name="Save").click()
    panel = slow.page.get_by_role("region", name="Somebody else was faster")
    await panel.wait_for()
    row = panel.get_by_role("row").filter(has_text="Value")
    assert await row.locator("td").all_inner_texts() == ["us\n<b>bold</b>", "asia"]
    await panel.get_by_text("writer-").wait_for()
    await panel.get_by_text("changed value").wait_for()

    await slow.button(choice).click()
    if choice == "Back to the form":
        assert await mine.get_by_label("Value").input_value() == "asia"
        await mine.get_by_role("button", name="Save").click()
    await panel.wait_for(state="detached")
    await mine.wait_for(state="detached")
    stored = (await site.stored(tenant))["region"]
    kept = ("us\n<b>bold</b>", "at first") if choice == "Keep theirs" else ("asia", "mine")
    assert (stored["value"], stored["description"]) == kept
    await slow.row("region").get_by_text(kept[0].partition("\n")[0]).wait_for()
    said = 0 if choice == "Keep theirs" else 1
    await expect(slow.row("region").get_by_text("saved")).to_have_count(said)


async def test_a_variable_that_somebody_has_deleted_meanwhile(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    id_ = await site.make(tenant, "region", "eu")
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("region")
    await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{id_}")
    await form.get_by_label("Value").fill("asia")
    await form.get_by_role("button", name="Save").click()
    heading = "This variable is not there any more"
    await visitor.page.get_by_role("heading", name=heading).wait_for()
    await visitor.page.get_by_text("deleted it, or you may no longer see it").wait_for()
    await visitor.button("Leave it").click()
    await visitor.page.get_by_text("No variables yet").first.wait_for()


async def test_a_secret_in_conflict_shows_neither_value(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    id_ = await site.make(tenant, "psk", "old-canary", sensitive=True)
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("psk")
    await site.change(tenant, id_, value="their-canary")
    await form.get_by_role("button", name="Replace value").click()
    await form.get_by_label("New value").fill("my-canary")
    await form.get_by_role("button", name="Save").click()
    panel = visitor.page.get_by_role("region", name="Somebody else was faster")
    await panel.get_by_text("the value you typed").wait_for()
    assert "canary" not in await panel.inner_text()
    await visitor.button("Save mine").click()
    await panel.wait_for(state="detached")


async def test_deleting_what_somebody_has_changed_meanwhile_deletes_nothing(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    id_ = await site.make(tenant, "region", "eu")
    visitor = await crowd.member(site, tenant)
    await site.change(tenant, id_, value="us")
    await visitor.button("Delete region").click()
    await visitor.button("Delete now: region").click()
    await visitor.page.get_by_text("Somebody has changed it meanwhile").first.wait_for()
    assert "region" in await site.stored(tenant)
