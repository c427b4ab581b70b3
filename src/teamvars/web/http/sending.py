"""Sending responses, a long one in chunks and under backpressure from its client."""

import asyncio
from collections.abc import Iterable, Iterator

from teamvars.services.rendered import Rendered
from teamvars.time_limits import TimeLimits
from teamvars.web.http.asgi import Message, Send
from teamvars.web.http.budgets import Responses
from teamvars.web.http.request import Request
from teamvars.web.http.response import PIECE_BYTES, Response

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

_PRIVATE = [
    (b"Cache-Control", b"private, no-store"),
    (b"Vary", b"Authorization, Accept"),
]
"""Of every response to an authenticated caller."""


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
        start = _start(request, response, size, keep_alive=keep_alive)
        if size <= SHORT_BYTES or request.method == "HEAD":
            await send(start)
            content = b"" if request.method == "HEAD" else b"".join(pieces)
            await send({"type": "http.response.body", "body": content})
            return True
        try:
            with (
                self._time_limits.of(PIECE_SECONDS + size / BYTES_A_SECOND) as limit,
                self._responses.sending(request.principal, body, size, limit),
            ):
                with self._time_limits.of(PIECE_SECONDS):
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
            for content in _split(pieces):
                size -= len(content)
                with self._time_limits.of(PIECE_SECONDS):
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


def _split(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, those in several that are far longer than one should be."""
    for piece in pieces:
        step = PIECE_BYTES if len(piece) > 2 * PIECE_BYTES else len(piece)
        for start in range(0, len(piece), step):
            yield piece[start : start + step]


def _start(request: Request, response: Response, size: int, *, keep_alive: bool) -> Message:
    """The status and the header fields."""
    headers = [(b"X-Request-Id", request.request_id.encode())]
    if request.caller is not None:
        headers += _PRIVATE
    for name, text in response.headers.items():
        headers.append((name.encode(), text.encode("latin-1")))
    if response.status not in (204, 304):
        headers.append((b"Content-Length", b"%d" % size))
    if not keep_alive:
        headers.append((b"Connection", b"close"))
    return {"type": "http.response.start", "status": response.status, "headers": headers}
