"""Stores of a test's own, and a table to read and write in them."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from teamvars.domain.errors import Refusal
from teamvars.services.installation import upgrade
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.storage.engines import database_for
from teamvars.storage.migrations import Migration
from tests.support.commands import Host
from tests.support.postgres import Postgres


@contextmanager
def fresh_postgres(server: Postgres, template: str | None = None) -> Iterator[str]:
    """The URL of an empty database, or of a copy of another."""
    name = f"own-{uuid4()}"
    server.create_database(name, template)
    try:
        yield server.url(name)
    finally:
        server.drop_database(name)


def fresh_sqlite(folder: Path) -> str:
    """The URL of a file that does not exist yet."""
    return f"sqlite:///{folder / 'teamvars.db'}"


@contextmanager
def fresh(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of an empty store, on the engine that a fixture has for its parameter."""
    if request.param == "sqlite":
        yield fresh_sqlite(folder)
        return
    with fresh_postgres(request.getfixturevalue("postgres")) as url:
        yield url


@contextmanager
def migrated(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of a store that has all tables and nothing in them, on the engine that a fixture has
    for its parameter: a copy of one that was migrated, which takes a third of the time.
    """
    if request.param == "sqlite":
        url = fresh_sqlite(folder)
        shutil.copy(request.getfixturevalue("migrated_file"), folder / "teamvars.db")
        yield url
        return
    template = request.getfixturevalue("migrated_database")
    with fresh_postgres(request.getfixturevalue("postgres"), template) as url:
        yield url


@contextmanager
def migrated_host(request: pytest.FixtureRequest, folder: Path) -> Iterator[Host]:
    """A host on which `init` has such a store before it, and so takes a fifth of the time."""
    host = Host(folder)
    host.data.mkdir(mode=0o700)
    with migrated(request, host.data) as url:
        yield host if request.param == "sqlite" else host.having(database_url=url)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A node's view of the store: each has its own connections."""
    async with database_for(url, create=True) as database:
        yield database


async def bring_up(database: Database, *, contract: bool = False) -> list[Migration]:
    """Does all migrations that are missing, and returns them."""
    return await upgrade(database, lambda _: None, contract=contract)


async def make_things(database: Database) -> None:
    """A table of notes by id, in a store that admits every node."""

    async def body(tx: Transaction) -> None:
        await tx.script("CREATE TABLE schema_migrations (admits BIGINT NOT NULL)")
        await tx.script("CREATE TABLE things (id {text} PRIMARY KEY, note {text} NOT NULL)")

    await database.migrate(body)


def adding(id_: str, note: str = "") -> Body[str]:
    """What adds a thing; its answer is the id."""

    async def body(tx: Transaction) -> str:
        await tx.execute("INSERT INTO things (id, note) VALUES ($1, $2)", id_, note)
        return id_

    return body


async def ids(tx: Transaction) -> list[str]:
    """The ids of all things, in order."""
    return [row[0] for row in await tx.fetch("SELECT id FROM things ORDER BY id")]


async def batched(database: Database, body: Body[T]) -> T:
    """Runs it as changes of many callers are run."""
    return await database.batch(body, database.deadline(), waits=False)


def words(*outcomes: object) -> list[str]:
    """Of each outcome the refusal's code, or `done`; anything else that was raised is shown."""
    return [_word(outcome) for outcome in outcomes]


def _word(outcome: object) -> str:
    if isinstance(outcome, Refusal):
        return outcome.faults[0].code.word
    return repr(outcome) if isinstance(outcome, BaseException) else "done"
