"""Settles commits that failed and may be in SQLite's write-ahead log (WAL) all the same.

When the fsync of a commit fails, SQLite rolls back and no connection sees the commit. But its
frames stay in the WAL file. WAL recovery, by the first process to open the file when no other has
it open, takes every frame with a valid checksum, up to the last commit frame: the commit would
come back.

The checksum of a frame is cumulative over all frames before it. So one further commit, which is
written from the same offset, invalidates all frames of the lost one, however many; and once it is
synced that is durable (decision 007).
"""

import asyncio
import os
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

import apsw
import structlog

from teamvars.domain.errors import OUTCOME_UNKNOWN, Refusal, storage_unavailable
from teamvars.storage.engines.sqlite_connection import SqliteConnection

WAIT_SECONDS = 5.0
"""How long the callers of a lost commit wait for it to be settled."""

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0

log = structlog.get_logger("teamvars.storage")


class LostCommit(Exception):
    """A commit failed and may be in the WAL. `version` is the data version right after that."""

    def __init__(self, version: int | None) -> None:
        super().__init__()
        self.version = version

    @classmethod
    def on(cls, connection: apsw.Connection) -> "LostCommit":
        """One that has just failed on that connection."""
        return cls(_version(connection))


class Settlement:
    """Settles lost commits, one at most at a time: there are no writes before it is settled."""

    def __init__(self, committer: Executor, connections: Sequence[SqliteConnection]) -> None:
        """`committer` has the thread for whatever may fsync; `connections` are those whose
        rows are somebody's answer, to be suspended meanwhile.
        """
        self._committer = committer
        self._connections = connections
        self._given_up = asyncio.Event()
        self._task: asyncio.Task[bool] | None = None

    async def settle(self, connection: apsw.Connection, lost: LostCommit) -> Refusal:
        """The refusal for the callers: storage_unavailable, with nothing changed, or after
        `WAIT_SECONDS` outcome_unknown.

        Takes ownership of the connection on which the commit failed: no process does WAL recovery
        as long as one has the file open. The store refuses until the commit is settled, however
        long that takes.
        """
        kind = type(lost.__cause__).__name__
        log.warning("a commit may be in the log and not on the disk", error=kind)
        self._suspend(True)
        self._task = asyncio.create_task(self._settle(connection, lost.version))
        done, _ = await asyncio.wait([self._task], timeout=WAIT_SECONDS)
        return storage_unavailable() if done and self._task.result() else Refusal(OUTCOME_UNKNOWN)

    async def give_up(self) -> None:
        """Stops trying; the store refuses from then on."""
        self._given_up.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _settle(self, connection: apsw.Connection, before: int | None) -> bool:
        """Tries until it is settled. True: the lost commit has no effect, now or after a crash."""
        began = time.monotonic()
        in_thread = asyncio.get_running_loop().run_in_executor
        pause = _FIRST_PAUSE_SECONDS
        while (now := await in_thread(self._committer, _overwrite, connection)) is None:
            if await self._is_given_up_within(pause):
                break
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        else:
            seconds = round(time.monotonic() - began, 3)
            log.warning("the log is settled", seconds=seconds, undone=now == before)
            self._suspend(False)
        await in_thread(self._committer, connection.close, True)
        # Another version: another process has committed, or has done WAL recovery, before us.
        return now is not None and now == before

    async def _is_given_up_within(self, seconds: float) -> bool:
        try:
            return await asyncio.wait_for(self._given_up.wait(), seconds)
        except TimeoutError:
            return False

    def _suspend(self, is_suspended: bool) -> None:
        for connection in self._connections:
            connection.is_suspended = is_suspended


def has_wal(path: Path) -> bool:
    """Whether the file has a WAL: a process has it open, or was killed while it had."""
    try:
        # Of a link it is beside the file.
        return Path(f"{os.path.realpath(path)}-wal").stat().st_size > 0
    except OSError:
        return False


def empty_wal(connection: apsw.Connection) -> bool:
    """Ends a transaction that has begun and copies all that is in the WAL into the file. False: not
    all of it, while another process reads what was there before, or the disk is full.
    """
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        frames, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:
        return False
    return frames == copied


def restart_wal(connection: apsw.Connection) -> None:
    """Checkpoints the WAL and restarts it from its beginning; does nothing while others read.

    A killed process may have left frames whose fsync had failed, and which recovery has taken. The
    kernel has marked their pages clean, so no later fsync writes them: after a power cut they would
    be missing, and with them, as checksums are cumulative, every commit that was appended since.
    """
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        # Only the first commit after a checkpoint writes the new WAL header: until that is synced,
        # the old frames are valid.
        _overwrite(connection)


def _version(connection: apsw.Connection) -> int | None:
    """A number that changes when another connection commits or recovers; None: it failed."""
    try:
        version: int = connection.pragma("data_version")
    except apsw.Error:
        return None
    return version


def _overwrite(connection: apsw.Connection) -> int | None:
    """Commits one page unchanged, and returns the data version before that; None: it failed."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)
        # SQLite writes the page also when the number stays the same.
        connection.pragma("user_version", connection.pragma("user_version"))
        connection.execute("COMMIT")
    except apsw.Error:
        return None
    return version
