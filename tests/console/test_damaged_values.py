"""A list with damaged values offers to write new ones over them, or to delete the variables."""

import pytest
from playwright.async_api import expect

from tests.cli.store import execute
from tests.console.visitors import Crowd, Site


@pytest.mark.parametrize("may", [True, False], ids=["who writes", "who reads"])
async def test_damaged_values_are_named_and_can_be_replaced_or_deleted(
    sqlite_site: Site, crowd: Crowd, may: bool
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    for key in ("first", "second", "third"):
        id_ = await site.make(tenant, key, key)
        if key != "third":
            damage = f"UPDATE variables SET sealed_value = x'00' WHERE id = '{id_}'"  # noqa: S608
            execute(site.served.host, damage)
    visitor = await crowd.member(site, tenant, "writer" if may else "reader")
    page = visitor.page
    await page.get_by_text("damaged values").first.wait_for()
    if not may:
        assert await page.get_by_text("first").count() == 1
        assert await page.get_by_role("button", name="Delete first").count() == 0
        return
    await visitor.button("Write a new value for first").click()
    form = page.get_by_role("form", name="A new value for first")
    await form.get_by_label("New value").fill("mended")
    await visitor.button("Write a new value for first").click()  # what is typed stays
    await expect(form.get_by_label("New value")).to_have_value("mended")
    await form.get_by_role("button", name="Save").click()
    await visitor.button("Write a new value for first").wait_for(state="detached")
    opens = visitor.button("Write a new value for second")
    await opens.click()
    await visitor.button("Cancel").click()
    await expect(opens).to_be_focused()
    await visitor.button("Delete second").click()
    await page.get_by_label("Type the key to confirm").fill("second")
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await visitor.row("first").get_by_text("mended").wait_for()
    stored = await site.stored(tenant)
    assert {key: one["value"] for key, one in stored.items()} == {
        "first": "mended",
        "third": "third",
    }
