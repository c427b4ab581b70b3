"""What is taken away is handed out no more on any node, and what is good once is good once."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions.runners import RunnerView
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditFilter, Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.runners import RunnerDraft
from teamvars.security.tokens import hash_token
from teamvars.services.deliveries import IssuedToken
from teamvars.storage import runners
from teamvars.storage.database import Body, Part, Transaction
from tests.services.altered_trails import cut, execute
from tests.services.calls import refusal_of
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.jobs import job_token
from tests.support.observed_transaction import ObservedTransaction
from tests.support.tenant import Tenant, build_tenant

_WARM = 5
"""Deliveries, before anything is taken away."""
Take = Callable[[Tenant, str], Awaitable[object]]


class Rounds(ObservedTransaction):
    """Counts what is written together as one, as PostgreSQL gets it."""

    async def write_each(self, *parts: Part) -> None:
        self._note(parts[0][0], ())
        await self._tx.write_each(*parts)

    def write_if_unmoved(self, stream: Stream | None, after: Stream | None, *parts: Part) -> None:
        self._note(parts[0][0], ())
        self._tx.write_if_unmoved(stream, after, *parts)


def owner(tenant: Tenant) -> Caller:
    return Caller(hash_token(tenant.tokens["owner"]), new_id("req"))


async def _revoke(tenant: Tenant, runner_id: str) -> object:
    return await tenant.deployment.services.approvals.revoke(operator(), runner_id)


async def _delete(tenant: Tenant, runner_id: str) -> None:
    await tenant.deployment.services.runners.delete(owner(tenant), runner_id)


async def _narrow(tenant: Tenant, runner_id: str) -> RunnerView:
    draft = RunnerDraft(workspace_ids=(tenant.workspaces["payments"],))
    return await tenant.deployment.services.runners.update(owner(tenant), runner_id, draft)


async def _condition(tenant: Tenant, runner_id: str) -> RunnerView:
    draft = RunnerDraft(conditions={"sub": "job", "ref": "refs/heads/main"})
    return await tenant.deployment.services.runners.update(owner(tenant), runner_id, draft)


@dataclass
class Hammer:
    """A node that delivers all the time; `deliver` is how."""

    deliver: Callable[[], Awaitable[object]]
    is_taken: bool = False
    before: int = 0
    after: int = 0
    is_warm: asyncio.Event = field(default_factory=asyncio.Event)

    async def strike(self) -> None:
        """Delivers until it is refused for the second time since it was taken away."""
        refusals = 0
        while refusals < 2:
            began_after = self.is_taken
            try:
                await self.deliver()
            except Refusal:
                refusals += began_after
                continue
            if began_after:
                self.after += 1
                return
            self.before += 1
            if self.before == _WARM:
                self.is_warm.set()

    async def during(self, take: Awaitable[object]) -> None:
        """Strikes with several arms while something is taken away."""
        arms = [asyncio.create_task(self.strike()) for _ in range(4)]
        await self.is_warm.wait()
        await take
        self.is_taken = True
        await asyncio.gather(*arms)


async def ready(tenant: Tenant, node: Deployment) -> tuple[str, Job, IssuedToken]:
    """An approved runner, and a job with a token that asks another node."""
    await tenant.make_variable("password", value="hunter2", sensitive=True)
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    job = Job.new(tenant, node)
    return runner_id, job, await job.exchange()


@pytest.mark.parametrize("take", [_revoke, _delete, _narrow, _condition])
async def test_nothing_that_begins_after_it_was_taken_away_is_delivered_on_another_node(
    tenant: Tenant, second_node: Deployment, take: Take
) -> None:
    runner_id, job, issued = await ready(tenant, second_node)
    hammer = Hammer(lambda: job.deliver(issued))
    await hammer.during(take(tenant, runner_id))
    assert (hammer.before >= _WARM, hammer.after) == (True, 0)
    assert await refusal_of(job.exchange()) == "invalid_target"


async def test_a_node_that_remembers_what_it_has_handed_out_would_be_found(
    tenant: Tenant, second_node: Deployment
) -> None:
    runner_id, job, issued = await ready(tenant, second_node)
    remembered: list[Any] = []

    async def from_memory() -> object:
        await asyncio.sleep(0)
        if not remembered:
            remembered.append(await job.deliver(issued))
        return remembered[0]

    hammer = Hammer(from_memory)
    await hammer.during(_revoke(tenant, runner_id))
    assert hammer.after


@asynccontextmanager
async def before_the_receipt(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Awaitable[object]]
) -> AsyncIterator[None]:
    """Has something happen once the next delivery has found the values, before its receipt."""
    service = tenant.deployment.services.deliveries
    bundle, happened = service._bundle, asyncio.Event()

    async def later(*args: Any) -> Any:
        if not happened.is_set():
            happened.set()
            await meanwhile()
        return await bundle(*args)

    with monkeypatch.context() as watched:
        watched.setattr(service, "_bundle", later)
        yield


async def _without_workspace(tenant: Tenant, _: str) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}"
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204


@pytest.mark.parametrize("take", [_revoke, _delete, _narrow, _condition, _without_workspace])
async def test_what_is_taken_away_once_the_values_are_found_is_not_delivered(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, take: Take
) -> None:
    runner_id, job, issued = await ready(tenant, tenant.deployment)
    async with before_the_receipt(tenant, monkeypatch, lambda: take(tenant, runner_id)):
        assert await refusal_of(job.deliver(issued)) == "unauthenticated"
    wanted = AuditFilter(stream_id=runner_id, action="variable.deliver")
    assert await tenant.deployment.services.audit.newest(5, wanted) == []


async def test_a_token_that_ends_once_the_values_are_found_delivers_nothing(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job, issued = await ready(tenant, tenant.deployment)
    changes = tenant.deployment.services.changes
    tools = changes._batches._tools
    later = replace(tools, clock=lambda: tools.clock() + (issued.expires_in + 1) * 1_000_000)

    async def ends() -> None:
        monkeypatch.setattr(changes._batches, "_tools", later)

    async with before_the_receipt(tenant, monkeypatch, ends):
        assert await refusal_of(job.deliver(issued)) == "unauthenticated"
    wanted = AuditFilter(stream_id=runner_id, action="variable.deliver")
    assert await tenant.deployment.services.audit.newest(5, wanted) == []


@pytest.mark.parametrize("is_kept", [False, True])
async def test_a_value_that_changes_once_it_was_found_is_delivered_as_it_is_then(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    runner_id, job, issued = await ready(tenant, tenant.deployment)
    if is_kept:
        await job.deliver(issued)
    (variable,) = await tenant.variables()
    path = f"{tenant.vars_path()}/{variable['id']}"
    changed = {"type": "vars", "id": variable["id"], "attributes": {"value": "hunter3"}}

    async def change() -> None:
        document = {"data": changed}
        assert (await tenant.call("owner", "PATCH", path, document)).status_code == 200

    async with before_the_receipt(tenant, monkeypatch, change):
        _, (handed,) = await job.deliver(issued)
    assert (handed.id, handed.value) == (variable["id"], "hunter3")
    wanted = AuditFilter(stream_id=runner_id, action="variable.deliver")
    newest = (await tenant.deployment.services.audit.newest(1, wanted))[0]
    (told,) = json.loads(newest.details)["variables"]
    assert told["version-id"] == handed.version_id


@pytest.mark.parametrize("tokens", [4, pytest.param(200, id="long", marks=pytest.mark.long)])
async def test_of_many_replays_on_two_nodes_and_after_a_restart_one_is_accepted(
    tenant: Tenant, second_node: Deployment, store_url: str, tokens: int
) -> None:
    _, job, _ = await ready(tenant, second_node)
    nodes = job.on(tenant.deployment), job
    used = [job_token(job.key.thumbprint) for _ in range(tokens)]
    for start in range(0, tokens, 10):
        some = used[start : start + 10]
        asked = [nodes[n % 2].exchange(token) for n in range(49) for token in some]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        accepted = [answer for answer in answers if isinstance(answer, IssuedToken)]
        refused = [answer for answer in answers if isinstance(answer, Refusal)]
        assert (len(accepted), len(refused)) == (len(some), 48 * len(some))
        assert {refusal.faults[0].code.word for refusal in refused} == {"invalid_request"}
    async with open_deployment(store_url, keys=tenant.deployment.keys) as restarted:
        for token in used:
            assert await refusal_of(job.on(restarted).exchange(token)) == "invalid_request"
            assert await refusal_of(job.exchange(token)) == "invalid_request"


async def test_nodes_that_note_something_else_as_used_would_be_found(
    tenant: Tenant, second_node: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job, _ = await ready(tenant, second_node)
    noted = runners.using
    monkeypatch.setattr(runners, "using", lambda _, ends: noted(os.urandom(32), ends))
    token = job_token(job.key.thumbprint)
    await asyncio.gather(*(job.exchange(token) for _ in range(2)))


@pytest.mark.parametrize("minutes", [-30, 30])
async def test_a_clock_that_goes_wrong_makes_no_used_token_good_again(
    tenant: Tenant, second_node: Deployment, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    _, job, _ = await ready(tenant, second_node)
    token = job_token(job.key.thumbprint)
    await job.exchange(token)
    service = second_node.services.deliveries
    wrong = service._clock() + minutes * 60_000_000
    monkeypatch.setattr(service, "_clock", lambda: wrong)
    await service.forget_expired()
    assert await refusal_of(job.on(tenant.deployment).exchange(token)) == "invalid_request"
    monkeypatch.setattr("teamvars.services.deliveries._KEPT", 0)  # the control
    await service.forget_expired()
    again = job.on(tenant.deployment).exchange(token)
    if minutes > 0:
        await again
    else:
        assert await refusal_of(again) == "invalid_request"


async def test_a_runner_whose_trail_was_altered_is_handed_nothing(modules_own: Deployment) -> None:
    tenant = await build_tenant(modules_own)
    runner_id, job, issued = await ready(tenant, tenant.deployment)
    for _ in range(4):
        await job.deliver(issued)
    await execute(
        tenant.deployment.services.database,
        runner_id,
        "UPDATE streams SET sequence = sequence + 1 WHERE id = $1",
    )
    assert await refusal_of(job.deliver(issued)) == "trail_altered"
    await execute(
        tenant.deployment.services.database,
        runner_id,
        "UPDATE streams SET sequence = sequence - 1 WHERE id = $1",
    )
    await job.deliver(issued)
    await cut(tenant.deployment.services.database, runner_id, leave=True)
    assert await refusal_of(job.deliver(issued)) == "trail_altered"


async def test_a_delivery_moves_neither_the_etag_of_its_workspace_nor_the_list_that_is_kept(
    tenant: Tenant,
) -> None:
    _, job, issued = await ready(tenant, tenant.deployment)
    before = await tenant.call("owner", "GET", tenant.vars_path())
    await job.deliver(issued)
    after = await tenant.call("owner", "GET", tenant.vars_path())
    assert before.headers["ETag"] == after.headers["ETag"]
    assert before.content == after.content


async def test_without_a_receipt_no_value_is_opened(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner_id, job, issued = await ready(tenant, tenant.deployment)
    opened: list[str] = []
    monkeypatch.setattr("teamvars.services.deliveries._sealed", lambda *_: opened.append("a value"))
    store = tenant.deployment.services.changes.database

    class Full(Exception):
        pass

    async def fails(body: Body[Any], *args: Any, **more: Any) -> Any:
        async def and_fails(tx: Transaction) -> Any:
            await body(tx)
            raise Full

        return await batch(and_fails, *args, **more)

    batch = store.batch
    with monkeypatch.context() as broken:
        broken.setattr(store, "batch", fails)
        with pytest.raises(Full):
            await job.deliver(issued)
    assert not opened
    wanted = AuditFilter(stream_id=runner_id)
    assert await tenant.deployment.services.audit.newest(5, wanted) == []


async def test_a_delivery_takes_three_statements_and_two_where_values_are_kept(
    tenant: Tenant, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job, issued = await ready(tenant, tenant.deployment)
    asked: list[str] = []
    store = tenant.deployment.services.changes.database

    def observed(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def observing(body: Body[Any], *args: Any, **more: Any) -> Any:
            noted = lambda tx: body(Rounds(tx, lambda sql, _: asked.append(sql)))  # noqa: E731
            return await run(noted, *args, **more)

        return observing

    for name in ("query", "batch"):
        monkeypatch.setattr(store, name, observed(getattr(store, name)))
    # With one writer, each writes its row at once, and the trails of all come after.
    most = 4 if store_url.startswith("sqlite") else 3
    for expected in (most, most - 1):
        asked.clear()
        await job.deliver(issued)
        assert len(asked) == expected, asked
