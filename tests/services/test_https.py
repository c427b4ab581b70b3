"""What is asked of the servers of others, and what is not."""

import asyncio
import ssl
from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.services import https

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

    async def open(self, host: str, port: int, *, ssl: ssl.SSLContext | None) -> Any:
        self.places.append((host, port, ssl))
        reader = asyncio.StreamReader()
        reader.feed_data(self.said)
        reader.feed_eof()
        transport = SimpleNamespace(abort=lambda: None)
        return reader, SimpleNamespace(write=self.heard.extend, transport=transport)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(asyncio, "open_connection", server.open)
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
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000 + b"\r\n\r\n",
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
