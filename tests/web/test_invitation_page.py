"""The page behind a link, in a real browser.

The walk of a new colleague, as docs/operating.md tells it: open the link, press the button, list
the variables with the token.
"""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from playwright.async_api import Browser, Page, Route

from tests.support.browser import open_browser
from tests.support.commands import Host
from tests.support.mailbox import SENDER, Mailbox, open_mailbox, secret_in
from tests.support.patience import HANGS
from tests.support.server import Server

DIRECTORY = """\
users:
  - {username: alice, email: alice@example.com}
  - {username: bob, email: bob@example.com}
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams:
      - {name: owners, members: [alice]}
      - {name: platform, workspaces: {network: read}}
"""


@pytest.fixture(scope="module")
async def mailbox() -> AsyncIterator[Mailbox]:
    async with open_mailbox() as mailbox:
        yield mailbox


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("office")
    server = Server(Host(folder))
    server.host = server.host.having(
        smtp_url=f"smtp://127.0.0.1:{mailbox.port}",
        smtp_insecure="true",
        mail_from=SENDER,
        public_url=server.url,
    )
    Path(folder / "directory.yaml").write_text(DIRECTORY)
    server.host.succeed("init")
    server.host.succeed("directory", "apply", "directory.yaml")
    with server:
        yield server


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with open_browser() as browser:
        yield browser


@pytest.fixture(params=["light", "dark"])
async def page(request: pytest.FixtureRequest, browser: Browser) -> AsyncIterator[Page]:
    """A narrow screen. Whatever the page complains of fails the test."""
    context = await browser.new_context(
        viewport={"width": 320, "height": 568}, color_scheme=request.param
    )
    page = await context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    await context.close()
    assert [line for line in said if not line.startswith("Failed to load resource")] == []


def link(server: Server, address: str, *options: str) -> str:
    words = ("invite", "create", address, "--organization", "acme", "--show-link", *options)
    return server.host.succeed(*words).out.strip()


async def fits(page: Page) -> bool:
    """Whether nothing is wider than the screen."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


async def test_a_new_colleague_goes_from_the_message_to_the_variables_in_three_actions(
    server: Server, mailbox: Mailbox, page: Page
) -> None:
    address = f"carol-{uuid4().hex}@example.com"
    words = ("invite", "create", address, "--organization", "acme", "--team", "platform")
    server.host.succeed(*words)
    message = await mailbox.next(len(mailbox.messages) + 1)
    secret, asked = secret_in(message), []
    page.on("request", lambda request: asked.append((request.method, request.url)))

    await page.goto(f"{server.url}/invitations#{secret}")
    button = page.get_by_role("button", name="Accept the invitation")
    await button.wait_for()
    sentence = await page.get_by_role("status").inner_text()
    assert f"You are invited, as {address}, to the organization acme." in sentence
    assert await fits(page)

    await page.keyboard.press("Enter")  # the button has the focus
    await page.locator("#token").wait_for()
    token = await page.locator("#secret").inner_text()
    assert await fits(page)
    assert secret not in page.url
    assert not any(secret in url or token in url for _, url in asked)
    assert {url.partition("#")[0].removeprefix(server.url) for _, url in asked} == {
        "/invitations",
        "/api/v2/invitations/actions/show",
        "/api/v2/invitations/actions/accept",
    }

    path = "/api/v2/organizations/acme/workspaces/network"
    with server.client(token) as client:
        workspace = client.get(path).json()["data"]["id"]
        listed = client.get(f"/api/v2/workspaces/{workspace}/vars")
    assert (listed.status_code, listed.json()["data"]) == (200, [])
    assert secret not in server.log
    assert token not in server.log


async def test_a_link_that_was_used_says_whom_to_ask(server: Server, page: Page) -> None:
    where = link(server, f"dan-{uuid4().hex}@example.com")
    body = {"data": {"type": "invitations", "attributes": {"secret": where.partition("#")[2]}}}
    headers = {"Content-Type": "application/vnd.api+json"}
    async with httpx.AsyncClient(
        base_url=f"{server.url}/api/v2/invitations/actions", timeout=HANGS
    ) as client:
        used = await client.post("accept", json=body, headers=headers)
    assert used.status_code == 201
    for dead in (where, f"{server.url}/invitations", f"{server.url}/invitations#<b>x</b>"):
        await page.goto("about:blank")
        await page.goto(dead)
        status = page.get_by_role("status").filter(has_text="no longer valid. Ask whoever")
        await status.wait_for()
        assert not await page.locator("#accept").is_visible()


async def test_a_service_that_is_away_can_be_asked_again(server: Server, page: Page) -> None:
    where = link(server, f"erin-{uuid4().hex}@example.com")
    actions = f"{server.url}/api/v2/invitations/actions"
    busy = json.dumps({"errors": [{"detail": "Too much is under way here."}]})
    for action in ("show", "accept"):
        await page.route(
            f"{actions}/{action}", lambda route: route.fulfill(status=503, body=busy), times=1
        )
    await page.goto(where)
    button = page.get_by_role("button", name="Try again")
    await button.click()
    await page.get_by_role("button", name="Accept the invitation").click()
    status = page.get_by_role("status")
    await status.filter(has_text="Too much is under way here.").wait_for()
    await page.get_by_role("button", name="Accept the invitation").click()
    await page.locator("#token").wait_for()


async def test_an_answer_that_was_lost_is_not_asked_for_twice(server: Server, page: Page) -> None:
    where = link(server, f"fay-{uuid4().hex}@example.com")

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route(f"{server.url}/api/v2/invitations/actions/accept", lose, times=1)
    await page.goto(where)
    button = page.get_by_role("button", name="Accept the invitation")
    await button.click()
    status = page.get_by_role("status")
    await status.filter(has_text="cannot be reached just now").wait_for()
    await button.click()
    await status.filter(has_text="the answer with your token was lost").wait_for()


async def test_who_is_known_is_asked_for_no_token_and_told_how_to_accept(
    server: Server, page: Page
) -> None:
    pending = server.host.succeed("invite", "list", "--json").json
    known = [one for one in pending if one["email"] == "bob@example.com"]
    if known:
        where = server.host.succeed("invite", "resend", known[0]["id"], "--show-link").out.strip()
    else:
        where = link(server, "bob@example.com")
    await page.goto(where)
    status = page.get_by_role("status").filter(has_text="accept with a token of your own")
    await status.wait_for()
    assert await page.locator("input").count() == 0
    assert not await page.locator("#accept").is_visible()
    assert await fits(page)
