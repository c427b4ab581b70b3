"""SQLite through apsw: one connection that writes, with group commit, and one that reads.

Statements run on the event loop, where they cost microseconds. Nothing blocks it: a lock of another
process is polled for, and a COMMIT, which calls fsync(), runs in a thread. So does what looks at
many rows, on a connection of its own.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Generic

import apsw

from teamvars.domain.backups import Inspection
from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.storage.database import Body, Database, Lookup, Row, Statement, T, Transaction
from teamvars.storage.deadlines import NONE, Deadline
from teamvars.storage.engines import outages, sqlite_files
from teamvars.storage.engines.coalescing import Coalescer, Fifo, Waiter
from teamvars.storage.engines.schemas import Refusing
from teamvars.storage.engines.sqlite_connection import (
    UNUSABLE,
    AnotherLog,
    LostLog,
    ServedFile,
    SqliteConnection,
    SqliteTransaction,
    run_to_end,
)
from teamvars.storage.engines.sqlite_prefetch import Prefetcher
from teamvars.storage.engines.sqlite_settlement import (
    LostCommit,
    Settlement,
    empty_wal,
    has_wal,
    restart_wal,
)

LOCK_WAIT_SECONDS = 5.0
"""How long a write waits for another process before it is refused."""

_POLL_SECONDS = 0.002
_WORTH_A_TRANSACTION = 3
_TURN_SECONDS = 0.001
"""How long statements run before the event loop has another turn, unless one alone takes longer."""
_SHORT_READ_SECONDS = _TURN_SECONDS / 4
"""Of longer reads, such as pages of a search, an iteration of the event loop has one."""
_NO_DEADLINE = nullcontext()


def host_time() -> int:
    """The time by this host's clock, in µs UTC."""
    return time.time_ns() // 1000


class _Queries(Transaction):
    """Autocommit reads, coalesced per iteration of the event loop.

    apsw releases the GIL around each sqlite3_step(), and other threads of the process, those of
    the HTTP server, contend for it: taking it back costs several times the statement. In a batch
    all statements but the first find it uncontended.
    """

    def __init__(self, reader: SqliteConnection, prefetcher: Prefetcher) -> None:
        self._reader = reader
        self._prefetcher = prefetcher
        self._statements: Coalescer[Statement, Sequence[Row]] = Coalescer(
            self._run, Fifo(skip_cancelled=True)
        )

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return await self._ask(Statement(sql, args))

    async def look_up(self, lookup: Lookup, *args: object) -> Row | None:
        statement = Statement(lookup.single, args)
        if self._prefetcher.is_wanted:
            # In a thread each row waits for the interpreter, and this is but one.
            await self._prefetcher.run(statement)
        rows = await self._ask(statement)
        return rows[0] if rows else None

    async def prefetch(self, sql: str, *args: object) -> None:
        if self._prefetcher.is_wanted:
            await self._prefetcher.run(Statement(sql, args))

    async def script(self, sql: str) -> None:
        raise NotImplementedError("a script is for a transaction")

    async def close(self) -> None:
        """Waits for the statements that are queued."""
        await self._statements.close()
        await self._prefetcher.close()

    async def _ask(self, statement: Statement) -> Sequence[Row]:
        try:
            return await self._statements.submit(statement)
        except apsw.BusyError:
            return await _retry_while_busy(lambda: self._statements.submit(statement))

    async def _run(self, batch: list[Waiter[Statement, Sequence[Row]]]) -> None:
        waiting = deque(batch)
        self._run_some(waiting)
        while waiting:
            await asyncio.sleep(0)
            self._run_some(waiting)

    def _run_some(self, waiting: deque[Waiter[Statement, Sequence[Row]]]) -> None:
        """Runs the next statements, until the event loop should have a turn."""
        connection = self._reader.connection()
        transaction = SqliteTransaction(connection)
        # On one snapshot: each would else lock the log for itself, at a quarter of its time.
        is_shared = len(waiting) >= _WORTH_A_TRANSACTION
        if is_shared:
            connection.execute("BEGIN")
        begun = before = time.monotonic()
        while waiting and before - begun < _TURN_SECONDS:
            waiter = waiting.popleft()
            try:
                waiter.set_result(transaction.run(waiter.item.sql, waiter.item.args))
            except Exception as error:
                waiter.set_exception(self._reader.translate(error))
                break  # it may have closed the connection
            now = time.monotonic()
            self._prefetcher.note(now - before)
            before = now
        if is_shared:
            self._reader.roll_back()


class _Write(Generic[T]):
    """One function of a batch, and its outcome, which holds once the batch is committed."""

    __slots__ = ("_body", "_error", "_result")

    def __init__(self, body: Body[T]) -> None:
        self._body = body
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self, connection: apsw.Connection) -> None:
        """Runs the function; a failure undoes it alone.

        A full disk or an I/O error makes SQLite roll the transaction back by itself; nothing runs
        after that, and the commit will fail.
        """
        if not connection.in_transaction:
            return
        connection.execute("SAVEPOINT member")
        try:
            self._result = run_to_end(self._body, SqliteTransaction(connection))
        except BaseException as error:
            self._error = storage_unavailable(error) if isinstance(error, UNUSABLE) else error
            if connection.in_transaction:
                connection.execute("ROLLBACK TO member")
        if connection.in_transaction:
            connection.execute("RELEASE member")

    def settle(self, waiter: "Waiter[_Write[T], T]", failure: BaseException | None) -> None:
        """Gives the caller the outcome, or the failure of the whole batch."""
        error = failure or self._error
        if error is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(self._result)  # type: ignore[arg-type]


class SqliteDatabase(Database):
    """A `Database` in one file. It belongs to the event loop it was first used on."""

    def __init__(self, path: Path, create: bool = False, refusing: Refusing | None = None) -> None:
        """`create` lets `open` make the file. `refusing` has a row where this node may not change
        anything (see `schemas`).
        """
        self._path = path
        self._create = create
        self._refusing = refusing
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-commit")
        self._file = file = ServedFile(path)
        self._writer = SqliteConnection(file)
        self._reader = SqliteConnection(file, in_one_thread=True)
        self._reading = asyncio.Lock()
        self._surveyor = SqliteConnection(file)
        self._surveys = ThreadPoolExecutor(1, thread_name_prefix="sqlite-survey")
        self._prefetcher = Prefetcher(file)
        self._queries = _Queries(self._reader, self._prefetcher)
        # Writes run also when their caller was cancelled in the queue: a client that has
        # disconnected may have relied on that.
        self._writes: Coalescer[_Write[Any], Any] = Coalescer(
            self._run_batch, Fifo(skip_cancelled=False)
        )
        # Held by a batch or by a write in turns, from BEGIN to the end of COMMIT.
        self._writing = asyncio.Lock()
        self._in_turns: set[asyncio.Task[Any]] = set()
        self._has_written = False
        connections = self._writer, self._reader, self._surveyor
        self._settlement = Settlement(self._committer, connections)

    async def open(self) -> None:
        """Opens the file. Raises StorageMisconfigured when SQLite does not grant what we need."""
        if self._create:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        may_be_unsynced = has_wal(self._path)
        await _retry_while_busy(self._connect)
        if may_be_unsynced:
            connection = self._writer.connection()
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._committer, restart_wal, connection)

    def in_request(self) -> AbstractContextManager[None]:
        return _NO_DEADLINE  # nothing takes longer than LOCK_WAIT_SECONDS and an fsync

    async def read(self, body: Body[T]) -> T:
        return await _retry_while_busy(lambda: self._read_in_turn(body))

    async def survey(self, body: Body[T]) -> T:
        in_thread = asyncio.get_running_loop().run_in_executor
        return await _retry_while_busy(
            lambda: in_thread(self._surveys, _read_once, self._surveyor, body)
        )

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return body(self._queries)

    async def _connect(self) -> None:
        # The writer first: it sets the journal mode of a new file to WAL.
        self._writer.connection()
        self._reader.connection()

    async def _read_in_turn(self, body: Body[T]) -> T:
        async with self._reading:
            begun = time.monotonic()
            try:
                return _read_once(self._reader, body)
            finally:
                if time.monotonic() - begun > _SHORT_READ_SECONDS:
                    await asyncio.sleep(0)

    async def write(self, body: Body[T], *, subject: str | None = None) -> T:
        result: T = await self._writes.submit(_Write(body))
        return result

    async def write_in_turns(self, body: Body[T], *, subject: str | None = None) -> T:
        return await self._write_alone(body)

    def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> Coroutine[Any, Any, T]:
        return self._run_alone(body)  # those that wait are in it already

    def deadline(self) -> Deadline:
        return NONE

    now = staticmethod(host_time)

    def refuse_also(self, sql: str) -> None:
        if self._refusing is not None:
            self._refusing.also(sql)

    async def probe(self) -> None:
        await self.write(outages.probe)

    @property
    def has_written(self) -> bool:
        return self._has_written

    async def migrate(self, body: Body[T]) -> T:
        # BEGIN IMMEDIATE excludes other writers, of this process and of others.
        return await self._write_alone(body, asks=False)

    async def engine(self) -> Engine:
        # `open` has read the settings back already.
        return Engine("SQLite", tuple(map(int, apsw.sqlite_lib_version().split("."))))

    async def inspect(self) -> Inspection:
        return await sqlite_files.inspect(self._path)

    async def damaged_texts(self) -> Sequence[str]:
        return await sqlite_files.damaged_texts(self._path)

    async def misfits(self) -> Sequence[str]:
        return await sqlite_files.misfits(self._path)

    async def close(self) -> None:
        await self._writes.close()
        if self._in_turns:
            await asyncio.wait(self._in_turns)
        await self._queries.close()
        await self._settlement.give_up()
        self._committer.shutdown()
        self._surveys.shutdown()
        self._surveyor.close()
        self._reader.close()
        self._writer.close()

    async def _run_batch(self, batch: list[Waiter[_Write[Any], Any]]) -> None:
        """Runs the functions in one transaction, and settles them after the commit."""
        async with self._writing:
            try:
                connection = await _retry_while_busy(self._begin)
                await self._require_admitted(SqliteTransaction(connection))
                for waiter in batch:
                    waiter.item.run(connection)
                failure = await self._commit(connection)
            except UNUSABLE as error:
                raise self._writer.translate(error) from error
            except Exception:
                self._writer.roll_back()
                raise
        for waiter in batch:
            waiter.item.settle(waiter, failure)

    async def _write_alone(self, body: Body[T], *, asks: bool = True) -> T:
        """Runs a function that may suspend in a transaction of its own."""
        # A task of its own, shielded: a caller that is cancelled does not interrupt it.
        task = asyncio.create_task(self._run_alone(body, asks=asks))
        self._in_turns.add(task)
        task.add_done_callback(self._in_turns.discard)
        return await asyncio.shield(task)

    async def _run_alone(self, body: Body[T], *, asks: bool = True) -> T:
        async with self._writing:
            try:
                connection = await _retry_while_busy(self._begin)
                transaction = SqliteTransaction(connection, self._committer)
                if asks:
                    await self._require_admitted(transaction)
                result = await body(transaction)
                failure = await self._commit(connection)
            except UNUSABLE as error:
                raise self._writer.translate(error) from error
            except BaseException:
                self._writer.roll_back()
                raise
        if failure is not None:
            raise failure
        return result

    async def _require_admitted(self, transaction: SqliteTransaction) -> None:
        if self._refusing is not None and transaction.run(self._refusing.asked, ()):
            await self._refusing.require(transaction)

    async def _begin(self) -> apsw.Connection:
        try:
            connection = self._writer.connection()
        except Refusal as refusal:
            # It was closed before its log was taken away, as on a full disk: whoever reads has it.
            if type(refusal.__cause__) is LostLog:
                await self._begin_another_log(empty_wal(self._reader.connection()))
            raise
        try:
            if connection.readonly("main"):  # BEGIN IMMEDIATE would begin a read, without a word
                raise apsw.ReadOnlyError("the file could not be written when it was opened")
            connection.execute("BEGIN IMMEDIATE")
            self._has_written = True
            self._file.require_log()
        except AnotherLog as error:
            raise storage_unavailable() from error
        except LostLog as error:
            loop = asyncio.get_running_loop()
            is_empty = await loop.run_in_executor(self._committer, empty_wal, connection)
            await self._begin_another_log(is_empty)
            raise storage_unavailable() from error
        except UNUSABLE as error:
            if isinstance(error, apsw.ReadOnlyError):
                await self._let_go()
            raise self._writer.translate(error) from error
        return connection

    async def _begin_another_log(self, is_empty: bool) -> None:
        """Has another one begun next, if all that was in the former is in the file."""
        if is_empty:
            await self._let_go()

    async def _let_go(self) -> None:
        """Closes all connections, which share the `-shm` and the log as the first has opened them:
        the next one finds what it may do by then, and which log there is.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._surveys, self._surveyor.close)
        self._writer.close()
        self._reader.close()
        self._prefetcher.let_go()

    async def _commit(self, connection: apsw.Connection) -> Refusal | None:
        """Commits in a thread, for the fsync. The failure, if any, is that of every function."""
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The event loop goes on meanwhile, with reads on their own connection. Nothing uses the
        # writer's: whoever holds `_writing` awaits this.
        self._committer.submit(_commit_and_tell, connection, committed)
        try:
            await committed
        except LostCommit as lost:
            self._writer.detach()
            return await self._settlement.settle(connection, lost)
        except apsw.Error as error:
            self._writer.close()
            return storage_unavailable(error)
        return None


def _read_once(reader: SqliteConnection, body: Body[T]) -> T:
    connection = reader.connection()
    try:
        connection.execute("BEGIN")
        return run_to_end(body, SqliteTransaction(connection))
    except UNUSABLE as error:
        raise reader.translate(error) from error
    finally:
        reader.roll_back()


def commit(connection: apsw.Connection) -> None:
    """Commits. Raises LostCommit; or FullError or SQLError, where the WAL has no commit frame:
    there was no room for it, or SQLite had rolled the transaction back before.
    """
    try:
        connection.execute("COMMIT")
    except (apsw.FullError, apsw.SQLError):
        raise
    except apsw.Error as error:
        raise LostCommit.on(connection) from error


def _commit_and_tell(connection: apsw.Connection, committed: asyncio.Future[None]) -> None:
    """Commits in this thread and tells the event loop: at half the cost of `run_in_executor`."""
    try:
        commit(connection)
        error = None
    except Exception as raised:
        error = raised
    committed.get_loop().call_soon_threadsafe(_tell, committed, error)


def _tell(committed: asyncio.Future[None], error: Exception | None) -> None:
    if committed.done():  # whoever awaited it was cancelled
        return
    if error is None:
        committed.set_result(None)
    else:
        committed.set_exception(error)


async def _retry_while_busy(step: Callable[[], Awaitable[T]]) -> T:
    """Repeats the step while another process has the lock it needs: SQLite's own busy handler
    would block the event loop.
    """
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            return await step()
        except apsw.BusyError as error:
            if time.monotonic() > deadline:
                raise storage_unavailable() from error
        await asyncio.sleep(_POLL_SECONDS)
