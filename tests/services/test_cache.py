"""`TEAMVARS_CACHE_MIB`: how much of what was rendered a worker keeps."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest

from teamvars import wiring
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.observed_transaction import ObservedTransaction
from tests.support.tenant import Tenant


class Counted:
    """A `Database` that counts the statements of its queries."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.statements = 0

    async def query(self, body: Body[T]) -> T:
        async def run(tx: Transaction) -> T:
            return await body(ObservedTransaction(tx, self._count))

        return await self._database.query(run)

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def _count(self, *_: object) -> None:
        self.statements += 1


class Interrupted:
    """A `Database` where something happens after one of its queries."""

    def __init__(
        self, database: Database, after: int, happens: Coroutine[Any, Any, object]
    ) -> None:
        self._database = database
        self._left = after
        self._happens = happens

    async def query(self, body: Body[T]) -> T:
        found = await self._database.query(body)
        self._left -= 1
        if self._left == 0:
            await self._happens
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)


def interrupted(
    tenant: Tenant, happens: Coroutine[Any, Any, object], after: int = 1
) -> Interrupted:
    """The tenant's store, where that happens after so many queries."""
    return Interrupted(tenant.deployment.services.database, after, happens)


@asynccontextmanager
async def reading(
    tenant: Tenant, database: object, cache_mib: int = 2
) -> AsyncIterator[httpx.AsyncClient]:
    """A reader of a node with that store."""
    keys, quota = tenant.deployment.keys, tenant.deployment.config.quota
    setup = wiring.Setup(cache_mib=cache_mib)
    services = wiring.services(cast(Database, database), keys, quota, setup=setup)
    application = Application(wiring.routes(services), services.sessions, ClientAddresses())
    headers = {"Authorization": f"Bearer {tenant.tokens['reader']}"}
    async with InProcess(application, headers=headers) as client:
        yield client


@pytest.mark.parametrize(("mib", "statements"), [(1, 2), (2, 1)])
async def test_a_list_that_fits_into_the_cache_is_asked_for_once(
    tenant: Tenant, mib: int, statements: int
) -> None:
    for number in range(6):
        await tenant.make_variable(f"key_{number}", value="v" * 200_000)
    counted = Counted(tenant.deployment.services.database)
    async with reading(tenant, counted, mib) as client:
        first = await client.get(tenant.vars_path())
        counted.statements = 0
        again = await client.get(tenant.vars_path())
    assert first.status_code == 200
    assert again.content == first.content
    assert counted.statements == statements


LISTS = "vars", "all-vars", "effective-vars"


@pytest.mark.parametrize("what", LISTS)
async def test_each_list_of_a_workspace_is_kept(tenant: Tenant, what: str) -> None:
    await tenant.make_variable("key")
    counted = Counted(tenant.deployment.services.database)
    async with reading(tenant, counted) as client:
        path = f"/workspaces/{tenant.workspaces['network']}/{what}"
        first = await client.get(path)
        counted.statements = 0
        assert (await client.get(path)).content == first.content
    assert first.status_code == 200
    assert counted.statements == 1


@ON_SQLITE
@pytest.mark.parametrize(
    ("what", "after"),
    [("vars", 1), *((what, after) for what in LISTS[1:] for after in (1, 2))],
)
async def test_a_list_that_changes_while_it_is_made_is_made_again(
    tenant: Tenant, what: str, after: int
) -> None:
    late = tenant.make_variable("late")
    async with reading(tenant, interrupted(tenant, late, after)) as client:
        path = f"/workspaces/{tenant.workspaces['network']}/{what}"
        found, again = await client.get(path), await client.get(path)
    assert [one["attributes"]["key"] for one in found.json()["data"]] == ["late"]
    assert found.headers["etag"] == again.headers["etag"]


@ON_SQLITE
@pytest.mark.parametrize("what", LISTS)
async def test_a_list_of_what_goes_while_it_is_made_is_not_found(tenant: Tenant, what: str) -> None:
    workspace = f"/workspaces/{tenant.workspaces['network']}"
    gone = tenant.call("owner", "DELETE", workspace)
    async with reading(tenant, interrupted(tenant, gone)) as client:
        assert (await client.get(f"{workspace}/{what}")).status_code == 404
