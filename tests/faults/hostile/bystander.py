"""A caller who means well: a process of its own that reads, and writes a little, at a steady pace.

Its pace does not follow the server's: a request that is due while the one before it waits counts
its own wait from when it was due. What is still unanswered when it is asked counts as well.

Many connections share the pace, so that one long wait does not make the next ones late as well.
At the same pace it asks an echo, which tells how long the machine itself made anybody wait.
"""

import asyncio
import json
import subprocess
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.hostile.wire import Answer

READERS = 16
"""Of the figures."""

_READS_A_SECOND = 12.5
_WRITES_A_SECOND = 20.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """The seconds each read and write waited, and what did not end with a 200, or too late.

    `later` are waits of reads that count for the longest alone, and `echoes` those for the echo.
    """

    reads: Sequence[float]
    writes: Sequence[float]
    failures: Sequence[str]
    later: Sequence[float] = ()
    echoes: Sequence[float] = ()

    def and_then(self, after: "Pulse") -> "Pulse":
        """The same, with the failures and the waits of what came after it."""
        failures = [*self.failures, *after.failures]
        later = [*self.later, *after.reads]
        return Pulse(self.reads, self.writes, failures, later, [*self.echoes, *after.echoes])

    @property
    def p99(self) -> float:
        """Of the reads."""
        return _p99(self.reads)

    @property
    def writes_p99(self) -> float:
        """Of the writes."""
        return _p99(self.writes)

    @property
    def worst(self) -> float:
        """The longest wait of a read."""
        return max([*self.reads, *self.later], default=0.0)

    @property
    def machine_p99(self) -> float:
        """Of what the machine itself made anybody wait."""
        return _p99(self.echoes)

    @property
    def machine_worst(self) -> float:
        """The longest of it."""
        return max(self.echoes, default=0.0)


class Bystander:
    """The process, as the test sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def pulse(self) -> Pulse:
        """How it went since it was last asked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Pulse(**json.loads(self._process.stdout.readline()))


@contextmanager
def bystander(
    port: int, token: str, listed: str, variable: str, readers: int = READERS
) -> Iterator[Bystander]:
    """One that lists there and updates that variable; both are paths. Each of its `readers` reads
    at the same pace.
    """
    with subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        paths = {"listed": listed, "variable": variable}
        said = {"port": port, "token": token, "readers": readers, **paths}
        process.stdin.write(json.dumps(said) + "\n")
        process.stdin.flush()
        try:
            yield Bystander(process)
        finally:
            process.stdin.close()  # it ends with its input


class _Caller:
    """One connection that is kept open, with a request on it every so often.

    The first comes after a part of the pause, its `phase`: they are not all sent at once.
    """

    def __init__(
        self, port: int, sent: bytes, per_second: float, waits: list[float], phase: float = 0.0
    ) -> None:
        self._port = port
        self._sent = sent
        self._first = phase / per_second
        self._pause = 1 / per_second
        self._waits = waits
        self._due = 0.0
        self._begun: float | None = None
        self.failures: list[str] = []

    async def work(self) -> None:
        """Goes on for ever; a connection that ends is a failure, and made anew."""
        await asyncio.sleep(self._first)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    await self._ask_steadily(reader, writer)
                finally:
                    writer.transport.abort()
            except (OSError, asyncio.IncompleteReadError):
                self.failures.append("closed")
                await asyncio.sleep(self._pause)

    def settle(self) -> None:
        """Notes how long what is under way has waited, and leaves out what was due meanwhile."""
        now = time.monotonic()
        self._due = now
        if self._begun is not None:
            self._waits.append(now - self._begun)
            self._begun = now

    async def _ask_steadily(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._due = time.monotonic()
        while True:
            late = time.monotonic() - self._due
            await asyncio.sleep(max(-late, 0))
            sent = time.monotonic()
            self._begun = self._due if late > 0 else sent
            self._due += self._pause
            writer.write(self._sent)
            status = await _status(reader)
            now = time.monotonic()
            self._waits.append(now - self._begun)
            self._begun = None
            if status != 200 and not Answer(status, 0, now - sent).came_too_late:
                self.failures.append(str(status))


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
    return int(head.split()[1])


def _p99(waits: Sequence[float]) -> float:
    return sorted(waits)[len(waits) * 99 // 100] if waits else 0.0


def _requests(said: dict[str, Any]) -> tuple[bytes, bytes]:
    """A list and an update."""
    head = f"Host: x\r\nAuthorization: Bearer {said['token']}\r\n"
    id_ = said["variable"].rpartition("/")[2]
    change = {"data": {"type": "vars", "id": id_, "attributes": {"description": "kept"}}}
    body = json.dumps(change)
    return (
        f"GET {said['listed']} HTTP/1.1\r\n{head}\r\n".encode(),
        (
            f"PATCH {said['variable']} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n"
            f"Content-Type: application/vnd.api+json\r\n\r\n{body}"
        ).encode(),
    )


async def _main() -> None:
    loop = asyncio.get_running_loop()
    said = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    echo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.hostile.echo", stdin=PIPE, stdout=PIPE
    )
    assert echo.stdout is not None
    echo_port = int(await echo.stdout.readline())
    read, write = _requests(said)
    waits: dict[str, list[float]] = {"reads": [], "writes": [], "echoes": []}
    phases = [n / said["readers"] for n in range(said["readers"])]
    callers = [
        _Caller(said["port"], write, _WRITES_A_SECOND, waits["writes"]),
        *(_Caller(said["port"], read, _READS_A_SECOND, waits["reads"], n) for n in phases),
        *(_Caller(echo_port, read, _READS_A_SECOND, waits["echoes"], n) for n in phases),
    ]
    work = [asyncio.create_task(caller.work()) for caller in callers]
    while await loop.run_in_executor(None, sys.stdin.readline):
        for caller in callers:
            caller.settle()
        failures = [failure for caller in callers for failure in caller.failures]
        print(json.dumps({**waits, "failures": failures}), flush=True)  # noqa: T201
        for listed in waits.values():
            listed.clear()
        for caller in callers:
            caller.failures.clear()
    for task in work:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(_main())
