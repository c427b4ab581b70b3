"""PostgreSQL through asyncpg: pooled connections, retried transactions, statements for many."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from contextvars import ContextVar, Token
from functools import partial
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from asyncpg import exceptions as pg
from msgspec.structs import replace

from teamvars.domain.audit import Stream
from teamvars.domain.backups import Inspection
from teamvars.domain.diagnosis import Engine, Pooler
from teamvars.domain.errors import (
    OUTCOME_UNKNOWN,
    TRAIL_ALTERED,
    Refusal,
    storage_unavailable,
)
from teamvars.metrics import Look
from teamvars.storage.database import (
    AlreadyThere,
    Body,
    Database,
    Fragments,
    Locked,
    Lookup,
    MissingReference,
    MissingTable,
    Moved,
    Part,
    Row,
    StorageMisconfigured,
    T,
    Taken,
    Transaction,
)
from teamvars.storage.deadlines import NONE, Deadline
from teamvars.storage.engines import outages, poolers, servers
from teamvars.storage.engines.coalescing import (
    Coalescer,
    Fifo,
    Waiter,
    in_time,
    is_unavailable,
)
from teamvars.storage.engines.combined import (
    BATCH_WAITS,
    Expectations,
    Expected,
    array_type,
    for_all,
    if_unmoved,
    in_one,
    is_insert,
    type_of,
)
from teamvars.storage.engines.connections import (
    UNUSABLE,
    Connection,
    Connections,
    Lane,
)
from teamvars.storage.engines.poolers import Passage
from teamvars.storage.engines.schemas import Refusing
from teamvars.storage.engines.servers import (
    DRIVER,
    Servers,
    engine,
    explained,
    require_files,
)

FRAGMENTS = Fragments(
    {
        "text": 'TEXT COLLATE "C"',
        "bytes": "BYTEA",
        "lock": r"FOR UPDATE OF \1",
        # An array, which is estimated at ten elements, so that an index is used; the set-returning
        # function alone is estimated at a hundred rows, and then whole tables are scanned.
        "each": r"= ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(\1 AS jsonb))))",
        "texts": r"jsonb_array_elements_text(CAST(\1 AS jsonb))",
        "encoded": r"\1",
        "hex": r"encode(\1, 'hex')",
    }
)
_ROWS_AT_ONCE = 32
"""That go into one statement: of the longest values the event loop copies so many in some 10 ms."""
# What a server says, in whatever language, of a number that another audit entry has.
_TAKEN_NUMBER = re.compile(r"\(stream_id, sequence\)=\(([^,]+), \d+\)")
_OPEN_AGAIN_SECONDS = 1.0
_MIGRATION_LOCK = 7_833_462_115
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
# One plan for all keys: else another may be made each time, for how many they happen to be.
_OF_BATCH = (
    f"; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL lock_timeout = '{BATCH_WAITS}'"
)
_MISSING = (pg.UndefinedTableError, pg.UndefinedColumnError)
_UNDONE = "ERROR"
"""How severe the server calls an error after which it goes on with the connection. It has rolled
the transaction back then, and never says so once it has committed. What ends the connection as well
(FATAL, PANIC) may come after that.
"""
_MIGRATION_LOCK_WAIT = "1s"
"""For a table, since whoever comes later waits behind a migration that waits."""
_MIGRATION_LOCK_SECONDS = 60.0
"""How long it is tried again, such as while a dump goes through the table."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


Fetch = Callable[..., Awaitable[Sequence[Row]]]


class PostgresTransaction(Transaction):
    """A `Transaction` on one connection."""

    __slots__ = ("_is_batch", "connection")

    def __init__(self, connection: Connection, *, is_batch: bool = False) -> None:
        """`is_batch`: lookups of many calls are one statement, and nothing waits for a lock."""
        self.connection = connection
        self._is_batch = is_batch

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        rows: Sequence[Row] = await self._run(self.connection.fetch, FRAGMENTS.render(sql), *args)
        return rows

    async def look_up_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[Sequence[Row]]:
        if not self._is_batch:
            return await super().look_up_each(lookup, calls)
        return await _find_all(self.fetch, lookup, calls)

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        assert lookup.locking is not None
        found = await self.look_up_each(lookup.locking, calls)
        return [(rows[0][:-1], rows[0][-1]) if rows else (None, None) for rows in found]

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        if is_insert(sql):
            await self.write_each((sql, rows))
        else:  # two of them may change the same row, and the order counts
            await self._run(self.connection.executemany, FRAGMENTS.render(sql), rows)

    async def try_lock(self, name: bytes) -> bool:
        number = int.from_bytes(name[:8], "big", signed=True)
        row = await self.fetch_one("SELECT pg_try_advisory_xact_lock(CAST($1 AS BIGINT))", number)
        return row is not None and bool(row[0])

    async def write_each(self, *parts: Part) -> None:
        if not parts:
            return
        sqls, rows_of = zip(*parts, strict=True)
        if set(map(len, rows_of)) == {1}:
            rows = chain.from_iterable(rows_of)
            await self.fetch(in_one(sqls), *chain.from_iterable(rows))
            return
        for start in range(0, max(len(rows) for _, rows in parts), _ROWS_AT_ONCE):
            some = [
                (sql, tuple(zip(*rows[start : start + _ROWS_AT_ONCE], strict=True)))
                for sql, rows in parts
                if rows[start:]
            ]
            texts = tuple((sql, tuple(map(array_type, columns))) for sql, columns in some)
            await self.fetch(for_all(texts), *(column for _, columns in some for column in columns))

    async def _run(self, call: Callable[..., Awaitable[Any]], *args: object) -> Any:
        try:
            return await call(*args)
        except pg.UniqueViolationError as error:
            if found := _TAKEN_NUMBER.search(error.detail or ""):
                raise Refusal(TRAIL_ALTERED.filled({"stream": found[1]})) from None
            raise Taken from None
        except pg.ForeignKeyViolationError:
            raise MissingReference from None
        except _MISSING as error:
            raise MissingTable from error
        except pg.LockNotAvailableError:
            if self._is_batch or self.writes_once:
                raise Locked from None
            raise
        except DRIVER as error:
            raise explained(error, self.connection) from error

    async def shut_out(self, table: str) -> None:
        # Whoever reads it has it locked until the end of the transaction, in a mode (ACCESS SHARE)
        # that conflicts with this one alone.
        await self.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")

    async def script(self, sql: str) -> None:
        try:
            await self.connection.execute(FRAGMENTS.render(sql))
        except (pg.DuplicateTableError, pg.DuplicateColumnError, pg.DuplicateObjectError) as error:
            raise AlreadyThere from error


class _Call(NamedTuple):
    """The parameters of one caller, and the deadline of its request."""

    args: tuple[object, ...]
    deadline: Deadline


class _Brief(PostgresTransaction):
    """Statements that commit by themselves, of which the last one writes: see `Store.batch`.

    What is `expected` it looks up as it writes, and not before.
    """

    __slots__ = ("_expectations", "_expects", "_found", "_written", "expected")

    writes_once = True

    def __init__(
        self, connection: Connection, expectations: Expectations, *, expects: bool
    ) -> None:
        super().__init__(connection)
        self._expectations = expectations
        self._expects = expects
        self.expected: list[Expected] = []
        self._found: list[Expected] = []
        self._written: tuple[Stream | None, Stream | None, tuple[Part, ...]] | None = None

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        found = [await self._find(lookup, args) for args in calls]
        return [(None, None) if row is None else (row, True) for row in found]

    async def _find(self, lookup: Lookup, args: tuple[object, ...]) -> Row | None:
        if lookup.place is None:
            return await self.look_up(lookup, *args)
        expected = self._expectations.of(lookup, args) if self._expects else None
        if expected is not None:
            self.expected.append(expected)
            return expected.row
        row = await self.look_up(lookup, *args)
        if row is not None:
            self._found.append(Expected(lookup, args, tuple(row)))
        return row

    def write_if_unmoved(self, stream: Stream | None, after: Stream | None, *parts: Part) -> None:
        self._written = stream, after, parts

    async def commit(self, refusing: str | None) -> None:
        """Writes what there is to write. Raises Moved, also where what is expected refuses."""
        if self._written is None:
            # What was refused may have been so for want of a key that others have by now.
            if self.expected or (refusing is not None and await self.fetch(refusing)):
                raise Moved
            return
        stream, after, parts = self._written
        rows = [(sql, row) for sql, (row,) in parts]
        typed = tuple((sql, tuple(type_of([value]) for value in row)) for sql, row in rows)
        sql = if_unmoved(
            typed,
            has_stream=stream is not None,
            refusing=refusing,
            findings=tuple(one.finding for one in self.expected),
        )
        found = () if stream is None else (stream.id, stream.head)
        args = chain(found, *(one.values for one in self.expected), *(row for _, row in rows))
        if not await _confirmed(self.connection, partial(self.count, sql, *args)):
            raise Moved
        for one in (*self.expected, *self._found):
            if after is not None and one.is_of(after):
                self._expectations.note(one, after)


class Queries(Transaction):
    """Autocommit statements, each on any free connection; of each lookup one at a time.

    A caller that comes while that is in flight goes into the next one. So none gets rows of a
    snapshot older than its call, and the more callers there are, the fewer statements each costs.
    """

    def __init__(self, statement: Fetch, deadline: Callable[[], Deadline]) -> None:
        """`statement` takes a deadline first; `deadline` is that of a call that begins now."""
        self._statement = statement
        self._deadline = deadline
        self._coalescers: dict[Lookup, Coalescer[_Call, Sequence[Row]]] = {}

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return await self._statement(self._deadline(), sql, *args)

    async def look_up_all(self, lookup: Lookup, *args: object) -> Sequence[Row]:
        coalescer = self._coalescers.get(lookup)
        if coalescer is None:
            coalescer = Coalescer(partial(self._run, lookup), Fifo(skip_cancelled=True))
            self._coalescers[lookup] = coalescer
        return await coalescer.submit(_Call(args, self._deadline()))

    async def _run(self, lookup: Lookup, batch: list[Waiter[_Call, Sequence[Row]]]) -> None:
        while batch:
            # The statement may take no longer than the caller that has waited longest can.
            deadline = min(waiter.item.deadline for waiter in batch)
            if deadline.latest < time.monotonic():
                batch = in_time(batch)
                continue
            try:
                found = await self._found(lookup, deadline, [waiter.item.args for waiter in batch])
            except Refusal as refusal:
                if is_unavailable(refusal) and deadline.latest < time.monotonic():
                    continue  # without that caller: the others have time left
                if len(batch) == 1 or not outages.tells_of_damage(refusal):
                    raise
                await self._run_singly(lookup, batch)
                return
            for waiter, rows in zip(batch, found, strict=True):
                waiter.set_result(rows)
            return

    async def _run_singly(self, lookup: Lookup, batch: list[Waiter[_Call, Sequence[Row]]]) -> None:
        """Has a statement for each, since what one of them reads is damaged."""
        for waiter in batch:
            try:
                await self._run(lookup, [waiter])
            except Refusal as refusal:
                waiter.set_exception(refusal)

    async def _found(
        self, lookup: Lookup, deadline: Deadline, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[Sequence[Row]]:
        if len(calls) == 1:
            return [await self._statement(deadline, lookup.single, *calls[0])]
        return await _find_all(partial(self._statement, deadline), lookup, calls)

    async def script(self, sql: str) -> None:
        raise NotImplementedError("a script is for a transaction")


class _InRequest(msgspec.Struct):
    """The block has this deadline; a generator would cost every request two microseconds more."""

    variable: ContextVar[Deadline | None]
    deadline: Deadline
    token: Token[Deadline | None] | None = None

    def __enter__(self) -> None:
        self.token = self.variable.set(self.deadline)

    def __exit__(self, *_: object) -> None:
        assert self.token is not None  # it was entered
        self.variable.reset(self.token)


class _OneEach:
    """A lock for each name that somebody holds or waits for; first come, first served.

    Those that wait hold nothing but their place.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        """Holds the lock of the name for the block."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]


class PostgresDatabase(Database):
    """A `Database` on a PostgreSQL server, or on the primary of several."""

    def __init__(
        self, url: str, statement_seconds: float | None = None, refusing: Refusing | None = None
    ) -> None:
        """`pooler=` in the URL's query is the mode of a pooler in between; in transaction mode
        nothing is used that outlives a transaction.

        `statement_seconds` is the time-out of a statement, and of all that a transaction does
        before its COMMIT, which may end five seconds later. None: there is none. `refusing`
        says where this node may not change anything.
        """
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        pooler = Pooler(query.pop("pooler", Pooler.NONE))
        self._query = query
        is_serving = statement_seconds is not None
        self._passage = Passage(pooler, is_serving)
        self._each = self._passage.each
        """What follows the BEGIN of each transaction."""
        servers = Servers(parts._replace(query=urlencode(query)), standbys=not is_serving)
        self._connections = Connections(servers, self._passage)
        self._seconds = math.inf if statement_seconds is None else statement_seconds
        self._refusing = refusing
        self._request: ContextVar[Deadline | None] = ContextVar("request", default=None)
        self._writes: set[asyncio.Task[Any]] = set()
        self._has_written = False
        self._opening: asyncio.Task[None] | None = None
        self._probing: Connection | None = None
        """On which a probe is under way."""
        self._subjects = _OneEach()
        self._expectations = Expectations()
        self._queries = Queries(self.statement, self.deadline)

    async def open(self) -> None:
        require_files(self._query)
        try:
            await self._connections.open()
        except Refusal:
            # Nobody asks for anything before the time is known.
            self._opening = asyncio.create_task(self._open_later())
            raise

    async def _open_later(self) -> None:
        while True:
            await asyncio.sleep(_OPEN_AGAIN_SECONDS)
            with suppress(Refusal, StorageMisconfigured):
                return await self._connections.open()

    def now(self) -> int:
        return self._connections.clock.now()

    def in_request(self) -> AbstractContextManager[None]:
        return _InRequest(self._request, Deadline.after(self._seconds))

    async def read(self, body: Body[T]) -> T:
        begin, deadline = _READ + self._each, self.deadline()

        async def run(connection: Connection) -> T:
            with deadline.enforced_on(connection):
                return await _read(connection, body, begin)

        return await self._connections.attempt(Lane.READS, run, deadline)

    survey = read

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return body(self._queries)

    async def write(self, body: Body[T], *, subject: str | None = None) -> T:
        if subject is None:
            return await self._run(body, self._beginning(), self.deadline())
        async with self._subjects.held(subject):
            return await self._run(body, self._beginning(), self.deadline())

    # Its connection is nobody else's, so that it may take what turns it likes.
    write_in_turns = write

    def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> Coroutine[Any, Any, T]:
        self._has_written = True
        if is_brief and not self._each:  # which no statement of its own would have
            return self._brief(body, deadline)
        lane, begin = (Lane.WRITES, "") if waits else (Lane.BATCH, _OF_BATCH)

        def run(connection: Connection) -> Coroutine[Any, Any, T]:
            tx = PostgresTransaction(connection, is_batch=not waits)
            return _write(tx, body, self._beginning(begin), deadline)

        return self._connections.attempt(lane, run, deadline)

    def _brief(self, body: Body[T], deadline: Deadline) -> Coroutine[Any, Any, T]:
        async def run(connection: Connection) -> T:
            # Before any look-up: keys that are changed after one refuse what rests on it.
            refusing = None if self._refusing is None else self._refusing.asked
            expects = self._connections.is_fresh(connection)
            while True:
                tx = _Brief(connection, self._expectations, expects=expects)
                try:
                    with deadline.enforced_on(connection):
                        result = await body(tx)
                    with deadline.of_commit.enforced_on(connection):
                        await tx.commit(refusing)
                except Moved:
                    if not tx.expected:
                        raise
                    self._expectations.forget(tx.expected)
                else:
                    return result

        return self._connections.attempt(Lane.BATCH, run, deadline)

    def refuse_also(self, sql: str) -> None:
        if self._refusing is not None:
            self._refusing.also(sql)

    def _beginning(self, also: str = "") -> "_Beginning":
        """How a transaction that changes something begins."""
        asked = "" if self._refusing is None else f"; {self._refusing.asked}"
        return _Beginning(f"{_WRITE}{self._each}{also}{asked}", self._refusing)

    async def probe(self) -> None:
        # A COMMIT that waits for its standby goes on waiting on the server, whoever has gone. One
        # probe that waits as long leaves one such process there; with a deadline it would leave
        # one after another, until the server has no connection for anybody.
        deadline = Deadline.after(self._seconds)

        async def run(connection: Connection) -> None:
            self._probing = connection
            try:
                begin = self._beginning()
                tx = PostgresTransaction(connection)
                await _write(tx, outages.probe, begin, deadline, is_patient=True)
            finally:
                self._probing = None

        await asyncio.shield(self._connections.attempt(Lane.PROBES, run, deadline))

    @property
    def has_written(self) -> bool:
        return self._has_written

    async def migrate(self, body: Body[T]) -> T:
        async def alone(tx: Transaction) -> T:
            await tx.execute("SET LOCAL lock_timeout = 0")
            await tx.execute("SELECT pg_advisory_xact_lock(CAST($1 AS BIGINT))", _MIGRATION_LOCK)
            await tx.execute(f"SET LOCAL lock_timeout = '{_MIGRATION_LOCK_WAIT}'")
            return await body(tx)

        until = time.monotonic() + _MIGRATION_LOCK_SECONDS
        while True:
            try:
                return await self._run(alone, _Beginning(_WRITE + self._each), self.deadline())
            except Refusal as refusal:
                is_locked = isinstance(refusal.__cause__, pg.LockNotAvailableError)
                if not is_locked or time.monotonic() > until:
                    raise

    @property
    def looks(self) -> list[Look]:
        return self._connections.looks

    async def settle_account(self) -> list[str]:
        if self._passage.pooler is not Pooler.TRANSACTION:
            return []
        return await self._run(
            poolers.set_for_account, _Beginning(_WRITE + self._each), self.deadline()
        )

    async def engine(self) -> Engine:
        found = replace(await self.read(engine), pooler=self._passage.pooler)
        if found.pooler is not Pooler.TRANSACTION:
            return found
        return replace(found, unset=tuple(await self.query(poolers.unset)))

    async def inspect(self) -> Inspection:
        rows: dict[str, int] = {}
        damage: list[str] = []
        for table in await self.read(servers.tables):
            try:
                rows[table] = await self.read(partial(servers.read_all, table=table))
            except Refusal as refusal:
                if not outages.tells_of_damage(refusal):
                    raise
                damage.append(f"{table}: {outages.reason(refusal.__cause__ or refusal)}")
        return Inspection(rows, damage)

    async def close(self) -> None:
        while self._writes:
            await asyncio.wait(set(self._writes))
        if self._opening is not None:
            self._opening.cancel()
        if self._probing is not None:
            self._probing.terminate()  # which cancels nothing
        await self._connections.close()

    def deadline(self) -> Deadline:
        """The deadline of what begins now; within a request, that of the request. Refuses when too
        little of it remains.

        Whatever else a request waits for, such as its code being parsed, counts towards it.
        """
        deadline = self._request.get() or Deadline.after(self._seconds)
        if deadline.latest < time.monotonic():
            raise storage_unavailable()
        return deadline

    async def statement(self, deadline: Deadline, sql: str, *args: object) -> Sequence[Row]:
        """All rows of an autocommit statement."""

        async def run(connection: Connection) -> Sequence[Row]:
            with deadline.enforced_on(connection):
                return await PostgresTransaction(connection).fetch(sql, *args)

        return await self._connections.attempt(Lane.STATEMENTS, run, deadline)

    async def _run(self, body: Body[T], begin: "_Beginning", deadline: Deadline) -> T:
        # A task of its own, shielded: cancellation of the caller, whose client has disconnected,
        # must not interrupt the transaction. A COMMIT that is cancelled has an unknown outcome.
        self._has_written = True

        def run(connection: Connection) -> Coroutine[Any, Any, T]:
            return _write(PostgresTransaction(connection), body, begin, deadline)

        task = asyncio.ensure_future(self._connections.attempt(Lane.WRITES, run, deadline))
        self._writes.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._writes.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: the caller may have been cancelled


async def _find_all(
    fetch: Fetch, lookup: Lookup, calls: Sequence[tuple[object, ...]]
) -> Sequence[Sequence[Row]]:
    """The rows of each of many calls, in one statement."""
    found: list[list[Row]] = [[] for _ in calls]
    for row in await fetch(lookup.batched, *map(list, zip(*calls, strict=True))):
        found[row[0] - 1].append(row[1:])  # whose number is from 1
    return found


async def _execute(connection: Connection, sql: str) -> str:
    try:
        tag: str = await connection.execute(sql)
    except DRIVER as error:
        raise explained(error, connection) from error
    return tag


async def _read(connection: Connection, body: Body[T], begin: str) -> T:
    await _execute(connection, begin)
    try:
        return await body(PostgresTransaction(connection))
    finally:
        await _roll_back(connection)


class _Beginning(NamedTuple):
    """How a transaction begins; with what may refuse it, the last statement is what that asks."""

    sql: str
    refusing: Refusing | None = None


async def _write(
    tx: PostgresTransaction,
    body: Body[T],
    begin: _Beginning,
    deadline: Deadline,
    *,
    is_patient: bool = False,
) -> T:
    """Runs the function and commits; a patient caller never gives a commit up."""
    connection = tx.connection
    with deadline.enforced_on(connection):
        try:
            await _begin(connection, begin)
            result = await body(tx)
        except BaseException:
            await _roll_back(connection)
            raise
    # From here on a lost connection does not mean that nothing was changed.
    with (NONE if is_patient else deadline.of_commit).enforced_on(connection):
        await _commit(connection)
    return result


async def _begin(connection: Connection, begin: _Beginning) -> None:
    """Begins a transaction, in one round trip: the tag counts the rows of its last statement, and
    only where there are some is more asked. Refuses where this node may not change anything.
    """
    try:
        tag = await _execute(connection, begin.sql)
    except _MISSING as error:
        raise MissingTable from error
    if begin.refusing is not None and tag != "SELECT 0":
        await begin.refusing.require(PostgresTransaction(connection))


async def _roll_back(connection: Connection) -> None:
    """Ends a transaction of which nothing stays. Where that fails the connection is given up, and
    whoever used it hears of what came before.
    """
    if not connection.is_closed():
        with suppress(*UNUSABLE, *DRIVER):
            await _execute(connection, "ROLLBACK")


async def _commit(connection: Connection) -> None:
    """Commits. Refuses as `_confirmed`."""
    tag = await _confirmed(connection, partial(_execute, connection, "COMMIT"))
    if tag != "COMMIT":  # PostgreSQL answers COMMIT with ROLLBACK in an aborted transaction
        raise RuntimeError("A transaction whose statement had failed was committed.")


async def _confirmed(connection: Connection, commit: Callable[[], Awaitable[T]]) -> T:
    """What comes of a statement that commits. Refuses with outcome_unknown when the connection is
    lost, or the deadline passes, before the server has confirmed.

    So does a server that stops waiting for its synchronous standby: it sends a warning (SQLSTATE
    01000), and then reports success.
    """
    warnings: list[object] = []

    def listen(_: object, message: object) -> None:
        if getattr(message, "sqlstate", None) == "01000":
            warnings.append(message)

    try:
        connection.add_log_listener(listen)
    except DRIVER as error:  # it is closed, and nothing was sent
        raise explained(error, connection) from error
    try:
        result = await commit()
    except (*UNUSABLE, asyncio.CancelledError) as error:
        # What a pooler says has no such field, and may be about a server that has committed.
        if getattr(error, "severity_en", None) == _UNDONE:
            raise
        raise Refusal(OUTCOME_UNKNOWN) from explained(error, connection)
    finally:
        connection.remove_log_listener(listen)
    if warnings:
        raise Refusal(OUTCOME_UNKNOWN)
    return result
