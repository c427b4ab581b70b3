"""Sending answers: a long one in pieces, each only when the client has taken those before it."""

import asyncio

from starlette.types import Message, Send

from teamvars.web.http.budgets import Answers
from teamvars.web.http.request import PIECE_BYTES, Answer, Exchange
from teamvars.web.http.time_limits import TimeLimits

PIECE_SECONDS = 30.0
"""How long a client may take for a piece of an answer."""
BYTES_A_SECOND = 64 * 1024
"""How fast it takes all of it, after a first `PIECE_SECONDS`."""
PIECES_A_SECOND = 4000
"""Of several long answers together. Copying one into fresh memory takes some 100 µs."""

_SHORT_BYTES = 64 * 1024


class Sender:
    """Sends the answers of one event loop."""

    def __init__(self, time_limits: TimeLimits) -> None:
        self._time_limits = time_limits
        self._answers = Answers()
        self._long_answers = 0

    async def send(self, send: Send, exchange: Exchange, answer: Answer) -> bool:
        """Sends the answer. False: the client has gone or did not take it in time.

        Refuses, before anything was sent, where there is no room for a long one: too many
        requests, busy.
        """
        body = b"" if answer.body is None else answer.body
        pieces = (body,) if isinstance(body, bytes) else body.pieces
        size = sum(map(len, pieces))
        headers = [(name.encode(), text.encode("latin-1")) for name, text in answer.headers.items()]
        if answer.status not in (204, 304):
            headers.append((b"Content-Length", str(size).encode()))
        start: Message = {
            "type": "http.response.start",
            "status": answer.status,
            "headers": headers,
        }
        if size <= _SHORT_BYTES or exchange.method == "HEAD":
            await send(start)
            content = b"" if exchange.method == "HEAD" else b"".join(pieces)
            await send({"type": "http.response.body", "body": content})
            return True
        try:
            with (
                self._time_limits.of(PIECE_SECONDS + size / BYTES_A_SECOND) as limit,
                self._answers.sending(exchange.principal, body, size, limit),
            ):
                with self._time_limits.of(PIECE_SECONDS):
                    await send(start)
                return await self._send_pieces(send, exchange, pieces)
        except TimeoutError:
            # An answer without its end makes the server close the connection.
            return False

    async def _send_pieces(self, send: Send, exchange: Exchange, pieces: tuple[bytes, ...]) -> bool:
        """Sends what is left of a long answer. False: the client has gone."""
        disconnect = asyncio.ensure_future(exchange.disconnect())
        self._long_answers += 1
        try:
            for piece in pieces:
                for start in range(0, len(piece), PIECE_BYTES):
                    content = piece[start : start + PIECE_BYTES]
                    with self._time_limits.of(PIECE_SECONDS):
                        await send(
                            {"type": "http.response.body", "body": content, "more_body": True}
                        )
                    # `send` suspends neither while the server has room for more, nor once the
                    # client has gone: the whole answer would be copied in one iteration.
                    await asyncio.sleep((self._long_answers - 1) / PIECES_A_SECOND)
                    if disconnect.done():
                        return False
        finally:
            self._long_answers -= 1
            disconnect.cancel()
        await send({"type": "http.response.body", "body": b""})
        return True
