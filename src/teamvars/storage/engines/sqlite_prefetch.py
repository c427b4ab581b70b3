"""Reads from the disk in a thread what a statement on the event loop is about to need.

A list whose pages are not in memory is a read for each of its rows, for all of which the event loop
would stand still (decision 011).
"""

import asyncio
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from teamvars.storage.database import Statement
from teamvars.storage.engines.coalescing import Coalescer, Fifo, Waiter
from teamvars.storage.engines.sqlite_connection import ServedFile, SqliteConnection, render

if sys.platform == "linux":
    import resource

_SLOW_SECONDS = 0.004
_AGAIN_SECONDS = 1.0
_WANTED_SECONDS = 5.0
_CACHE_KIB = 256  # what is read is for the kernel to keep


class Prefetcher:
    """Prefetches for some seconds after the disk has held up two statements within a second; else
    it costs nothing.

    Its statements have a connection of their own, and what they return or raise is for nobody.
    """

    def __init__(self, file: ServedFile) -> None:
        self._connection = SqliteConnection(file, _CACHE_KIB)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-prefetch")
        self._statements: Coalescer[Statement, None] = Coalescer(
            self._run, Fifo(skip_cancelled=True)
        )
        self._wanted_until = self._slow_at = -math.inf
        self._blocks = _blocks_read()

    def note(self, seconds: float) -> None:
        """A statement has taken so long on the event loop, whose thread this is.

        Time alone does not tell: a busy host takes the processor away for longer than that.
        """
        if seconds > _SLOW_SECONDS and self._blocks != (blocks := _blocks_read()):
            self._blocks = blocks
            before, self._slow_at = self._slow_at, time.monotonic()
            if self._slow_at - before < _AGAIN_SECONDS:
                self._wanted_until = self._slow_at + _WANTED_SECONDS

    @property
    def is_wanted(self) -> bool:
        """Whether the disk has been slow lately."""
        return time.monotonic() < self._wanted_until

    async def run(self, statement: Statement) -> None:
        """Runs the statement in the thread."""
        await self._statements.submit(statement)

    def let_go(self) -> None:
        """Has the connection closed by the thread, and opened again for what is read next."""
        self._thread.submit(self._connection.close)

    async def close(self) -> None:
        """Waits for what is queued."""
        await self._statements.close()
        self._thread.shutdown()
        self._connection.close()

    async def _run(self, batch: list[Waiter[Statement, None]]) -> None:
        statements = [waiter.item for waiter in batch]
        await asyncio.get_running_loop().run_in_executor(self._thread, self._read, statements)
        for waiter in batch:
            waiter.set_result(None)

    def _read(self, statements: list[Statement]) -> None:
        for statement in statements:
            # Whatever it is: the statement proper will meet with it as well, and say so.
            with suppress(Exception):
                connection = self._connection.connection()
                connection.execute(render(statement.sql), statement.args).fetchall()


def _blocks_read() -> int:
    """How many blocks this thread has read from disks; on systems that do not count that, 0."""
    if sys.platform != "linux":
        return 0
    return resource.getrusage(resource.RUSAGE_THREAD).ru_inblock
