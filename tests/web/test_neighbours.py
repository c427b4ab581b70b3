"""Who asks beside a flood by another organization, by how much of it is answered before: on a busy
host all of that is slower, and no more.
"""

import asyncio
import statistics

import pytest

from teamvars import fair_slots, wiring
from teamvars.fair_slots import ORGANIZATION_SHARE
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.in_process import InProcess
from tests.support.patience import HANGS
from tests.support.tenant import Tenant

CONNECTIONS = 16 * ORGANIZATION_SHARE
READS = 15
FLOODERS = ("owner", "writer", "reader", "owners-token", "writers-token", "organization-token")
NEIGHBOUR = "outsider"


async def answered_before(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> float:
    """How many requests of a flood are answered while a neighbour's read waits: the median."""
    deployment = tenant.deployment
    routes = wiring.routes(deployment.services)
    application = Application(routes, deployment.services.sessions, ClientAddresses())
    paths = dict.fromkeys(FLOODERS, tenant.vars_path())
    paths[NEIGHBOUR] = f"/workspaces/{tenant.other_workspace}/vars"
    answered, has_ended = 0, False
    async with InProcess(application) as client:

        async def read(who: str) -> None:
            bearer = {"Authorization": f"Bearer {tenant.tokens[who]}"}
            assert (await client.get(paths[who], headers=bearer)).status_code == 200

        async def flood(who: str) -> None:
            nonlocal answered
            while not has_ended:
                await read(who)
                answered += 1

        monkeypatch.setattr(fair_slots, "COMPANY_SECONDS", HANGS)  # nobody is alone
        for who in (*paths, *paths):  # at first they are strangers
            await read(who)
        async with asyncio.timeout(HANGS), asyncio.TaskGroup() as flooding:
            for n in range(CONNECTIONS):
                flooding.create_task(flood(FLOODERS[n % len(FLOODERS)]))
            found = []
            for _ in range(READS):
                before = answered
                await read(NEIGHBOUR)
                found.append(answered - before)
            has_ended = True
    return statistics.median(found)


async def test_no_more_of_a_flood_passes_a_neighbour_than_its_organization_has_slots(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await answered_before(tenant, monkeypatch) <= ORGANIZATION_SHARE


async def test_without_shares_half_of_a_flood_passes_a_neighbour(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_slots, "ORGANIZATION_SHARE", 2 * CONNECTIONS)
    assert await answered_before(tenant, monkeypatch) > CONNECTIONS / 2
