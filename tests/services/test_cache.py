"""`TEAMVARS_CACHE_MIB`: how much of what was rendered a worker keeps."""

from typing import cast

import httpx
import pytest

from teamvars import wiring
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.deployment import BASE
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


@pytest.mark.parametrize(("mib", "statements"), [(1, 2), (2, 1)])
async def test_a_list_that_fits_into_the_cache_is_asked_for_once(
    tenant: Tenant, mib: int, statements: int
) -> None:
    for number in range(6):
        await tenant.make_variable(f"key_{number}", value="v" * 200_000)
    keys, counted = tenant.deployment.keys, Counted(tenant.deployment.services.database)
    quota = tenant.deployment.config.quota
    setup = wiring.Setup(cache_mib=mib)
    services = wiring.services(cast(Database, counted), keys, quota, setup=setup)
    application = Application(wiring.routes(services), services.sessions, ClientAddresses())
    headers = {"Authorization": f"Bearer {tenant.tokens['reader']}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(application), base_url=BASE, headers=headers
    ) as client:
        first = await client.get(tenant.vars_path())
        counted.statements = 0
        again = await client.get(tenant.vars_path())
    assert first.status_code == 200
    assert again.content == first.content
    assert counted.statements == statements
