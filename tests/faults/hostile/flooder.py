"""Many connections that each always have a request under way: a process of its own.

It is a nice one: the cores are the server's and the bystander's too, and how long the bystander
waits for one of them is no fault of the server's.
"""

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.faults.hostile.wire import CLOSED, PATIENCE, UNANSWERED, Answer

NEW_KEY = "k" * 16
"""In a request: another text each time it is sent."""

_NICE = 5
_SESSION = Path("/proc/self/autogroup")
"""Where Linux has the niceness of a session: that of a process is only for others of it."""


async def flood(port: int, seconds: float, requests: Sequence[bytes]) -> list[Answer]:
    """What was answered until the seconds are over, and to what was under way then.

    There is a connection for each request, and each is sent once at least, however slow the host
    is. A connection that ends is made anew.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        cwd=Path(__file__).parents[3],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    said = {"port": port, "seconds": seconds, "requests": [each.decode() for each in requests]}
    printed, _ = await process.communicate(json.dumps(said).encode())
    return [Answer(*answer) for answer in json.loads(printed)]


async def _flood(port: int, seconds: float, requests: Sequence[str]) -> list[Answer]:
    end = time.monotonic() + seconds
    answers: list[Answer] = []
    await asyncio.gather(*(_connect(port, end, each.encode(), answers) for each in requests))
    return answers


async def _connect(port: int, end: float, request: bytes, answers: list[Answer]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            transport, flooder = await loop.create_connection(
                partial(_Flooder, request, end, answers), "127.0.0.1", port
            )
        except OSError:
            answers.append(Answer(CLOSED))
        else:
            try:
                async with asyncio.timeout(end + PATIENCE - time.monotonic()):
                    await flooder.ended
            except TimeoutError:
                answers.append(Answer(UNANSWERED))
            finally:
                transport.abort()
        if time.monotonic() >= end:
            return


class _Flooder(asyncio.Protocol):
    """A connection, which asks again as soon as it has the answer. `ended` is set at its end."""

    def __init__(self, request: bytes, end: float, answers: list[Answer]) -> None:
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
            now = time.monotonic()
            self._answers.append(Answer(self._status, self._size, now - self._since))
            if now < self._end:
                self._ask()
            elif not self.ended.done():
                self.ended.set_result(None)

    def _ask(self) -> None:
        self._head, self._status = b"", 0
        self._since = time.monotonic()
        key = secrets.token_hex(len(NEW_KEY) // 2)
        self._transport.write(self._request.replace(NEW_KEY.encode(), key.encode()))


def _length(head: bytes) -> int:
    length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
    return int(length) if length else 0


def _main() -> None:
    os.nice(_NICE)
    if _SESSION.exists():
        _SESSION.write_text(str(_NICE))
    said = json.load(sys.stdin)
    answers = asyncio.run(_flood(**said))
    print(json.dumps([(each.status, each.size, each.seconds) for each in answers]))  # noqa: T201


if __name__ == "__main__":
    _main()
