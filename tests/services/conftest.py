"""Nodes and installations for the tests of services."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.services.calls import Calls
from tests.storage.stores import migrated
from tests.support.deployment import Deployment, open_deployment
from tests.support.tenant import Tenant, build_tenant


@pytest.fixture
def calls(tenant: Tenant) -> Calls:
    """The node that everybody uses."""
    return Calls(tenant)


@pytest.fixture(scope="module")
async def second_node(store_url: str, deployment: Deployment) -> AsyncIterator[Deployment]:
    """Another node on the same store, with connections of its own."""
    async with open_deployment(store_url, keys=deployment.keys) as node:
        yield node


@pytest.fixture
def both_nodes(tenant: Tenant, second_node: Deployment) -> tuple[Calls, Calls]:
    """Two nodes on one store."""
    return Calls(tenant), Calls(tenant, second_node)


@pytest.fixture(params=["sqlite", "postgres"])
def own_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated store of this test's own, on each engine."""
    with migrated(request, tmp_path) as url:
        yield url


@pytest.fixture
async def own_calls(own_url: str) -> AsyncIterator[Calls]:
    """An installation of this test's own, to be damaged."""
    async with open_deployment(own_url) as deployment:
        yield Calls(await build_tenant(deployment))


@pytest.fixture
async def own_nodes(migrated_postgres: str) -> AsyncIterator[tuple[Deployment, Deployment]]:
    """Two nodes on a store of this test's own, on PostgreSQL, where they wait for each other."""
    async with (
        open_deployment(migrated_postgres) as deployment,
        open_deployment(migrated_postgres, keys=deployment.keys) as node,
    ):
        yield deployment, node


@pytest.fixture(scope="module")
async def modules_own(modules_url: str) -> AsyncIterator[Deployment]:
    """An installation of a module's own: to be damaged, or since a large one takes its time."""
    async with open_deployment(modules_url) as deployment:
        yield deployment
