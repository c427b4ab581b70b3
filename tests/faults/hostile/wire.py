"""Bytes to a socket and what comes back, with no client between: hostile ones keep no rules."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Self

from teamvars.fair_slots import WAIT_SECONDS
from tests.support.patience import HANGS

CLOSED = 0
"""In the place of a status: the connection ended without an answer."""
UNANSWERED = -1
"""In the place of a status: there was neither an answer nor an end in time."""

PATIENCE = HANGS
"""Seconds within which whatever was sent whole is answered."""

_PIECE = 256 * 1024
_MOST_READ = 16 * 1024 * 1024
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing leaves no port behind that waits


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, or CLOSED or UNANSWERED; the bytes of its body; the seconds it took."""

    status: int
    size: int = 0
    seconds: float = 0.0

    @property
    def came_too_late(self) -> bool:
        """Whether the service refused it since it had waited for as long as anybody may. That is
        true of whatever is asked of a machine that is busy enough.
        """
        return self.status == 503 and self.seconds >= WAIT_SECONDS


class Connection:
    """A connection to the server. Use it as a context manager; it ends with a reset."""

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self._port = port
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._read = bytearray()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(self._socket, ("127.0.0.1", self._port))
        except BaseException:
            self._socket.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket.close()

    async def send(self, sent: bytes) -> None:
        """Sends all of it, however long the server lets it wait."""
        await asyncio.get_running_loop().sock_sendall(self._socket, sent)

    async def receive(self, most: int) -> bytes:
        """Some of what has come; nothing at the end."""
        return await asyncio.get_running_loop().sock_recv(self._socket, most)

    async def ask(self, *pieces: bytes, pause: float = 0.0, patience: float = PATIENCE) -> Answer:
        """Sends the pieces, a pause after each, and returns the answer, which may come earlier."""
        begun = time.monotonic()
        sending = asyncio.create_task(self._send_all(pieces, pause))
        try:
            async with asyncio.timeout(patience):
                status, size = await self._answer()
        except TimeoutError:
            status, size = UNANSWERED, 0
        except ConnectionError:
            status, size = CLOSED, 0
        finally:
            sending.cancel()
            await asyncio.wait([sending])
        return Answer(status, size, time.monotonic() - begun)

    async def _send_all(self, pieces: Sequence[bytes], pause: float) -> None:
        with contextlib.suppress(ConnectionError):  # an early answer is an answer
            for piece in pieces:
                await self.send(piece)
                await asyncio.sleep(pause)

    async def _answer(self) -> tuple[int, int]:
        """Status and size of the next answer. Of one that is far too large not all is read."""
        while (end := self._read.find(b"\r\n\r\n")) < 0:
            await self._read_more()
        status_line, *headers = bytes(self._read[:end]).lower().split(b"\r\n")
        del self._read[: end + 4]
        status = int(status_line.split()[1])
        lengths = [
            line.partition(b":")[2] for line in headers if line.startswith(b"content-length")
        ]
        size = int(*lengths)
        left = min(size, _MOST_READ)
        while left > len(self._read):
            left -= len(self._read)
            self._read.clear()
            await self._read_more()
        del self._read[:left]
        return status, size

    async def _read_more(self) -> None:
        piece = await self.receive(_PIECE)
        if not piece:
            raise ConnectionResetError
        self._read += piece


async def ask(port: int, *pieces: bytes, pause: float = 0.0, patience: float = PATIENCE) -> Answer:
    """One request on a connection of its own."""
    try:
        async with Connection(port) as connection:
            return await connection.ask(*pieces, pause=pause, patience=patience)
    except ConnectionError:
        return Answer(CLOSED)


async def repeat(seconds: float, once: Callable[[], Awaitable[Answer]]) -> list[Answer]:
    """What came of doing it one time after another, until the seconds are over."""
    end = time.monotonic() + seconds
    answers = [await once()]
    while time.monotonic() < end:
        answers.append(await once())
    return answers


async def together(count: int, one: Callable[[], Awaitable[Sequence[Answer]]]) -> list[Answer]:
    """What came of so many who do it at the same time."""
    return [
        answer
        for answers in await asyncio.gather(*(one() for _ in range(count)))
        for answer in answers
    ]
