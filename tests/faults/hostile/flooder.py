"""Many connections that each always have a request under way, at as little cost as can be.

The machine's cores are the server's and the bystander's as well: who floods with a client that
costs as much as the server measures the client.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from tests.faults.hostile.wire import CLOSED, PATIENCE, UNANSWERED, Answer

Next = Callable[[], bytes]
"""The next request of a connection."""


async def flood(port: int, seconds: float, connections: Sequence[Next]) -> list[Answer]:
    """What was answered until the seconds are over, and to the requests that were under way then.

    A connection that ends is made anew.
    """
    loop = asyncio.get_running_loop()
    end = time.monotonic() + seconds
    answers: list[Answer] = []

    async def one(request: Next) -> None:
        while time.monotonic() < end:
            flooder = _Flooder(request, end, answers)
            try:
                transport, _ = await loop.create_connection(lambda: flooder, "127.0.0.1", port)
            except OSError:
                answers.append(Answer(CLOSED))
                continue
            try:
                async with asyncio.timeout(end + PATIENCE - time.monotonic()):
                    await flooder.ended
            except TimeoutError:
                answers.append(Answer(UNANSWERED))
            finally:
                transport.abort()

    await asyncio.gather(*map(one, connections))
    return answers


class _Flooder(asyncio.Protocol):
    """A connection, which asks again as soon as it has the answer. `ended` is set at its end."""

    def __init__(self, request: Next, end: float, answers: list[Answer]) -> None:
        self._request = request
        self._end = end
        self._answers = answers
        self._head = b""
        self._status = 0
        self._left = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self._answers.append(Answer(CLOSED))
            self.ended.set_result(None)

    def data_received(self, data: bytes) -> None:
        if not self._status:
            self._head += data
            head, found, data = self._head.partition(b"\r\n\r\n")
            if not found:
                return
            self._status = int(head[9:12])
            self._size = _length(head)
            self._left = self._size
        self._left -= len(data)
        if self._left <= 0:
            self._answers.append(Answer(self._status, self._size, time.monotonic() - self._since))
            self._ask()

    def _ask(self) -> None:
        self._head, self._status = b"", 0
        self._since = time.monotonic()
        if self._since < self._end:
            self._transport.write(self._request())
        elif not self.ended.done():
            self.ended.set_result(None)


def _length(head: bytes) -> int:
    length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
    return int(length) if length else 0
