"""SQLite through apsw: one writer whose waiting writes share a commit, and a reader.

Statements run on the event loop, where they cost microseconds; whatever can wait does not: another
process's lock is polled for, and the fsync of a commit runs in a thread.
"""

import asyncio
import os
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple

import apsw

from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.storage.database import (
    Body,
    Fragments,
    MissingReference,
    MissingTable,
    Row,
    Statement,
    T,
    Taken,
    Transaction,
)
from teamvars.storage.sharing import fail, succeed
from teamvars.storage.sqlite_link import UNUSABLE, Link
from teamvars.storage.sqlite_settlement import (
    LostCommit,
    Settlement,
    begin_log_anew,
    commit,
    has_log,
)

FRAGMENTS = Fragments(
    text="TEXT", bytes_="BLOB", lock="", each=r"IN (SELECT value FROM json_each(\1))"
)
LOCK_WAIT_SECONDS = 5.0
"""How long a write waits for another process before it is refused."""

_POLL_SECONDS = 0.002
_MOST_IN_A_BATCH = 64
_NO_DEADLINE = nullcontext()


class SqliteTransaction(Transaction):
    """A `Transaction` whose statements never suspend."""

    __slots__ = ("_cursor",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._cursor = connection.cursor()

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return self.run(sql, args)

    async def together(self, *statements: Statement) -> None:
        for statement in statements:
            self.run(statement.sql, statement.args)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            self.run(sql, tuple(row))

    async def script(self, sql: str) -> None:
        self._cursor.execute(_render(sql))

    def run(self, sql: str, args: tuple[Any, ...]) -> Sequence[Row]:
        """The same as `fetch`, without a coroutine."""
        try:
            return self._cursor.execute(_render(sql), args).fetchall()
        except apsw.ConstraintError as error:
            raise _broken_constraint(error) from None
        except apsw.SQLError as error:
            if "no such table" in str(error):
                raise MissingTable from error
            raise


class _Asker(NamedTuple):
    """A statement that waits for its turn to end."""

    sql: str
    args: tuple[object, ...]
    answer: "asyncio.Future[Sequence[Row]]"


class _Queries(Transaction):
    """A `Transaction` in which each statement is one of its own; those of a turn run together.

    At each step of a statement the driver lets other threads have the interpreter, and they come
    for it: alone, a statement costs several times what it does among others.
    """

    def __init__(self, reader: "Link") -> None:
        self._reader = reader
        self._askers: list[_Asker] = []

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return await _patiently(lambda: self._ask(sql, args))

    async def script(self, sql: str) -> None:
        raise NotImplementedError("a script is for a transaction")

    async def _ask(self, sql: str, args: tuple[object, ...]) -> Sequence[Row]:
        loop = asyncio.get_running_loop()
        if not self._askers:
            loop.call_soon(self._answer_all)
        answer: asyncio.Future[Sequence[Row]] = loop.create_future()
        self._askers.append(_Asker(sql, args, answer))
        return await answer

    def _answer_all(self) -> None:
        """Answers those who asked in the turn before, but for those who have gone since."""
        askers, self._askers = self._askers, []
        waiting = [asker for asker in askers if not asker.answer.done()]
        try:
            transaction = SqliteTransaction(self._reader.connection())
        except Exception as error:
            for asker in waiting:
                fail(asker.answer, error)
            return
        for asker in waiting:
            try:
                succeed(asker.answer, transaction.run(asker.sql, asker.args))
            except Exception as error:
                fail(asker.answer, self._reader.failed(error))


class _Job(Generic[T]):
    """One write: the function to run, and the answer to give after the commit.

    Under a savepoint, which costs as much as two statements, a function that fails is undone alone.
    """

    __slots__ = ("_body", "_error", "_result", "answer", "has_savepoint")

    def __init__(self, body: Body[T], answer: "asyncio.Future[T]", has_savepoint: bool) -> None:
        self._body = body
        self.answer = answer
        self.has_savepoint = has_savepoint
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self, connection: apsw.Connection) -> bool:
        """Runs the function. False: it failed, and its changes are still there.

        A full disk or an I/O error makes SQLite end the transaction; then the commit will fail.
        """
        if not connection.in_transaction:
            return True
        before = connection.total_changes()
        if self.has_savepoint:
            connection.execute("SAVEPOINT member")
        try:
            self._result = _run_through(self._body, SqliteTransaction(connection))
            self._error = None
        except BaseException as error:
            self._error = storage_unavailable(error) if isinstance(error, UNUSABLE) else error
            if connection.in_transaction:
                if not self.has_savepoint:
                    return connection.total_changes() == before
                connection.execute("ROLLBACK TO member")
        if self.has_savepoint and connection.in_transaction:
            connection.execute("RELEASE member")
        return True

    def give(self, failure: BaseException | None) -> None:
        """Answers, with what failed for all if anything did."""
        error = failure or self._error
        if error is not None:
            fail(self.answer, error)
        else:
            succeed(self.answer, self._result)  # type: ignore[misc]


class SqliteDatabase:
    """A `Database` in one file. It belongs to the event loop it was first used on."""

    def __init__(self, path: Path, create: bool = False) -> None:
        """`create` lets `open` make the file."""
        self._path = path
        self._create = create
        self._waiting: deque[_Job[Any]] = deque()
        self._leader: asyncio.Task[None] | None = None
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-commit")
        self._writer = Link(path)
        self._reader = Link(path)
        self._queries = _Queries(self._reader)
        self._settlement = Settlement(self._committer, (self._writer, self._reader))

    async def open(self) -> None:
        """Opens the file. Raises StorageMisconfigured when SQLite does not grant what we need."""
        if self._create:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        was_left = has_log(self._path)
        await _patiently(self._connect)
        if was_left:
            connection = self._writer.connection()
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._committer, begin_log_anew, connection)

    def in_request(self) -> AbstractContextManager[None]:
        return _NO_DEADLINE  # nothing here waits for longer than a lock may be held

    async def read(self, body: Body[T]) -> T:
        return await _patiently(lambda: self._read_once(body))

    async def query(self, body: Body[T]) -> T:
        return await body(self._queries)

    async def _connect(self) -> None:
        # The writer comes first: it turns a new file's journal into a WAL.
        self._writer.connection()
        self._reader.connection()

    async def _read_once(self, body: Body[T]) -> T:
        connection = self._reader.connection()
        try:
            connection.execute("BEGIN")
            return _run_through(body, SqliteTransaction(connection))
        except UNUSABLE as error:
            raise self._reader.failed(error) from error
        finally:
            self._reader.undo()

    async def write(self, body: Body[T]) -> T:
        return await self._write(body, has_savepoint=True)

    async def change(self, subject: str, body: Body[T]) -> T:
        # It writes once: whoever is refused has changed nothing.
        return await self._write(body, has_savepoint=False)

    # SQLite has one writer at a time anyway.
    migrate = write

    async def engine(self) -> Engine:
        # `open` has read the settings back already.
        return Engine("SQLite", tuple(map(int, apsw.sqlite_lib_version().split("."))))

    async def close(self) -> None:
        while self._leader is not None:
            await asyncio.wait([self._leader])
        await self._settlement.give_up()
        self._committer.shutdown()
        self._reader.drop()
        self._writer.drop()

    async def _write(self, body: Body[T], *, has_savepoint: bool) -> T:
        loop = asyncio.get_running_loop()
        job: _Job[T] = _Job(body, loop.create_future(), has_savepoint)
        self._waiting.append(job)
        if self._leader is None:
            self._leader = loop.create_task(self._lead())
        return await job.answer

    async def _lead(self) -> None:
        """Runs the waiting writes in batches until none is left."""
        try:
            while self._waiting:
                # A turn of the loop: those of the last batch are answered, and others join this.
                await asyncio.sleep(0)
                await self._run(self._next_batch())
        finally:
            self._leader = None

    def _next_batch(self) -> list[_Job[Any]]:
        most = min(len(self._waiting), _MOST_IN_A_BATCH)
        return [self._waiting.popleft() for _ in range(most)]

    async def _run(self, batch: list[_Job[Any]]) -> None:
        """Runs the writes in one transaction and answers them."""
        try:
            connection = await _patiently(self._begin)
            if not all(job.run(connection) for job in batch):
                self._writer.undo()
                connection = await _patiently(self._begin)
                for job in batch:
                    job.has_savepoint = True
                    job.run(connection)
            failure = await self._commit(connection)
        except Exception as error:
            self._writer.undo()
            # Nor will the next batch do better; a lock that is held would make each wait for it.
            for job in (*batch, *self._waiting):
                job.give(error)
            self._waiting.clear()
            return
        for job in batch:
            job.give(failure)

    async def _begin(self) -> apsw.Connection:
        connection = self._writer.connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
        except UNUSABLE as error:
            raise self._writer.failed(error) from error
        return connection

    async def _commit(self, connection: apsw.Connection) -> Refusal | None:
        """Commits in a thread, for the fsync. A failure is every member's."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._committer, commit, connection)
        except LostCommit as lost:
            self._writer.give_away()
            return await self._settlement.settle(connection, lost)
        except apsw.Error as error:
            self._writer.drop()
            return storage_unavailable(error)
        return None


def _run_through(body: Body[T], transaction: SqliteTransaction) -> T:
    """Runs the function to its end without giving the event loop a turn."""
    coroutine = body(transaction)
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("A transaction may await nothing but its own statements.")


async def _patiently(step: Callable[[], Awaitable[T]]) -> T:
    """Takes the step again and again while another process's lock is in its way."""
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            return await step()
        except apsw.BusyError as error:
            if time.monotonic() > deadline:
                raise storage_unavailable() from error
        await asyncio.sleep(_POLL_SECONDS)


def _broken_constraint(error: apsw.ConstraintError) -> Exception:
    result = getattr(error, "extendedresult", None)  # not in the driver's type stubs
    if result in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Taken()
    if result == apsw.SQLITE_CONSTRAINT_FOREIGNKEY:
        return MissingReference()
    return error


@cache
def _render(sql: str) -> str:
    return re.sub(r"\$(\d+)", r"?\1", FRAGMENTS.render(sql))
