"""Where somebody approves a program of theirs: it says whose, where and what."""

import asyncio
from html import escape
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import httpx
import pytest
from playwright.async_api import BrowserContext, Route, expect

from teamvars.domain.logins import CLIENT
from tests.console.visitors import Crowd, Site
from tests.support.logging_in import BY_DEVICE, REDIRECT, Program
from tests.support.patience import HANGS


async def test_a_program_beside_the_browser_is_approved(sqlite_site: Site, crowd: Crowd) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    page, program, brought = visitor.page, Program(tenant), ""

    async def come_back(route: Route) -> None:
        nonlocal brought
        brought = route.request.url
        await route.fulfill(body="Go back to your terminal.")

    await page.route(f"{REDIRECT}**", come_back)
    await page.goto(opened(sqlite_site, program))
    await visitor.paste(tenant.tokens["writer"])
    question = page.get_by_role("heading", name="Log in laptop?")
    await question.wait_for()
    told = page.locator("dl")
    name = f"writer-{tenant.organization.removeprefix('org-')}"
    await expect(told).to_contain_text(name)
    await expect(told).to_contain_text(f"all that you may do in {tenant.organization}")
    await expect(page.get_by_text("If a link led you here")).to_be_visible()
    assert brought == ""
    await visitor.button("Approve").click()
    await page.get_by_text("Go back to your terminal.").wait_for()
    said = parse_qs(urlsplit(brought).query)
    assert said["state"] == [program.state]
    assert said["iss"] == [sqlite_site.url]
    assert await redeemed(sqlite_site, program.form(said["code"][0])) == 200


async def test_what_is_refused_is_brought_back_and_what_is_no_question_is_not_asked(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    page, program, brought = visitor.page, Program(tenant), []

    async def come_back(route: Route) -> None:
        brought.append(route.request.url)
        await route.fulfill(body="Go back to your terminal.")

    await page.route(f"{REDIRECT}**", come_back)
    await page.route("http://evil.test/**", come_back)
    await page.goto(opened(sqlite_site, program, redirect_uri="http://evil.test/callback"))
    await visitor.paste(tenant.tokens["writer"])
    await page.get_by_text("That did not work").wait_for()
    assert await visitor.button("Refuse").count() == 0
    await page.goto(opened(sqlite_site, program))
    await visitor.button("Refuse").click()
    await page.get_by_text("Go back to your terminal.").wait_for()
    (back,) = brought
    assert parse_qs(urlsplit(back).query)["error"] == ["access_denied"]
    assert back.startswith(REDIRECT)


async def test_a_program_is_approved_once_however_often_the_button_is_pressed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """The second answer would make the code void that the first one has brought."""
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    page, program = visitor.page, Program(tenant)
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url))
    await page.route(f"{REDIRECT}**", lambda route: route.fulfill(body="Go back."))
    await page.goto(opened(sqlite_site, program))
    await visitor.paste(tenant.tokens["writer"])
    await visitor.button("Approve").wait_for()
    await visitor.button("Approve").evaluate("one => { one.click(); one.click(); }")
    await page.get_by_text("Go back.").wait_for()
    assert len([one for one in sent if one.endswith("/actions/approve")]) == 1


@pytest.mark.parametrize("word", ["Approve", "Refuse"])
async def test_the_code_of_a_terminal_is_typed_and_judged(
    sqlite_site: Site, crowd: Crowd, word: str
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    page = visitor.page
    said = await begun(sqlite_site)
    assert said["verification_uri"] == f"{sqlite_site.url}/app/settings/device"
    await visitor.go("/settings/device")
    await visitor.sign_in("writer")
    await page.get_by_label("Code").fill("BCDFG-HJKLM")
    await visitor.button("Go on").click()
    await page.get_by_text("No program waits with this code.").wait_for()
    await page.get_by_label("Code").fill(said["user_code"].lower())
    await visitor.button("Go on").click()
    await page.get_by_role("heading", name="Log in build-7?").wait_for()
    told = page.locator("dl")
    for part in (said["user_code"], "127.0.0.1", f"all that you may do in {tenant.organization}"):
        await expect(told).to_contain_text(part)
    await expect(page.get_by_text("Whoever sent it to you would act as you")).to_be_visible()
    await visitor.button(word).click()
    await page.get_by_text(
        "Approved. Go back" if word == "Approve" else "Refused. The"
    ).first.wait_for()
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    shown = {"client_id": CLIENT, "grant_type": BY_DEVICE, "device_code": said["device_code"]}
    assert await redeemed(sqlite_site, shown) == (200 if word == "Approve" else 400)


async def test_a_code_is_approved_once_however_often_the_button_is_pressed(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.visitor(sqlite_site, await sqlite_site.tenant())
    page = visitor.page
    code = (await begun(sqlite_site))["user_code"]
    await visitor.go("/settings/device")
    await visitor.sign_in("writer")
    await page.get_by_label("Code").fill(code)
    await visitor.button("Go on").click()
    await visitor.button("Approve").wait_for()
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url))
    await visitor.button("Approve").evaluate("one => { one.click(); one.click(); }")
    await page.get_by_text("Approved. Go back to your terminal.").first.wait_for()
    assert len(sent) == 1


async def test_a_code_that_is_good_no_longer_makes_room_for_another(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    visitor = await crowd.visitor(sqlite_site, tenant)
    code = (await begun(sqlite_site))["user_code"]
    await visitor.go("/settings/device")
    await visitor.sign_in("writer")
    await visitor.page.get_by_label("Code").fill(code)
    await visitor.button("Go on").click()
    await visitor.button("Approve").wait_for()
    document = {"data": {"type": "logins", "attributes": {"user-code": code}}}
    gone = await tenant.call("writer", "POST", "/logins/actions/deny", document)
    assert gone.status_code < 300, gone.text
    await visitor.button("Approve").click()
    await visitor.page.get_by_text("No program waits with this code.").first.wait_for()
    await expect(visitor.page.get_by_label("Code")).to_have_value("")
    await expect(visitor.button("Approve")).to_have_count(0)


async def test_a_server_that_is_away_for_a_moment_ends_no_login(
    sqlite_site: Site, crowd: Crowd
) -> None:
    visitor = await crowd.visitor(sqlite_site, await sqlite_site.tenant())
    await visitor.be("writer")
    await visitor.page.route("**/actions/show", lambda route: route.abort(), times=1)
    await visitor.page.goto(opened(sqlite_site, Program(visitor.tenant)))
    await visitor.button("Approve").wait_for()


async def test_no_other_page_has_the_question_in_a_frame(
    sqlite_site: Site, window: BrowserContext
) -> None:
    asked = opened(sqlite_site, Program(await sqlite_site.tenant()))
    page = await window.new_page()

    async def frame(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).decode().split()[1]
        url = escape(unquote(path.partition("?")[2]))
        body = f'<iframe src="{url}" onload="document.title = 1"></iframe>'
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(frame, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for url, loads in (
            (f"{sqlite_site.url}/healthz", True),
            (f"{sqlite_site.url}/app/settings/device", False),
            (asked, False),
        ):
            await page.goto(f"http://127.0.0.1:{port}/?{quote(url, safe='')}")
            await expect(page).to_have_title("1")
            assert (page.frames[-1].url == url) is loads
    await page.close()


def opened(site: Site, program: Program, **other: str) -> str:
    """What a program opens in a browser."""
    asked = {name.replace("-", "_"): one for name, one in program.asks(**other).items()}
    fixed = {"response_type": "code", "client_id": CLIENT, "code_challenge_method": "S256"}
    return f"{site.url}/oauth/authorize?{urlencode({**fixed, **asked})}"


async def begun(site: Site) -> dict[str, str]:
    """What a program is answered that begins to wait for somebody to type its code."""
    form = {"client_id": CLIENT, "host": "build-7"}
    async with httpx.AsyncClient(base_url=site.url, timeout=HANGS) as client:
        said: dict[str, str] = (await client.post("/oauth/device_authorization", data=form)).json()
        return said


async def redeemed(site: Site, form: dict[str, str]) -> int:
    """How a program is answered that shows something for its token."""
    async with httpx.AsyncClient(base_url=site.url, timeout=HANGS) as client:
        return (await client.post("/oauth/token", data=form)).status_code
