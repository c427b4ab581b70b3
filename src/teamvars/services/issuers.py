"""The keys of issuers: asked for over https, kept for an hour, and nobody else waits for them."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from http.client import HTTPException
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import structlog

from teamvars.kernel import Discreet
from teamvars.security.answers import answer
from teamvars.security.assertions import (
    Claimed,
    Key,
    Unproven,
    chosen,
    keys_of,
    public_keys_of,
)

FRESH_SECONDS = 3600.0
"""How long the keys of an issuer are used at most."""
RENEW_SECONDS = 1800.0
"""After how long they are asked for anew, while those there are still serve."""
ASK_SECONDS = 60.0
"""How often an issuer is asked at most, whatever keys tokens name."""
TIMEOUT_SECONDS = 5.0
"""For both documents together."""
_WATCH_SECONDS = 60.0
_MAX_BYTES = 256 * 1024
_PORT = 443

log = structlog.get_logger("teamvars.issuers")


class Issuer(Discreet, frozen=True):
    """An issuer that the operator accepts: its keys if the operator gave them, else None."""

    url: str
    keys: bytes | None = None

    @property
    def source(self) -> str:
        """Where its keys are from: the address, or which they are. Raises Unproven."""
        if self.keys is None:
            return self.url
        return "keys " + " ".join(sorted(key.thumbprint() for key in keys_of(self.keys)))


def given(url: str, file: Path) -> Issuer:
    """The issuer with the keys of a file. Raises Unproven: it does not serve."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise Unproven(error.strerror or type(error).__name__) from None
    public_keys_of(content)
    return Issuer(url, content)


class KeyFiles:
    """Files of keys, which are read when a process starts. What becomes of one later is told once:
    the next process would take other keys, or not start.
    """

    def __init__(self, files: Sequence[tuple[Issuer, Path]]) -> None:
        """`files`: with the issuers as they were read."""
        self._files = files
        self._told: dict[str, str | None] = {}

    async def watch(self) -> None:
        """Looks at them every minute."""
        while self._files:
            await asyncio.sleep(_WATCH_SECONDS)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Looks at them now."""
        for issuer, file in self._files:
            reason = _unlike(issuer, file)
            if reason is not None and reason != self._told.get(issuer.url):
                said = "the keys of an issuer stay as they were at the start"
                log.warning(said, issuer=issuer.url, file=str(file), reason=reason)
            self._told[issuer.url] = reason


def _unlike(issuer: Issuer, file: Path) -> str | None:
    """Why what is in the file now is not used; None: it is."""
    try:
        is_same = given(issuer.url, file).source == issuer.source
    except Unproven as unproven:
        return unproven.reason
    return None if is_same else "the file has others by now"


class IssuerKeys:
    """The keys of one issuer. Whoever means a known one never waits; the others share one look."""

    def __init__(
        self,
        issuer: Issuer,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tls`: who vouches for its servers; None: whom this machine trusts. `clock`: seconds
        since whenever.
        """
        self._fetch = partial(_fetched, issuer.url, tls)
        self._clock = clock
        self._are_given = issuer.keys is not None
        self._keys: Sequence[Key] = () if issuer.keys is None else keys_of(issuer.keys)
        self._asked_at = self._known_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def key_for(self, said: Claimed) -> Key:
        """The key that a token means. Raises Unproven: there is none, or nobody can say."""
        found = self._known(said)
        if not self._are_given and (found is None or self._age() >= RENEW_SECONDS):
            looking = self._look()
            if found is None and looking is not None:
                await asyncio.shield(looking)
                found = self._known(said)
        if found is None:
            raise Unproven("a key that the issuer does not have")
        return found

    def _known(self, said: Claimed) -> Key | None:
        return chosen(said, self._keys) if self._are_given or self._age() < FRESH_SECONDS else None

    def _age(self) -> float:
        return self._clock() - self._known_at

    def _look(self) -> asyncio.Task[None] | None:
        """The look that is under way, which may have begun now; None: the last was a moment ago."""
        if self._looking is None and self._clock() - self._asked_at >= ASK_SECONDS:
            self._asked_at = self._clock()
            self._looking = asyncio.create_task(self._renew())
        return self._looking

    async def _renew(self) -> None:
        try:
            self._keys = await self._fetch()
            self._known_at = self._clock()
        except Unproven:
            pass  # it is in the log, and what was known goes on
        finally:
            self._looking = None


_tls_of_machine = cache(ssl.create_default_context)
"""Made when it is needed, and in a thread: reading what this machine trusts takes 50 ms."""


async def _fetched(issuer: str, tls: ssl.SSLContext | None) -> Sequence[Key]:
    """The keys of an issuer (OpenID Connect Discovery 1.0). Raises Unproven."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            trusted = await asyncio.to_thread(_tls_of_machine) if tls is None else tls
            about = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            found = json.loads(await _read(about, trusted))
            if found["issuer"] != issuer:
                raise Unproven("an issuer that calls itself otherwise")
            return keys_of(await _read(found["jwks_uri"], trusted))
    except (
        *(OSError, HTTPException, Unproven),
        *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    ) as error:
        reason = error.reason if isinstance(error, Unproven) else type(error).__name__
        log.warning("the keys of an issuer cannot be had", issuer=issuer, reason=reason)
        raise Unproven("an issuer whose keys cannot be had") from None


async def _read(url: str, tls: ssl.SSLContext) -> bytes:
    """What is there: by https, and nowhere else. Raises OSError, HTTPException, ValueError."""
    place = urlsplit(url)
    if place.scheme != "https" or not place.hostname:
        raise ValueError
    reader, writer = await asyncio.open_connection(place.hostname, place.port or _PORT, ssl=tls)
    try:
        writer.write(_request(place))
        received = await _at_most(reader, _MAX_BYTES)
    finally:
        writer.transport.abort()
    found = answer(received)
    if found.status != 200:  # redirects too: nobody is sent elsewhere
        raise ValueError
    return found.content


def _request(place: SplitResult) -> bytes:
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    host = place.netloc.rpartition("@")[2]
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n"
    return f"{head}User-Agent: teamvars\r\nConnection: close\r\n\r\n".encode("ascii")


async def _at_most(reader: asyncio.StreamReader, most: int) -> bytes:
    """All that comes. Raises ValueError where that is more."""
    received = bytearray()
    while piece := await reader.read(most):
        received += piece
        if len(received) > most:
            raise ValueError
    return bytes(received)
