"""Deadlines of requests to PostgreSQL, which hold when the server does not respond.

A statement past its deadline is ended by closing its socket. The driver's own time-outs send a
cancel request over a new connection instead: for a server that does not respond that is another
wait, and a COMMIT may not be cancelled at all, since PostgreSQL reports a cancelled wait for a
synchronous standby as success. The server finds the socket closed within a second, and ends the
statement by itself (`client_connection_check_interval`).
"""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

COMMIT_SECONDS = 5.0
"""How much later than the deadline of what comes before it a COMMIT may end."""


class Deadline(msgspec.Struct, frozen=True, order=True):
    """A time of the monotonic clock (`math.inf`: none), and the seconds of one statement. The one
    that passes first is the least. After `latest` too little remains to join a batch, which has the
    earliest deadline in it.

    It covers everything before a COMMIT: waits for connections and locks, statements, and retries.
    """

    at: float
    seconds: float
    latest: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """The deadline so many seconds from now."""
        if seconds == math.inf:
            return NONE
        at = time.monotonic() + seconds
        return cls(at, seconds, at - seconds / 10)

    @property
    def left(self) -> float:
        """The seconds that remain."""
        return self.at - time.monotonic()

    @property
    def of_commit(self) -> "Deadline":
        """The deadline of a COMMIT that begins now."""
        return Deadline(min(self.at + COMMIT_SECONDS, Deadline.after(self.seconds).at), 0)

    @contextmanager
    def enforced_on(self, connection: Any) -> Iterator[None]:
        """Closes the connection's socket when the deadline passes within the block."""
        if self.at == math.inf:
            yield
            return
        timer = asyncio.get_running_loop().call_later(self.left, _end, connection)
        try:
            yield
        finally:
            timer.cancel()


def _end(connection: Any) -> None:
    connection.is_overdue = True
    connection.terminate()


NONE = Deadline(math.inf, math.inf)
"""Never."""
