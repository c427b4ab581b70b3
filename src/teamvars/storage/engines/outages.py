"""Outages of the store, and the log's lines about them: when one begins, and when it ends.

In an outage of writes the store answers reads, and no change can be committed. Small writes that
happen to succeed do not end it, on a disk that is nearly full for instance: the node tries writes
of its own, one at a time.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any

import apsw
import structlog
from asyncpg import exceptions as pg

from teamvars.domain.backups import Inspection
from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Code, Kind, Refusal
from teamvars.metrics import Gauge, Look
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines import sqlite_files
from teamvars.storage.engines.sqlite_connection import LostLog

PAUSE_SECONDS = 2.0
"""Between two tries."""

_ENOUGH = 2
"""So many tries that succeed one after another end the outage."""
_REFUSES_WRITES = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    LostLog,
    pg.DiskFullError,
    pg.PostgresIOError,
    pg.ReadOnlySQLTransactionError,
)
_DAMAGE = (
    *sqlite_files.UNREADABLE,
    pg.InternalServerError,
    pg.UndefinedFileError,
    TypeError,
    ValueError,
)
_HELD = (apsw.BusyError, pg.LockNotAvailableError)
_PROBE_BYTES = 64 * 1024
_PROBE = """
INSERT INTO write_probes (one, filler) VALUES (1, $1)
ON CONFLICT (one) DO UPDATE SET filler = excluded.filler
"""
_MOST_CHARACTERS = 300

STORAGE = Gauge("teamvars_storage_available", "1 unless the store could not be used last time.")
WRITES = Gauge("teamvars_writes_available", "1 unless changes cannot be committed.")

log = structlog.get_logger("teamvars.storage")


async def probe(tx: Transaction) -> None:
    """Writes what needs room, in one row, of which no compression makes less."""
    await tx.execute(_PROBE, os.urandom(_PROBE_BYTES))


def begins_with(refusal: Refusal) -> bool:
    """Whether a refused write tells of such an outage: the disk is full or fails, what is there is
    read-only, SQLite's log was taken away, or a commit was not confirmed.

    A store that cannot be reached at all is another matter.
    """
    cause = refusal.__cause__
    return cause is not None and (_is_unknown(refusal) or isinstance(cause, _REFUSES_WRITES))


def tells_of_damage(error: BaseException) -> bool:
    """Whether it failed because what it reads is damaged, or perhaps of another type: what reads
    something else may well succeed. Of a commit that was not confirmed nothing tells that.
    """
    return not _is_unknown(error) and isinstance(error.__cause__ or error, _DAMAGE)


def _is_unknown(error: BaseException) -> bool:
    return isinstance(error, Refusal) and error.faults[0].code is Code.OUTCOME_UNKNOWN


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
            WRITES.set(0)
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
        WRITES.set(1)
        seconds = round(time.monotonic() - begun, 1)
        log.warning("writes are available again", seconds=seconds)

    async def _succeeds(self) -> bool:
        try:
            await self._probe()
        except Exception:  # whatever it was, the outage has not ended
            return False
        return True


class WatchedDatabase(Database):
    """A decorator of a `Database` that logs its outages.

    One warning when an outage begins, with the driver's error, however many calls fail in it. One
    when it ends: when a call succeeds that began after the last one that failed. An outage of
    writes alone is a state of its own, which the node ends; see `WriteOutages`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._failing_since: float | None = None
        self._failed_at = 0.0
        self._writes = WriteOutages(database.probe)

    @property
    def takes_writes(self) -> bool:
        return not self._writes.is_on

    async def open(self) -> None:
        STORAGE.set(1)
        WRITES.set(1)
        await self._watch(self._database.open())

    def in_request(self) -> AbstractContextManager[None]:
        return self._database.in_request()

    # No coroutine of their own around `_watched`: each would cost every request a frame.

    def read(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.read(body))

    def survey(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.survey(body))

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.query(body))

    def write(self, body: Body[T], *, subject: str | None = None) -> Coroutine[Any, Any, T]:
        return self._watch_write(self._database.write(body, subject=subject))

    def write_in_turns(
        self, body: Body[T], *, subject: str | None = None
    ) -> Coroutine[Any, Any, T]:
        return self._watch_write(self._database.write_in_turns(body, subject=subject))

    def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> Coroutine[Any, Any, T]:
        batch = self._database.batch(body, deadline, waits=waits, is_brief=is_brief)
        return self._watch_write(batch)

    def deadline(self) -> Deadline:
        return self._database.deadline()

    def now(self) -> int:
        return self._database.now()

    def refuse_also(self, sql: str) -> None:
        self._database.refuse_also(sql)

    async def probe(self) -> None:
        await self._database.probe()

    @property
    def has_written(self) -> bool:
        return self._database.has_written

    async def migrate(self, body: Body[T]) -> T:
        return await self._watch(self._database.migrate(body))

    @property
    def looks(self) -> list[Look]:
        return self._database.looks

    async def settle_account(self) -> Sequence[str]:
        return await self._watch(self._database.settle_account())

    async def engine(self) -> Engine:
        return await self._watch(self._database.engine())

    async def inspect(self) -> Inspection:
        return await self._watch(self._database.inspect())

    async def damaged_texts(self) -> Sequence[str]:
        return await self._watch(self._database.damaged_texts())

    async def misfits(self) -> Sequence[str]:
        return await self._watch(self._database.misfits())

    async def close(self) -> None:
        self._writes.close()
        await self._database.close()

    def _watch(self, work: Awaitable[T]) -> Coroutine[Any, Any, T]:
        return self._watched(work, self._note_refusal)

    def _watch_write(self, work: Awaitable[T]) -> Coroutine[Any, Any, T]:
        return self._watched(work, self._note_refused_write)

    async def _watched(self, work: Awaitable[T], note: Callable[[Refusal], None]) -> T:
        begun = time.monotonic()
        try:
            result = await work
        except Refusal as refusal:
            note(refusal)
            raise
        self._note_success(begun)
        return result

    def _note_refused_write(self, refusal: Refusal) -> None:
        if begins_with(refusal):
            assert refusal.__cause__ is not None
            self._writes.begin(reason(refusal.__cause__))
        elif self.takes_writes or not is_part_of_one(refusal):
            self._note_refusal(refusal)

    def _note_refusal(self, refusal: Refusal) -> None:
        # Without a cause it is contention for a lock, or an outage that was logged before.
        if refusal.kind is Kind.UNAVAILABLE and refusal.__cause__ is not None:
            self._note_failure(refusal.__cause__)

    def _note_success(self, begun: float) -> None:
        if self._failing_since is not None and begun > self._failed_at:
            seconds = round(time.monotonic() - self._failing_since, 1)
            self._failing_since = None
            STORAGE.set(1)
            log.warning("storage is available again", seconds=seconds)

    def _note_failure(self, cause: BaseException) -> None:
        self._failed_at = time.monotonic()
        if self._failing_since is None:
            self._failing_since = self._failed_at
            STORAGE.set(0)
            log.warning("storage is unavailable", reason=reason(cause))


def is_held(cause: BaseException | None) -> bool:
    """Whether nothing is wrong with the store: others had what was needed for too long."""
    return isinstance(cause, _HELD)


def reason(cause: BaseException) -> str:
    """The class of a driver's error and the first line of its message, at most 300 characters; of
    several servers those of each.

    Further lines are left out: a DETAIL of PostgreSQL can quote a row.
    """
    if notes := getattr(cause, "__notes__", None):
        return "; ".join(note[:_MOST_CHARACTERS] for note in notes)
    message = str(cause).partition("\n")[0][:_MOST_CHARACTERS]
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__
