"""Limits that share a timer, and are kept as if each had its own."""

import asyncio
import gc
import weakref

import uvloop

from teamvars.time_limits import TimeLimit, TimeLimits
from tests.support.patience import HANGS

SHORT, LONG = 0.05, HANGS


async def outlasts(limits: TimeLimits, seconds: float, lasting: float) -> bool:
    """Whether the limit ended a task that takes so long."""
    try:
        with TimeLimit(limits, seconds):
            await asyncio.sleep(lasting)
    except TimeoutError:
        return True
    return False


async def test_a_short_limit_holds_beside_a_long_one_whichever_comes_first() -> None:
    limits = TimeLimits()
    ended = await asyncio.gather(
        outlasts(limits, SHORT, LONG),
        outlasts(limits, LONG, SHORT * 3),
        outlasts(limits, SHORT, LONG),
    )
    assert list(ended) == [True, False, True]


async def test_a_limit_that_begins_while_others_run_ends_later_than_they_do() -> None:
    limits, clock = TimeLimits(), asyncio.get_running_loop().time
    first = asyncio.create_task(outlasts(limits, SHORT, LONG))
    await asyncio.sleep(SHORT / 2)
    begun = clock()
    second = asyncio.create_task(outlasts(limits, SHORT * 4, LONG))
    assert await first
    assert await second
    assert round(clock() - begun, 3) >= SHORT * 4  # in floats of milliseconds


async def test_limits_that_were_kept_leave_room_for_ones_that_are_not() -> None:
    limits = TimeLimits()
    for _ in range(3):
        with TimeLimit(limits, SHORT):
            pass
        await asyncio.sleep(SHORT * 2)
        assert await outlasts(limits, SHORT, LONG)


def test_limits_that_end_all_the_time_are_all_kept_on_the_servers_loop() -> None:
    async def all_ended() -> list[bool]:
        limits = TimeLimits()
        tasks = []
        for _ in range(500):
            tasks.append(asyncio.create_task(outlasts(limits, SHORT, LONG)))
            await asyncio.sleep(0.001)
        return await asyncio.gather(*tasks)

    assert all(uvloop.run(all_ended()))


async def test_limits_whose_timer_has_fired_wait_for_no_garbage_collector() -> None:
    limits = TimeLimits()
    with TimeLimit(limits, 0):
        pass
    await asyncio.sleep(SHORT)  # timers fire in order
    gone = weakref.ref(limits)
    gc.disable()
    try:
        del limits
        assert gone() is None
    finally:
        gc.enable()
