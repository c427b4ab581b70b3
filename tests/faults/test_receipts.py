"""Nobody is handed a value of which there is no receipt, whatever is killed or cut in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from teamvars.domain.audit import AuditFilter
from teamvars.protocol.bundles import Delivery
from teamvars.services import deliveries
from teamvars.storage.engines.postgres import _Brief
from tests.faults.deliverers import Deliverers
from tests.faults.generous import GenerousHost
from tests.faults.jobs import JobService, open_job_service
from tests.services.calls import refusal_of
from tests.services.jobs import Job, approve, propose
from tests.storage.proxy import WRITTEN, Way, way_to
from tests.storage.stores import fresh_postgres
from tests.support.commands import Host
from tests.support.deployment import open_deployment
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.tenant import build_tenant

LONG = pytest.param(1000, id="1000 kills", marks=pytest.mark.long)
MORE_KILLS = 200
LARGE = {f"KEY_{n}": "x" * 5000 for n in range(40)}
"""So much that opening and sealing it takes a while."""


@asynccontextmanager
async def at_work(host: Host) -> AsyncIterator[tuple[JobService, Deliverers]]:
    """A service on the host, and jobs that are about to ask it for values."""
    async with open_job_service(host) as service:
        await service.put(LARGE)
        deliverers = Deliverers(service)
        await deliverers.prepare()
        yield service, deliverers


async def kill(service: JobService, deliverers: Deliverers) -> None:
    """Kills the server once there is a receipt that was not there, and starts it again."""
    async with deliverers.at_work():
        await deliverers.until_more(5)
        before = await deliverers.receipts()
        while await deliverers.receipts() == before:
            pass
        service.served.server.kill()
    await asyncio.to_thread(service.served.server.start)


@pytest.mark.parametrize("kills", [5, LONG])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_server_that_is_killed_has_a_receipt_of_all_that_has_arrived(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, kills: int
) -> None:
    host = Host(tmp_path)
    if engine == "postgres":
        server: LocalPostgres = request.getfixturevalue("durable")
        server.create_database(tmp_path.name)
        host = host.having(database_url=server.url(tmp_path.name))
    async with at_work(host) as (service, deliverers):
        recorded = set[str]()
        # As many as it takes for one at least to come between a receipt and its answer.
        for n in range(1, kills + MORE_KILLS):
            await kill(service, deliverers)
            if n % 50 == 0 or n >= kills:
                recorded = await deliverers.recorded()
                assert deliverers.handed <= recorded <= deliverers.asked
                await deliverers.prepare()
                if n >= kills and recorded - deliverers.handed:
                    break
        assert recorded - deliverers.handed
        print(f"{len(recorded)} receipts, {len(deliverers.handed)} deliveries")  # noqa: T201
        assert service.served.host.run("audit", "verify").code == 0


async def test_a_server_that_hands_out_before_the_receipt_is_found_out(tmp_path: Path) -> None:
    async with at_work(GenerousHost(tmp_path)) as (service, deliverers):
        await kill(service, deliverers)
        assert deliverers.handed - await deliverers.recorded()


def cutting(way: Way) -> Callable[..., Awaitable[None]]:
    """What commits, and the way is cut before anybody knows."""
    commit = _Brief.commit

    async def and_cut(self: Any, refusing: str | None) -> None:
        way.cut, way.committed = "before", WRITTEN
        await commit(self, refusing)

    return and_cut


async def test_of_a_receipt_that_nobody_knows_to_be_committed_no_value_goes_out(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    sealed = deliveries._sealed

    def noted(*what: Any) -> Delivery:
        opened.append(what)
        return sealed(*what)

    monkeypatch.setattr(deliveries, "_sealed", noted)
    with fresh_postgres(postgres) as url:
        async with (
            way_to(url) as way,
            open_deployment(url) as beside,
            open_deployment(way.url, keys=beside.keys) as node,
        ):
            tenant = await build_tenant(beside)
            await tenant.make_variable("password", value="hunter2", sensitive=True)
            runner_id = await propose(tenant)
            await approve(tenant, runner_id)
            job = Job.new(tenant, node)
            with monkeypatch.context() as cut:
                cut.setattr(_Brief, "commit", cutting(way))
                assert await refusal_of(job.exchange()) == "outcome_unknown"
            issued = await job.exchange()
            with monkeypatch.context() as cut:
                cut.setattr(_Brief, "commit", cutting(way))
                assert await refusal_of(job.deliver(issued)) == "outcome_unknown"
            assert opened == []
            _, values = await job.deliver(issued)
            assert ([one.value for one in values], len(opened)) == (["hunter2"], 1)
            receipts = AuditFilter(stream_id=runner_id, action="variable.deliver")
            assert len(await beside.services.audit.newest(9, receipts)) == 2
