"""Timeouts of tasks, with one timer of the event loop for all of them."""

import asyncio
import math


class TimeLimits:
    """The timeouts of the tasks of one event loop.

    A timer for each, as `asyncio.timeout` sets, costs a create a twentieth of its time.
    """

    def __init__(self) -> None:
        self._running: set[TimeLimit] = set()
        self._timer: asyncio.Handle | None = None
        self._wakes_at = math.inf

    def of(self, seconds: float) -> "TimeLimit":
        """A context whose task gets a TimeoutError when it has not left it by then."""
        return TimeLimit(self, seconds)

    def begin(self, limit: "TimeLimit") -> None:
        """Watches a limit."""
        self._running.add(limit)
        if limit.deadline < self._wakes_at:
            self._wake_at(limit.deadline)

    def end(self, limit: "TimeLimit") -> None:
        """Watches it no more. The timer stays set: it finds those begun since, or none."""
        self._running.discard(limit)

    def _wake_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._enforce)

    def _enforce(self) -> None:
        self._wakes_at = math.inf
        now = asyncio.get_running_loop().time()
        for limit in [limit for limit in self._running if limit.deadline <= now]:
            limit.enforce()
        if self._running:
            self._wake_at(min(limit.deadline for limit in self._running))


class TimeLimit:
    """A limit on what its context does; made for one use.

    `begun` and `deadline` are times of the event loop's clock, in seconds.
    """

    __slots__ = ("_is_over", "_limits", "_seconds", "_task", "begun", "deadline")

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        self._limits = limits
        self._seconds = seconds
        self._is_over = False

    def __enter__(self) -> "TimeLimit":
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # a request is served in one
        self._task = task
        self.begun = loop.time()
        self.deadline = self.begun + self._seconds
        self._limits.begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._limits.end(self)
        # If something else has cancelled the task meanwhile, it is to end, not to respond.
        if self._is_over and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError

    def enforce(self) -> None:
        """The time is over, or is taken to be."""
        self._limits.end(self)
        self._is_over = True
        self._task.cancel()
