"""Waiting for what has to come, however slow the host is: only what hangs is given up."""

import asyncio
import time
from collections.abc import Awaitable, Callable

HANGS = 300.0
"""Seconds after which nothing is expected any more, on a busy host either."""
PAUSE = 0.01
"""Seconds between two looks."""


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Returns once it holds."""
    async with asyncio.timeout(HANGS):
        while not await holds():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(PAUSE)


def wait_until(
    holds: Callable[[], object], told: Callable[[], object] = str, pause: float = PAUSE
) -> None:
    """As `until`, where there is no event loop; a failure shows what is `told` then."""
    deadline = time.monotonic() + HANGS
    while not holds():
        assert time.monotonic() < deadline, told()
        time.sleep(pause)
