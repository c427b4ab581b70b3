"""For how long others are left alone by long work."""

import asyncio
import time

import pytest

from teamvars.pace import Pace


@pytest.mark.parametrize(
    ("pace", "took", "rest"),
    [
        (Pace, 0.1, 0.2),
        (Pace.while_locked, 0.1, 0.1),
        (Pace.of_a_job, 0.1, 0.9),
        (Pace.of_a_job, 0.5, 1.0),
    ],
)
async def test_others_are_left_alone_for_as_long_as_a_step_took_or_longer_and_a_second_at_most(
    pace: type[Pace], took: float, rest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, rested = time.perf_counter(), list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        rested.append(round(seconds, 6))
        now += seconds

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    its = pace()
    for _ in range(2):
        now += took
        await its.give_way()
    assert rested == [rest, rest]
