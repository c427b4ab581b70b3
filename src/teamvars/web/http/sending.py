"""Responses, and sending them: a long one in chunks and under backpressure from its client."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from teamvars.domain.errors import BUSY, Refusal, too_many_requests
from teamvars.fair_slots import Principal
from teamvars.kernel import Discreet
from teamvars.pace import Pace
from teamvars.services.rendered import Rendered
from teamvars.time_limits import TimeLimit, TimeLimits
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.request import Request, Send

PIECE_BYTES = 128 * 1024
"""Of a long body that go to the server at once."""
SHORT_BYTES = 256 * 1024
"""A response of so many bytes is sent at once, and is in no budget: the server takes as much
without a wait in any case, and the request has one of a bounded number of slots meanwhile."""
PIECE_SECONDS = 30.0
"""How long a client may take for a piece of a very long response."""
BYTES_A_SECOND = 64 * 1024
"""The least rate at which it takes all of it, after a first `PIECE_SECONDS`."""
PACED_BYTES = 1024 * 1024
"""A response of more than this is paced: about as much as the server takes without a wait."""
UNPACED_RESPONSES = 32
"""So many long responses at a time are not paced, unless they are very long."""
PIECES_A_SECOND = 2000
"""Of several paced responses together. Copying one into fresh memory takes some 200 µs."""

CALLER_ANSWER_BYTES = 32 * 1024 * 1024
WORKER_ANSWER_BYTES = 96 * 1024 * 1024
SLOW_SECONDS = 10.0
"""How long a response may take before it may be aborted to make room for others."""

_PRIVATE = [
    (b"Cache-Control", b"private, no-store"),
    (b"Vary", b"Authorization, Accept"),
]
"""Of every response to an authenticated caller."""

NO_HEADERS: Mapping[str, str] = {}
FRESH: Mapping[str, str] = {"Cache-Control": "no-store"}
"""Of what nobody keeps, although it may be for everybody."""


class Response(Discreet, frozen=True):
    """A status, a body or none, and headers. A large body is in pieces."""

    status: int
    body: bytes | Rendered | None = None
    headers: Mapping[str, str] = NO_HEADERS

    @classmethod
    def document(
        cls,
        status: int,
        document: object,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        media_type: str = MEDIA_TYPE,
    ) -> "Response":
        """With a document, encoded as JSON, and `headers` besides its Content-Type."""
        return cls(status, msgspec.json.encode(document), {"Content-Type": media_type, **headers})


async def rendered(
    tag: str,
    batches: Iterable[Sequence[msgspec.Struct]],
    rest: bytes = b"",
    before: bytes = b'{"data":[',
) -> Rendered:
    """The document whose `data`, or what else it has `before`, are the resources of all batches,
    with the rest of its members.

    Between the pieces of a long one others have the loop.
    """
    pieces = []
    piece = bytearray(before)
    comma = b""
    pace = Pace()
    for resources in batches:
        piece += comma + msgspec.json.encode(resources)[1:-1]
        comma = b","
        if len(piece) > PIECE_BYTES:
            pieces.append(bytes(piece))
            piece.clear()
            await pace.give_way()
    piece += b"]" + rest + b"}"
    return Rendered(tag, (*pieces, bytes(piece)))


class _Held(msgspec.Struct):
    """A response body in memory, and the time limits of the requests it is being sent to."""

    caller: Principal
    size: int
    since: float
    limits: list[TimeLimit]


class Responses:
    """The bytes of large response bodies that are being sent. One that is shared counts once."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    @contextmanager
    def sending(
        self, caller: Principal, body: object, size: int, limit: TimeLimit
    ) -> Iterator[None]:
        """A share for a body for as long as it is sent, which happens under the limit.

        The first of a caller has one whatever its size. Where a worker has none left, responses
        that have been under way for `SLOW_SECONDS` are aborted, the oldest first. Refuses: too many
        requests, busy.
        """
        held = self._held.get(id(body))
        if held is None:
            self._make_room(caller, size, limit.begun)
            held = self._held[id(body)] = _Held(caller, size, limit.begun, [])
        held.limits.append(limit)
        try:
            yield
        finally:
            held.limits.remove(limit)
            if not held.limits and self._held.get(id(body)) is held:
                del self._held[id(body)]

    def _make_room(self, caller: Principal, size: int, now: float) -> None:
        of_caller = sum(held.size for held in self._held.values() if held.caller == caller)
        if of_caller and of_caller + size > CALLER_ANSWER_BYTES:
            raise too_many_requests(
                f"At most {CALLER_ANSWER_BYTES} bytes of answers may be under way at once."
            )
        for key, held in list(self._held.items()):  # the oldest first
            if self._fits(size) or held.since > now - SLOW_SECONDS:
                break
            del self._held[key]
            for limit in held.limits:
                limit.enforce()
        if not self._fits(size):
            raise Refusal(BUSY)

    def _fits(self, size: int) -> bool:
        in_all = sum(held.size for held in self._held.values())
        return not in_all or in_all + size <= WORKER_ANSWER_BYTES


class Sender:
    """Sends the responses of one event loop."""

    def __init__(self, time_limits: TimeLimits) -> None:
        self._time_limits = time_limits
        self._responses = Responses()
        self._long_responses = 0

    async def send(self, send: Send, request: Request, response: Response) -> bool:
        """Sends the response. False: the client has disconnected or did not take it in time.

        Refuses, before anything was sent, a long one that the budget has no room for: too many
        requests, busy.
        """
        body = response.body
        pieces = body.pieces if isinstance(body, Rendered) else (body or b"",)
        size = sum(map(len, pieces))
        if request.body_pending or size > PACED_BYTES:
            request.leave_slot()  # from here on the client may let us wait
        # Once the body is read or given up. Where the rest of it stays unread, the connection ends.
        keep_alive = not request.body_pending or await request.drain()
        headers = [(b"X-Request-Id", request.request_id.encode())]
        if request.caller is not None:
            headers += _PRIVATE
        for name, text in response.headers.items():
            headers.append((name.encode(), text.encode("latin-1", "backslashreplace")))
        if response.status not in (204, 304):
            headers.append((b"Content-Length", b"%d" % size))
        if not keep_alive:
            headers.append((b"Connection", b"close"))
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        if size <= SHORT_BYTES or request.method == "HEAD":
            await send(start)
            content = b"" if request.method == "HEAD" else b"".join(pieces)
            await send({"type": "http.response.body", "body": content})
            return True
        try:
            with (
                TimeLimit(self._time_limits, PIECE_SECONDS + size / BYTES_A_SECOND) as limit,
                self._responses.sending(request.principal, body, size, limit),
            ):
                with TimeLimit(self._time_limits, PIECE_SECONDS):
                    await send(start)
                return await self._send_pieces(send, request, pieces, size)
        except TimeoutError:
            # The server closes a connection whose response ends early.
            return False

    async def _send_pieces(
        self, send: Send, request: Request, pieces: Iterable[bytes], size: int
    ) -> bool:
        """Sends the body of a long response, which is paced while there are many, or if it is very
        long. False: the client has disconnected.
        """
        unpaced = 1 if size > PACED_BYTES else UNPACED_RESPONSES
        disconnect = None
        if size > PACED_BYTES or self._long_responses >= unpaced:  # else it is sent in no time
            disconnect = asyncio.ensure_future(request.disconnect())
        self._long_responses += 1
        try:
            for content in split(pieces):
                size -= len(content)
                with TimeLimit(self._time_limits, PIECE_SECONDS):
                    await send(
                        {"type": "http.response.body", "body": content, "more_body": size > 0}
                    )
                if not size:
                    break
                # `send` does not suspend while the server's buffer has room, nor once the client
                # has disconnected: the whole response would be copied in one iteration of the
                # event loop.
                excess = max(self._long_responses - unpaced, 0)
                await asyncio.sleep(excess / PIECES_A_SECOND)
                if disconnect is not None and disconnect.done():
                    return False
        finally:
            self._long_responses -= 1
            if disconnect is not None:
                disconnect.cancel()
        return True


def split(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, those in several that are far longer than one should be."""
    for piece in pieces:
        step = PIECE_BYTES if len(piece) > 2 * PIECE_BYTES else len(piece)
        for start in range(0, len(piece), step):
            yield piece[start : start + step]
