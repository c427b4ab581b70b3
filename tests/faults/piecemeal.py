"""A server that breaks its promise, for controls: it commits an apply by halves."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from teamvars.storage.database import Body, T
from teamvars.storage.engines.sqlite import SqliteDatabase
from teamvars.storage.engines.sqlite_connection import SqliteTransaction
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import AlteredHost, worker_on

HALFWAY = "halfway"
"""The file that the server makes when it has committed the first half of an apply."""


class PiecemealTransaction(SqliteTransaction):
    """Commits what it writes first, and never comes to the rest."""

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        await super().execute_many(sql, rows)
        if rows:
            Path(HALFWAY).touch()  # noqa: ASYNC240 - it is to be there when this stops
            await asyncio.Event().wait()


class PiecemealDatabase(SqliteDatabase):
    """Keeps the first write in turns whole, and commits each statement of the next by itself."""

    _has_begun = False

    async def write_in_turns(self, body: Body[T], *, subject: str | None = None) -> T:
        if not self._has_begun:
            self._has_begun = True
            return await super().write_in_turns(body, subject=subject)
        async with self._writing:
            return await body(PiecemealTransaction(self._writer.connection()))


class PiecemealHost(AlteredHost):
    """A host whose server has that database."""

    factory = "tests.faults.piecemeal:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    return worker_on(PiecemealDatabase)
