"""Numbered, checksummed migrations: which there are, which are applied, and applying the rest."""

import hashlib
from importlib import resources

import msgspec

from teamvars.storage.database import MissingTable, Transaction

_CREATE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT PRIMARY KEY,
    name {text} NOT NULL,
    checksum {text} NOT NULL
)
"""


class SchemaMismatch(Exception):
    """The schema is not this program's; the text says which command or release mends it."""


class Migration(msgspec.Struct, frozen=True):
    """One step. Its checksum is of the file's bytes."""

    number: int
    name: str
    sql: str
    checksum: str


def known() -> list[Migration]:
    """The migrations of this release, in order."""
    files = resources.files(__name__)
    return [
        _read(file.name, file.read_text(encoding="utf-8"))
        for file in sorted(files.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]


async def applied(tx: Transaction) -> dict[int, str]:
    """The checksums of the applied migrations by number; none before the first."""
    try:
        rows = await tx.fetch("SELECT number, checksum FROM schema_migrations ORDER BY number")
    except MissingTable:
        return {}
    return {row[0]: row[1] for row in rows}


async def apply_pending(tx: Transaction) -> list[Migration]:
    """Applies what is missing and returns it. Refuses a newer or altered schema."""
    await tx.execute(_CREATE)
    pending = check(await applied(tx))
    for migration in pending:
        await tx.script(migration.sql)
        await tx.execute(
            "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
            migration.number,
            migration.name,
            migration.checksum,
        )
    return pending


def check(done: dict[int, str]) -> list[Migration]:
    """The migrations that are missing. Refuses a newer or altered schema."""
    migrations = known()
    newest = max((migration.number for migration in migrations), default=0)
    if any(number > newest for number in done):
        raise SchemaMismatch(
            "The database was migrated by a newer teamvars. Run that release or a later one."
        )
    for migration in migrations:
        if done.get(migration.number, migration.checksum) != migration.checksum:
            raise SchemaMismatch(
                f"Migration {migration.number} in the database is not the one of this release. "
                "Run the release that applied it, or restore a backup."
            )
    return [migration for migration in migrations if migration.number not in done]


def _read(file_name: str, sql: str) -> Migration:
    number, _, name = file_name.removesuffix(".sql").partition("_")
    return Migration(int(number), name, sql, hashlib.sha256(sql.encode()).hexdigest())
