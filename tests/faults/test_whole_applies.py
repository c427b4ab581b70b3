"""A server killed in mid-apply has all of it, with an audit entry for each change, or none.

The check kills twice, `python3 dev.py faults --only whole_applies` 60 times, each on each engine.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.faults.piecemeal import HALFWAY, PiecemealHost
from tests.faults.server_under_load import on_postgres, server_under_load
from tests.faults.whole_applies import Applier
from tests.support.commands import Host
from tests.support.patience import wait_until

LONG = pytest.param(60, id="60 kills", marks=pytest.mark.long)


async def kill_in_mid_apply(applier: Applier) -> None:
    """Kills the server at some moment of an apply, and starts it again."""
    if not applier.sent:
        await asyncio.to_thread(applier.apply)
    begun = asyncio.create_task(asyncio.to_thread(applier.apply))
    await asyncio.sleep(random.uniform(0.3, 2) * applier.seconds)
    await asyncio.to_thread(applier.hit.server.kill)
    await begun
    applier.hit.server.start()


@pytest.mark.parametrize("kills", [2, LONG])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_server_killed_in_mid_apply_has_all_of_it_or_none(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, kills: int
) -> None:
    host = Host(tmp_path)
    if engine == "postgres":
        host = on_postgres(request.getfixturevalue("durable"), tmp_path)
    with (hit := server_under_load(host)).server:
        applier = Applier(hit)
        for _ in range(kills):
            await kill_in_mid_apply(applier)
            assert applier.halves() == []
        print(len(applier.happened) - 1, "of", applier.sent, "applies are there")  # noqa: T201


async def test_a_server_that_commits_an_apply_by_halves_is_found_out(tmp_path: Path) -> None:
    host = PiecemealHost(tmp_path)
    with (hit := server_under_load(host)).server:
        applier = Applier(hit)
        await asyncio.to_thread(applier.apply)
        assert applier.happened == [0, 1]
        begun = asyncio.create_task(asyncio.to_thread(applier.apply))
        await asyncio.to_thread(wait_until, (host.folder / HALFWAY).exists)
        hit.server.kill()
        await begun
        hit.server.start()
        assert applier.halves()
