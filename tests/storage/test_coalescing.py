"""Coalescing: batches in order, one at a time, and every caller has its own outcome."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from teamvars.domain.errors import Refusal, not_found, storage_unavailable
from teamvars.storage.engines.coalescing import BATCH_LIMIT, Coalescer, Fifo, Waiter


class Runs:
    """Doubles numbers, batch by batch, as long as the gate is open, and notes the batches."""

    def __init__(self, *, skip_cancelled: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.failure: Exception | None = None
        """What the next batch raises."""
        self.gate = asyncio.Event()
        self.coalescer: Coalescer[int, int] = Coalescer(
            self._run, Fifo(skip_cancelled=skip_cancelled)
        )

    async def _run(self, batch: list[Waiter[int, int]]) -> None:
        self.batches.append([waiter.item for waiter in batch])
        await self.gate.wait()
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        for waiter in batch:
            if waiter.item < 0:
                waiter.set_exception(ValueError(waiter.item))
            else:
                waiter.set_result(2 * waiter.item)

    def submit(self, *items: int) -> "list[asyncio.Future[int]]":
        return [self.coalescer.submit(item) for item in items]

    async def reach(self, count: int) -> None:
        """Waits until that many batches have begun."""
        while len(self.batches) < count:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)


@pytest.fixture
async def runs() -> AsyncIterator[Runs]:
    runs = Runs()
    yield runs
    runs.gate.set()
    await runs.coalescer.close()


async def test_items_of_one_iteration_of_the_loop_are_one_batch_in_order(runs: Runs) -> None:
    runs.gate.set()
    assert await asyncio.gather(*runs.submit(3, 1, 2)) == [6, 2, 4]
    assert runs.batches == [[3, 1, 2]]


async def test_who_comes_while_a_batch_runs_is_in_the_next(runs: Runs) -> None:
    first = runs.submit(1)
    await runs.reach(1)
    later = [*runs.submit(2), *runs.submit(3)]
    await asyncio.sleep(0)
    assert runs.batches == [[1]]
    runs.gate.set()
    assert await asyncio.gather(*first, *later) == [2, 4, 6]
    assert runs.batches == [[1], [2, 3]]


async def test_callers_that_were_answered_join_the_next_batch(runs: Runs) -> None:
    async def twice(item: int) -> int:
        return await runs.coalescer.submit(await runs.coalescer.submit(item))

    tasks = [asyncio.create_task(twice(1)), asyncio.create_task(twice(2))]
    await runs.reach(1)
    waiting = runs.submit(7)
    await asyncio.sleep(0)
    runs.gate.set()
    assert await asyncio.gather(*tasks, *waiting) == [4, 8, 14]
    assert runs.batches == [[1, 2], [7, 2, 4]]


async def test_a_batch_has_a_limit_and_the_rest_runs_after_it(runs: Runs) -> None:
    runs.gate.set()
    items = range(2 * BATCH_LIMIT + 1)
    assert await asyncio.gather(*runs.submit(*items)) == [2 * item for item in items]
    assert [len(batch) for batch in runs.batches] == [BATCH_LIMIT, BATCH_LIMIT, 1]


async def test_an_item_that_fails_fails_alone(runs: Runs) -> None:
    runs.gate.set()
    good, bad = await asyncio.gather(*runs.submit(1, -1), return_exceptions=True)
    assert good == 2
    assert isinstance(bad, ValueError)


@pytest.mark.parametrize("failure", [ConnectionResetError(), Refusal(*not_found().faults)])
async def test_a_run_that_fails_fails_its_batch_and_no_other(
    runs: Runs, failure: Exception
) -> None:
    runs.failure = failure
    first = runs.submit(1, 2)
    await runs.reach(1)
    later = runs.submit(3)
    await asyncio.sleep(0)
    runs.gate.set()
    assert await asyncio.gather(*first, return_exceptions=True) == [failure, failure]
    assert await asyncio.gather(*later) == [6]


async def test_a_store_that_is_unavailable_is_waited_for_once(runs: Runs) -> None:
    runs.failure = failure = storage_unavailable()
    waiting = runs.submit(*range(3 * BATCH_LIMIT))
    await runs.reach(1)
    waiting += runs.submit(1000)
    await asyncio.sleep(0)
    runs.gate.set()
    assert set(await asyncio.gather(*waiting, return_exceptions=True)) == {failure}
    assert len(runs.batches) == 1
    assert await asyncio.gather(*runs.submit(1)) == [2]


async def test_a_caller_that_is_cancelled_while_its_batch_runs_leaves_the_others_their_results(
    runs: Runs,
) -> None:
    gone, gone_first, staying = runs.submit(1, -2, 3)
    await runs.reach(1)
    gone.cancel()
    gone_first.cancel()
    runs.gate.set()
    assert await staying == 6
    assert gone.cancelled()
    assert gone_first.cancelled()


@pytest.mark.parametrize("skip_cancelled", [True, False])
async def test_whether_what_was_cancelled_in_the_queue_runs_is_said_by_the_queue(
    skip_cancelled: bool,
) -> None:
    runs = Runs(skip_cancelled=skip_cancelled)
    first = runs.submit(0)
    await runs.reach(1)
    gone = runs.submit(*range(1, 1 + BATCH_LIMIT))
    last = runs.submit(1000)
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.sleep(0)
    runs.gate.set()
    assert await asyncio.gather(*first, *last) == [0, 2000]
    between = [] if skip_cancelled else [list(range(1, 1 + BATCH_LIMIT))]
    assert runs.batches == [[0], *between, [1000]]


async def test_closing_waits_for_the_batch_and_the_queue(runs: Runs) -> None:
    tasks = runs.submit(1)
    await runs.reach(1)
    tasks += runs.submit(2)
    await asyncio.sleep(0)
    closing = asyncio.create_task(runs.coalescer.close())
    await asyncio.sleep(0)
    assert not closing.done()
    runs.gate.set()
    await closing
    assert [task.done() for task in tasks] == [True, True]
    assert await asyncio.gather(*tasks) == [2, 4]
    await runs.coalescer.close()  # with nothing to wait for
