"""What is asked of the servers of others: over https alone, and of nobody they refer to. On this
machine there may be one without TLS, such as `dev` has.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException
from typing import cast
from urllib.parse import SplitResult, urlencode, urlsplit

from teamvars.security.answers import Answer, answer, is_guarded

FAILURES = (OSError, HTTPException, ValueError)
"""What comes of a server that is away, hangs up, or says what is no answer."""
_MAX_BYTES = 256 * 1024
_PORTS = {"https": 443, "http": 80}
_MOST_KEPT = 8
_IDLE_SECONDS = 10.0
_LIFE_SECONDS = 60.0
"""Of a connection that is kept: then whoever is at that address, and vouches for it, is found out
anew.
"""
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:([^\r\n]*)")
_NUMBER = re.compile(rb"\s*(\d{1,7})\s*")
_CHUNKED = re.compile(rb"(?i)\r\ntransfer-encoding:")
_CLOSES = re.compile(rb"(?i)\AHTTP/1\.0|\r\nconnection:[^\r]*close")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,6})(;[^\r\n]*)?\r\n")

Where = tuple[str, int, bool]
"""A host, a port, and whether there is TLS."""

tls_of_machine = cache(ssl.create_default_context)
"""Whom this machine trusts. To be made in a thread: reading that takes 50 ms."""


class NoDocument(ValueError):
    """There is none, or it is elsewhere by now."""


def may_name(issuer: str, url: str) -> bool:
    """Whether what an issuer names is to be asked: over https, or, of one without TLS, its own."""
    return url.startswith(("https://", f"{issuer.rstrip('/')}/"))


async def get(url: str, tls: ssl.SSLContext | None) -> bytes:
    """The document that is there. `tls`: who vouches for the server; None: whom this machine
    trusts.

    Raises FAILURES, also where there is none, or it is elsewhere by now.
    """
    found = await ask(url, tls)
    if found.status != 200:  # redirects too
        raise NoDocument
    return found.content


async def ask(url: str, tls: ssl.SSLContext | None) -> Answer:
    """What is answered there, whatever that is; `tls` as for `get`. Raises FAILURES."""
    return await _once(url, tls, "GET", {}, b"")


async def post(
    url: str, form: Mapping[str, str], headers: Mapping[str, str], tls: ssl.SSLContext | None
) -> Answer:
    """What is answered to a form; `tls` as for `get`. Raises FAILURES."""
    return await _once(url, tls, "POST", *_form(form, headers))


class Lines:
    """Connections to one server, on which it is asked again and again: a handshake takes longer
    than all that comes after it. A few are kept, for some seconds without use and a minute in all.
    """

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        """`tls` as for `get`."""
        self._tls = tls
        self._idle: list[_Line] = []

    async def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        """As the function `post`. A server that has hung up meanwhile is asked once more, on a new
        connection; it may have heard the first time.
        """
        place = _place(url)
        request = _request("POST", url, *_form(form, headers))
        if (line := self._taken(_where(place))) is not None:
            said = await self._asked(line, request)
            if said:
                return answer(said)
        return answer(await self._asked(await _opened(place, self._tls), request))

    def close(self) -> None:
        """Hangs up."""
        for line in self._idle:
            line.close()
        self._idle.clear()

    def _taken(self, where: Where) -> "_Line | None":
        """A connection that is kept to there, and on which nothing has come since."""
        while self._idle:
            line = self._idle.pop()
            if line.where == where and line.is_idle:
                line.closing.cancel()
                return line
            line.close()
        return None

    async def _asked(self, line: "_Line", request: bytes) -> bytes:
        """What is answered. What is kept goes with a connection on which nothing is: the server may
        be gone.
        """
        is_kept = False
        try:
            said = await line.ask(request)
            is_kept = line.may_go_on
        finally:
            if is_kept:
                self._keep(line)
            else:
                line.close()
                self.close()
        return said

    def _keep(self, line: "_Line") -> None:
        line.closing = asyncio.get_running_loop().call_later(_IDLE_SECONDS, line.close)
        self._idle.append(line)
        if len(self._idle) > _MOST_KEPT:
            self._idle.pop(0).close()


class _Line(asyncio.Protocol):
    """A connection to a server, which is asked one thing after the other."""

    transport: asyncio.Transport
    closing: asyncio.TimerHandle

    def __init__(self, where: Where) -> None:
        self.where = where
        self._until = time.monotonic() + _LIFE_SECONDS
        self._said = bytearray()
        self._has_ended = False
        self._news = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._said += data
        self._news.set()
        if len(self._said) > _MAX_BYTES:
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._has_ended = True
        self._news.set()

    def close(self) -> None:
        """Hangs up at once."""
        self.transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether something can be asked, which nothing has come in answer to yet."""
        return not (self._has_ended or self._said or time.monotonic() > self._until)

    async def ask(self, request: bytes) -> bytes:
        """All of one answer, or what there is where the server hangs up. Raises ValueError where
        that is too much.
        """
        self.transport.write(request)
        while not self._has_ended and (end := _end(self._said)) is None:
            self._news.clear()
            await self._news.wait()
        said = bytes(self._said)
        if len(said) > _MAX_BYTES:
            raise ValueError
        self.may_go_on = not self._has_ended and end == len(said) and _CLOSES.search(said) is None
        self._said.clear()
        return said


def _end(said: bytearray) -> int | None:
    """Where an answer ends that says so; None: it does not, or goes on."""
    head, blank, _ = said.partition(b"\r\n\r\n")
    if not blank:
        return None
    begins = len(head) + len(blank)
    lengths = _LENGTH.findall(head)
    if _CHUNKED.search(head):
        return None if lengths else _end_of_chunks(said, begins)
    length = _NUMBER.fullmatch(lengths[0]) if len(lengths) == 1 else None
    if length is None or len(said) < begins + int(length[1]):
        return None
    return begins + int(length[1])


def _end_of_chunks(said: bytearray, at: int) -> int | None:
    """Where a body ends whose pieces say how long they are (RFC 9112, 7.1), from there on."""
    while found := _CHUNK.match(said, at):
        if size := int(found[1], 16):
            at = found.end() + size + len(b"\r\n")
        else:
            blank = said.find(b"\r\n\r\n", found.end() - len(b"\r\n"))  # behind what trails
            return None if blank < 0 else blank + len(b"\r\n\r\n")
    return None


async def _once(
    url: str, tls: ssl.SSLContext | None, method: str, headers: Mapping[str, str], body: bytes
) -> Answer:
    """What is answered on a connection for this alone."""
    request = _request(method, url, {"Connection": "close", **headers}, body)
    line = await _opened(_place(url), tls)
    try:
        return answer(await line.ask(request))
    finally:
        line.close()


def _place(url: str) -> SplitResult:
    """Where that is. Raises ValueError: nobody there is asked."""
    place = urlsplit(url)
    if not place.hostname or not is_guarded(place):
        raise ValueError
    return place


def _where(place: SplitResult) -> Where:
    assert place.hostname is not None
    return place.hostname, place.port or _PORTS[place.scheme], place.scheme == "https"


async def _opened(place: SplitResult, tls: ssl.SSLContext | None) -> _Line:
    """A new connection there."""
    host, port, has_tls = where = _where(place)
    if not has_tls:
        trusted = None
    else:
        trusted = await asyncio.to_thread(tls_of_machine) if tls is None else tls
    loop = asyncio.get_running_loop()
    _, line = await loop.create_connection(lambda: _Line(where), host, port, ssl=trusted)
    return line


def _form(form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[Mapping[str, str], bytes]:
    """The headers and the body with which a form is sent."""
    body = urlencode(form).encode()
    of_body = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
    }
    return {**of_body, **headers}, body


def _request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    place = urlsplit(url)
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    fields = {
        "Host": place.netloc.rpartition("@")[2],
        "Accept": "application/json",
        "User-Agent": "teamvars",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + body
