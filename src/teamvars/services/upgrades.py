"""Upgrading a store: one transaction after another, while nodes go on serving."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import msgspec

from teamvars.storage.database import Database
from teamvars.storage.engines import schemas
from teamvars.storage.migrations import Migration

_FIRST_ROWS = 500
_FEWEST_ROWS = 50
_MOST_ROWS = 10_000
_PAGE_SECONDS = 0.05
"""How long a page of a backfill should hold what it locks: writers may wait for it."""


class Filled(msgspec.Struct, frozen=True):
    """How far a backfill has come in this run, in rows."""

    migration: Migration
    rows: int
    all_rows: int


Tell = Callable[[Filled], object]


async def upgrade(database: Database, tell: Tell, *, contract: bool) -> list[Migration]:
    """Does all that is to be done, and returns the migrations that it ended.

    Whatever ends it, another run goes on where it was; of several at once each does a part. Nodes
    have half of the time between the pages of a backfill. Raises SchemaMismatch.
    """
    ended: list[Migration] = []
    most, filled = _FIRST_ROWS, None
    while True:
        begun = time.monotonic()
        progress = await database.migrate(partial(schemas.advance, contract=contract, most=most))
        if progress is None:
            return ended
        if progress.is_done:
            ended.append(progress.migration)
        if progress.rows:
            took = time.monotonic() - begun
            filled = await _filled(database, progress, filled)
            tell(filled)
            most = _paced(progress.rows, took)
            await asyncio.sleep(took)


async def _filled(database: Database, progress: schemas.Progress, before: Filled | None) -> Filled:
    migration, rows = progress.migration, progress.rows
    if before is not None and before.migration == migration:
        return Filled(migration, before.rows + rows, before.all_rows)
    ahead = await database.read(partial(schemas.rows_ahead, migration=migration))
    return Filled(migration, rows, rows + ahead)


def _paced(rows: int, took: float) -> int:
    """How many rows the next page has, by what the last one took."""
    wanted = int(rows * _PAGE_SECONDS / max(took, 0.001))
    return min(max(wanted, _FEWEST_ROWS), _MOST_ROWS)
