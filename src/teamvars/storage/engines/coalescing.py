"""Coalescing: what is submitted while a batch runs waits, and then runs as one batch."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from teamvars.domain.errors import Code, Refusal, storage_unavailable
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines.outages import tells_of_damage

BATCH_LIMIT = 64
"""How many a batch holds at most, be they statements, lookups or transactions."""

I = TypeVar("I")  # noqa: E741 - an item, beside R, a result
R = TypeVar("R")


class Waiter(msgspec.Struct, Generic[I, R], eq=False):
    """An item that was submitted, and the future of its result, which the caller awaits."""

    item: I
    future: asyncio.Future[R]

    def set_result(self, result: R) -> None:
        """Resolves the future, unless the caller has stopped waiting."""
        if not self.future.done():
            self.future.set_result(result)

    def set_exception(self, error: BaseException) -> None:
        """Fails the future, unless the caller has stopped waiting."""
        if not self.future.done():
            self.future.set_exception(error)
            # Marks it as retrieved: the caller may still be cancelled before it resumes.
            self.future.exception()


class Queue(Protocol[I, R]):
    """Waiters in the order in which they are to run."""

    def put(self, waiter: Waiter[I, R]) -> None:
        """Adds one."""

    def take(self) -> list[Waiter[I, R]]:
        """Removes and returns the next batch; empty when none can run now."""

    def clear(self) -> list[Waiter[I, R]]:
        """Removes and returns all."""


class Fifo(Queue[I, R]):
    """First in, first out, `BATCH_LIMIT` at a time."""

    def __init__(self, *, skip_cancelled: bool) -> None:
        """`skip_cancelled`: an item whose caller was cancelled in the queue does not run."""
        self._skip_cancelled = skip_cancelled
        self._waiters: deque[Waiter[I, R]] = deque()

    def put(self, waiter: Waiter[I, R]) -> None:
        self._waiters.append(waiter)

    def take(self) -> list[Waiter[I, R]]:
        batch: list[Waiter[I, R]] = []
        while self._waiters and len(batch) < BATCH_LIMIT:
            waiter = self._waiters.popleft()
            if not (self._skip_cancelled and waiter.future.cancelled()):
                batch.append(waiter)
        return batch

    def clear(self) -> list[Waiter[I, R]]:
        waiters = list(self._waiters)
        self._waiters.clear()
        return waiters


class Coalescer(Generic[I, R]):
    """Runs submitted items in batches, one batch at a time.

    A batch holds what was submitted before it began, so no caller gets a result that is older than
    the call. Batches run in a leader task, which the first item starts and which ends with the
    queue: a caller that is cancelled interrupts neither its batch nor the leader.

    `run` gives every waiter of a batch its result or exception. An exception that `run` raises is
    for all of the batch. Where it says that the store is unavailable it is for all of the queue as
    well: every batch after it would wait for the same time-out.
    """

    def __init__(
        self, run: Callable[[list[Waiter[I, R]]], Awaitable[None]], queue: Queue[I, R]
    ) -> None:
        self._run = run
        self._queue = queue
        self._leader: asyncio.Task[None] | None = None

    def submit(self, item: I) -> asyncio.Future[R]:
        """The result of the item, once its batch has run. Whoever cancels it waits no longer."""
        waiter: Waiter[I, R] = Waiter(item, asyncio.get_running_loop().create_future())
        self._queue.put(waiter)
        self.wake()
        return waiter.future

    def wake(self) -> None:
        """Starts the leader unless it runs; for a queue that has something to take again."""
        if self._leader is None:
            self._leader = asyncio.get_running_loop().create_task(self._lead())

    async def close(self) -> None:
        """Waits until the leader has ended: whatever the queue lets run has run."""
        while self._leader is not None:
            await asyncio.wait([self._leader])

    async def _lead(self) -> None:
        try:
            # No await between an empty queue and the end: an item can only come before or after.
            while batch := self._queue.take():
                try:
                    await self._run(batch)
                except Exception as error:
                    fail(batch, error)
                    if is_unavailable(error):
                        fail(self._queue.clear(), error)
                # One iteration of the event loop: the callers that were answered resume, and what
                # they submit joins the next batch.
                await asyncio.sleep(0)
        finally:
            self._leader = None


def fail(waiters: Iterable[Waiter[I, R]], error: BaseException) -> None:
    """Gives the exception to every waiter that has neither a result nor an exception."""
    for waiter in waiters:
        waiter.set_exception(error)


class Timed(Protocol):
    """An item that has to be done by a deadline."""

    @property
    def deadline(self) -> Deadline:
        """That deadline."""


D = TypeVar("D", bound=Timed)


def in_time(waiters: Sequence[Waiter[D, R]]) -> list[Waiter[D, R]]:
    """Those of which a batch can still come in time. The others are refused, with nothing begun."""
    now = time.monotonic()
    late = [waiter for waiter in waiters if waiter.item.deadline.latest < now]
    fail(late, storage_unavailable())
    return [waiter for waiter in waiters if waiter.item.deadline.latest >= now]


def is_unavailable(error: BaseException) -> bool:
    """Whether the error says that the store cannot be used, or did not answer in time, whatever is
    asked of it.
    """
    is_refused = isinstance(error, Refusal) and error.faults[0].code is Code.STORAGE_UNAVAILABLE
    return is_refused and not tells_of_damage(error)
