"""A connection to a SQLite file, with the PRAGMAs the service relies on, and transactions on it."""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import cache, partial
from pathlib import Path
from typing import Any

import apsw

from teamvars.domain.errors import TRAIL_ALTERED, Refusal, storage_unavailable
from teamvars.storage.database import (
    STRICT,
    AlreadyThere,
    Body,
    Fragments,
    Lookup,
    MissingReference,
    MissingTable,
    Part,
    Row,
    StorageMisconfigured,
    T,
    Taken,
    Transaction,
)
from teamvars.storage.engines import sqlite_altered

LOG_BYTES = 16 * 1024 * 1024
"""What the log's file is cut to when the log begins anew: it grows while a backup reads, and by
large changes.
"""
_PRAGMAS = {
    "journal_mode": "wal",
    "journal_size_limit": LOG_BYTES,
    "synchronous": 2,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "secure_delete": 1,
}
_CACHE_KIB = 16384  # the paths into the indexes of a million variables
UNUSABLE = (
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.NotADBError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)
FRAGMENTS = Fragments(
    {
        "text": "TEXT",
        "bytes": "BLOB",
        "lock": "",
        "each": r"IN (SELECT value FROM json_each(\1))",
        "texts": r"json_each(\1)",
        "encoded": r"CAST(\1 AS BLOB)",
        "hex": r"lower(hex(\1))",
    }
)

_MISSING = ("no such table", "no such column")
_TYPES_OF = partial(map, type)


class AnotherFile(Exception):
    """What is at the path is not the file that was opened."""


class LostLog(Exception):
    """The log that was opened is gone: nobody would find what is committed to it."""


class AnotherLog(LostLog):
    """Another one is in its place."""


class ServedFile:
    """A file that connections share: the first that was opened at its path, and no other that takes
    its place later. What the `-wal` beside it has of the first would be put into that one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode: tuple[int, int] | None = None
        self._log: Path | None = None
        self._log_inode: tuple[int, int] | None = None
        self._open: set[object] = set()

    def require(self) -> tuple[int, int]:
        """Which it is. Raises OSError while it is away, and AnotherFile while another has its
        place.
        """
        # SQLite keeps writing to a file that was deleted or replaced: its descriptor is valid.
        status = self.path.stat()
        inode = status.st_dev, status.st_ino
        if self._inode not in (None, inode):
            raise AnotherFile(
                f"{self.path} is another file than the one that was opened. Put that back, or "
                "restart to serve this one."
            )
        return inode

    def note_opened(self, by: object, log: Path) -> None:
        """From here on it is this one with this log, if it is the first. Raises OSError."""
        self._inode = self._inode or self.require()
        self._log = log
        self._open.add(by)
        if log.exists():  # of a new file it begins with what is written first
            self.require_log()

    def note_closed(self, by: object) -> None:
        """Once nobody here has it open there may be another log."""
        self._open.discard(by)
        if not self._open:
            self._log_inode = None

    def require_one_log(self) -> None:
        """Before another connection opens it: raises LostLog where its log was taken away while
        somebody has it open, here or in another process. There would be two logs: nobody opens it
        before all have put into it what is in the first, and the last of them has removed what they
        share.
        """
        if self._log is None:
            return
        is_gone = _shared_by(self._log).exists() and not self._log.exists()
        if is_gone or self._log_inode is not None:  # known while somebody here has it open
            self.require_log()

    def require_log(self) -> None:
        """Raises LostLog when the log that is open was taken away, AnotherLog when there is another
        by now. SQLite goes on with the one that it has opened.
        """
        assert self._log is not None  # it was opened
        try:
            status = self._log.stat()
        except FileNotFoundError:
            who = "a connection here" if self._open else "another process"
            raise LostLog(f"{self._log} is gone, with which {who} has the file open") from None
        found = status.st_dev, status.st_ino
        self._log_inode = self._log_inode or found
        if found != self._log_inode:
            raise AnotherLog(f"{self._log} is another file than the one that was opened: restart.")


def _shared_by(log: Path) -> Path:
    """What all that have it open share: it is there as long as one of them is."""
    return log.with_name(f"{log.name.removesuffix('wal')}shm")


class SqliteConnection:
    """A connection that is opened on first use, and again after it was closed.

    It belongs to one thread; only a COMMIT runs in another, and nothing meanwhile.
    """

    def __init__(
        self, file: ServedFile, cache_kib: int = _CACHE_KIB, *, in_one_thread: bool = False
    ) -> None:
        """`cache_kib`: how much of the file it keeps in memory by itself. `in_one_thread`: no other
        ever uses it, so that SQLite need not lock it for each column of each row.
        """
        self.is_suspended = False
        self._file = file
        self._cache_kib = cache_kib
        self._flags = apsw.SQLITE_OPEN_READWRITE
        if in_one_thread:
            self._flags |= apsw.SQLITE_OPEN_NOMUTEX
        self._connection: apsw.Connection | None = None

    def connection(self) -> apsw.Connection:
        """The open connection. Refuses when the file is missing, another or cannot be opened, or
        this is suspended; raises BusyError when another process has a lock that opening needs.
        """
        if self.is_suspended:
            raise storage_unavailable()
        try:
            self._file.require()
            if self._connection is None:
                self._file.require_one_log()
                self._connection = _connect(self._file.path, self._flags, self._cache_kib)
                self._file.note_opened(self, Path(self._connection.filename_wal))
        except (OSError, AnotherFile, LostLog, *UNUSABLE) as error:
            raise storage_unavailable() from error
        return self._connection

    def roll_back(self) -> None:
        """Rolls back a transaction that has begun; a connection on which that fails is closed."""
        if self._connection is None or not self._connection.in_transaction:
            return
        try:
            self._connection.execute("ROLLBACK")
        except apsw.Error:
            self.close()

    def translate(self, error: Exception) -> Exception:
        """What to raise for an error of the driver; closes a connection that is unusable by it."""
        if not isinstance(error, UNUSABLE):
            return error
        self.close()
        return storage_unavailable(error)

    def detach(self) -> None:
        """Gives up the connection without closing it: somebody else has taken it over."""
        self._connection = None
        self._file.note_closed(self)

    def close(self) -> None:
        """Closes the connection, which rolls back what is uncommitted."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None
            self._file.note_closed(self)


def _connect(path: Path, flags: int, cache_kib: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    # Query planner stability: without it a statement is prepared again whenever its parameters
    # change, which costs the access statement eight times as much as running it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma, wanted in (*_PRAGMAS.items(), ("cache_size", -cache_kib)):
        connection.pragma(pragma, wanted)
        if connection.pragma(pragma) != wanted:
            raise StorageMisconfigured(f"{path}: SQLite does not grant PRAGMA {pragma}={wanted}.")
    return connection


class SqliteTransaction(Transaction):
    """A `Transaction` whose statements never suspend, except that long ones run in the threads of
    `executor`, if there is one. Nothing else uses the connection meanwhile.
    """

    __slots__ = ("_connection", "_cursor", "_executor")
    has_one_writer = True

    def __init__(self, connection: apsw.Connection, executor: Executor | None = None) -> None:
        self._connection = connection
        self._executor = executor
        self._cursor = connection.cursor()

    @property
    def may_pause(self) -> bool:
        return self._executor is not None

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return self.run(sql, args)

    async def look_up_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[Sequence[Row]]:
        return [self.run(lookup.single, args) for args in calls]

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        # There is nothing to lock, and nobody has changed anything meanwhile.
        found: list[tuple[Row | None, bool | None]] = []
        for args in calls:
            rows = self.run(lookup.single, args)
            found.append((rows[0] if rows else None, True))
        return found

    async def execute_long(self, sql: str, *args: object) -> None:
        if self._executor is None:
            self.run(sql, args)
            return
        await asyncio.get_running_loop().run_in_executor(self._executor, self.run, sql, args)

    async def write_each(self, *parts: Part) -> None:
        for sql, rows in parts:
            for row in rows:
                self.run(sql, tuple(row))

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        await self.write_each((sql, rows))

    async def script(self, sql: str) -> None:
        try:
            self._cursor.execute(render(sql))
        except apsw.SQLError as error:
            if any(said in str(error) for said in ("already exists", "duplicate column name")):
                raise AlreadyThere from error
            raise

    def run(self, sql: str, args: tuple[Any, ...]) -> Sequence[Row]:
        """As `fetch`, and not a coroutine."""
        text, known = render(sql), _types_known(sql)
        try:
            rows: Sequence[Row] = self._cursor.execute(text, args).fetchall()
        except apsw.ConstraintError as error:
            raise _broken_constraint(error, args) from None
        except apsw.SQLError as error:
            if any(said in str(error) for said in _MISSING):
                raise MissingTable from error
            raise
        except UnicodeDecodeError:
            # The driver leaves the statement open, and with it its snapshot: the connection would
            # show nothing but that, whatever is committed from here on.
            self._cursor.close(True)
            self._cursor = self._connection.cursor()
            if STRICT in sql or not sqlite_altered.may_repeat(self._cursor, text, args):
                raise
            rows = sqlite_altered.read(self._cursor, text, args)
        # All of it in C: nobody waits for it whose rows are as they were written.
        if known.issuperset(map(tuple, map(_TYPES_OF, rows))) or STRICT in sql:
            return rows
        return sqlite_altered.fitting(self._cursor, text, args, rows, known)


def run_to_end(body: Body[T], transaction: SqliteTransaction) -> T:
    """Runs the function to its end in this iteration of the event loop: nothing interleaves with
    the transaction, and no other task sees the connection inside of it.
    """
    coroutine = body(transaction)
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("A transaction may await nothing but its own statements.")


def _broken_constraint(error: apsw.ConstraintError, args: tuple[Any, ...]) -> Exception:
    if "audit_entries.sequence" in str(error):
        return Refusal(TRAIL_ALTERED.filled({"stream": args[0]}))
    result = getattr(error, "extendedresult", None)  # not in the driver's type stubs
    if result in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Taken()
    if result == apsw.SQLITE_CONSTRAINT_FOREIGNKEY:
        return MissingReference()
    return error


@cache
def _types_known(sql: str) -> set[tuple[type, ...]]:
    """The types that rows of the statement have had, and that their columns may have."""
    return set()


@cache
def render(sql: str) -> str:
    """The statement as SQLite gets it, with numbered parameters `?1`, `?2`, …."""
    return re.sub(r"\$(\d+)", r"?\1", FRAGMENTS.render(sql))
