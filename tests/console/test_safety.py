"""Hostile names and values are text, and values stay where they belong."""

import json
from typing import Any

import pytest
from playwright.async_api import Error, Page, expect

from teamvars.domain.names import escaped
from tests.console.visitors import Crowd, Site
from tests.domain.test_names import JOINED, LOOSE
from tests.support.tenant import Tenant

IMAGE = "<img src=x onerror=alert(1)>"
TURNING = "abc\u202etxt.exe"
JOINER = "\u200d"
FAMILY = JOINER.join("\U0001f468\U0001f469\U0001f467")
HEART = "\u2764\ufe0f 1\ufe0f\u20e3"
ALEF = "\u05d0"
LONGEST = "<script>alert(1)</script>\n" * 10082  # 256 KiB

# Whatever outlives a page or leaves it: storage, address, history, title.
KEPT = """async () => JSON.stringify([
  { ...sessionStorage }, { ...localStorage }, document.cookie, location.href, document.title,
  history.state, await indexedDB.databases(), await caches.keys(),
  performance.getEntries().map((one) => one.name),
])"""
# Where the first and the last letter of a text are, from the left.
ENDS = """(element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const text = walker.nextNode();
  const range = document.createRange();
  return [0, text.length - 1].map((at) => {
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  });
}"""
# Whatever the page shows, in text, attributes and fields.
SHOWN = """() => [document.documentElement.outerHTML,
  ...[...document.querySelectorAll("input, textarea")].map((one) => one.value)].join("\\n")"""


async def test_hostile_names_and_values_are_shown_as_text(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "<b>bold</b>", IMAGE, description=IMAGE)
    await site.make(tenant, TURNING, TURNING, description=TURNING)
    await site.make(tenant, "family", FAMILY, description=f"joined{JOINER}alone")
    await site.make(tenant, "red", HEART, description="red\ufe0f1\ufe0f\u034f")
    await site.make(tenant, "cut", "x" * 196 + FAMILY)  # in the middle of the second of them
    await site.make(tenant, "longest", LONGEST[: 256 * 1024])
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    await expect(visitor.row("family").locator("code")).to_have_text(FAMILY)
    await expect(visitor.row("family").locator(".description")).to_have_text("joined\\u200dalone")
    await expect(visitor.row("red").locator("code")).to_have_text(HEART)
    await expect(visitor.row("cut").locator("code")).to_have_text("x" * 196 + FAMILY[0] + "…")
    await expect(visitor.row("red").locator(".description")).to_have_text(
        "red\\ufe0f1\\ufe0f\\u034f"
    )
    for text in ("<b>bold</b>", "abc\\u202etxt.exe"):
        await page.locator("th .name").get_by_text(text, exact=True).wait_for()
    assert await page.get_by_text(IMAGE, exact=True).count() == 2
    assert await page.locator("main img, main b, main script").count() == 0
    assert "\u202e" not in await page.inner_text("main")

    form = await visitor.edit("longest")
    assert await form.get_by_label("Value").input_value() == LONGEST[: 256 * 1024]
    await form.get_by_label("Description").fill("still works")
    await form.get_by_role("button", name="Save").click()
    await visitor.row("longest").get_by_text("still works").wait_for()

    delete = visitor.button("Delete abc\u202etxt.exe")
    await expect(delete).to_have_attribute("title", "Delete abc\\u202etxt.exe")
    await delete.click()
    await visitor.button("Delete now: abc\u202etxt.exe").click()
    await visitor.row("abc\\u202etxt.exe").wait_for(state="detached")
    notice = page.locator("#notices .notice")
    await expect(notice).to_contain_text("abc\\u202etxt.exe is deleted.")
    await visitor.button("Close this notice").press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()


async def test_joiners_are_shown_as_the_command_line_shows_them(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    said = " ".join([*JOINED, *LOOSE])
    await sqlite_site.make(tenant, "said", said)
    visitor = await crowd.member(sqlite_site, tenant)
    await expect(visitor.row("said").locator("code")).to_have_text(escaped(said))


async def test_what_begins_with_a_letter_of_another_direction_is_read_as_in_its_form(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(
        tenant, f"{ALEF}_LAST", f"{ALEF} first, last", description=f"{ALEF} last"
    )
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.row(f"{ALEF}_LAST").wait_for()
    for place in (".key .name", ".key .description", ".value code"):
        first, last = await visitor.page.locator(f"tbody {place}").evaluate(ENDS)
        assert first < last, place


async def test_what_a_page_names_in_its_path_is_text(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.go("/%3Cimg%20src=x%20onerror=alert(1)%3E/workspaces/%3Cb%3Ex")
    await visitor.sign_in("owner")
    await visitor.page.get_by_role("heading", name="Nothing here").wait_for()
    assert await visitor.page.locator("main img, header b").count() == 0


async def test_the_policy_holds_and_its_breaches_are_noticed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """Also the control of every other test: none may have a complaint."""
    visitor = await crowd.visitor(sqlite_site, await sqlite_site.tenant())
    await visitor.go("/")
    for code in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'x'}))",
    ):
        with pytest.raises(Error, match=r"Trusted(HTML|Script)"):
            await visitor.page.evaluate(code)
    inline = "const one = document.createElement('p'); one.setAttribute('style', 'color: red')"
    await visitor.page.evaluate(inline)
    await visitor.page.evaluate("fetch('http://127.0.0.2:1/').catch(() => {})")
    assert [one for one in visitor.complaints if "style-src" in one or "style" in one]
    assert [one for one in visitor.complaints if "connect-src" in one or "connect" in one]
    visitor.complaints.clear()


async def two_variables(site: Site) -> Tenant:
    """A tenant with a value that may be read, and one that nobody reads again."""
    tenant = await site.tenant()
    await site.make(tenant, "open", "readable-canary")
    await site.make(tenant, "old", "x", sensitive=True)
    return tenant


async def filter_by(page: Page, text: str) -> None:
    """Looks for a text, and then for everything again."""
    for one in (text, ""):
        await page.get_by_label("Filter variables").fill(one)


async def heap(page: Page) -> str:
    """Everything that JavaScript still holds, after the garbage is collected."""
    session = await page.context.new_cdp_session(page)
    chunks: list[str] = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    await session.send("HeapProfiler.collectGarbage")
    await session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    await session.detach()
    strings: list[Any] = json.loads("".join(chunks))["strings"]
    return "\n".join(map(str, strings))


@pytest.mark.parametrize("way", ["added", "replaced", "imported"])
async def test_a_secret_is_in_nothing_once_its_form_is_sent(
    sqlite_site: Site, crowd: Crowd, way: str
) -> None:
    """The readable value beside it is the control: it is where it may be, and found there."""
    site, tenant = sqlite_site, await two_variables(sqlite_site)
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    if way == "imported":
        await visitor.button("Import").click()
        await page.get_by_label("Contents of the file").fill("old=secret-canary\n")
        await page.get_by_role("radio", name=".env").check()
        await visitor.button("Preview").click()
        await visitor.button("Apply 1 change").click()
        await page.locator("dialog").wait_for(state="detached")
    elif way == "replaced":
        form = await visitor.retype("old", "secret-canary")
        assert "secret-canary" in await page.evaluate(SHOWN)
        await form.get_by_role("button", name="Save").click()
        await form.wait_for(state="detached")
    else:
        form = await visitor.add("new", "secret-canary")
        await form.get_by_label("Sensitive").check()
        await form.get_by_role("button", name="Add variable").click()
        await visitor.row("new").wait_for()
    await filter_by(page, "canary")

    kept = await page.evaluate(KEPT)
    assert "teamvars.session" in kept
    assert "canary" not in kept
    shown = await page.evaluate(SHOWN)
    assert "readable-canary" in shown
    assert "secret-canary" not in shown
    held = await heap(page)
    assert "readable-canary" in held
    assert "secret-canary" not in held
    assert "canary" not in site.served.server.log


@pytest.mark.parametrize("way", ["signs out", "idles", "idles without a token"])
async def test_whoever_leaves_leaves_nothing_in_the_document_its_history_or_storage(
    sqlite_site: Site, timeless: Crowd, way: str
) -> None:
    site, tenant = sqlite_site, await two_variables(sqlite_site)
    visitor = await timeless.visitor(site, tenant)
    page = visitor.page
    await page.clock.install()
    await visitor.go("/")
    await visitor.sign_in("writer")
    await visitor.open()
    form = await visitor.retype("old", "typed-canary")
    await filter_by(page, "filter-canary")
    before = await page.evaluate(SHOWN)
    assert "readable-canary" in before
    assert "typed-canary" in before

    if way == "signs out":
        await visitor.button("Sign out").click()
        await page.get_by_text("You are signed out.").first.wait_for()
    else:
        if way == "idles without a token":
            await revoke(tenant, "writer")
            await form.get_by_role("button", name="Save").click()
            await page.get_by_text("What you typed is still there").first.wait_for()
        for _ in range(31):  # the machine is awake all the while
            await page.clock.fast_forward(60_000)
        await page.get_by_text("You were signed out after 30 minutes").first.wait_for()
    await holds_nothing(page, "canary", tenant.tokens["writer"])
    await page.go_back()
    await page.get_by_label("Token").wait_for()
    await holds_nothing(page, "canary", tenant.tokens["writer"])


async def holds_nothing(page: Page, *secrets: str) -> None:
    """Neither the document has any of it, nor what outlives it, nor the memory of its scripts."""
    for held in (await page.evaluate(SHOWN), await page.evaluate(KEPT), await heap(page)):
        assert not [secret for secret in secrets if secret in held]


async def revoke(tenant: Tenant, who: str) -> None:
    """Ends that person's token."""
    mine = f"/users/{tenant.users[who]}/authentication-tokens"
    (token,) = (await tenant.call(who, "GET", mine)).json()["data"]
    gone = await tenant.call(who, "DELETE", f"/authentication-tokens/{token['id']}")
    assert gone.status_code == 204
