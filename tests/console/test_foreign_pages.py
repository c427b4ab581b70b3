"""What pages of others do in a browser in which somebody is signed in: on another site, and on
another port of the service's host, which gets its cookies.
"""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Page

from tests.console import test_providers
from tests.console.test_providers import Scene
from tests.support.own_tls import own_tls
from tests.support.patience import HANGS

scene = test_providers.scene
ANOTHER_SITE, SIBLING = "http://localhost:{}", "http://127.0.0.1:{}"
PUBLIC = {f"/api/v2/invitations/actions/{what}" for what in ("show", "accept")}
"""What takes a link instead of a token."""
SEND = """async ([url, requests]) => {
  const plain = { mode: "no-cors", headers: { "Content-Type": "text/plain" } };
  const form = { mode: "no-cors", body: new URLSearchParams({ logout_token: "x" }) };
  const ours = { headers: { "Content-Type": "application/vnd.api+json", "Teamvars-Session": "" } };
  const told = [];
  for (const [method, path] of requests) {
    for (const how of [plain, form, ours]) {
      try {
        const sent = { method, credentials: "include", body: "{}", ...how };
        const answer = await fetch(url + path, sent);
        told.push(answer.type === "opaque" ? "hidden" : `${answer.status} ${await answer.text()}`);
      } catch {
        told.push("refused");
      }
    }
  }
  return told;
}"""
FRAME = """(url) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.src = url;
  frame.onload = () => done();
  document.body.append(frame);
})"""


class Elsewhere(ThreadingHTTPServer):
    """Serves an empty page, and keeps the cookies that it gets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Empty)
        self.cookies: list[str] = []

    def over_tls(self, folder: Path) -> None:
        """From here on."""
        context, _ = own_tls(folder)
        # In the thread of each connection, or one that a browser opens for later would hold up all.
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )


class Empty(BaseHTTPRequestHandler):
    """An empty page."""

    server: Elsewhere

    def do_GET(self) -> None:
        """It."""
        self.server.cookies.append(self.headers.get("Cookie", ""))
        content = b"<!doctype html><title>Elsewhere</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def elsewhere(folder: Path | None = None) -> Iterator[Elsewhere]:
    """A server of somebody else on this machine, over TLS if it has a folder for that."""
    with Elsewhere() as server:
        if folder is not None:
            server.over_tls(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def signed_in(scene: Scene) -> Page:
    """A page of ours in which the writer is signed in."""
    page = await scene.tab(f"/{scene.tenant.organization}/workspaces")
    await scene.sign_in(page, "writer")
    await scene.listed(page)
    return page


async def changing(scene: Scene) -> list[list[str]]:
    """Every operation that changes something, at what the writer sees where there is that."""
    tenant = scene.tenant
    known = {
        "workspace_id": tenant.workspaces["network"],
        "organization": tenant.organization,
        "organization_name": tenant.organization,
        "user_id": tenant.users["writer"],
        "team_id": tenant.teams["writers"],
    }
    document = (await scene.site.served.client.get(f"{scene.site.url}/openapi.json")).json()
    return [
        [method.upper(), re.sub(r"{(\w+)}", lambda name: known.get(name[1], "x"), path)]
        for path, operations in document["paths"].items()
        for method in operations
        if method in {"post", "patch", "put", "delete"}
    ]


async def lines_now(scene: Scene) -> int:
    """How many lines the log has, once it has those of all that was answered before."""
    mark = f"mark-{uuid4()}"
    headers = {"X-Request-Id": mark}
    await scene.site.served.client.get(f"{scene.site.url}/healthz", headers=headers)
    async with asyncio.timeout(HANGS):
        while True:
            lines = scene.site.served.server.log_lines()
            for number, line in enumerate(lines, 1):
                if line.get("request_id") == mark:
                    return number
            await asyncio.sleep(0.05)


async def arrived(scene: Scene, since: int, many: int) -> list[dict[str, Any]]:
    """What the service has answered since, once that is so much, but for what our own page reads
    meanwhile.
    """
    async with asyncio.timeout(HANGS):
        while True:
            lines = scene.site.served.server.log_lines()[since:]
            found = [one for one in lines if one["event"] == "request" and one["method"] != "GET"]
            if len(found) >= many:
                return found
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("origin", [ANOTHER_SITE, SIBLING], ids=["another site", "a sibling"])
async def test_no_page_of_others_changes_anything(scene: Scene, origin: str) -> None:
    with elsewhere() as server:
        place = origin.format(server.server_port)
        await nothing_is_changed(scene, place)
    gets_cookies = any("teamvars-session" in one for one in server.cookies)
    assert gets_cookies is (origin == SIBLING)  # so there it is for us to refuse


async def nothing_is_changed(scene: Scene, elsewhere: str) -> None:
    """Whatever a page from there sends while the writer is signed in, and our own page is given
    the token that none of these was.
    """
    ours = await signed_in(scene)
    requests = [*await changing(scene), ["POST", "/app/session"]]
    requests.append(["POST", "/app/sign-in/company/logout"])
    assert len(requests) > 60
    audit = scene.site.served.services.audit
    before, since = await audit.newest(1), await lines_now(scene)
    theirs = await scene.window.new_page()
    await theirs.goto(elsewhere)
    told = await theirs.evaluate(SEND, [scene.url, requests])
    assert set(told) == {"hidden", "refused"}
    posts = [path for method, path in requests if method == "POST"]
    answered = await arrived(scene, since, 2 * len(posts))
    of_api = [one for one in answered if one["route"].startswith("/api/")]
    takes_links = [one for one in of_api if one["route"] in PUBLIC and one["method"] == "POST"]
    assert {one["status"] for one in takes_links} == {415}
    assert {one["status"] for one in of_api if one not in takes_links} == {401}
    assert {one["method"] for one in of_api} == {"POST", "OPTIONS"}
    assert all(400 <= one["status"] < 500 for one in answered)
    assert await audit.newest(1) == before
    (own,) = [
        one
        for one in await ours.evaluate(SEND, ["", [["POST", "/app/session"]]])
        if one.startswith("200")
    ]
    assert '"token":"tvs_' in own


async def test_no_page_of_others_shows_ours_in_a_frame(scene: Scene) -> None:
    await signed_in(scene)
    with elsewhere() as server:
        theirs = await scene.window.new_page()
        await theirs.goto(SIBLING.format(server.server_port))
        for path, is_shown in (
            ("/healthz", True),
            ("/app/", False),
            (f"/app/{scene.tenant.organization}/members", False),
            ("/app/sign-in/company/callback", False),
        ):
            await theirs.evaluate(FRAME, scene.url + path)
            assert (theirs.frames[-1].url == scene.url + path) is is_shown, path
