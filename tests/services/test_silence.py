"""Changes that wait together for a store that falls silent: each is answered, and none by another's
failure."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from teamvars import wiring
from teamvars.storage import deadlines
from teamvars.storage.engines import database_for, sqlite
from tests.services.calls import Calls, caller
from tests.services.test_batches import WORKSPACES, Crowd, Making, crowd_in
from tests.storage.proxy import way_to
from tests.storage.stores import fresh_postgres, fresh_sqlite, words
from tests.support.deployment import open_deployment
from tests.support.patience import HANGS, until
from tests.support.postgres import Postgres

SECONDS = 3.0
"""In which a busy host answers as well: who is refused later was kept waiting."""
MANY = [f"many{number}" for number in range(300)]


@asynccontextmanager
async def hurried(crowd: Crowd, url: str) -> AsyncIterator[Crowd]:
    """The same on another node, whose statements end in time."""
    async with database_for(url, statement_seconds=SECONDS) as database:
        services = wiring.services(database, crowd.calls.node.keys, crowd.calls.node.config.quota)
        node = replace(crowd.calls.node, services=services)
        there = Crowd(Calls(crowd.calls.tenant, node), crowd.ids)
        await until_known(there)
        yield there
        await services.changes.close()
        await services.code.close()


async def until_known(crowd: Crowd) -> None:
    """A slow host may refuse some: the owner is known there once one was made in each."""

    async def is_known() -> bool:
        made = crowd.make_each(key=f"known_{next(numbers)}")
        return set(await outcomes_of(made)) == {"done"}

    numbers = iter(range(1000))
    await until(is_known)


def make_many(crowd: Crowd) -> list[Making]:
    """Many are being made, in all workspaces in turns."""
    return [crowd.make(key, WORKSPACES[n % len(WORKSPACES)]) for n, key in enumerate(MANY)]


async def outcomes_of(made: Sequence[Making]) -> list[str]:
    """What each has come to; none hangs."""
    async with asyncio.timeout(HANGS):
        return words(*await asyncio.gather(*made, return_exceptions=True))


async def written_in(crowd: Crowd) -> str:
    """The keys of all that were made, one behind the other."""
    return "".join((await crowd.keys()).values())


@pytest.fixture
def url(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(deadlines, "COMMIT_SECONDS", SECONDS)
    with fresh_postgres(postgres) as url:
        yield url


@pytest.fixture
async def crowd(url: str) -> AsyncIterator[Crowd]:
    async with open_deployment(url) as node:
        yield await crowd_in(node)


async def test_a_batch_whose_commit_freezes_has_an_unknown_outcome_and_nobody_behind_it_has(
    crowd: Crowd, url: str
) -> None:
    async with way_to(url) as way, hurried(crowd, way.url) as there:
        way.freezes_at_commit = True
        inside = there.make_each()
        await way.until_frozen()
        behind = make_many(there)
        assert await outcomes_of(inside) == ["outcome_unknown"] * len(inside)
        assert await outcomes_of(behind) == ["storage_unavailable"] * len(behind)
        way.freezes_at_commit = False
        way.thaw()
        await until_known(there)
    written = await written_in(crowd)
    assert written.count("x") == len(inside), "the server had been told to commit"
    assert "many" not in written
    assert await crowd.holds()


async def test_as_many_as_wait_for_a_silent_server_are_refused_in_time_and_nothing_is_made(
    crowd: Crowd, url: str
) -> None:
    async with way_to(url) as way, hurried(crowd, way.url) as there:
        way.freeze()
        assert await outcomes_of(make_many(there)) == ["storage_unavailable"] * len(MANY)
        way.thaw()
        await until_known(there)
    assert "many" not in await written_in(crowd)
    assert await crowd.holds()


async def test_as_many_as_wait_for_a_disk_that_hangs_are_answered_each_for_itself_once_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, commit = threading.Event(), sqlite.commit

    def hangs(connection: apsw.Connection) -> None:
        goes_on.wait(HANGS)
        commit(connection)

    async with open_deployment(fresh_sqlite(tmp_path)) as node:
        crowd = await crowd_in(node)
        monkeypatch.setattr(sqlite, "commit", hangs)
        made = [*make_many(crowd), crowd.make(MANY[0])]
        reader = caller(crowd.calls.tenant, "owner")
        await crowd.calls.services.workspaces.read(
            reader, crowd.ids["s0"]
        )  # nobody who reads waits
        assert not any(each.done() for each in made)
        goes_on.set()
        assert await outcomes_of(made) == ["done"] * len(MANY) + ["key_taken"]
        assert (await written_in(crowd)).count("many") == len(MANY)
        assert await crowd.holds()
