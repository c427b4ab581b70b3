"""An outage of writes: the store answers reads, and no change can be committed.

Small writes that happen to succeed do not end it, on a disk that is nearly full for instance. The
node tries writes of its own, one at a time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import apsw
import structlog
from asyncpg import exceptions as pg

from teamvars.domain.errors import Code, Refusal

PAUSE_SECONDS = 2.0
"""Between two tries."""

_ENOUGH = 2
"""So many tries that succeed one after another end the outage."""
_REFUSES_WRITES = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    pg.DiskFullError,
    pg.PostgresIOError,
    pg.ReadOnlySQLTransactionError,
)

log = structlog.get_logger("teamvars.storage")


def begins_with(refusal: Refusal) -> bool:
    """Whether a refused write tells of such an outage: the disk is full or fails, what is there is
    read-only, or a commit was not confirmed.

    A store that cannot be reached at all is another matter.
    """
    cause = refusal.__cause__
    is_unknown = any(fault.code is Code.OUTCOME_UNKNOWN for fault in refusal.faults)
    return cause is not None and (is_unknown or isinstance(cause, _REFUSES_WRITES))


def is_part_of_one(refusal: Refusal) -> bool:
    """Whether a refused write tells nothing new in such an outage: it waited in vain for a row that
    is held by a commit which waits itself.
    """
    return isinstance(refusal.__cause__, pg.LockNotAvailableError)


class WriteOutages:
    """Whether there is one now; the log has a warning when it begins and one when it ends."""

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        """`probe` writes something, or raises."""
        self._probe = probe
        self._ending: asyncio.Task[None] | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is an outage that has not been seen to end."""
        return self._ending is not None

    def begin(self, reason: str) -> None:
        """From now on there is one, until enough tries have succeeded."""
        if self._ending is None:
            log.warning("writes are unavailable", reason=reason)
            self._ending = asyncio.create_task(self._end())

    def close(self) -> None:
        """No more tries."""
        if self._ending is not None:
            self._ending.cancel()

    async def _end(self) -> None:
        begun = time.monotonic()
        succeeded = 0
        while succeeded < _ENOUGH:
            await asyncio.sleep(PAUSE_SECONDS)
            succeeded = succeeded + 1 if await self._succeeds() else 0
        self._ending = None
        seconds = round(time.monotonic() - begun, 1)
        log.warning("writes are available again", seconds=seconds)

    async def _succeeds(self) -> bool:
        try:
            await self._probe()
        except Exception:  # whatever it was, the outage has not ended
            return False
        return True
