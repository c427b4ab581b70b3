"""Files of variables and copies: looked at first, and then made exactly as they were seen."""

import re
from pathlib import Path

from playwright.async_api import APIResponse, Locator, Page, Route, expect

from tests.console.test_variable_sets import NOTHING_SETTLES
from tests.console.visitors import Crowd, Site, held, on_each_engine
from tests.web.test_accesses import grant

TFVARS = 'region = "us"\nports  = [80, 443]\nsame = "x"\nPSK = "rotated"\n'

ENV = """\
# How it is run
  # and how much it tells
  LEVEL=info
CERTIFICATE="-----BEGIN
MIIB==
-----END"
RULES='{
  "all": true
}'
"""

DROP = """(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "prod.env", { type: "text/plain" }));
  for (const kind of ["dragover", "drop"]) {
    document.body.dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""
PASTE_THERE = """(box, text) => {
  box.value = text;
  box.dispatchEvent(new ClipboardEvent("paste", { bubbles: true }));
  return new Promise((done) => setTimeout(done));
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.body.dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


# Whether there is more in an element than it shows.
SCROLLS = "one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight"


def dialog(page: Page) -> Locator:
    """The one that is open."""
    return page.get_by_role("dialog")


async def choose(page: Page, file: Path) -> None:
    """Chooses a file, as it is on the disk."""
    hand = await page.context.new_cdp_session(page)
    chooser = {"expression": "document.querySelector('input[type=file]')"}
    it = (await hand.send("Runtime.evaluate", chooser))["result"]["objectId"]
    await hand.send("DOM.setFileInputFiles", {"files": [str(file)], "objectId": it})
    await hand.detach()


async def outcomes(page: Page) -> dict[str, str]:
    """What a preview says becomes of each key."""
    rows = dialog(page).locator("tbody tr")
    await rows.first.wait_for()
    keys = await rows.locator("bdi").evaluate_all(
        "all => all.filter(one => one.closest('th')).map(one => one.textContent)"
    )
    return dict(zip(keys, await rows.locator(".outcome").all_inner_texts(), strict=True))


async def test_what_is_only_looked_at_is_not_said_to_be_saved_perhaps(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await page.evaluate(PASTE, TFVARS)
    async with held(page, "**/actions/parse") as is_asked_for:
        await visitor.button("Preview").click()
        await is_asked_for()
        await page.keyboard.press("Escape")
        question = page.get_by_role("dialog", name="Leave what you typed?")
        await expect(question).to_have_accessible_description("It has not been saved.")


@on_each_engine
async def test_a_pasted_file_is_looked_at_and_then_applied(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "region", "eu", category=site.tool)
    await site.make(tenant, "same", "x", category=site.tool)
    await site.make(tenant, "PSK", "first", category=site.tool, sensitive=True)
    visitor = await crowd.member(site, tenant, "writer")
    page = visitor.page
    await page.evaluate(PASTE, TFVARS)
    assert await dialog(page).get_by_role("radio", name=".tfvars", exact=True).is_checked()
    await visitor.button("Preview").click()
    changed = {"region": "changed", "ports": "new", "PSK": "changed"}
    assert await outcomes(page) == {**changed, "same": "same"}
    assert set(await site.stored(tenant)) == {"region", "same", "PSK"}
    row = dialog(page).get_by_role("row").filter(has_text="PSK")
    await row.get_by_text("write-only").wait_for()
    assert await row.get_by_text("rotated").count() == 0

    await dialog(page).get_by_role("row").filter(has_text="ports").get_by_label("Sensitive").check()
    async with page.expect_request("**/actions/apply") as request:
        await visitor.button("Apply 3 changes").click()
    headers = (await request.value).headers
    assert headers["idempotency-key"]
    assert headers["if-match"]
    await visitor.row("ports").get_by_text("write-only").wait_for()
    await visitor.row("region").get_by_text("us").wait_for()
    stored = await site.stored(tenant)
    assert (stored["region"]["value"], stored["ports"]["value"]) == ("us", None)
    assert (stored["ports"]["hcl"], stored["ports"]["sensitive"]) == (True, True)
    assert await page.locator("dialog").count() == 0


async def test_lines_of_an_env_file_are_known_whatever_stands_before_and_between_them(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    await visitor.page.evaluate(PASTE, ENV)
    await visitor.button("Preview").click()
    assert await outcomes(visitor.page) == dict.fromkeys(("LEVEL", "CERTIFICATE", "RULES"), "new")
    await visitor.button("Apply 3 changes").click()
    await visitor.row("RULES").wait_for()
    stored = await sqlite_site.stored(tenant)
    assert {one["category"] for one in stored.values()} == {"env"}
    assert stored["CERTIFICATE"]["value"] == "-----BEGIN\nMIIB==\n-----END"


async def test_a_format_that_somebody_has_chosen_outlives_a_paste(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    await visitor.button("Import").click()
    await dialog(page).get_by_role("radio", name=".env").check()
    await page.get_by_label("Contents of the file").evaluate(PASTE_THERE, 'LEVEL = "info"\n')
    await expect(dialog(page).get_by_role("radio", name=".env")).to_be_checked()
    await visitor.button("Preview").click()
    await visitor.button("Apply 1 change").click()
    await visitor.row("LEVEL").wait_for()
    assert (await sqlite_site.stored(tenant))["LEVEL"]["category"] == "env"


async def test_a_dropped_env_file_with_faults_imports_nothing_and_says_where(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    await page.evaluate(DROP, "A=1\nB=$HOME\n")
    assert await dialog(page).get_by_role("radio", name=".env").is_checked()
    await visitor.button("Preview").click()
    await dialog(page).get_by_text("Line 2, column 3").wait_for()
    assert await dialog(page).locator(".editor.marked").count() == 1
    await page.get_by_label("Contents of the file").fill("A=1\nB='$HOME'\n")
    await visitor.button("Preview").click()
    assert await outcomes(page) == {"A": "new", "B": "new"}
    await visitor.button("Apply 2 changes").click()
    await visitor.row("B").get_by_text("$HOME").wait_for()
    assert {one["category"] for one in (await site.stored(tenant)).values()} == {"env"}


async def test_a_file_that_says_something_else_by_now_is_chosen_again(
    sqlite_site: Site, crowd: Crowd, tmp_path: Path
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.button("Import").click()
    contents = visitor.page.get_by_label("Contents of the file")
    await contents.wait_for()
    for said in ("A=1\n", "A=2\n"):
        (tmp_path / "file.env").write_text(said)
        await choose(visitor.page, tmp_path / "file.env")
        await expect(contents).to_have_value(said)


async def test_a_file_that_cannot_be_read_is_told_as_such(
    sqlite_site: Site, crowd: Crowd, tmp_path: Path
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.button("Import").click()
    await visitor.page.get_by_label("Contents of the file").wait_for()
    await choose(visitor.page, tmp_path)
    await dialog(visitor.page).get_by_text(f"{tmp_path.name} cannot be read.").wait_for()


async def test_what_a_dialog_is_told_makes_room_for_nothing_but_itself(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    await visitor.button("Import").click()
    await page.get_by_label("Contents of the file").fill("A=1\n")
    await expect(page.locator(".veil")).to_have_count(0)
    await page.evaluate(NOTHING_SETTLES)
    await page.route(re.compile("/(actions/parse|healthz)$"), lambda route: route.abort())
    await visitor.button("Preview").click()
    await dialog(page).get_by_text("The server cannot be reached.").wait_for()
    await expect(page.locator(".veil").first).to_be_attached()
    assert not await dialog(page).evaluate(SCROLLS)


async def test_a_file_is_dropped_on_the_dialog_that_asks_for_one(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.button("Import").click()
    contents = visitor.page.get_by_label("Contents of the file")
    await contents.wait_for()
    await visitor.page.evaluate(DROP, "A=1\n")
    await expect(contents).to_have_value("A=1\n")
    await expect(visitor.page.get_by_role("radio", name=".env")).to_be_checked()


async def test_lines_of_json_are_pasted_as_others_are(sqlite_site: Site, crowd: Crowd) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    await visitor.page.evaluate(PASTE, text := '{\n  "region": "eu"\n}\n')
    await expect(visitor.page.get_by_label("Contents of the file")).to_have_value(text)
    await expect(visitor.page.get_by_role("radio", name=".tfvars.json")).to_be_checked()


async def test_all_of_a_long_file_is_seen_and_left_out(sqlite_site: Site, timeless: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await timeless.member(site, tenant)
    page = visitor.page
    many = "".join(f"KEY_{number:03}=x\n" for number in range(200))
    await page.evaluate(PASTE, f"{many}Y_TOKEN=mine\nZ_TOKEN=mine\n")
    await visitor.button("Preview").click()
    more = visitor.button("Show 2 more")
    await more.wait_for()
    await expect(page.locator(".veil")).to_have_count(0)
    await more.dblclick(position={"x": 20, "y": 30})  # the second is where "Apply" is by then
    row = dialog(page).get_by_role("row").filter(has_text="Z_TOKEN")
    await expect(row.get_by_label("Sensitive")).to_be_checked()
    await row.get_by_label("Sensitive").uncheck()
    await dialog(page).get_by_label("Import Y_TOKEN").uncheck()
    await visitor.button("Apply 201 changes").click()
    await dialog(page).wait_for(state="detached")
    stored = await site.stored(tenant)
    assert "Y_TOKEN" not in stored
    assert not stored["Z_TOKEN"]["sensitive"]


async def test_a_preview_shows_what_is_there_whoever_looks_elsewhere_meanwhile(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    id_ = await site.make(tenant, "LEVEL", "loaded")
    visitor = await crowd.member(site, tenant)
    page = visitor.page
    await site.change(tenant, id_, value="theirs")
    await page.evaluate(PASTE, "LEVEL=mine\nOTHER=mine\n")
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    await visitor.button("Preview").click()
    await expect(dialog(page).locator(".before")).to_have_text("theirs")


async def test_what_is_applied_is_what_was_seen(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await crowd.member(site, tenant)
    await visitor.button("Import").click()
    await visitor.page.get_by_label("Contents of the file").fill("A=1\nB=2\n")
    await visitor.page.get_by_role("radio", name=".env").check()
    await visitor.button("Preview").click()
    assert await outcomes(visitor.page) == {"A": "new", "B": "new"}
    await site.make(tenant, "A", "of somebody else")
    await visitor.button("Apply 2 changes").click()
    await dialog(visitor.page).get_by_text("Somebody has changed variables here").wait_for()
    assert await outcomes(visitor.page) == {"A": "changed", "B": "new"}
    assert (await site.stored(tenant))["A"]["value"] == "of somebody else"
    await visitor.button("Apply 2 changes").click()
    await visitor.row("B").wait_for()
    assert (await site.stored(tenant))["A"]["value"] == "1"


async def test_an_apply_whose_answer_is_lost_is_sent_again_and_happens_once(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    lost: list[APIResponse] = []

    async def lose(route: Route) -> None:
        is_real = '"dry-run":false' in (route.request.post_data or "")
        if is_real and not lost:
            lost.append(await route.fetch())
            await route.abort("connectionreset")
        else:
            await route.continue_()

    await visitor.page.route("**/actions/apply", lose)
    await visitor.page.evaluate(PASTE, 'a = "1"\nb = "2"\n')
    await visitor.button("Preview").click()
    await visitor.button("Apply 2 changes").click()
    await visitor.row("a").wait_for()
    assert len(lost) == 1
    events = f"/workspaces/{tenant.workspaces['network']}/audit-events"
    assert len((await tenant.call("owner", "GET", events)).json()["data"]) == 2
    visitor.complaints.clear()  # the browser notes the request that broke


async def test_an_item_that_is_refused_is_named(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    served = {"data": {"attributes": {"faults": [], "items": [
        {"key": "good", "value": "", "category": "env", "hcl": False},
        {"key": "no good", "value": "", "category": "env", "hcl": False},
    ]}}}  # fmt: skip
    await visitor.page.route("**/actions/parse", lambda route: route.fulfill(json=served))
    await visitor.page.evaluate(PASTE, "x=1\ny=2")
    await visitor.button("Preview").click()
    errors = dialog(visitor.page).get_by_role("alert")
    await expect(errors).to_contain_text(re.compile("no good: .*white space"))
    assert await errors.get_by_role("listitem").count() == 1


async def test_an_owner_copies_all_and_others_what_can_be_read(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "LEVEL", "debug", workspace="network")
    await site.make(tenant, "PSK", "hidden", workspace="network", sensitive=True)
    await site.make(tenant, "LEVEL", "info", workspace="payments")
    owner = await crowd.member(site, tenant, workspace="payments")
    await owner.button("Copy from …").click()
    await owner.page.get_by_label("From workspace").fill("network")
    await owner.button("Preview").click()
    assert await outcomes(owner.page) == {"LEVEL": "same", "PSK": "new"}
    await owner.button("Back").click()
    await owner.page.get_by_role("radio", name="Replace").check()
    await owner.button("Preview").click()
    assert await outcomes(owner.page) == {"LEVEL": "changed", "PSK": "new"}
    await owner.button("Copy 2 variables").click()
    await owner.row("PSK").get_by_text("write-only").wait_for()
    assert (await site.stored(tenant, "payments"))["LEVEL"]["value"] == "debug"

    await grant(tenant, "writers", "write", "payments")
    await site.make(tenant, "LEVEL_2", "x", workspace="payments")
    writer = await crowd.member(site, tenant, "writer")
    await writer.button("Copy from …").click()
    await writer.page.get_by_label("From workspace").fill("payments")
    await writer.button("Preview").click()
    await writer.page.get_by_text("1 sensitive variable stays behind").first.wait_for()
    assert await outcomes(writer.page) == {"LEVEL": "same", "LEVEL_2": "new"}
