"""Long work on the event loop, in steps that leave other tasks twice the time they take."""

import asyncio
import time


class Pace:
    """The pace of one task. Between its steps the others have the loop for twice as long.

    One iteration for the others is not enough: a request takes several, and each would wait for a
    whole step.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self) -> None:
        """Ends a step; the next begins when this returns."""
        await asyncio.sleep(2 * (time.perf_counter() - self._began))
        self._began = time.perf_counter()
