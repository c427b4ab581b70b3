"""The schema of a store: which migrations have begun there, whom they admit, and doing the rest.

Each step is done in a transaction, so that whatever ends the program, the next run goes on there.
"""

import json
from collections.abc import Mapping

import msgspec

from teamvars.domain.errors import KEYS_TOO_OLD, RELEASE_TOO_OLD, Refusal
from teamvars.storage import migrations
from teamvars.storage.database import AlreadyThere, MissingTable, Transaction
from teamvars.storage.migrations import Backfill, Migration

_CREATE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT PRIMARY KEY,
    name {text} NOT NULL,
    checksum {text} NOT NULL
)
"""
_PARTIAL = (
    "The database holds a part of a store, or tables of another program. If a restore was cut "
    "short, empty the database and restore the whole backup; nothing was changed."
)
_SINCE = 14
"""The migration that gave the table its other columns."""


class SchemaMismatch(Exception):
    """The schema does not admit this release; the text says which command or release mends it."""


class Begun(msgspec.Struct, frozen=True):
    """How far a migration has come; `position` is the key up to which a backfill has."""

    checksum: str
    admits: int = 1
    remaining: int = 0
    position: tuple[int | str, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    """What a transaction has done of a migration; `rows` were looked at by a backfill."""

    migration: Migration
    rows: int
    is_done: bool


Schema = Mapping[int, Begun]
"""The migrations that have begun, by number."""


class Refusing:
    """What refuses to let this node change anything: the schema, and whatever else it was told.

    A transaction that runs `asked` first, and `require` where that has a row, changes things only
    while nothing refuses it, since whoever would change that waits for it to end
    (`Transaction.shut_out`).
    """

    def __init__(self) -> None:
        self._number = migrations.number()
        self._also = ""
        self._changes = 0
        self.asked = f"SELECT admits FROM {self._without_us}"

    def also(self, sql: str) -> None:
        """From now on also where that statement has a row. It is looked up once, and again wherever
        keys were changed meanwhile: no change pays for it else.
        """
        self._also = sql
        self._look_behind(-1)

    async def require(self, tx: Transaction) -> None:
        """Refuses where there is a reason to."""
        also, rows = self._also, await tx.fetch(self.asked)
        if not rows:
            return
        if any(row[0] > self._number for row in rows):
            raise Refusal(RELEASE_TOO_OLD)
        if await tx.fetch(also):
            raise Refusal(KEYS_TOO_OLD)
        if also is self._also:
            self._look_behind(max(self._changes, *(row[1] for row in rows)))

    @property
    def _without_us(self) -> str:
        return f"schema_migrations WHERE admits > {self._number}"

    def _look_behind(self, changes: int) -> None:
        self._changes = changes
        others = f"{self._without_us} OR key_changes > {changes}"
        self.asked = f"SELECT admits, key_changes FROM {others}"


async def schema(tx: Transaction) -> Schema:
    """What the store's schema is; nothing before the first migration."""
    try:
        rows = await tx.fetch("SELECT number, checksum FROM schema_migrations")
    except MissingTable:
        return {}
    if not any(row[0] >= _SINCE for row in rows):
        return {n: Begun(checksum) for n, checksum in rows}
    rows = await tx.fetch(
        "SELECT number, checksum, admits, remaining, position FROM schema_migrations"
    )
    return {
        n: Begun(checksum, admits, remaining, tuple(json.loads(position or "[]")))
        for n, checksum, admits, remaining, position in rows
    }


def check(there: Schema) -> None:
    """Refuses a schema that does not admit this node, or of which this release is no part."""
    lowest = _lowest(there)
    if lowest > migrations.number():
        raise SchemaMismatch(
            f"The database admits no release that knows fewer than {lowest} migrations, and this "
            f"one knows {migrations.number()}. Run the release that migrated it, or a later one."
        )
    for migration in migrations.known():
        begun = there.get(migration.number)
        if begun is not None and begun.checksum != migration.checksum:
            raise SchemaMismatch(
                f"Migration {migration.number} in the database is not the one of this release. "
                "Run the release that applied it, or restore a backup."
            )


async def require_whole(tx: Transaction) -> None:
    """Refuses a store without any migration that has a table of them all the same."""
    try:
        await tx.fetch("SELECT 1 FROM audit_entries LIMIT 1")  # the first one of a dump
    except MissingTable:
        return
    raise SchemaMismatch(_PARTIAL)


def missing(there: Schema) -> list[Migration]:
    """What this release needs and is not there; in a new store that is everything."""
    waiting = contracts(there)
    return [one for one in migrations.known() if one.number not in there and one not in waiting]


def unfinished(there: Schema) -> list[Migration]:
    """What has begun and not ended. This release can be served all the same."""
    return [
        one for one in migrations.known() if one.number in there and there[one.number].remaining
    ]


def contracts(there: Schema) -> list[Migration]:
    """What waits until no node of an older release runs; none has ever served a new store."""
    if not there:
        return []
    return [one for one in migrations.known() if one.is_contract and one.number not in there]


async def rows_ahead(tx: Transaction, migration: Migration) -> int:
    """How many rows its backfills have not looked at yet."""
    begun = (await schema(tx))[migration.number]
    rows, position = 0, begun.position
    for step in migration.steps[len(migration.steps) - begun.remaining :]:
        if isinstance(step, Backfill):
            rows += await tx.count(step.ahead(bool(position)), *position)
        position = ()
    return rows


async def advance(tx: Transaction, *, contract: bool, most: int) -> Progress | None:
    """Does the next step there is, or of a backfill the next page of at most so many rows; None:
    nothing is left to do.

    In the order of numbers, each migration to its end. With `contract` also what takes away what
    older releases need; without, that waits. Refuses a schema that does not admit this node.
    """
    await tx.execute(_CREATE)
    there = await schema(tx)
    check(there)
    for migration in migrations.known():
        begun = there.get(migration.number)
        if begun is None and (contract or not migration.is_contract):
            return await _begin(tx, migration, _lowest(there))
        if begun is not None and begun.remaining:
            return await _go_on(tx, migration, begun, most)
    return None


async def _begin(tx: Transaction, migration: Migration, lowest: int) -> Progress:
    """From here on nodes below the number that it admits change nothing."""
    if migration.admits > lowest:
        await tx.shut_out("schema_migrations")
    first, remaining = migration.steps[0], len(migration.steps)
    if isinstance(first, str):
        try:
            await tx.script(first)
        except AlreadyThere as error:
            raise SchemaMismatch(_PARTIAL) from error
        remaining -= 1
    await tx.execute(
        "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
        migration.number,
        migration.name,
        migration.checksum,
    )
    if migration.number >= _SINCE:
        await tx.execute(
            "UPDATE schema_migrations SET admits = $2, remaining = $3 WHERE number = $1",
            migration.number,
            migration.admits,
            remaining,
        )
    return Progress(migration, 0, remaining == 0)


async def _go_on(tx: Transaction, migration: Migration, begun: Begun, most: int) -> Progress:
    step, rows = migration.steps[-begun.remaining], 0
    remaining, position = begun.remaining - 1, None
    if isinstance(step, Backfill):
        rows, last = await _fill(tx, step, begun.position, most)
        if rows == most:  # there may be more
            remaining, position = begun.remaining, json.dumps(last)
    else:
        await tx.script(step)
    await tx.execute(
        "UPDATE schema_migrations SET remaining = $2, position = $3 WHERE number = $1",
        migration.number,
        remaining,
        position,
    )
    return Progress(migration, rows, remaining == 0)


async def _fill(
    tx: Transaction, step: Backfill, position: tuple[int | str, ...], most: int
) -> tuple[int, list[int | str]]:
    """Changes the next page; how many rows it has, and the key of the last."""
    after = bool(position)
    keys = await tx.fetch(step.page(after, most), *position)
    if not keys:
        return 0, []
    last = list(keys[-1])
    await tx.execute(step.change(after), *position, *last)
    return len(keys), last


def _lowest(there: Schema) -> int:
    """The lowest number of a node that may change anything."""
    return max((begun.admits for begun in there.values()), default=1)
