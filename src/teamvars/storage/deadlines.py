"""By when storage has done what it was asked, so that a server that says nothing ends nobody's day.

A statement is ended by closing its socket. The driver's own time-outs send a request to cancel over
a new connection: a server that says nothing would be waited for once more, and a COMMIT may not be
cancelled, for PostgreSQL reports a cancelled wait for its standby as success.
"""

import asyncio
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

COMMIT_SECONDS = 5.0
"""How much later than all before it a COMMIT may end."""


class Deadline(msgspec.Struct, frozen=True):
    """A moment of the event loop's clock (`math.inf`: none), and how long one statement may take.

    It holds for everything before a COMMIT: waits for connections and locks, statements, and
    their repetition.
    """

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """As long from now."""
        return cls(asyncio.get_running_loop().time() + seconds, seconds)

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self.at - asyncio.get_running_loop().time()

    @property
    def is_nearly_over(self) -> bool:
        """Whether it is too late to begin with others, whom this deadline would cut off as well."""
        return self.left < self.seconds / 10

    @property
    def of_commit(self) -> "Deadline":
        """That of a COMMIT which begins now."""
        return Deadline(min(self.at + COMMIT_SECONDS, Deadline.after(self.seconds).at), 0)

    @contextmanager
    def cutting(self, connection: Any) -> Iterator[None]:
        """Closes the connection's socket when it passes, whatever runs there then."""
        if self.at == math.inf:
            yield
            return
        timer = asyncio.get_running_loop().call_at(self.at, connection.terminate)
        try:
            yield
        finally:
            timer.cancel()


def earliest(deadlines: Iterable[Deadline]) -> Deadline:
    """The first of them to pass."""
    return min(deadlines, key=lambda deadline: deadline.at)
