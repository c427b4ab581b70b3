"""Nodes and installations for the tests of services."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.house import House, open_house
from tests.services.people import Desk
from tests.storage.stores import fresh_postgres, fresh_sqlite
from tests.world import World, build_world


@pytest.fixture
def desk(world: World) -> Desk:
    """The node that everybody uses."""
    return Desk(world)


@pytest.fixture(scope="session")
async def second_node(store_url: str, house: House) -> AsyncIterator[House]:
    """Another node on the same store, with connections of its own."""
    async with open_house(store_url, keys=house.keys) as node:
        yield node


@pytest.fixture
def desks(world: World, second_node: House) -> tuple[Desk, Desk]:
    """Two nodes on one store."""
    return Desk(world), Desk(world, second_node)


@pytest.fixture(params=["sqlite", "postgres"])
def own_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store of this test's own, on each engine."""
    if request.param == "sqlite":
        yield fresh_sqlite(tmp_path)
        return
    with fresh_postgres(request.getfixturevalue("postgres")) as url:
        yield url


@pytest.fixture
async def own_desk(own_url: str) -> AsyncIterator[Desk]:
    """An installation of this test's own, to be damaged."""
    async with open_house(own_url) as house:
        yield Desk(await build_world(house))
