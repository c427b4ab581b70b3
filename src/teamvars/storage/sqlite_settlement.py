"""What becomes of a commit that failed and may stand in SQLite's log all the same.

When the sync of a commit fails, SQLite rolls back and nobody sees the commit. But its frames stay
in the log, and whoever reads that anew (the first to open the store once all others have closed it
or were killed) takes every frame whose checksum is right: the commit would come back.

Each checksum continues the one before. So one more commit, which is written in the same place, ends
all of the lost one however long that was; and it is certain once this one has been synced.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

import apsw
import structlog

from teamvars.domain.errors import Refusal, outcome_unknown, storage_unavailable
from teamvars.storage.sqlite_link import Link

WAIT_SECONDS = 5.0
"""How long the writers of a lost commit wait to hear that nothing was changed."""

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0

log = structlog.get_logger("teamvars.storage")


class LostCommit(Exception):
    """A commit failed and may stand in the log. `version` is the store's, right after that."""

    def __init__(self, version: int | None) -> None:
        super().__init__()
        self.version = version


class Settlement:
    """Settles lost commits, of which there is one at most: nobody writes before it is settled."""

    def __init__(self, committer: Executor, links: Sequence[Link]) -> None:
        """`committer` has the thread for whatever may sync, `links` are the store's."""
        self._committer = committer
        self._links = links
        self._given_up = asyncio.Event()
        self._task: asyncio.Task[bool] | None = None

    async def settle(self, connection: apsw.Connection, lost: LostCommit) -> Refusal:
        """What to tell the writers: that nothing was changed, or after a while that it is unknown.

        Takes over the connection on which the commit failed: as long as that is open, the log is
        not read anew. The links refuse until the commit is settled, however long that takes.
        """
        kind = type(lost.__cause__).__name__
        log.warning("a commit may be in the log and not on the disk", error=kind)
        self._suspend(True)
        self._task = asyncio.create_task(self._settle(connection, lost.version))
        done, _ = await asyncio.wait([self._task], timeout=WAIT_SECONDS)
        return storage_unavailable() if done and self._task.result() else outcome_unknown()

    async def give_up(self) -> None:
        """Ends what is under way; the store refuses from then on."""
        self._given_up.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _settle(self, connection: apsw.Connection, before: int | None) -> bool:
        """Tries until it is done. True: the lost commit has changed nothing and never will."""
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
        # Another version: another process has committed, or read the log anew before we wrote.
        return now is not None and now == before

    async def _is_given_up_within(self, seconds: float) -> bool:
        try:
            return await asyncio.wait_for(self._given_up.wait(), seconds)
        except TimeoutError:
            return False

    def _suspend(self, is_suspended: bool) -> None:
        for link in self._links:
            link.is_suspended = is_suspended


def commit(connection: apsw.Connection) -> None:
    """Commits. Raises LostCommit, or FullError or SQLError where the log holds no whole commit:
    there was no room for its last frame, or SQLite had ended the transaction before."""
    try:
        connection.execute("COMMIT")
    except (apsw.FullError, apsw.SQLError):
        raise
    except apsw.Error as error:
        raise LostCommit(_version(connection)) from error


def has_log(path: Path) -> bool:
    """Whether a store has a log: somebody has it open, or was killed with it open."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except OSError:
        return False


def begin_log_anew(connection: apsw.Connection) -> None:
    """Brings all that is in the log into the file, and ends what the log holds, where it can.

    A killed process may have left commits whose sync had failed, which are shown from now on. The
    kernel takes them for written, so that no sync of the log writes them: after a power cut they
    would be gone, and with them every later commit, since each checksum continues the one before.
    """
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        # Until the log has a new beginning on the disk, the older frames there count.
        _overwrite(connection)


def _version(connection: apsw.Connection) -> int | None:
    """A number that moves when anybody else commits or reads the log anew; None: not to be had."""
    try:
        version: int = connection.pragma("data_version")
    except apsw.Error:
        return None
    return version


def _overwrite(connection: apsw.Connection) -> int | None:
    """Commits one page, as it is, and returns the version it was based on; None: not this time."""
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
