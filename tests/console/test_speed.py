"""What one waits for, printed (`-s`), and what keeps it short: little is drawn, little is asked."""

from playwright.async_api import Route, expect

from tests.console.test_imports import PASTE
from tests.console.test_variable_sets import make_set
from tests.console.visitors import Crowd, Site, held
from tests.support.tenant import Tenant

VARIABLES = 5_000
DRAWN = 30
"""How many of them are drawn at most at once; the others follow when nobody types."""
PIECE = 400
"""How many rows of a preview are there at most once one asks for all."""
FIRST_PAGE_BYTES = 90 * 1024
WAITED_FOR = 3
"""How many files of modules there are at most before a page asks the API."""
ASKED = 12
"""What the page of a workspace asks for at most, from its own file to its last list."""
OF_ANOTHER = "the server may have another release by now. Load the page again."

# From the key to the picture: the frame after the one that the change is drawn in has begun.
PAINT = """(text) => new Promise((resolve) => {
  const input = document.querySelector("input[type=search]");
  const begun = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const drawn = document.querySelectorAll("tbody tr").length;
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve([performance.now() - begun, drawn]);
    channel.port2.postMessage(null);
  });
})"""

SHOW_MORE = """() => {
  const begun = performance.now();
  const buttons = [...document.querySelectorAll("dialog button")];
  buttons.find((one) => one.textContent.startsWith("Show")).click();
  const drawn = document.querySelectorAll("dialog tbody tr").length;
  return [performance.now() - begun, drawn];
}"""

FILES = """performance.getEntriesByType("resource").map((one) => new URL(one.name).pathname)
  .filter((one) => one.startsWith("/app/"))"""


async def fill(tenant: Tenant) -> None:
    """As many variables as a workspace has room for."""
    items = [
        {
            "type": "vars",
            "attributes": {"key": f"KEY_{number:04}", "category": "env", "value": "x" * 60},
        }
        for number in range(VARIABLES)
    ]
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    assert (await tenant.call("owner", "POST", path, {"data": items})).is_success


async def test_typing_in_the_filter_paints_at_once(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    await fill(tenant)
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.row("KEY_0000").wait_for()
    # What is typed, and how many rows are there before.
    words = {"K": 5000, "49": 5000, "499": 199}
    rows = visitor.page.locator("tbody tr")
    took = []
    for word, found in words.items():
        await expect(rows).to_have_count(found)
        ms, drawn = await visitor.page.evaluate(PAINT, word)
        took.append(ms)
        assert drawn <= DRAWN
    print(f"typing in the filter of {VARIABLES}: {', '.join(f'{ms:.0f}' for ms in took)} ms")

    await visitor.page.get_by_label("Filter variables").fill("key_49")
    await visitor.page.get_by_text("100 variables found").first.wait_for()
    await visitor.page.get_by_label("Filter variables").fill("")
    await expect(rows).to_have_count(VARIABLES)


async def test_the_rest_of_a_long_preview_comes_in_pieces(sqlite_site: Site, crowd: Crowd) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await page.evaluate(PASTE, "".join(f"KEY_{number:04}=x\n" for number in range(VARIABLES)))
    await visitor.button("Preview").click()
    await visitor.button("Show 4,800 more").wait_for()
    ms, drawn = await page.evaluate(SHOW_MORE)
    print(f"the first rows of {VARIABLES} more: {ms:.0f} ms")
    assert drawn <= PIECE
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_count(VARIABLES)


async def test_the_first_page_can_be_used_at_once(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.page.reload()
    await visitor.page.get_by_role("heading", name="network").wait_for()
    took = await visitor.page.evaluate(
        "performance.getEntriesByType('resource').reduce((last, one) =>"
        " Math.max(last, one.responseEnd), 0)"
    )
    asked = await visitor.page.evaluate("performance.getEntriesByType('resource').map(o => o.name)")
    print(f"the page of a workspace, from the click to its last answer: {took:.0f} ms")
    assert len([one for one in asked if "/api/" in one]) <= ASKED, asked


async def test_the_first_page_is_small(sqlite_site: Site, crowd: Crowd) -> None:
    """The modules that it asks for beside the API are in it, and the headers of all."""
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.page.reload()
    await visitor.page.get_by_role("heading", name="network").wait_for()
    path = f"/app/{tenant.organization}/workspaces/network"
    asked = await visitor.page.evaluate(FILES)
    assert any(one.endswith("/variables.js") for one in asked)
    sizes = []
    with sqlite_site.served.server.client() as client:
        shell = client.get(path).text
        assert shell.count("modulepreload") <= WAITED_FOR
        for one in (path, *asked):
            with client.stream("GET", one, headers={"Accept-Encoding": "gzip"}) as answer:
                sizes.append(len(b"".join(answer.iter_raw())) + len(str(answer.headers)))
    print(f"the first page: {sum(sizes) / 1024:.1f} KiB in {len(sizes)} answers")
    assert sum(sizes) < FIRST_PAGE_BYTES


async def test_what_comes_late_and_is_of_another_release_is_not_said_to_be_unreachable(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    newer = 'import { $newer } from "./main.js"; export const importDialog = $newer;'
    await page.route(
        "**/import_dialog.js",
        lambda route: route.fulfill(content_type="text/javascript", body=newer),
    )
    await visitor.button("Import").click()
    await page.get_by_text(OF_ANOTHER).wait_for()
    await expect(page.get_by_text("cannot be reached")).to_have_count(0)


async def test_what_comes_late_and_is_there_no_more_is_not_said_to_be_unreachable(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """A release may have one module less."""
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page

    async def lacks(route: Route) -> None:
        await route.continue_(url=route.request.url.replace("import_dialog", "no_more"))

    await page.route("**/import_dialog.js", lacks)
    await visitor.button("Import").click()
    await page.get_by_text(OF_ANOTHER).wait_for()
    await expect(page.get_by_text("cannot be reached")).to_have_count(0)
    assert all("404" in one for one in visitor.complaints)
    visitor.complaints.clear()


async def test_a_button_shows_that_it_waits_for_an_answer(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    set_id = await make_set(tenant, "Shared", "network")
    visitor = await crowd.arrived(sqlite_site, tenant, f"varsets/{set_id}/attached")
    detach = visitor.button("Detach it from network")
    await detach.wait_for()
    async with held(visitor.page, "**/relationships/workspaces"):
        await detach.click()
        await expect(detach).to_have_attribute("aria-busy", "true")
    await expect(detach).to_have_count(0)


async def test_what_comes_late_and_lacks_what_is_asked_of_it_is_not_passed_over_in_silence(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.page.route(
        "**/import_dialog.js",
        lambda route: route.fulfill(content_type="text/javascript", body="export const other = 1;"),
    )
    await visitor.button("Import").click()
    await visitor.page.get_by_text("load the page again").wait_for()
    assert all("importDialog" in one for one in visitor.complaints)  # for the browser's log
    visitor.complaints.clear()


async def test_what_comes_late_and_cannot_be_fetched_is_said_and_comes_once_it_can(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    await page.route("**/*_dialog.js", lambda route: route.abort())
    await page.route("**/members.js", lambda route: route.abort())
    await page.route("**/healthz", lambda route: route.abort())
    await visitor.button("Import").click()
    await page.get_by_text("The server could not be reached. Nothing you typed is lost").wait_for()
    await page.unroute("**/*_dialog.js")
    await page.unroute("**/healthz")
    await visitor.button("Import").click()
    await page.get_by_label("Contents of the file").wait_for()
    await page.keyboard.press("Escape")

    await visitor.go(f"/{tenant.organization}/teams")
    await page.get_by_role("link", name="Members", exact=True).click()
    await page.get_by_role("heading", name="That did not work").wait_for()
    await page.unroute("**/members.js")
    await visitor.button("Try again").click()
    await page.get_by_role("heading", name=tenant.organization).wait_for()
    visitor.complaints[:] = [one for one in visitor.complaints if "ERR_FAILED" not in one]
