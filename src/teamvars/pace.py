"""Long work on the event loop, in steps or batches that leave it to other tasks in between."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Self, TypeVar

T = TypeVar("T")

STEP_SECONDS = 0.004
"""How long `Pace.keep` lets a step become. What follows it unasked may add as much again."""
LONGEST_SECONDS = 1.0
"""For how long others are left alone at most."""

_RESTED: ContextVar[float] = ContextVar("rested", default=0.0)
"""When this task last came back from leaving the loop to others, at whichever pace."""


def rested() -> None:
    """Ends the steps of this task, which has left the loop to others or waited for its turn."""
    _RESTED.set(time.perf_counter())


class Pace:
    """The pace of one task. Between its steps the others have the loop for longer than they took.

    One iteration for the others is not enough: a request takes several, and each would wait for a
    whole step. Within work that has a pace there may be work with another: each rest ends the steps
    of both. If each took the other's rests for its own steps, they would rest longer and longer.
    """

    def __init__(self, share: float = 2.0) -> None:
        """`share`: for how many times as long as a step took the loop is left to others."""
        self._share = share
        self._began = time.perf_counter()

    @classmethod
    def while_locked(cls) -> Self:
        """The pace of what holds a lock: the loop is left to others for as long, and no longer."""
        return cls(share=1.0)

    @classmethod
    def of_a_job(cls) -> Self:
        """The pace of what may take its time, and changes rows that others wait for: together with
        the store it takes no more than a tenth of one core.
        """
        return cls(share=9.0)

    async def give_way(self) -> None:
        """Ends a step, and leaves the loop to others."""
        await asyncio.sleep(min(self._share * self._took(), LONGEST_SECONDS))
        rested()

    async def keep(self) -> None:
        """Ends the step if it was long enough; for after every little piece of the work."""
        if self._took() >= STEP_SECONDS:
            await self.give_way()

    def _took(self) -> float:
        """For how long the step has gone on."""
        return time.perf_counter() - max(self._began, _RESTED.get())


def in_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in batches, each of which ends with the item that makes its size `most` or more: as
    much at once as others may wait for.

    An item is asked for when its batch is.
    """
    batch: list[T] = []
    room = most
    for item in items:
        batch.append(item)
        room -= size(item)
        if room <= 0:
            yield batch
            batch, room = [], most
    if batch:
        yield batch
