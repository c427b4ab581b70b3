"""Stores for the tests of storage."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from teamvars.storage.database import Database
from tests.storage.stores import fresh, fresh_postgres, make_things, opened
from tests.support.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store of this test's own, on each engine."""
    with fresh(request, tmp_path) as url:
        yield url


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """An empty PostgreSQL database of this test's own."""
    with fresh_postgres(postgres) as url:
        yield url


@pytest.fixture
async def admin(postgres: Postgres, postgres_url: str) -> AsyncIterator[Any]:
    """A connection of its own to that database, for what happens beside the store."""
    connection = await asyncpg.connect(postgres.beside(postgres_url))
    yield connection
    await connection.close()


@pytest.fixture
async def database(empty_url: str) -> AsyncIterator[Database]:
    """An opened store of this test's own with a table of things, on each engine."""
    async with opened(empty_url) as database:
        await make_things(database)
        yield database
