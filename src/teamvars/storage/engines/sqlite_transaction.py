"""Transactions of SQLite: statements in its dialect, and its errors as the store's."""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import cache
from typing import Any

import apsw

from teamvars.domain.errors import TRAIL_ALTERED, Refusal
from teamvars.storage.database import (
    AlreadyThere,
    Fragments,
    MissingReference,
    MissingTable,
    Row,
    Taken,
    Transaction,
)

FRAGMENTS = Fragments(
    text="TEXT", bytes_="BLOB", lock="", each=r"IN (SELECT value FROM json_each(\1))"
)

_MISSING = ("no such table", "no such column")


class SqliteTransaction(Transaction):
    """A `Transaction` whose statements never suspend."""

    __slots__ = ("_connection", "_cursor")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return self.run(sql, args)

    @property
    def has_one_writer(self) -> bool:
        return True

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            self.run(sql, tuple(row))

    async def script(self, sql: str) -> None:
        try:
            self._cursor.execute(render(sql))
        except apsw.SQLError as error:
            if any(said in str(error) for said in ("already exists", "duplicate column name")):
                raise AlreadyThere from error
            raise

    def run(self, sql: str, args: tuple[Any, ...]) -> Sequence[Row]:
        """As `fetch`, and not a coroutine."""
        try:
            return self._cursor.execute(render(sql), args).fetchall()
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
            raise


class SqliteTransactionInTurns(SqliteTransaction):
    """A transaction that suspends while a long statement runs in a thread.

    Nothing else uses the connection meanwhile: one task has the transaction.
    """

    __slots__ = ("_executor",)

    def __init__(self, connection: apsw.Connection, executor: Executor) -> None:
        super().__init__(connection)
        self._executor = executor

    async def execute_long(self, sql: str, *args: object) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self.run, sql, args)


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
def render(sql: str) -> str:
    """The statement as SQLite gets it, with numbered parameters `?1`, `?2`, …."""
    return re.sub(r"\$(\d+)", r"?\1", FRAGMENTS.render(sql))
