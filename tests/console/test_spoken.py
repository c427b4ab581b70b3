"""What somebody hears who sees nothing: all that happens, and each thing once."""

from playwright.async_api import Page, expect

from tests.console.test_exports import COPIES
from tests.console.test_logins import begun
from tests.console.test_members import address, type_addresses, visit
from tests.console.visitors import Crowd, Site

# What comes into a part of the page that is read out by itself.
LISTENS = """() => {
  window.heard = [];
  new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes) for (const node of addedNodes) {
      const place = target.closest("[role=status], [role=alert], [aria-live]")
        ?? node.querySelector?.("[role=status], [role=alert], [aria-live]");
      if (place && node.textContent) window.heard.push(node.textContent);
    }
  }).observe(document.body, { childList: true, subtree: true });
}"""

# Longer than what is announced waits.
SAID = "new Promise((done) => setTimeout(done, 100))"
DESCRIBED = """(one) => one.getAttribute("aria-describedby").split(" ")
  .map((id) => document.getElementById(id)?.textContent ?? "").join(" ")"""


async def hears_once(page: Page, text: str) -> None:
    """Waits until that is read out, and a moment longer."""
    await page.wait_for_function(
        "(text) => window.heard.some((one) => one.includes(text))", arg=text
    )
    await page.evaluate(SAID)
    heard = [one for one in await page.evaluate("window.heard") if text in one]
    assert len(heard) == 1, heard


async def test_what_is_done_is_read_out_once(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "LEVEL", "info")
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    await page.evaluate(LISTENS)
    await page.evaluate(COPIES)
    await visitor.button("Export").click()
    await visitor.button("Copy").click()
    await hears_once(page, "The file is copied.")
    await visitor.button("Close").click()

    await visitor.go("/settings/device")
    await page.evaluate(LISTENS)
    await page.get_by_label("Code").fill((await begun(site))["user_code"])
    await visitor.button("Go on").click()
    await visitor.button("Refuse").click()
    await hears_once(page, "Refused. The program is told so.")

    inviting = await visit(site, crowd, tenant)
    await inviting.page.evaluate(LISTENS)
    form, _ = await type_addresses(inviting, address("first", tenant))
    await form.get_by_role("button", name="Invite").click()
    await hears_once(inviting.page, "Invited: ")


async def test_what_is_wrong_is_read_out_even_where_the_focus_stays(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """What describes a control is read out when it gets the focus, and not when it has it."""
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    form = await visitor.add("two words", "x")
    await page.evaluate(LISTENS)
    key = form.get_by_label("Key")
    await key.press("Enter")
    await expect(key).to_have_attribute("aria-invalid", "true")
    await hears_once(page, "white space")
    await page.evaluate("window.heard = []")
    await form.get_by_role("button", name="Add variable").click()
    await expect(key).to_be_focused()
    assert await key.evaluate(DESCRIBED) != ""
    await page.evaluate(SAID)
    assert await page.evaluate("window.heard.join('')") == ""


async def test_a_question_is_read_out_with_its_title(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.add("half", "a thought")
    await form.get_by_label("Key").press("Escape")
    question = visitor.page.get_by_role("dialog", name="Leave what you typed?")
    await expect(question).to_have_accessible_description("It has not been saved.")
