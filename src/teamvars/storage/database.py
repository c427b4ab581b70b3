"""The small interface to both engines: `read` and `write` run a function in a transaction.

A function, not a block, because a transaction may have to run again: PostgreSQL asks for it after
a deadlock or a failover. It awaits nothing but the transaction, and keeps no state between runs.
"""

import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Protocol, Self, TypeVar

import msgspec

from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Refusal, storage_unavailable

Row = Sequence[Any]
T = TypeVar("T")


class Statement(msgspec.Struct, frozen=True):
    """A statement whose rows nobody wants, and its parameters."""

    sql: str
    args: tuple[object, ...]


class Lookup(msgspec.Struct, frozen=True, eq=False):
    """A statement with at most one row, for one call and, on PostgreSQL, for many calls at once.

    `batched` takes each parameter as an array with an element for each call. Its first column is
    the number of the call, from 1; the others are those of `single`.
    """

    single: str
    batched: str


class Transaction(Protocol):
    """One transaction. Values are str, int, bytes or None; parameters are `$1`, `$2`, ….

    Statements may hold the fragments of `Fragments`. A broken constraint raises `Taken` or
    `MissingReference`, a missing schema `MissingTable`; after that the transaction can only end.
    """

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """All rows of a statement."""
        ...

    async def fetch_one(self, sql: str, *args: object) -> Row | None:
        """The first row of a statement, None when there is none."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def look_up(self, lookup: Lookup, *args: object) -> Row | None:
        """The row of a lookup, None when there is none.

        In a `query`, calls that wait at the same time may be coalesced into one statement, which
        begins after the last of them was made.
        """
        return await self.fetch_one(lookup.single, *args)

    async def execute(self, sql: str, *args: object) -> None:
        """Runs a statement whose rows nobody wants."""
        await self.fetch(sql, *args)

    async def execute_all(self, *statements: Statement) -> None:
        """Runs statements of which none depends on another's effects; on PostgreSQL in one round
        trip, on one snapshot.
        """
        for statement in statements:
            await self.execute(statement.sql, *statement.args)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Runs a statement for each row of parameters, in order, in few round trips."""
        for row in rows:
            await self.execute(sql, *row)

    async def script(self, sql: str) -> None:
        """Runs several statements without parameters, for migrations."""
        ...


Body = Callable[[Transaction], Coroutine[Any, Any, T]]


class Database(Protocol):
    """A store. Every method refuses with `storage_unavailable` when it cannot be used, and when it
    does not answer in time.
    """

    async def open(self) -> None:
        """Gets hold of the store, before anything else is asked of it.

        Raises StorageMisconfigured when it can never be used in the way the settings say.
        """
        ...

    def in_request(self) -> AbstractContextManager[None]:
        """What is asked inside, by one task, shares one time limit where the store has any."""
        ...

    async def read(self, body: Body[T]) -> T:
        """Runs the function on one snapshot of the data."""
        ...

    async def query(self, body: Body[T]) -> T:
        """Runs the function, each statement on a snapshot of its own, begun after the call.

        Cheaper than `read`, for functions that ask one thing or see to it that answers fit.
        """
        ...

    async def write(self, body: Body[T]) -> T:
        """Runs the function and commits what it did, or, when it raises, none of it.

        The answer, be it a result or an exception, is given after the commit. Once begun it goes
        on when the caller is cancelled. Refuses with `outcome_unknown` when the connection breaks
        or the disk fails while committing, or that takes too long.
        """
        ...

    async def change(self, subject: str, body: Body[T]) -> T:
        """As `write`, for functions that ask questions and then write, once, `together`.

        Those that wait at the same time may share a transaction, in which those about one subject
        come one after another. There a question that locks may have no row because another has it
        locked: a function that then finds it should have one asks once more, and waits.
        """
        ...

    async def migrate(self, body: Body[T]) -> T:
        """As `write`, with nobody else migrating at the same time, on this node or another."""
        ...

    async def engine(self) -> Engine:
        """What is behind the store, for `doctor`."""
        ...

    async def close(self) -> None:
        """Waits for the writes under way and lets go of the store."""
        ...

    async def __aenter__(self) -> Self:
        """Opens the store for the block; see `open`."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes it."""
        await self.close()


class StorageMisconfigured(Exception):
    """The store cannot be used as it is; the text says why."""


class Taken(Exception):
    """A uniqueness constraint is in the way."""


class MissingReference(Exception):
    """A row refers to one that does not exist, or is still referred to."""


class MissingTable(Refusal):
    """The schema has not been brought here yet, or is gone: whoever needs it is refused."""

    def __init__(self) -> None:
        super().__init__(*storage_unavailable().faults)


class Fragments:
    """What differs in statements that both engines run; `render` puts it in the markers' place.

    `{text}`, `{bytes}`: column types. `{lock a}`: locks the rows of table alias `a` until the end
    of the transaction. `IN {each $1}`: among the strings of the JSON array `$1`.
    """

    def __init__(self, text: str, bytes_: str, lock: str, each: str) -> None:
        self._replacements = (
            (re.compile(r"\{text\}"), text),
            (re.compile(r"\{bytes\}"), bytes_),
            (re.compile(r"\{lock (\w+)\}"), lock),
            (re.compile(r"IN \{each (\$\d+)\}"), each),
        )
        self.render = lru_cache(maxsize=None)(self._render)

    def _render(self, sql: str) -> str:
        for marker, replacement in self._replacements:
            sql = marker.sub(replacement, sql)
        return sql
