"""Long work on the event loop, in steps that leave the loop to other tasks in between."""

import asyncio
import time

STEP_SECONDS = 0.004
"""How long `Pace.keep` lets a step become. What follows it unasked may add as much again."""


class Pace:
    """The pace of one task. Between its steps the others have the loop for longer than they took.

    One iteration for the others is not enough: a request takes several, and each would wait for a
    whole step.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self, share: float = 2.0) -> None:
        """Ends a step, and leaves the loop to others for `share` times as long as it took."""
        await asyncio.sleep(share * (time.perf_counter() - self._began))
        self._began = time.perf_counter()

    async def keep(self, share: float = 2.0) -> None:
        """Ends the step if it was long enough; for after every little piece of the work."""
        if time.perf_counter() - self._began >= STEP_SECONDS:
            await self.give_way(share)
