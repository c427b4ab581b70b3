"""What is asked of the servers of others, and what is not."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.services import https
from tests.support.issuer_servers import Answer, IssuerServer, issuer_server, raw
from tests.support.patience import HANGS

TLS = ssl.create_default_context()
MACHINES = ssl.create_default_context()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: https://evil.test\r\nContent-Length: 0\r\n\r\n"


class Server:
    """Whoever is asked: `said` is what it answers, `heard` what it was asked, and `places` where
    and by whose word.
    """

    def __init__(self) -> None:
        self.said = OK
        self.heard = bytearray()
        self.places: list[tuple[str, int, ssl.SSLContext | None]] = []

    async def open(
        self, made: Any, host: str, port: int, *, ssl: ssl.SSLContext | None
    ) -> tuple[None, asyncio.Protocol]:
        self.places.append((host, port, ssl))
        line = made()

        def write(data: bytes) -> None:
            self.heard.extend(data)
            line.data_received(self.said)
            line.connection_lost(None)

        line.connection_made(SimpleNamespace(write=write, abort=lambda: None))
        return None, line


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", server.open)
    monkeypatch.setattr(https, "tls_of_machine", lambda: MACHINES)
    return server


@pytest.mark.parametrize(
    ("url", "place", "target"),
    [
        ("https://id.example.com", ("id.example.com", 443, TLS), "/"),
        ("https://id.example.com:8443/a?b=c", ("id.example.com", 8443, TLS), "/a?b=c"),
        ("http://localhost:80/a", ("localhost", 80, None), "/a"),
        ("http://127.0.0.1/", ("127.0.0.1", 80, None), "/"),
        ("http://[::1]:8080/", ("::1", 8080, None), "/"),
        ("https://localhost/", ("localhost", 443, TLS), "/"),
    ],
)
async def test_others_are_asked_over_tls_and_this_machine_without_where_that_is_said(
    server: Server, url: str, place: object, target: str
) -> None:
    assert await https.get(url, TLS) == b"{}"
    assert server.places == [place]
    assert server.heard.startswith(f"GET {target} HTTP/1.1\r\n".encode())


async def test_whom_this_machine_trusts_vouches_where_nobody_else_does(server: Server) -> None:
    await https.ask("https://id.example.com", None)
    assert server.places == [("id.example.com", 443, MACHINES)]


@pytest.mark.parametrize(
    "url",
    [
        "http://id.example.com/",
        "http://localhost.evil.test/",
        "ftp://localhost/",
        "//localhost/",
        "https://",
        "https:///a",
        "http:///a",
    ],
)
async def test_nobody_else_is_asked(server: Server, url: str) -> None:
    with pytest.raises(https.FAILURES):
        await https.ask(url, TLS)
    assert server.places == []


async def test_what_is_elsewhere_by_now_is_no_document(server: Server) -> None:
    server.said = ELSEWHERE
    assert (await https.ask("https://id.example.com", TLS)).status == 302
    with pytest.raises(https.FAILURES):
        await https.get("https://id.example.com", TLS)
    assert {host for host, *_ in server.places} == {"id.example.com"}


async def test_an_answer_has_so_many_bytes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https, "_MAX_BYTES", len(OK))
    assert await https.get("https://id.example.com", TLS) == b"{}"
    monkeypatch.setattr(https, "_MAX_BYTES", len(OK) - 1)
    with pytest.raises(https.FAILURES):
        await https.get("https://id.example.com", TLS)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 999999999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 300_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_answer_fails_like_nothing(server: Server, said: bytes) -> None:
    server.said = said
    with pytest.raises(https.FAILURES):
        await https.ask("https://id.example.com", TLS)


@pytest.mark.parametrize(
    ("issuer", "url", "may"),
    [
        ("https://id.example.com", "https://other.example/token", True),
        ("https://id.example.com", "http://id.example.com/token", False),
        ("http://localhost:9", "http://localhost:9/token", True),
        ("http://localhost:9/", "http://localhost:9/token", True),
        ("http://localhost:9", "http://localhost:90/token", False),
        ("http://localhost:9", "http://localhost:9", False),
        ("http://localhost:9", "https://id.example.com/token", True),
        ("https://id.example.com", "file:///etc/passwd", False),
    ],
)
def test_an_issuer_names_places_over_tls_or_its_own(issuer: str, url: str, may: bool) -> None:
    assert https.may_name(issuer, url) is may


@pytest.fixture
async def issuer(tmp_path: Path) -> AsyncIterator[IssuerServer]:
    async with issuer_server(tmp_path) as running:
        yield running


@pytest.fixture
async def lines(issuer: IssuerServer) -> AsyncIterator[https.Lines]:
    kept = https.Lines(issuer.client)
    yield kept
    kept.close()


async def ask(lines: https.Lines, issuer: IssuerServer, path: str = "/a") -> bytes:
    """What is answered to a form there."""
    async with asyncio.timeout(HANGS):
        return (await lines.post(f"{issuer.url}{path}", {"code": "c"}, {})).content


async def test_a_server_is_asked_again_on_one_connection(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    for n in range(3):
        issuer.says(raw(b"%d" % n), "/a")
        assert await ask(lines, issuer) == b"%d" % n
    assert issuer.connections == 1
    lines.close()
    await ask(lines, issuer)
    assert issuer.connections == 2


async def test_who_ask_at_the_same_time_have_a_connection_each(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    paths = [f"/{n}" for n in range(12)]
    for path in paths:
        issuer.says(raw(path.encode()), path)
    assert await asyncio.gather(*(ask(lines, issuer, path) for path in paths)) == [
        path.encode() for path in paths
    ]
    assert len(lines._idle) == https._MOST_KEPT


@pytest.mark.parametrize(
    "said",
    [
        raw(b"{}{}", headers={"Content-Length": "2"}),
        raw(b"{}", headers={"Connection": "close"}),
        raw(b"{}", headers={"Connection": "Keep-Alive, Close"}),
    ],
    ids=["that says more than one answer", "that is about to hang up", "in other words"],
)
async def test_no_connection_is_kept_to_a_server(
    lines: https.Lines, issuer: IssuerServer, said: Answer
) -> None:
    issuer.says(said, "/a")
    for _ in range(2):
        assert await ask(lines, issuer) == b"{}"
    assert issuer.connections == 2


async def test_what_a_server_says_unasked_is_no_answer(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    issuer.says(raw(b"{}"), "/a")
    await ask(lines, issuer)
    lines._idle[0].data_received(OK)
    assert await ask(lines, issuer) == b"{}"
    assert issuer.connections == 2


async def test_a_server_that_says_much_unasked_is_hung_up_on(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    issuer.says(raw(b"{}"), "/a")
    await ask(lines, issuer)
    (line,) = lines._idle
    line.data_received(OK)
    assert not line.transport.is_closing()
    line.data_received(bytes(2**22))
    assert line.transport.is_closing()


async def test_a_server_that_has_hung_up_is_asked_on_a_new_connection(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    async def hangs_up(writer: asyncio.StreamWriter) -> None:
        issuer.says(raw(b"again"), "/a")
        writer.close()

    issuer.says(raw(b"first"), "/a")
    await ask(lines, issuer)
    issuer.says(hangs_up, "/a")
    assert await ask(lines, issuer) == b"again"
    assert issuer.connections == 2
    issuer.says(hangs_up, "/a")
    lines.close()
    with pytest.raises(https.FAILURES):  # nor is it on a new one
        await ask(lines, issuer)


async def test_where_one_connection_hangs_no_other_is_trusted(
    lines: https.Lines, issuer: IssuerServer
) -> None:
    is_asked = asyncio.Event()

    async def hangs(_: asyncio.StreamWriter) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    issuer.says(raw(b"{}"), "/a")
    issuer.says(hangs, "/hangs")
    await asyncio.gather(*(ask(lines, issuer) for _ in range(2)))
    asking = asyncio.create_task(ask(lines, issuer, "/hangs"))
    await asyncio.wait_for(is_asked.wait(), HANGS)
    asking.cancel()
    await asyncio.wait([asking])
    assert lines._idle == []
    before = issuer.connections
    assert await ask(lines, issuer) == b"{}"
    assert issuer.connections == before + 1


async def test_no_connection_is_kept_for_long(
    lines: https.Lines, issuer: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.says(raw(b"{}"), "/a")
    monkeypatch.setattr(https, "_LIFE_SECONDS", -1.0)
    for _ in range(2):
        await ask(lines, issuer)
    assert issuer.connections == 2
    monkeypatch.undo()
    monkeypatch.setattr(https, "_IDLE_SECONDS", 0.0)
    lines.close()
    await ask(lines, issuer)
    while lines._idle[0].may_go_on:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0)
    await ask(lines, issuer)
    assert issuer.connections == 4


async def test_a_connection_is_for_the_server_it_was_made_to(
    lines: https.Lines, issuer: IssuerServer, tmp_path: Path
) -> None:
    issuer.says(raw(b"{}"), "/a")
    await ask(lines, issuer)
    async with issuer_server(tmp_path) as other:
        with pytest.raises(https.FAILURES):  # nobody vouches for that one
            await ask(lines, other)
        assert other.asked == []


async def test_nobody_is_asked_on_lines_who_would_not_be_without(lines: https.Lines) -> None:
    for url in ("http://id.example.com/", "ftp://localhost/", "https://"):
        with pytest.raises(ValueError):  # noqa: PT011 - it says nothing
            await lines.post(url, {}, {})
