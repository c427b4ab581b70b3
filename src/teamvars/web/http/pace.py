"""Long work on the event loop, in steps that leave others twice as much of it as they take."""

import asyncio
import time


class Pace:
    """The pace of one piece of work. Between its steps others have the loop for twice as long.

    A turn for others alone is not enough: what they do takes several turns, and each would wait
    for a whole step.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give_way(self) -> None:
        """Ends a step; the next begins when this returns."""
        await asyncio.sleep(2 * (time.perf_counter() - self._began))
        self._began = time.perf_counter()
