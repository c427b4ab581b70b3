"""Processes killed in mid-write lose nothing they acknowledged, and leave nothing by halves.

The check kills once in each of five ways; `python3 dev.py faults` 40 times, 200 in all.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.hasty import HastyHost
from tests.faults.server_under_load import ServerUnderLoad, on_postgres, server_under_load
from tests.support.commands import Host
from tests.support.postgres import LocalPostgres

LOST = "was acknowledged and is lost"
LONG = pytest.param(40, id="200 kills", marks=pytest.mark.long)


async def crash(hit: ServerUnderLoad, kill: Callable[[], None]) -> None:
    """Kills something while all writers are at work."""
    async with hit.writers.at_work():
        await hit.writers.until_more(50)
        await asyncio.sleep(random.uniform(0, 0.2))
        await asyncio.to_thread(kill)


@pytest.mark.parametrize("kills", [1, LONG])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_killed_server_has_every_acknowledged_write_with_its_audit_entry(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, workers: int, kills: int
) -> None:
    host = Host(tmp_path)
    if engine == "postgres":
        host = on_postgres(request.getfixturevalue("durable"), tmp_path)
    with (hit := server_under_load(host, workers)).server as server:
        for _ in range(kills):
            await crash(hit, server.kill)
            server.start()
            assert hit.broken_promises() == []


@pytest.mark.parametrize("kills", [1, LONG])
async def test_a_killed_database_has_every_acknowledged_write_and_the_server_recovers_by_itself(
    durable: LocalPostgres, tmp_path: Path, kills: int
) -> None:
    with (hit := server_under_load(on_postgres(durable, tmp_path))).server:
        for _ in range(kills):
            await outage(hit, durable)
            assert hit.broken_promises() == []


async def outage(hit: ServerUnderLoad, database: LocalPostgres) -> None:
    """Kills the database under the server and starts it again a little later."""
    async with hit.writers.at_work():
        await hit.writers.until_more(50)
        database.kill()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(database.start)
        await hit.writers.until_more(50)


async def test_a_server_that_answers_before_it_commits_is_found_out(tmp_path: Path) -> None:
    with (hit := server_under_load(HastyHost(tmp_path))).server as server:
        await crash(hit, server.kill)
        server.start()
        assert any(LOST in promise for promise in hit.broken_promises())


async def test_a_database_that_answers_before_it_has_written_is_found_out(tmp_path: Path) -> None:
    lost = False
    with (
        LocalPostgres(durable=False) as hasty,
        (hit := server_under_load(on_postgres(hasty, tmp_path))).server,
    ):
        for _ in range(10):
            if not lost:
                hasty.execute("CHECKPOINT")  # or what writers have, such as a token, is lost too
                await outage(hit, hasty)
                lost = any(LOST in promise for promise in hit.broken_promises())
    assert lost
