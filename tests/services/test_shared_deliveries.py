"""Jobs share transactions with each other and with changes, and each has its own outcome."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from teamvars.domain.audit import AuditFilter
from teamvars.domain.deliveries import ReceiptSearch
from teamvars.domain.pages import Page
from teamvars.storage import streams
from teamvars.storage.database import Moved, Transaction
from teamvars.storage.engines import postgres
from tests.services.calls import Calls, caller, refusal_of
from tests.services.jobs import Job, approve, propose
from tests.storage.stores import words
from tests.support.deployment import Deployment
from tests.support.engines import ON_POSTGRES
from tests.support.jobs import job_token
from tests.support.patience import HANGS
from tests.support.tenant import Tenant


async def ready(tenant: Tenant) -> tuple[str, Job]:
    """An approved runner, and a job that it means."""
    await tenant.make_variable("password", value="hunter2", sensitive=True)
    await tenant.make_variable("region")
    await approve(tenant, runner_id := await propose(tenant))
    return runner_id, Job.new(tenant)


class Batches:
    """The batches of a node, of which the first waits until all the others are queued."""

    def __init__(self, node: Deployment) -> None:
        self._queue: Any = node.services.changes._batches._queue
        self._gate = asyncio.Event()
        self.seen = 0

    def watch(self, run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """In the place of what runs one."""

        async def run_later(*args: Any, **more: Any) -> Any:
            self.seen += 1
            await self._gate.wait()
            return await run(*args, **more)

        return run_later

    async def have(self, queued: int) -> None:
        """Until so many changes wait."""
        async with asyncio.timeout(HANGS):
            while sum(map(len, self._queue._waiters.values())) < queued:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    async def until(self, queued: int) -> None:
        """The same; then all go on."""
        await self.have(queued)
        self._gate.set()


@asynccontextmanager
async def together(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, queued: int
) -> AsyncIterator[Batches]:
    """What is begun in this block, and comes to so many changes, waits for one another."""
    batches, store = Batches(tenant.deployment), tenant.deployment.services.changes.database
    with monkeypatch.context() as watched:
        watched.setattr(store, "batch", batches.watch(store.batch))
        first = asyncio.create_task(tenant.make_variable("first"))
        while not batches.seen:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.001)
        yield batches
        await batches.until(queued)
        await first


async def receipts(tenant: Tenant, runner_id: str) -> int:
    """How many the trail of the runner has."""
    wanted = AuditFilter(stream_id=runner_id, action="variable.deliver")
    return len(await tenant.deployment.services.audit.newest(100, wanted))


async def test_jobs_share_a_transaction_with_whoever_changes_something_meanwhile(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job = await ready(tenant)
    tokens = [await job.exchange() for _ in range(4)]
    async with together(tenant, monkeypatch, 8) as batches:
        delivering = [asyncio.create_task(job.deliver(token)) for token in tokens]
        others: list[Awaitable[Any]] = [job.exchange(), job.exchange()]
        others += [tenant.make_variable(key) for key in "ab"]
        working = [*delivering, *map(asyncio.ensure_future, others)]
    await asyncio.gather(*working)
    assert batches.seen == 2
    for task in delivering:
        _, variables = task.result()
        handed = {each.key: each.value for each in variables}
        assert handed.items() >= {("password", "hunter2"), ("region", "eu"), ("first", "eu")}
    assert await receipts(tenant, runner_id) == 4
    assert await tenant.deployment.audit_holds()


async def test_what_is_refused_in_a_shared_transaction_is_refused_alone(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job = await ready(tenant)
    token, stranger = await job.exchange(), Job.new(tenant)
    used = job_token(job.key.thumbprint)
    async with together(tenant, monkeypatch, 6):
        working = [
            asyncio.create_task(each)
            for each in (
                job.deliver(token),
                stranger.deliver(token),  # to a key that is not the token's
                job.exchange(used),
                job.exchange(used),
                tenant.make_variable("a"),
                job.deliver(token),
            )
        ]
    said = words(*await asyncio.gather(*working, return_exceptions=True))
    assert said[:2] == ["done", "invalid_value"]
    assert sorted(said[2:4]) == ["done", "invalid_request"]
    assert said[4:] == ["done", "done"]
    assert await receipts(tenant, runner_id) == 2
    assert await tenant.deployment.audit_holds()


async def test_a_part_that_shares_a_transaction_with_the_whole_does_not_forget_the_rest(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job = await ready(tenant)
    whole, part = await job.exchange(), await job.exchange()
    async with together(tenant, monkeypatch, 2) as batches:
        working = [asyncio.create_task(job.deliver(whole))]
        await batches.have(1)
        working.append(asyncio.create_task(job.deliver(part, "pass*")))
    await asyncio.gather(*working)
    deliveries = tenant.deployment.services.deliveries
    who = caller(tenant, "owner")
    found = await deliveries.receipts(who, tenant.organization, ReceiptSearch(), Page())
    ((delivery),) = [one.receipt.delivery for one in found.items]
    assert (len(delivery.versions), len(delivery.earlier)) == (1, 2)  # the first is there by then
    assert await receipts(tenant, runner_id) == 2


@ON_POSTGRES  # the one writer of SQLite everybody waits for
async def test_a_delivery_waits_for_whoever_has_the_stream_of_its_runner(
    tenant: Tenant, second_node: Deployment
) -> None:
    runner_id, job = await ready(tenant)
    token = await job.exchange()
    is_locked, is_over = asyncio.Event(), asyncio.Event()

    async def hold(tx: Transaction) -> None:
        await streams.lock(tx, [runner_id])
        is_locked.set()
        await is_over.wait()

    holding = asyncio.create_task(second_node.services.database.write(hold))
    await is_locked.wait()
    delivering = asyncio.create_task(job.deliver(token))
    await tenant.make_variable("meanwhile")
    assert not delivering.done()
    is_over.set()
    await asyncio.gather(holding, delivering)
    assert await receipts(tenant, runner_id) == 1


@asynccontextmanager
async def before_it_is_written(
    monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Awaitable[object]]
) -> AsyncIterator[list[str]]:
    """Has something happen between the look-ups of the next delivery and what writes it; what came
    of each that was written in a statement of its own.
    """
    commit, said = postgres._Brief.commit, list[str]()

    async def later(self: Any, refusing: str | None) -> None:
        with monkeypatch.context() as as_ever:
            as_ever.setattr(postgres._Brief, "commit", commit)
            await meanwhile()
        try:
            await commit(self, refusing)
        except Moved:
            said.append("moved")
            raise
        said.append("written")

    with monkeypatch.context() as watched:
        watched.setattr(postgres._Brief, "commit", later)
        yield said


@ON_POSTGRES
async def test_one_who_finds_that_another_node_was_faster_delivers_after_it(
    tenant: Tenant, second_node: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job = await ready(tenant)
    first, second = await job.exchange(), await job.exchange()
    other = job.on(second_node)
    async with before_it_is_written(monkeypatch, lambda: other.deliver(second)) as said:
        await job.deliver(first)
    assert said == ["moved"]
    assert await receipts(tenant, runner_id) == 2
    async with before_it_is_written(monkeypatch, lambda: asyncio.sleep(0)) as said:
        await job.deliver(first)
    assert said == ["written"]
    assert await receipts(tenant, runner_id) == 3
    assert await tenant.deployment.audit_holds()


@ON_POSTGRES
async def test_of_a_runner_that_was_deleted_meanwhile_nothing_is_handed_out(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job = await ready(tenant)
    token, runners = await job.exchange(), tenant.deployment.services.runners
    delete = lambda: runners.delete(caller(tenant, "owner"), runner_id)  # noqa: E731
    async with before_it_is_written(monkeypatch, delete) as said:
        assert await refusal_of(job.deliver(token)) == "unauthenticated"
    assert said == ["moved"]
    assert await receipts(tenant, runner_id) == 0


async def test_a_node_that_the_schema_admits_no_more_gives_no_token_and_delivers_nothing(
    own_calls: Calls,
) -> None:
    tenant, database = own_calls.tenant, own_calls.services.database
    runner_id, job = await ready(tenant)
    token = await job.exchange()
    admits = "UPDATE schema_migrations SET admits = {} WHERE number = 14"
    await database.write(lambda tx: tx.execute(admits.format(9999)))
    assert await refusal_of(job.exchange()) == "release_too_old"
    assert await refusal_of(job.deliver(token)) == "release_too_old"
    assert await receipts(tenant, runner_id) == 0
