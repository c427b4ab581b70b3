"""Long work leaves the event loop to others for some times as long as it works, and no longer."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from teamvars import pace
from teamvars.pace import Pace
from teamvars.services.rendered import RenderedLists
from tests.services.calls import Calls
from tests.services.jobs import Job, approve
from tests.support.deployment import operator
from tests.support.jobs import runner_document
from tests.support.tenant import items_document

MANY = 200
STEP = 2 * pace.STEP_SECONDS


class Clock:
    """Whoever looks at it has worked for more than a step; else only rests and waits take time."""

    def __init__(self) -> None:
        self.worked = 0.0
        self.rests: list[tuple[float, float]] = []
        """How long each was, and how much work there had been since the one before."""
        self._now = 0.0
        self._rested_at: dict[object, float] = {}

    def look(self) -> float:
        """The time."""
        self.worked += STEP
        self._now += STEP
        return self._now

    async def rest(self, seconds: float) -> None:
        """For a task, which others do not work beside."""
        task = asyncio.current_task()
        self.rests.append((seconds, self.worked - self._rested_at.get(task, 0.0)))
        self._rested_at[task] = self.worked
        await self.wait(seconds)

    async def wait(self, seconds: float) -> None:
        """For others."""
        self._now += seconds
        await asyncio.sleep(0)

    @contextmanager
    def going(self) -> Iterator[None]:
        """Has every pace go by it, from now on."""
        self._now = time.perf_counter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pace, "time", SimpleNamespace(perf_counter=self.look))
            patch.setattr(pace, "asyncio", SimpleNamespace(sleep=self.rest))
            yield


Path = Callable[[Calls, Clock], Coroutine[Any, Any, object]]


async def call(calls: Calls, method: str, path: str, document: object = None) -> Any:
    """What the owner is answered."""
    answer = await calls.tenant.call("owner", method, path, document)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


async def apply(calls: Calls, to: str, value: str = "eu", **options: bool) -> None:
    """Has much in a workspace or a set."""
    named = [{"key": f"key-{n}", "category": "tool", "value": value} for n in range(MANY)]
    items = [{"type": "vars", "attributes": one} for one in named]
    await call(calls, "POST", f"{to}/actions/apply", items_document(*items, **options))


def network(calls: Calls) -> str:
    """The path of a workspace."""
    return f"/workspaces/{calls.tenant.workspaces['network']}"


def within(calls: Calls, what: str) -> str:
    """A path within the organization."""
    return f"/organizations/{calls.tenant.organization}/{what}"


async def a_set(calls: Calls) -> str:
    """The path of a global set that has much."""
    data = {"type": "varsets", "attributes": {"name": "shared", "global": True}}
    made = await call(calls, "POST", within(calls, "varsets"), {"data": data})
    path = f"/varsets/{made['data']['id']}"
    await apply(calls, path)
    return path


async def an_apply(calls: Calls, clock: Clock) -> None:
    with clock.going():
        await apply(calls, network(calls))


async def an_apply_that_finds_much(calls: Calls, clock: Clock) -> None:
    await apply(calls, network(calls))
    with clock.going():
        await apply(calls, network(calls), "us", prune=True)


async def a_dry_run(calls: Calls, clock: Clock) -> None:
    path = await a_set(calls)
    with clock.going():
        await apply(calls, path, "us", dry_run=True)


async def a_copy(calls: Calls, clock: Clock) -> None:
    await apply(calls, network(calls))
    source = {"type": "workspaces", "id": calls.tenant.workspaces["network"]}
    data = {"type": "copies", "relationships": {"source": {"data": source}}}
    to = f"/workspaces/{calls.tenant.workspaces['payments']}/actions/copy"
    with clock.going():
        await call(calls, "POST", to, {"data": data})


async def a_list_that_waits_for_its_turn(calls: Calls, clock: Clock) -> None:
    @asynccontextmanager
    async def turn(_: RenderedLists, __: int) -> AsyncIterator[None]:
        await clock.wait(60.0)
        yield

    await a_set(calls)
    await apply(calls, network(calls))
    with pytest.MonkeyPatch.context() as patch, clock.going():
        patch.setattr(RenderedLists, "turn", turn)
        await call(calls, "GET", f"{network(calls)}/effective-vars")


async def runners_with_patterns(calls: Calls, clock: Clock) -> None:
    await calls.apply(workspaces=tuple(f"space-{n}" for n in range(MANY)))
    for n in range(3):
        of_some = runner_document(workspace_patterns=[f"s*ace-{n}*"])
        await call(calls, "POST", within(calls, "runners"), of_some)
    with clock.going():
        await call(calls, "GET", within(calls, "runners"))


async def a_delivery(calls: Calls, clock: Clock) -> None:
    await a_set(calls)
    await apply(calls, network(calls))
    its = runner_document(calls.tenant.workspaces["network"])
    made = await call(calls, "POST", within(calls, "runners"), its)
    await approve(calls.tenant, made["data"]["id"])
    job = Job.new(calls.tenant)
    issued = await job.exchange()
    with clock.going():
        await job.deliver(issued)


async def a_deletion(calls: Calls, clock: Clock) -> None:
    await calls.apply(workspaces=tuple(f"space-{n}" for n in range(MANY)))
    with clock.going():
        await call(calls, "DELETE", f"/organizations/{calls.tenant.organization}?force=true")


async def a_rewrap(calls: Calls, clock: Clock) -> None:
    await apply(calls, network(calls))
    made = await calls.services.data_keys.add(operator())
    await calls.services.data_keys.activate(operator(), made)
    with clock.going():
        await calls.services.rewraps.run(operator(), lambda _: None)


async def work_within_other_work(_: Calls, clock: Clock) -> None:
    with clock.going():
        outer = Pace()
        for _n in range(3):
            for inner in (Pace(), Pace.while_locked()):
                await inner.keep()
            await outer.keep()


@pytest.mark.parametrize(
    ("path", "share"),
    [
        (an_apply, 2),
        (an_apply_that_finds_much, 2),
        (a_dry_run, 2),
        (a_copy, 2),
        (a_list_that_waits_for_its_turn, 2),
        (runners_with_patterns, 2),
        (a_delivery, 2),
        (a_deletion, 2),
        (a_rewrap, 9),
        (work_within_other_work, 2),
    ],
)
async def test_no_rest_of_long_work_is_for_other_rests_or_for_what_was_waited_for(
    calls: Calls, path: Path, share: int
) -> None:
    clock = Clock()
    await path(calls, clock)
    assert clock.rests
    assert [(rest, work) for rest, work in clock.rests if rest > share * work + 1e-6] == []
