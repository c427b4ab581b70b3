"""PostgreSQL takes connections and says nothing: who waits for a slot meanwhile is told in time."""

import asyncio
from typing import Any

import pytest

from teamvars import fair_slots, wiring
from teamvars.fair_slots import LONE_SLOTS
from teamvars.security.tokens import new_token
from teamvars.storage.engines.connections import Connections, Lane
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.storage.proxy import way_to
from tests.storage.stores import fresh_postgres
from tests.support.deployment import open_deployment
from tests.support.in_process import InProcess
from tests.support.patience import HANGS
from tests.support.postgres import Postgres

SECONDS = 1.0
TURNS = 30
"""As many times the requests that have a slot."""


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[Lane]:
    """The lane of each transaction that is tried, as they come."""
    seen, attempt = list[Lane](), Connections.attempt

    async def counted(pool: Connections, lane: Lane, *rest: Any) -> object:
        seen.append(lane)
        return await attempt(pool, lane, *rest)

    monkeypatch.setattr(Connections, "attempt", counted)
    return seen


async def test_who_waits_while_storage_is_silent_waits_no_longer_than_who_has_a_slot(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, attempts: list[Lane]
) -> None:
    monkeypatch.setattr(fair_slots, "WAIT_SECONDS", 2 * HANGS)
    with fresh_postgres(postgres) as url:
        async with (
            open_deployment(url) as deployment,
            way_to(url) as way,
            PostgresDatabase(way.url, SECONDS) as database,
        ):
            services = wiring.services(database, deployment.keys, deployment.config.quota)
            routes = wiring.routes(services)
            application = Application(routes, services.sessions, ClientAddresses())
            async with InProcess(application) as client:
                headers = {"Authorization": f"Bearer {new_token('user')}"}
                assert (await client.get("/organizations", headers=headers)).status_code == 401
                way.freeze()
                attempts.clear()
                requests = [
                    client.get("/organizations", headers=headers) for _ in range(TURNS * LONE_SLOTS)
                ]
                answers = await asyncio.wait_for(asyncio.gather(*requests), HANGS)
            assert {answer.status_code for answer in answers} == {503}
            # Whose time was over when they got a slot did not wait once more.
            assert len(attempts) < len(requests) / 2
            await services.code.close()
