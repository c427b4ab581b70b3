"""Timeouts of tasks, with one timer of the event loop for all of them."""

import asyncio
import math

import msgspec


class TimeLimits:
    """The timeouts of the tasks of one event loop.

    A timer for each, as `asyncio.timeout` sets, costs a create a twentieth of its time.
    """

    def __init__(self) -> None:
        self.running: set[TimeLimit] = set()
        self._timer: asyncio.Handle | None = None
        self.wakes_at = math.inf

    def wake_at(self, deadline: float) -> None:
        """Looks then for limits that are over, and not before."""
        if self._timer is not None:
            self._timer.cancel()
        self.wakes_at = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._enforce)

    def _enforce(self) -> None:
        self._timer = None  # it has this, and this had it: a ring, once the timer has fired
        self.wakes_at = math.inf
        now = asyncio.get_running_loop().time()
        for limit in [limit for limit in self.running if limit.deadline <= now]:
            limit.enforce()
        if self.running:
            self.wake_at(min(limit.deadline for limit in self.running))


class TimeLimit(msgspec.Struct, eq=False):
    """A limit on what its context does, made for one use: its task gets a TimeoutError when it has
    not left after so many seconds.

    `begun` and `deadline` are times of the event loop's clock, in seconds.
    """

    limits: TimeLimits
    seconds: float
    begun: float = math.nan
    deadline: float = math.nan
    task: asyncio.Task[object] | None = None
    is_over: bool = False

    def __enter__(self) -> "TimeLimit":
        loop = asyncio.get_running_loop()
        self.task = asyncio.current_task(loop)
        self.begun = loop.time()
        self.deadline = self.begun + self.seconds
        self.limits.running.add(self)
        if self.deadline < self.limits.wakes_at:
            self.limits.wake_at(self.deadline)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # The timer stays set: it finds those begun since, or none.
        self.limits.running.discard(self)
        assert self.task is not None  # a request is served in one
        # If something else has cancelled the task meanwhile, it is to end, not to respond.
        if self.is_over and self.task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError

    def enforce(self) -> None:
        """The time is over, or is taken to be."""
        self.limits.running.discard(self)
        self.is_over = True
        assert self.task is not None  # it has been entered
        self.task.cancel()
