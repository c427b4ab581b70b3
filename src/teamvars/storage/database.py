"""The interface of both engines: `read` and `write` run a function in a transaction.

A function, not a block, because a transaction may have to run again: after a deadlock, for example,
or a failover of PostgreSQL (decision 001). It awaits nothing but the transaction, and keeps no
state between runs.
"""

import json
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

import msgspec

from teamvars.domain.audit import Stream
from teamvars.domain.backups import Inspection
from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.metrics import Look
from teamvars.storage.deadlines import Deadline

Row = Sequence[Any]
T = TypeVar("T")


Part = tuple[str, Sequence[Sequence[object]]]
"""A statement, and the rows of parameters that it is run for."""


class Statement(msgspec.Struct, frozen=True):
    """A statement that returns no rows, and its parameters. `is_long`: see `execute_long`."""

    sql: str
    args: tuple[object, ...]
    is_long: bool = False

    @property
    def part(self) -> Part:
        """The statement with its parameters as the only row."""
        return self.sql, [self.args]


class Lookup(msgspec.Struct, frozen=True, eq=False):
    """A statement for one call and, on PostgreSQL, for many calls at once.

    `batched` takes each parameter as an array with an element for each call. Its first column is
    the number of the call, from 1; the others are those of `single`, and so is the order of each
    call's rows. It waits for nobody: what `single` would lock, and another transaction has locked,
    it leaves unlocked.
    """

    single: str
    batched: str
    locking: "Lookup | None" = None
    """On PostgreSQL: the same with the stream of its subject locked, for whoever may change that.
    Its last column says whether it is: see `Transaction.lock_each`.
    """
    place: int | None = None
    """The column, counted from the last, from which on a row of `single` says where its stream
    stands, behind the stream's id; None: it does not. See `Expected`.
    """

    @classmethod
    def of(cls, single: str, *types: str) -> Self:
        """The lookup of a statement whose parameters have these types on PostgreSQL."""
        # As subqueries they are as long in every plan, so that PostgreSQL keeps one: else it makes
        # one each time, for how many calls there happen to be.
        arrays = ", ".join(
            f"(SELECT CAST(${n} AS {type_}[]))" for n, type_ in enumerate(types, start=1)
        )
        names = ", ".join(f"of_{n}" for n in range(1, len(types) + 1))
        of_call = re.sub(r"\$(\d+)", r"lookup.of_\1", single).strip()
        return cls(
            single,
            f"""
SELECT lookup.number, found.*
FROM unnest({arrays})
    WITH ORDINALITY AS lookup ({names}, number)
CROSS JOIN LATERAL (
{of_call}
) AS found
""",
        )

    @classmethod
    def joining(cls, single: str, table: str, **types: str) -> Self:
        """The lookup of a statement from that table whose parameters have these names, and these
        types on PostgreSQL.

        For many calls it is the same text with a table of the calls joined to it. `of` would make
        it a subquery, which PostgreSQL does not flatten where it locks rows.
        """
        names = list(types)
        arrays = ", ".join(
            f"CAST(${n} AS {types[name]}[])" for n, name in enumerate(names, start=1)
        )
        calls = f"unnest({arrays})\n    WITH ORDINALITY AS lookup ({', '.join(names)}, number)"
        batched = re.sub(r"\$(\d+)", lambda found: f"lookup.{names[int(found[1]) - 1]}", single)
        batched = batched.replace("SELECT ", "SELECT lookup.number, ", 1)
        batched = batched.replace(f"FROM {table}", f"FROM {calls}\nCROSS JOIN {table}", 1)
        return cls(single, batched.replace("{lock held}", "{lock held} SKIP LOCKED"))


class Transaction(Protocol):
    """One transaction. Values are str, int, bytes or None; parameters are `$1`, `$2`, ….

    Statements may contain the markers of `Fragments`. A constraint violation raises `Taken` or
    `MissingReference`, a missing table or column `MissingTable`; after that the transaction can
    only end. So it can after `trail_altered`, which refuses an audit entry whose number another
    one has.
    """

    @property
    def may_pause(self) -> bool:
        """Whether its function may await what gives way to other tasks of the event loop."""
        return True

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """All rows of a statement."""

    async def fetch_one(self, sql: str, *args: object) -> Row | None:
        """The first row of a statement, None when there is none."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def first(self, kind: Callable[..., T], sql: str, *args: object) -> T | None:
        """What is made of the first row of a statement, None when there is none."""
        row = await self.fetch_one(sql, *args)
        return None if row is None else kind(*row)

    async def column(self, sql: str, *args: object) -> list[Any]:
        """What a statement with one column finds."""
        return [row[0] for row in await self.fetch(sql, *args)]

    async def pairs(self, sql: str, *args: object) -> dict[Any, Any]:
        """What a statement with two columns finds, the second by the first."""
        return {row[0]: row[1] for row in await self.fetch(sql, *args)}

    async def count(self, sql: str, *args: object) -> int:
        """The number that a statement counts."""
        ((number,),) = await self.fetch(sql, *args)
        return int(number)

    async def look_up(self, lookup: Lookup, *args: object) -> Row | None:
        """The first row of a lookup, None when there is none; see `look_up_all`."""
        rows = await self.look_up_all(lookup, *args)
        return rows[0] if rows else None

    async def look_up_all(self, lookup: Lookup, *args: object) -> Sequence[Row]:
        """All rows of a lookup.

        In a `query`, calls that wait at the same time may be coalesced into one statement, which
        begins after the last of them was made.
        """
        return await self.fetch(lookup.single, *args)

    async def look_up_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[Sequence[Row]]:
        """The rows of a lookup for each call; on PostgreSQL in a `batch` by one statement."""
        return [await self.look_up_all(lookup, *args) for args in calls]

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        """As `look_up_each`, of at most one row each, whose stream is locked if the caller has the
        right to change it.

        Beside the row: whether all of it is as of the lock. False: the stream has moved while it
        was waited for, so look again; None: nothing is locked. An engine with one writer locks
        nothing, and has all as of then.
        """
        said = "a lock is for a transaction that writes"
        raise NotImplementedError(said)

    writes_once: bool = False
    """Whether it locks nothing, and writes by `write_if_unmoved` alone."""

    def write_if_unmoved(self, stream: Stream | None, after: Stream | None, *parts: Part) -> None:
        """As `write_each`, of one row each, and commits with that, if the stream is where it was
        found, and leaves it at `after`; see `Store.batch`.
        """
        said = "a brief batch alone writes like this"
        raise NotImplementedError(said)

    has_one_writer: bool = False
    """Whether a statement that fails undoes itself alone, and nobody waits for the others."""

    async def prefetch(self, sql: str, *args: object) -> None:
        """May run a statement to have in memory what the next one needs; never fails."""
        return  # without a body it would be abstract

    async def try_lock(self, name: bytes) -> bool:
        """Takes the lock of that name until the end of the transaction, without waiting.

        False: another transaction has it. An engine with one writer needs none.
        """
        return True

    async def shut_out(self, table: str) -> None:
        """Waits for the transactions that have read the table and may write, and lets no other read
        it until the end of this one. An engine with one writer needs nothing for it.
        """
        return

    async def execute(self, sql: str, *args: object) -> None:
        """Runs a statement and ignores its rows."""
        await self.fetch(sql, *args)

    async def execute_long(self, sql: str, *args: object) -> None:
        """As `execute`, for a statement that changes many rows, such as by a cascade.

        In a `write_in_turns` the event loop does not wait for it.
        """
        await self.execute(sql, *args)

    async def write_each(self, *parts: Part) -> None:
        """Runs statements of which none depends on another's effects, each for all of its rows, of
        which no two change the same row of the store; on PostgreSQL in one round trip, on one
        snapshot.
        """
        for sql, rows in parts:
            await self.execute_many(sql, rows)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Runs a statement for each row of parameters, in order, in few round trips.

        A parameter of an INSERT that is None in all of them is for a column of texts.
        """
        for row in rows:
            await self.execute(sql, *row)

    async def script(self, sql: str) -> None:
        """Runs several statements without parameters, for migrations. Raises AlreadyThere."""


Body = Callable[[Transaction], Coroutine[Any, Any, T]]


class Store(Protocol):
    """What use cases ask of a store. Every method refuses with `storage_unavailable` when it cannot
    be used or does not respond in time.
    """

    def in_request(self) -> AbstractContextManager[None]:
        """All that one task does in the block has one deadline, where the store has deadlines."""

    async def read(self, body: Body[T]) -> T:
        """Runs the function in a read-only transaction, on one snapshot."""

    async def survey(self, body: Body[T]) -> T:
        """As `read`, for functions whose statements look at many rows and return few: nobody else
        waits for them (decision 043).
        """

    async def query(self, body: Body[T]) -> T:
        """Runs the function in autocommit: each statement has a snapshot of its own, not older
        than the call.

        Cheaper than `read`, for functions of one statement, or that verify that results match.
        """

    async def write(self, body: Body[T], *, subject: str | None = None) -> T:
        """Runs the function in a transaction, and commits it, or rolls it back when it raises.

        Returns or raises after that. Cancellation of the caller does not interrupt it once it has
        begun. Refuses with `release_too_old` where the schema does not admit this node, which is
        looked up in the transaction, and with `outcome_unknown` when the connection breaks or the
        disk fails during the commit, or that takes too long.

        Functions of one `subject` would wait for each other inside of their transactions. Where a
        waiting transaction holds what others need, a connection, they wait before they begin.
        """

    async def write_in_turns(self, body: Body[T], *, subject: str | None = None) -> T:
        """As `write`, for functions that do much: it may await what gives way to other tasks of the
        event loop between its statements (decision 014).

        On SQLite other writers wait for it all the while, on PostgreSQL those of what it locks.
        """

    async def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> T:
        """As `write`, for the changes of many callers, with the earliest deadline of theirs.

        Unless it `waits`, nothing that it looks up waits for a lock, what it writes raises Locked
        soon where it would, and it has a connection of its own kind. To be called in a task that
        nobody cancels.

        `is_brief`: nothing needs to stay as it is looked up but the one stream that it adds to.
        Then PostgreSQL is asked to begin and to commit nothing: each look-up is a statement, and so
        is all that is written, which looks up itself what is `Expected` to be found.
        Raises Moved where the stream has moved before that, or somebody has it locked, or this node
        may not change anything: nothing was written then.
        """

    def deadline(self) -> Deadline:
        """The deadline of what begins now. Refuses when too little of it remains."""

    def now(self) -> int:
        """The time by which tokens expire and changes are recorded, in µs UTC: PostgreSQL's, so
        that all nodes have one, and on SQLite this host's. Refuses while that is not known.
        """


class Database(Store, Protocol):
    """A store, of which `async with` opens and closes one."""

    async def open(self) -> None:
        """Opens the store; to be called before any other method.

        Raises StorageMisconfigured when the settings can never work.
        """

    def refuse_also(self, sql: str) -> None:
        """From now on changes are refused with `storage_unavailable` where that statement has a
        row, until it is another. It is looked up wherever keys were changed, and in the
        transaction that it refuses: see `shut_out`.
        """

    async def probe(self) -> None:
        """Writes something that needs room and commits it, however long the commit takes.

        To be called once at a time. Cancellation of the caller does not interrupt it.
        """

    @property
    def takes_writes(self) -> bool:
        """Whether there is no outage of writes that is known; see `outages`."""
        return True

    @property
    def has_written(self) -> bool:
        """Whether a write was begun. It goes on to its end though its caller is cancelled."""

    async def migrate(self, body: Body[T]) -> T:
        """As `write`, with at most one migration at a time, on all nodes, and whether or not the
        schema admits this one. It gives up a lock that others wait behind, and tries again.
        """

    @property
    def looks(self) -> list[Look]:
        """What is to be seen of it now and then."""
        return []

    async def settle_account(self) -> Sequence[str]:
        """Has sessions of the store's account begin with what no connection can say through the
        pooler in between; the statements that took. Others than those of this store stay as they
        are, and sessions that have begun.
        """
        return ()

    async def engine(self) -> Engine:
        """The product, its version and unsafe settings, for `doctor`."""

    async def inspect(self) -> Inspection:
        """Reads everything there is, each table as it is at some moment. On SQLite other tasks of
        the event loop go on meanwhile.
        """

    async def damaged_texts(self) -> Sequence[str]:
        """The rows with a text that is no UTF-8, each by its table, key and column: none where the
        engine keeps no such text.
        """
        return ()

    async def misfits(self) -> Sequence[str]:
        """The rows that refer to others which are gone, and the columns with values of another type
        than theirs, in words: none where the engine keeps none, whoever writes.
        """
        return ()

    async def close(self) -> None:
        """Waits for the writes under way and lets go of the store."""

    async def __aenter__(self) -> Self:
        """Opens the store for the block; see `open`."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes it."""
        await self.close()


class NotReady(Exception):
    """The store cannot be served as it is; the text says which command mends it."""


class StorageMisconfigured(Exception):
    """The settings or the store do not allow for its use, on either engine; the text says why."""


class Taken(Exception):
    """A uniqueness constraint was violated."""


class Moved(Exception):
    """What a brief batch rests on is not, or not surely, as it was looked up."""


class Locked(Exception):
    """A batch met a row that somebody else has locked, and does not wait for: nothing was written.

    Not the stream's, which it looks for, but one that a constraint has it lock.
    """


class MissingReference(Exception):
    """A foreign key was violated: the row it refers to is missing, or is still referred to."""


class MissingTable(Refusal):
    """A table or column is missing: the schema was not migrated yet, or is beyond this release. The
    request is refused.
    """

    def __init__(self) -> None:
        super().__init__(*storage_unavailable().faults)


class AlreadyThere(Exception):
    """A script makes a table, column or index that is there already."""


STRICT = "/* strict */"
"""In a statement whose reader wants damage as it is: where a text is no UTF-8, it raises
UnicodeDecodeError. Any other shows such a text as one (`engines/sqlite_connection.py`).
"""


class Fragments:
    """What differs between the engines in a statement; `render` replaces the markers by it.

    `{text}`, `{bytes}`: column types. `{lock a}`: locks the rows of table alias `a` until the end
    of the transaction. `IN {each $1}`: membership in the JSON array of strings `$1`, and
    `FROM {texts $1} AS its`: a row for each of them, its `value`.
    `{encoded a.b}`: a text that may be no UTF-8, as bytes.
    `{hex a.b}`: bytes as a text, in hex.
    """

    _MARKERS: ClassVar = {
        "text": re.compile(r"\{text\}"),
        "bytes": re.compile(r"\{bytes\}"),
        "lock": re.compile(r"\{lock (\w+)\}"),
        "each": re.compile(r"IN \{each ([$\w.]+)\}"),
        "texts": re.compile(r"\{texts ([$\w.]+)\}"),
        "encoded": re.compile(r"\{encoded ([\w.]+)\}"),
        "hex": re.compile(r"\{hex ([\w.]+)\}"),
    }

    def __init__(self, its: Mapping[str, str]) -> None:
        """`its`: what takes the place of each marker, by its first word."""
        self._replacements = [(marker, its[word]) for word, marker in self._MARKERS.items()]
        self.render = lru_cache(maxsize=None)(self._render)

    def _render(self, sql: str) -> str:
        for marker, replacement in self._replacements:
            sql = marker.sub(replacement, sql)
        return sql


def decoded(said: Any) -> Any:
    """What `{encoded a.b}` has; of a text that is no UTF-8 what can be shown, which is another."""
    return said.decode(errors="replace") if isinstance(said, bytes) else said


def each(texts: Iterable[str | None] | None) -> str | None:
    """The parameter `$1` of `IN {each $1}`; None of None.

    SQLite lets whoever alters a row by hand take its id away: nothing is found by that.
    """
    return None if texts is None else json.dumps(sorted(one for one in texts if one is not None))
