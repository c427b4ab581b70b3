"""The beat of a process that serves: how late its event loop is, and what is seen by looking."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from teamvars.metrics import Gauge, Histogram

SECONDS = 0.5
"""Between two beats. A loop that stands still says nothing meanwhile, which the last time tells."""

LAG = Histogram(
    "teamvars_event_loop_lag_seconds",
    "How late the event loop came to what was due.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10),
)
LAST_TURN = Gauge(
    "teamvars_event_loop_last_turn_timestamp_seconds",
    "When the event loop had its last turn that was looked at, in seconds since 1970.",
)


class Look(NamedTuple):
    """What is to be seen now and then, and the labels that it has in the gauge."""

    gauge: Gauge
    see: Callable[[], float]
    labels: tuple[str, ...] = ()


async def beat(looks: Sequence[Look]) -> None:
    """Beats until it is cancelled, and sets each gauge to what is there."""
    loop = asyncio.get_running_loop()
    while True:
        LAST_TURN.set(time.time())
        for gauge, see, labels in looks:
            gauge.set(see(), *labels)
        due = loop.time() + SECONDS
        await asyncio.sleep(SECONDS)
        LAG.observe(max(loop.time() - due, 0.0))
