"""The variables of a workspace: found, added, edited and deleted in their place."""

import asyncio
import json
import re
from typing import Any

import pytest
from playwright.async_api import Request, Route, expect

from tests.console.visitors import Crowd, Site, held, on_each_engine


def attributes_of(request: Request) -> Any:
    """What a document says of a variable."""
    return json.loads(request.post_data or "")["data"]["attributes"]


@on_each_engine
async def test_a_variable_is_added_edited_and_deleted_in_its_place(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.member(site, tenant, "writer")
    page = visitor.page
    await page.get_by_text("No variables yet").first.wait_for()

    form = await visitor.add("motd", "first line\n  second line")
    await form.get_by_role("radio", name="env").check()
    await form.get_by_label("Description").fill("Shown at login")
    await form.get_by_role("button", name="Add variable").click()
    row = visitor.row("motd")
    await row.get_by_text("2 lines").wait_for()
    await expect(page.get_by_role("button", name="Edit motd")).to_be_focused()
    stored = (await site.stored(tenant))["motd"]
    assert stored["value"] == "first line\n  second line"
    assert (stored["category"], stored["description"]) == ("env", "Shown at login")

    form = await visitor.edit("motd")
    await expect(form.get_by_label("Value")).to_be_focused()
    await form.get_by_label("Value").fill("one line")
    await form.get_by_label("Value").press("Control+Enter")
    await row.get_by_text("one line").wait_for()
    assert (await site.stored(tenant))["motd"]["value"] == "one line"

    await visitor.button("Delete motd").click()
    await expect(visitor.button("Undo: motd")).to_be_focused()
    await visitor.button("Delete now: motd").click()
    await page.get_by_text("No variables yet").first.wait_for()
    assert await site.stored(tenant) == {}


async def test_saving_what_was_not_changed_changes_nothing(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "crlf", "a\r\nb", description="x\ny")
    before = await site.stored(tenant)
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("crlf")
    await form.get_by_role("button", name="Save").click()
    await form.wait_for(state="detached")
    form = await visitor.edit("crlf")
    await form.get_by_label("Key").fill("kept")
    await form.get_by_role("button", name="Save").click()
    await visitor.row("kept").wait_for()
    stored = await site.stored(tenant)
    assert (stored["kept"]["value"], stored["kept"]["description"]) == ("a\r\nb", "x\ny")
    assert before["crlf"]["version-id"] != stored["kept"]["version-id"]


@on_each_engine
async def test_filter_tabs_and_order_find_a_variable(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "B_KEY", "10.0.0.1", category="env")
    await site.make(tenant, "a_key", "zz", category=site.tool, description="Where it runs")
    await site.make(tenant, "c_key", "[1]", category=site.tool, hcl=True)
    visitor = await crowd.member(site, tenant, "reader")
    page = visitor.page

    async def keys() -> list[str]:
        return await page.locator("tbody .name").all_text_contents()

    assert await keys() == ["B_KEY", "a_key", "c_key"]
    await visitor.button("Key").click()
    assert await keys() == ["c_key", "a_key", "B_KEY"]
    assert await page.locator("th.key[scope=col]").get_attribute("aria-sort") == "descending"
    await visitor.button("Value").click()
    assert await keys() == ["B_KEY", "c_key", "a_key"]

    await page.get_by_role("radio", name=re.compile(f"^{site.tool} ?2")).check()
    assert await keys() == ["c_key", "a_key"]
    for text, found in (("WHERE it", ["a_key"]), ("key [1", ["c_key"]), ("10.0", [])):
        await page.get_by_label("Filter variables").fill(text)
        assert await keys() == found
    await page.get_by_text("Nothing has all of these words").first.wait_for()
    await visitor.button("Show all").click()
    assert len(await keys()) == 3


async def test_who_may_only_read_is_offered_nothing_else(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "motd", "first line\nsecond line")
    await site.make(tenant, "psk", "unseen", sensitive=True)
    visitor = await crowd.member(site, tenant, "reader")
    await visitor.page.get_by_text("read only").first.wait_for()
    for name in ("Add variable", "Import", "Copy from …", "Edit motd", "Delete motd"):
        assert await visitor.button(name).count() == 0
    await visitor.button("Show motd").click()
    shown = visitor.page.get_by_label("Value of motd")
    assert await shown.input_value() == "first line\nsecond line"
    await expect(shown).not_to_be_editable()
    await visitor.button("Close").click()
    await visitor.button("Show psk").click()
    await visitor.page.get_by_text("nobody reads it back").first.wait_for()


@on_each_engine
async def test_every_error_stands_at_the_field_it_is_about(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "taken", category=site.tool)
    visitor = await crowd.member(site, tenant)
    form = await visitor.add("two words", "")
    await form.get_by_label("Description").fill("x" * 513)
    await form.get_by_role("button", name="Add variable").click()
    key, description = form.get_by_label("Key"), form.get_by_label("Description")
    await expect(key).to_have_attribute("aria-invalid", "true")
    await expect(key).to_be_focused()
    await expect(key).to_have_accessible_description(re.compile("white space"))
    await expect(description).to_have_accessible_description(re.compile("512"))
    assert await description.input_value() == "x" * 513

    await key.fill("taken")
    await description.fill("")
    await form.get_by_role("button", name="Add variable").click()
    await expect(key).to_have_accessible_description(re.compile("already has"))
    assert await description.get_attribute("aria-invalid") is None


async def test_whoever_is_led_to_a_field_sees_it_and_its_error_in_a_low_window(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    page, key = visitor.page, visitor.page.get_by_label("Key", exact=True)
    await page.set_viewport_size({"width": 360, "height": 400})
    await visitor.button("Add variable").click()
    await expect(key).to_be_focused()
    await expect(key).to_be_in_viewport(ratio=1)
    await key.fill("a b")
    sends = page.get_by_role("form").get_by_role("button", name="Add variable")
    await sends.click()
    await expect(key).to_be_focused()
    await expect(page.locator(".field .error")).to_be_in_viewport(ratio=1)


async def test_line_breaks_that_a_field_does_not_keep_are_kept(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await sqlite_site.make(tenant, "script", "first\r\nsecond\r\n!")
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.edit("script")
    await form.get_by_label("Value").fill("first\nsecond, changed\n!")
    await form.get_by_role("button", name="Save").click()
    await form.wait_for(state="detached")
    stored = (await sqlite_site.stored(tenant))["script"]["value"]
    assert stored == "first\r\nsecond, changed\r\n!"


async def test_code_evaluates_to_all_digits_of_a_long_number(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    form = await visitor.add("id", "9007199254740993 + 2")
    await form.get_by_label("HCL").check()
    await expect(form.locator(".evaluated")).to_have_text("9007199254740995")


async def test_code_is_tried_shortly_after_the_last_key_and_one_at_a_time(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, "writer")
    under_way, most, sent = 0, 0, []
    asked, typed = asyncio.Event(), asyncio.Event()

    async def note(route: Route) -> None:
        nonlocal under_way, most
        under_way, most = under_way + 1, max(most, under_way + 1)
        sent.append(attributes_of(route.request)["value"])
        asked.set()
        await typed.wait()
        await route.continue_()
        under_way -= 1

    await visitor.page.route("**/actions/check-value", note)
    form = await visitor.add("zones", "")
    await form.get_by_text("HCL", exact=True).click()
    await form.get_by_label("Value").fill('["a",\n"b"\n')
    await asked.wait()
    await form.get_by_label("Value").press_sequentially('"c"]')
    typed.set()
    await form.get_by_text("Line 3, column 1").wait_for()
    assert await form.locator(".editor.marked").count() == 1
    assert (
        await form.locator(".editor").evaluate("one => one.style.getPropertyValue('--line')") == "2"
    )
    assert sent == ['["a",\n"b"\n', '["a",\n"b"\n"c"]']
    assert most == 1

    await form.get_by_label("Key").fill("zones")
    await form.get_by_role("button", name="Add variable").click()
    fault = form.locator(".error:visible")
    await expect(form.get_by_label("Value")).to_have_attribute("aria-invalid", "true")
    await expect(fault).to_have_count(1)  # and not once more below the field
    await form.get_by_label("Value").fill('{ a = 2 * 3, b = "x" }')
    await expect(fault).to_have_count(0)
    evaluated = form.locator(".evaluated")
    await evaluated.wait_for()
    assert await evaluated.inner_text() == '{\n  "a": 6,\n  "b": "x"\n}'
    assert await form.locator(".editor.marked").count() == 0
    await form.get_by_label("Value").fill("[var.image]")
    await form.get_by_text("it uses var.image").wait_for()


async def test_a_secret_is_written_and_replaced_and_never_read(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await crowd.member(site, tenant, "writer")
    form = await visitor.add("PSK", "correct horse")
    await form.get_by_text("Sensitive", exact=True).click()
    await form.get_by_text("This cannot be undone").wait_for()
    await form.get_by_role("button", name="Add variable").click()
    row = visitor.row("PSK")
    await row.get_by_text("write-only").wait_for()

    form = await visitor.edit("PSK")
    assert await form.get_by_label("New value").count() == 0
    await expect(form.get_by_label("Sensitive")).to_be_disabled()
    await form.get_by_label("Description").fill("Of the VPN")
    await form.get_by_role("button", name="Save").click()
    await row.get_by_text("Of the VPN").wait_for()
    first = (await site.stored(tenant))["PSK"]
    assert first["value"] is None

    form = await visitor.edit("PSK")
    async with visitor.page.expect_request("**/vars/*") as request:
        await form.get_by_role("button", name="Replace value").click()
        await form.get_by_label("New value").fill("battery staple")
        await form.get_by_role("button", name="Save").click()
    assert attributes_of(await request.value) == {"value": "battery staple"}
    await form.wait_for(state="detached")
    await row.get_by_text("saved", exact=True).wait_for()
    assert (await site.stored(tenant))["PSK"]["version-id"] != first["version-id"]


@pytest.mark.parametrize("answer", ["lost", "none"])
async def test_a_connection_that_breaks_says_so_and_what_was_sent_happens_once(
    sqlite_site: Site, crowd: Crowd, answer: str
) -> None:
    """Also where the change was made and its answer was lost."""
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    keys = []
    # Nor does the page hear that the server is back, before it is.
    broken = re.compile("/(vars|healthz)$")

    async def fail(route: Route) -> None:
        if route.request.method == "POST":
            keys.append(route.request.headers["idempotency-key"])
            if answer == "lost":
                await route.fetch()
        await route.abort("connectionreset")

    await visitor.page.route(broken, fail)
    form = await visitor.add("once", "typed by hand")
    await form.get_by_role("button", name="Add variable").click()
    await form.get_by_text("Nothing you typed is lost").wait_for()
    await visitor.page.get_by_role("status").get_by_text("cannot be reached").wait_for()
    assert await form.get_by_label("Value").input_value() == "typed by hand"
    await visitor.page.unroute(broken)
    await form.get_by_role("button", name="Add variable").click()
    await visitor.row("once").wait_for()
    await expect(visitor.page.get_by_text("cannot be reached")).to_have_count(0)
    assert len(set(keys)) == 1
    assert (await sqlite_site.stored(tenant))["once"]["value"] == "typed by hand"
    # The browser notes each request that broke.
    visitor.complaints.clear()


async def test_a_page_that_fails_says_so_in_words_that_are_not_the_browsers(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.member(sqlite_site, await sqlite_site.tenant())
    form = await visitor.add("once", "typed by hand")
    full = "throw new DOMException('', 'QuotaExceededError')"
    await visitor.page.evaluate(f"() => {{ crypto.getRandomValues = () => {{ {full} }} }}")
    await form.get_by_role("button", name="Add variable").click()
    await form.get_by_text("This page has failed.").wait_for()


async def test_a_deletion_waits_ten_seconds_for_somebody_to_think_better_of_it(
    sqlite_site: Site, timeless: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "region", "eu")
    visitor = await timeless.visitor(site, tenant)
    await visitor.page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    await visitor.button("Delete region").click()
    await visitor.page.clock.fast_forward(9_000)
    assert "region" in await site.stored(tenant)
    await visitor.page.clock.fast_forward(1_000)
    await visitor.page.get_by_text("region is deleted.").wait_for()
    assert await site.stored(tenant) == {}


async def test_what_is_being_deleted_is_offered_no_more_to_be_had_back(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "region", "eu")
    visitor = await crowd.member(site, tenant)
    await visitor.button("Delete region").click()
    async with held(visitor.page, "**/vars/*") as is_sent:
        await visitor.button("Delete now: region").click()
        await is_sent()
        await expect(visitor.row("region")).to_contain_text("Deleting …")
        await expect(visitor.row("region").get_by_role("button")).to_have_count(0)
    await visitor.row("region").wait_for(state="detached")


async def test_whoever_waits_for_long_may_stop_and_send_the_same_again(
    sqlite_site: Site, timeless: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    visitor = await timeless.visitor(site, tenant)
    await visitor.page.clock.install()
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    keys = []

    async def swallow(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        await route.fetch()  # done, and nobody is told

    await visitor.page.route(re.compile("/vars$"), swallow, times=1)
    form = await visitor.add("once", "x")
    async with visitor.page.expect_request(re.compile("/vars$")) as request:
        await form.get_by_role("button", name="Add variable").click()
    await request.value
    await visitor.page.clock.fast_forward(10_000)
    await form.get_by_role("button", name="Stop waiting").click()
    await form.get_by_text("It may have been done all the same").wait_for()
    async with visitor.page.expect_request(re.compile("/vars$")) as request:
        await form.get_by_role("button", name="Add variable").click()
    assert (await request.value).headers["idempotency-key"] == keys[0]
    await visitor.row("once").wait_for()
    assert len(await site.stored(tenant)) == 1


async def test_whoever_leaves_with_something_typed_is_asked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    form = await visitor.add("half", "a thought")
    await visitor.page.get_by_role("link", name=tenant.organization).click()
    await visitor.button("Stay").click()
    assert await form.get_by_label("Value").input_value() == "a thought"
    await visitor.page.get_by_role("link", name=tenant.organization).click()
    await visitor.button("Leave it").click()
    await visitor.page.get_by_role("heading", name=tenant.organization).wait_for()


async def test_neither_escape_nor_back_loses_what_was_typed_unasked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant, workspace="payments")
    await visitor.page.get_by_role("link", name=tenant.organization).click()
    await visitor.page.get_by_role("link", name="network").click()
    await visitor.button("Import").click()
    contents = visitor.page.get_by_label("Contents of the file")
    await contents.fill("A=1\n")
    for _ in range(3):
        await visitor.page.keyboard.press("Escape")
        await visitor.button("Stay").wait_for()
        await visitor.page.keyboard.press("Escape")
        await visitor.button("Stay").wait_for(state="detached")
        assert await contents.input_value() == "A=1\n"
    await visitor.page.evaluate("history.back()")
    await visitor.button("Stay").click()
    assert await contents.input_value() == "A=1\n"
    await visitor.page.keyboard.press("Escape")
    await visitor.button("Leave it").click()
    await expect(visitor.page.locator("dialog")).to_have_count(0)


async def test_whoever_comes_back_to_the_page_sees_what_others_have_changed(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "first", "x")
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("first")
    await form.get_by_label("Value").fill("typed")
    await site.make(tenant, "second", "y")
    for status in (200, 304):
        async with visitor.page.expect_response("**/vars") as response:
            await visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        assert (await response.value).status == status
        await visitor.row("second").wait_for()
        assert await form.get_by_label("Value").input_value() == "typed"


async def test_a_list_that_comes_late_takes_back_nothing_that_was_saved(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "first", "theirs")
    visitor = await crowd.member(site, tenant)
    await site.make(tenant, "second")
    is_read, is_over = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        answer = await route.fetch()
        is_read.set()
        await is_over.wait()
        await route.fulfill(response=answer)

    await visitor.page.route("**/vars", hold, times=1)
    await visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await is_read.wait()
    form = await visitor.edit("first")
    await form.get_by_label("Value").fill("mine")
    await form.get_by_role("button", name="Save").click()
    await form.wait_for(state="detached")
    is_over.set()
    await visitor.row("second").wait_for()
    await expect(visitor.row("first")).to_contain_text("mine")


async def test_a_late_answer_ends_no_form_of_the_same_variable_that_was_opened_since(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await site.make(tenant, "region", "eu")
    visitor = await crowd.member(site, tenant)
    form = await visitor.edit("region")
    await form.get_by_label("Value").fill("us")
    one = "**/vars/*"
    async with visitor.page.expect_response(one), held(visitor.page, one) as is_sent:
        await form.get_by_role("button", name="Save").click()
        await is_sent()
        await form.get_by_role("button", name="Cancel").click()
        form = await visitor.edit("region")
        await form.get_by_label("Value").fill("typed since")
    await visitor.page.get_by_text("region is saved.").wait_for(state="attached")
    await expect(form.get_by_label("Value")).to_have_value("typed since")
    await form.get_by_role("button", name="Cancel").click()
    await expect(visitor.row("region")).to_contain_text("us")


async def test_a_user_for_whom_no_more_answers_are_kept_goes_on_editing(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """A pipeline with the same user's token may have used up the keys."""
    tenant = await sqlite_site.tenant()
    visitor = await crowd.member(sqlite_site, tenant)
    refusal = {"errors": [{"status": "429", "code": "too_many_requests", "detail": "1,000 kept."}]}

    async def refuse_keys(route: Route) -> None:
        if "idempotency-key" in route.request.headers:
            await route.fulfill(status=429, json=refusal)
        else:
            await route.continue_()

    await visitor.page.route(re.compile("/vars$"), refuse_keys)
    form = await visitor.add("fine", "all the same")
    await form.get_by_role("button", name="Add variable").click()
    await visitor.row("fine").wait_for()
