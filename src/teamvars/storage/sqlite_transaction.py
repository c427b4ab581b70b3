"""Transactions of SQLite: statements in its dialect, and its errors as the store's."""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import cache
from typing import Any

import apsw

from teamvars.storage.database import (
    Fragments,
    MissingReference,
    MissingTable,
    Row,
    Statement,
    Taken,
    Transaction,
)

FRAGMENTS = Fragments(
    text="TEXT", bytes_="BLOB", lock="", each=r"IN (SELECT value FROM json_each(\1))"
)


class SqliteTransaction(Transaction):
    """A `Transaction` whose statements never suspend."""

    __slots__ = ("_cursor",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._cursor = connection.cursor()

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        return self.run(sql, args)

    async def execute_all(self, *statements: Statement) -> None:
        for statement in statements:
            self.run(statement.sql, statement.args)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            self.run(sql, tuple(row))

    async def script(self, sql: str) -> None:
        self._cursor.execute(render(sql))

    def run(self, sql: str, args: tuple[Any, ...]) -> Sequence[Row]:
        """As `fetch`, and not a coroutine."""
        try:
            return self._cursor.execute(render(sql), args).fetchall()
        except apsw.ConstraintError as error:
            raise _broken_constraint(error) from None
        except apsw.SQLError as error:
            if "no such table" in str(error):
                raise MissingTable from error
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


def _broken_constraint(error: apsw.ConstraintError) -> Exception:
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
