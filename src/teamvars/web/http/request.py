"""One request, as the handlers see it, and the memory that bodies of requests may take."""

import asyncio
import hashlib
import random
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import parse_qsl

from teamvars.domain.access import Caller
from teamvars.domain.errors import (
    BUSY,
    NO_VALID_TOKEN,
    Code,
    Fault,
    Refusal,
    too_many_requests,
)
from teamvars.fair_slots import Party, Principal, Turns
from teamvars.security.tokens import OF_JOB, TOKEN, hash_token
from teamvars.time_limits import TimeLimit, TimeLimits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
UNAUTHENTICATED: Principal = ("unauthenticated", "")
Release = Callable[[], None]

UNAUTHENTICATED_BODY_BYTES = 16 * 1024
"""How much of a body is read before its token is looked up, in the same request."""
STRANGER_BODY_BYTES = 4 * 1024
"""The most of a body on the routes that take one without a token."""
UNAUTHENTICATED_BODIES_BYTES = 8 * 1024 * 1024
"""The same for all such bodies together. Once it is used up, every token is looked up first."""
MAX_BODY_BYTES = 2 * 1024 * 1024
LARGE_BODY_BYTES = 24 * 1024 * 1024
"""The most of a body on the routes that take large ones."""
CALLER_BODY_BYTES = 8 * 1024 * 1024
WORKER_BODY_BYTES = 64 * 1024 * 1024
MAX_PARAMETERS = 100
"""Of a query. The links of a paged list repeat it, and reading it takes its time."""
NAME_SHOWN = 100
"""Characters of a parameter's name in an error."""
BODY_SECONDS = 30.0
"""How long a body may take to arrive."""
UNDISTURBED_SECONDS = 0.1
"""How long it may whoever waits for its room: one that is sent with its header fields comes."""
DRAIN_SECONDS = 5.0
"""How long a response waits for the rest of a body that is not read."""
DRAIN_SILENCE_SECONDS = 0.25
"""How long it waits for the next chunk of it."""
DRAIN_BYTES = 2 * MAX_BODY_BYTES
"""How much of it is discarded for a caller, so that one who sends too much sees the response."""
UNAUTHENTICATED_DRAIN_BYTES = 128 * 1024
"""The same before the caller is authenticated: enough for most whose token has expired."""
LINGERING_PIECES_A_SECOND = 2000
"""Of all bodies together that still come after their answers: at most 32 MiB, a tenth of a core."""

_LENGTH_DIGITS = 20  # of the largest number that a server takes for a length, 2**64 - 1
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_HOST = re.compile(
    r"(?:\[[\da-f:.]+(?:%[\w.~%-]+)?\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?", re.ASCII | re.IGNORECASE
)
_TRACE_PARENT = re.compile(
    "(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)


class Bodies:
    """The bytes of request bodies that are being received or worked on."""

    def __init__(self) -> None:
        self._unauthenticated = 0
        self._making_room = asyncio.Lock()
        self.arriving: dict[TimeLimit, Release] = {}
        """What gives up a body with such a share while it arrives, for another that has no other
        way: by the limit under which it does, the oldest first."""
        self._callers: dict[Principal, int] = {}
        self._worker = 0
        self._has_large = False
        self.lingering = 0
        """How many still come after their answers."""

    def admit_unauthenticated(
        self, size: int, most: int = UNAUTHENTICATED_BODY_BYTES
    ) -> Release | None:
        """A share for a body of at most so many bytes before authentication; None: there is none
        left or as large.
        """
        if size > min(most, UNAUTHENTICATED_BODIES_BYTES - self._unauthenticated):
            return None
        self._unauthenticated += size

        def release() -> None:
            self._unauthenticated -= size

        return release

    async def make_room(self, size: int) -> None:
        """Waits until there is a share of so many bytes, and gives up what has been arriving for
        longest where it comes to that. Those who ask wait in their order.
        """
        async with self._making_room:
            while self._lacks(size) and self.arriving:
                limit, give_up = next(iter(self.arriving.items()))
                now = asyncio.get_running_loop().time()
                await asyncio.sleep(limit.begun + UNDISTURBED_SECONDS - now)
                if self._lacks(size) and self.arriving.pop(limit, None) is not None:
                    give_up()
                    limit.enforce()

    def _lacks(self, size: int) -> bool:
        return self._unauthenticated + size > UNAUTHENTICATED_BODIES_BYTES

    def admit(self, caller: Principal, size: int) -> Release:
        """A share for a caller's body. Refuses: too many requests, busy."""
        held = self._callers.get(caller, 0)
        if held + size > CALLER_BODY_BYTES:
            raise too_many_requests(
                f"At most {CALLER_BODY_BYTES} bytes of bodies may be under way at once."
            )
        if self._worker + size > WORKER_BODY_BYTES:
            raise Refusal(BUSY)
        self._callers[caller] = held + size
        self._worker += size

        def release() -> None:
            self._worker -= size
            self._callers[caller] -= size
            if not self._callers[caller]:
                del self._callers[caller]

        return release

    def admit_large(self) -> Release:
        """Room for a body that is larger than most routes take, one at a time, beside the shares.

        Refuses: too many requests.
        """
        if self._has_large:
            raise too_many_requests(
                f"Another body of more than {MAX_BODY_BYTES} bytes is under way. Send this later."
            )
        self._has_large = True

        def release() -> None:
            self._has_large = False

        return release


class Slots(Protocol):
    """Where requests have their slots from."""

    def leave(self, request: "Request") -> None:
        """Gives the request's slot back, if it has one."""


class Request:
    """One request; `document` is its JSON body where the route takes one.

    The class says what is so of most requests: for an object with more than thirty attributes of
    its own Python makes a dictionary.
    """

    template: str | None = None
    parameters: Mapping[str, str] = MappingProxyType({})
    ignored_includes: frozenset[str] = frozenset()
    said: Mapping[str, Sequence[str]] = MappingProxyType({})
    """What those query parameters say that the route reads."""
    document: object = None
    plain_body: bytes | None = None
    """That of a document which was read by its type."""
    error_codes: tuple[str, ...] = ()
    """What was refused, each once."""
    why: Mapping[str, object] | None = None
    """What the log says of that, besides."""
    max_body_bytes = MAX_BODY_BYTES
    introduced: Caller | None = None
    """Whoever has the token that this request has made, if that is soon used."""
    has_turn = False
    """Whether it has, or had, one at what is done one at a time."""
    idempotency_key: str | None = None
    """To be set before the body is read, where a change may be sent again under a key."""
    release: Release | None = None
    """Gives the body's share of the budget back, if it has one."""
    _received = 0
    _is_abandoned = False
    _is_given_up = False

    def __init__(
        self, scope: Scope, receive: Receive, time_limits: TimeLimits, bodies: Bodies
    ) -> None:
        self.method: str = scope["method"]
        self.full_path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.caller: Caller | None = None
        self.client: str | None = None
        self.audited_address: str | None = None
        self.party: Party | None = None
        """Whose it is counted as, once that is known."""
        self.slot: Party | None = None
        """Whose slot it holds."""
        self.slots: Slots | None = None
        """Where it has that from."""
        self._receive = receive
        self._time_limits = time_limits
        self._bodies = bodies
        fields = scope["headers"]
        self._headers: Mapping[bytes, bytes] = dict(fields)  # which ASGI has in lower case
        if len(self._headers) < len(fields):
            self._headers = _joined(fields)
        self.request_id = self.header("x-request-id") or ""
        if not _REQUEST_ID.fullmatch(self.request_id):
            # It protects nothing, so it need not cost a system call.
            self.request_id = f"{random.getrandbits(128):032x}"
        self._is_of_http_1_1 = scope["http_version"] == "1.1"
        self._announced: int | None = 0
        """The length of the body that header fields announce (RFC 9112, 6.3). None where they do
        not say it, or in more digits than a length needs."""
        if b"transfer-encoding" in self._headers:
            self._announced = None
        elif (length := self._headers.get(b"content-length")) is not None:
            digits = length.strip().decode("latin-1")
            is_length = digits.isdecimal() and len(digits) <= _LENGTH_DIGITS
            self._announced = int(digits) if is_length else None
        self.has_body = self._announced != 0
        """Whether the header fields announce one."""
        self.body_pending = self.has_body
        """Whether some of the body is yet to be received."""

    def leave_slot(self) -> None:
        """Gives its slot back, for what has a bound of its own."""
        if self.slots is not None:
            self.slots.leave(self)

    @asynccontextmanager
    async def turn(self, turns: Turns) -> AsyncIterator[None]:
        """One of these turns for whom the request is counted to. It waits for that without a slot,
        and then for no slot.
        """
        assert self.party is not None  # what has a turn is costly: its caller was authenticated
        self.leave_slot()
        async with turns.turn(self.party):
            self.has_turn = True
            yield

    def header(self, name: str) -> str | None:
        """A request header by lower-case name."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    @property
    def trace_id(self) -> str | None:
        """The trace that the request is part of, by `traceparent` (W3C Trace Context, level 1)."""
        said = self.header("traceparent")
        if said is None or (found := _TRACE_PARENT.fullmatch(said)) is None:
            return None
        version, id_, more = found.groups()
        return None if version == "00" and more else id_

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """The names and values of the query parameters, as they stand; programs such as curl send
        letters beyond ASCII as they are.

        Refuses one of many parameters. How long it may be the server says, of all of a head.
        """
        if not self.query_string:
            return []
        text = self.query_string.decode(errors="replace")
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
        except ValueError:
            detail = f"A query has at most {MAX_PARAMETERS} parameters."
            raise Refusal(Fault(Code.INVALID_PARAMETER, detail)) from None

    def values(self, name: str) -> list[str]:
        """Every value of a query parameter."""
        return [value for key, value in self.query if key == name]

    @property
    def _is_coded(self) -> bool:
        """Whether the transfer coding is one that we and a proxy might read differently."""
        coding = self.header("transfer-encoding")
        return coding is not None and coding.strip().lower() != "chunked"

    @property
    def body_bytes(self) -> int:
        """How much of the body has been received."""
        return self._received

    def require_job(self) -> Caller:
        """As `require_caller`, of whoever has the token of a job: it is good for nothing else."""
        return self.require_caller(OF_JOB)

    def require_caller(self, form: re.Pattern[str] = TOKEN) -> Caller:
        """The sender, by its bearer token, which storage has still to look up.

        Refuses at once a missing or malformed token, and before it whoever does not name the one
        `Host` that HTTP/1.1 demands (RFC 9112, 3.2). In the place of none the server puts an empty
        one; of two the values make up a list.
        """
        if self.caller is not None:
            return self.caller
        if self._is_of_http_1_1 and _HOST.fullmatch(self.header("host") or "") is None:
            detail = "A request of HTTP/1.1 has one Host."
            raise Refusal(Fault(Code.INVALID_HEADER, detail, header="Host"))
        scheme, _, token = (self.header("authorization") or "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or form.fullmatch(token) is None:
            raise Refusal(NO_VALID_TOKEN)
        self.caller = self.sender(hash_token(token))
        return self.caller

    def sender(self, token_hash: bytes = b"") -> Caller:
        """Whoever has sent it, as far as that is known before storage looks up the token of which
        this is the hash; without a token there is nothing to look up.
        """
        return Caller(token_hash, self.request_id, address=self.audited_address)

    @property
    def form(self) -> Mapping[str, str]:
        """The parameters that were sent, where the route takes a form: each has come once."""
        assert isinstance(self.document, Mapping)
        return self.document

    @cached_property
    def body_digest(self) -> "hashlib._Hash":
        """The SHA-256 of the body as far as it was received; of a request with a key alone."""
        return hashlib.sha256()

    async def require_room_unauthenticated(self, most: int) -> None:
        """Room for the body of a sender whom nothing else tells: what has been arriving for longest
        is given up for it. Refuses: busy, and one that is coded or too large.
        """
        self.max_body_bytes = most
        if not self.has_body:
            return
        if not self.has_room_unauthenticated(most, most):
            await self._bodies.make_room(most if self._announced is None else self._announced)
            if not self.has_room_unauthenticated(most, most):
                raise Refusal(BUSY)

    def has_room_unauthenticated(
        self, unannounced: int | None = None, most: int = UNAUTHENTICATED_BODY_BYTES
    ) -> bool:
        """Whether the body may be read before the token is looked up, being of at most so many
        bytes.

        One without a Content-Length may not, unless it counts as `unannounced` bytes. Refuses one
        that is coded or too large.
        """
        if self._announced is None and self._is_coded:
            detail = "The only transfer coding is chunked."
            raise Refusal(Fault(Code.MALFORMED_DOCUMENT, detail, header="Transfer-Encoding"))
        if (self._announced or 0) > self.max_body_bytes:
            raise self._too_large()
        size = unannounced if self._announced is None else self._announced
        if size is not None:
            self.release = self._bodies.admit_unauthenticated(size, most)
        return self.release is not None

    def require_room(self) -> None:
        """Counts the body against the caller's budget. Refuses: too many requests, busy.

        One whose length is not announced counts as a large one only once it is.
        """
        size = MAX_BODY_BYTES if self._announced is None else self._announced
        if size > MAX_BODY_BYTES:
            self.release = self._bodies.admit_large()
        else:
            self.release = self._bodies.admit(self.principal, size)

    @property
    def principal(self) -> Principal:
        """The authenticated caller; all who are not authenticated yet are one."""
        actor = None if self.caller is None else self.caller.actor
        return UNAUTHENTICATED if actor is None else (actor.kind, actor.id)

    async def read_body(self) -> bytes:
        """The whole body. Refuses one that is too large, too slow or incomplete."""
        # One that was not announced, which HTTP/2 allows, is not in the budget.
        most = self.max_body_bytes if self.has_body else UNAUTHENTICATED_BODY_BYTES
        chunks: list[bytes] = []
        limit = TimeLimit(self._time_limits, BODY_SECONDS)
        if self.release is not None and (self.caller is None or self.caller.actor is None):
            self._bodies.arriving[limit] = self._give_up
        try:
            with limit:
                while self.body_pending or not chunks:
                    before = self._received
                    chunks.append(await self._next_chunk())
                    if self._received > most:
                        raise self._too_large()
                    if self._announced is None and before <= MAX_BODY_BYTES < self._received:
                        # Room for a large body in the place of a share.
                        self.give_room_back()
                        self.release = self._bodies.admit_large()
        except TimeoutError:
            if self._is_given_up:
                raise Refusal(BUSY) from None
            detail = f"The body did not arrive within {BODY_SECONDS:.0f} seconds."
            raise Refusal(Fault(Code.REQUEST_TIMEOUT, detail)) from None
        finally:
            self._bodies.arriving.pop(limit, None)
        return b"".join(chunks)

    async def drain(self) -> bool:
        """Whether the connection can be kept alive: discards the rest of the body, if it is short.
        To be called while `body_pending`.

        A client that still sends when its connection is closed may never see the response (RFC
        9112, 9.6). One that waits for `100 Continue` sends nothing.
        """
        await self._discard(self._room_to_drain())
        return not self.body_pending

    async def linger(self) -> None:
        """Discards what still comes of the body after its answer, for a while. A connection that is
        closed while bytes are unread is reset, and proxies then find no answer.

        To be called while `body_pending`.
        """
        if self._stays_unread:
            return
        self._bodies.lingering += 1
        try:
            await self._discard(LARGE_BODY_BYTES, after_answer=True)
        finally:
            self._bodies.lingering -= 1

    async def _discard(self, size: int, *, after_answer: bool = False) -> None:
        """Reads so many bytes of the body, unless it has ended before, or takes too long. Nobody's
        answer waits for the pace of those that come after theirs.
        """
        most = self._received + size
        with suppress(TimeoutError, Refusal), TimeLimit(self._time_limits, DRAIN_SECONDS):
            while self.body_pending and self._received < most:
                with TimeLimit(self._time_limits, DRAIN_SILENCE_SECONDS):
                    await self._next_chunk()
                if after_answer:
                    await asyncio.sleep(self._bodies.lingering / LINGERING_PIECES_A_SECOND)

    def _give_up(self) -> None:
        self._is_given_up = True
        self.give_room_back()
        self.abandon_body()

    @property
    def _stays_unread(self) -> bool:
        """Whether the rest of the body is not to be read, or will not be sent."""
        return self._is_abandoned or self.header("expect") is not None or self._is_coded

    def _room_to_drain(self) -> int:
        """How many bytes may be discarded; 0 where the body is longer."""
        if self._stays_unread:
            return 0
        is_unauthenticated = self.principal is UNAUTHENTICATED
        most = UNAUTHENTICATED_DRAIN_BYTES if is_unauthenticated else DRAIN_BYTES
        if self._announced is not None and self._announced - self._received > most:
            return 0
        if self.release is None and not is_unauthenticated:
            try:
                self.require_room()  # what is discarded counts against the caller's budget as well
            except Refusal:
                return 0
        return most

    def give_room_back(self) -> None:
        """Of a body that is no longer needed."""
        if self.release is not None:
            self.release()
            self.release = None

    def abandon_body(self) -> None:
        """Nothing more of the body is read, not even to throw it away."""
        self._is_abandoned = True

    async def disconnect(self) -> None:
        """Returns when the client has disconnected; for when the body is no longer read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _next_chunk(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            # The client has disconnected or its framing is broken: it may still read a response.
            raise Refusal(Fault(Code.MALFORMED_DOCUMENT, "The body broke off before its end."))
        chunk: bytes = message.get("body", b"")
        self._received += len(chunk)
        if self.idempotency_key is not None:
            self.body_digest.update(chunk)
        # A body as long as its Content-Length is complete. The server would say so in a message of
        # its own, which costs two thread switches.
        is_whole = 0 < self._received == self._announced
        self.body_pending = message.get("more_body", False) and not is_whole
        return chunk

    def _too_large(self) -> Refusal:
        detail = f"A body has at most {self.max_body_bytes} bytes."
        return Refusal(Fault(Code.BODY_TOO_LARGE, detail))


def _joined(fields: Sequence[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """Header fields by name. Of a repeated one the values make up one list (RFC 9110, 5.3), as
    cookies do in their own way (RFC 9113, 8.2.3).
    """
    found: dict[bytes, bytes] = {}
    for name, value in fields:
        between = b"; " if name == b"cookie" else b", "
        found[name] = found[name] + between + value if name in found else value
    return found
