"""What is asked of the servers of others: over https alone, and of nobody they refer to. On this
machine there may be one without TLS, such as `dev` has.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException
from urllib.parse import SplitResult, urlencode, urlsplit

from teamvars.security.answers import Answer, answer, is_guarded

FAILURES = (OSError, HTTPException, ValueError)
"""What comes of a server that is away, hangs up, or says what is no answer."""
_MAX_BYTES = 256 * 1024
_PORTS = {"https": 443, "http": 80}
_NONE: Mapping[str, str] = {}

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
    return await _ask(url, tls, "GET")


async def post(
    url: str, form: Mapping[str, str], headers: Mapping[str, str], tls: ssl.SSLContext | None
) -> Answer:
    """What is answered to a form; `tls` as for `get`. Raises FAILURES."""
    body = urlencode(form).encode()
    of_body = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
    }
    return await _ask(url, tls, "POST", body, {**of_body, **headers})


async def _ask(
    url: str,
    tls: ssl.SSLContext | None,
    method: str,
    body: bytes = b"",
    headers: Mapping[str, str] = _NONE,
) -> Answer:
    place = urlsplit(url)
    if not place.hostname or not is_guarded(place):
        raise ValueError
    if place.scheme == "http":
        trusted = None
    else:
        trusted = await asyncio.to_thread(tls_of_machine) if tls is None else tls
    port = place.port or _PORTS[place.scheme]
    reader, writer = await asyncio.open_connection(place.hostname, port, ssl=trusted)
    try:
        writer.write(_head(method, place, headers) + body)
        received = await _at_most(reader, _MAX_BYTES)
    finally:
        writer.transport.abort()
    return answer(received)


def _head(method: str, place: SplitResult, headers: Mapping[str, str]) -> bytes:
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    fields = {
        "Host": place.netloc.rpartition("@")[2],
        "Accept": "application/json",
        "User-Agent": "teamvars",
        "Connection": "close",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


async def _at_most(reader: asyncio.StreamReader, most: int) -> bytes:
    """All that comes. Raises ValueError where that is more."""
    received = bytearray()
    while piece := await reader.read(most):
        received += piece
        if len(received) > most:
            raise ValueError
    return bytes(received)
