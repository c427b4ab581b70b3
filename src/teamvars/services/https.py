"""What is asked of the servers of others: over https alone, and of nobody they refer to. On this
machine there may be one without TLS, such as `dev` has.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import cache
from typing import cast
from urllib.parse import SplitResult, urlencode, urlsplit

from teamvars.security.answers import Answer, HungUp, Talk, is_guarded

FAILURES = (OSError, ValueError)
"""What comes of a server that is away, hangs up, or says what is no answer."""
_MAX_BYTES = 256 * 1024
_PORTS = {"https": 443, "http": 80}
_MOST_KEPT = 8
_IDLE_SECONDS = 10.0
_LIFE_SECONDS = 60.0
"""Of a connection that is kept: then whoever is at that address, and vouches for it, is found out
anew.
"""

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
        fields, body = _form(form, headers)
        if (line := self._taken(_where(place))) is not None:
            with suppress(HungUp):
                return await self._asked(line, place, fields, body)
        return await self._asked(await _opened(place, self._tls), place, fields, body)

    def close(self) -> None:
        """Hangs up."""
        for line in self._idle:
            line.close()
        self._idle.clear()

    def _taken(self, where: Where) -> "_Line | None":
        """A connection that is kept to there, and on which nothing has come since."""
        while self._idle:
            line = self._idle.pop()
            if line.where == where and line.may_go_on:
                line.closing.cancel()
                return line
            line.close()
        return None

    async def _asked(
        self, line: "_Line", place: SplitResult, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        """What is answered. What is kept goes with a connection on which nothing is: the server may
        be gone.
        """
        try:
            found = await line.ask("POST", place, headers, body)
        except BaseException:
            line.close()
            self.close()
            raise
        if line.may_go_on:
            self._keep(line)
        else:
            line.close()
        return found

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
        self._talk = Talk(_MAX_BYTES)
        self._news = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._talk.hear(data)
        self._news.set()
        if self._talk.is_too_much:
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._talk.hear(b"")
        self._news.set()

    def close(self) -> None:
        """Hangs up at once."""
        self.transport.abort()

    @property
    def may_go_on(self) -> bool:
        """Whether something else can be asked: nothing has come since the last answer."""
        return self._talk.may_go_on and time.monotonic() <= self._until

    async def ask(
        self, method: str, place: SplitResult, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        """The answer. Raises FAILURES; HungUp where there is none."""
        said = {"Accept": "application/json", **headers}
        self.transport.write(self._talk.ask(method, place, said, body))
        while (found := self._talk.answer()) is None:
            self._news.clear()
            await self._news.wait()
        return found


async def _once(
    url: str, tls: ssl.SSLContext | None, method: str, headers: Mapping[str, str], body: bytes
) -> Answer:
    """What is answered on a connection for this alone."""
    place = _place(url)
    with closing(await _opened(place, tls)) as line:
        return await line.ask(method, place, {"Connection": "close", **headers}, body)


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
    content_type = {"Content-Type": "application/x-www-form-urlencoded"}
    return {**content_type, **headers}, urlencode(form).encode()
