"""What time it is: PostgreSQL says so for all nodes, whatever a host's clock says."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from teamvars.domain.errors import Refusal
from teamvars.storage.database import Database
from teamvars.storage.engines import connections
from teamvars.storage.engines.outages import WatchedDatabase
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.storage.engines.sqlite import SqliteDatabase, host_time
from tests.storage.stores import opened
from tests.support.server import free_port

MINUTE = 60_000_000


def off_by(microseconds: int) -> Callable[[], int]:
    """A host's clock that is wrong."""
    right = time.time_ns
    return lambda: right() + microseconds * 1000


@pytest.mark.parametrize("wrong_by", [-5 * MINUTE, 5 * MINUTE])
async def test_the_time_is_postgresqls_whatever_the_hosts_clock_says(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, wrong_by: int
) -> None:
    right = host_time()
    monkeypatch.setattr(time, "time_ns", off_by(wrong_by))
    async with opened(postgres_url) as database:
        for seen_by in (database, WatchedDatabase(database)):
            assert abs(seen_by.now() - right) < MINUTE


async def test_on_sqlite_it_is_the_hosts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    database: Database = SqliteDatabase(tmp_path / "x.db", create=True)
    right = host_time()
    monkeypatch.setattr(time, "time_ns", off_by(5 * MINUTE))
    assert abs(database.now() - right - 5 * MINUTE) < MINUTE


async def test_nobody_is_told_a_time_before_the_server_has_said_it() -> None:
    database = PostgresDatabase(f"postgresql://nobody@127.0.0.1:{free_port()}/x")
    with pytest.raises(Refusal):
        await database.open()
    with pytest.raises(Refusal):
        database.now()
    await database.close()


class Server:
    """What a clock asks."""

    def __init__(self, says: int) -> None:
        self.says = says

    async def fetchval(self, _: str) -> int:
        return self.says


async def test_the_newest_connection_says_what_time_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = iter([1000, 3000, 5000, 6000, 6000, 100_000_000])
    monkeypatch.setattr(connections, "_steady", lambda: next(steady) * 1000)
    clock = connections.ServerClock()
    assert clock.is_due
    await clock.measure(Server(50_000))
    assert clock.now() == 53_000  # half of the 2,000 that it took to ask were the way back
    await clock.measure(Server(9_000))
    assert clock.is_due
