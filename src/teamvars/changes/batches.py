"""Group commit: changes that wait at the same time share a transaction.

On PostgreSQL a batch locks streams with SKIP LOCKED, and waits hardly at all for another row's
lock, so that it hardly blocks: neither two nodes in a deadlock, nor one stream for another's lock.

The first attempt of a change is in a batch. What the batch could not do runs isolated, stream by
stream, while batches go on with all other streams: first the changes of the stream in one
transaction, then, if that fails too, each in its own. So no caller gets the failure of another.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from teamvars.changes import Tools
from teamvars.changes.waves import Attempt, Change, Known, run
from teamvars.domain.errors import Kind, Refusal
from teamvars.metrics import Histogram
from teamvars.storage.database import Locked, Store
from teamvars.storage.engines.coalescing import (
    BATCH_LIMIT,
    Coalescer,
    Queue,
    Waiter,
    fail,
    in_time,
    is_unavailable,
)
from teamvars.storage.engines.outages import tells_of_damage

T = TypeVar("T")

LOCK_WAITERS = 2
"""How many subjects may wait for a row lock at a time: each blocks a connection."""

_ITEM = attrgetter("item")
_SUBJECT = attrgetter("item.change.subject")
_LATEST = attrgetter("item.deadline.latest")
_DEADLINE = attrgetter("deadline")

RETRY_SECONDS = 0.05
"""After how long a subject whose lock was taken, and that may not wait for it, is tried again."""


Call = Attempt[Any]
Waiting = Waiter[Call, Any]


class _SubjectQueue(Queue[Call, Any]):
    """Jobs by subject. A batch leaves out isolated subjects, lest a job overtake earlier ones."""

    def __init__(self, isolated: dict[str, "asyncio.Task[None]"]) -> None:
        self._isolated = isolated
        self._waiters: dict[str, list[Waiting]] = {}

    def put(self, waiter: Waiting) -> None:
        self._waiters.setdefault(_SUBJECT(waiter), []).append(waiter)

    def put_back(self, subject: str, waiters: Sequence[Waiting]) -> None:
        """Puts jobs of a subject ahead of those that came later."""
        self._waiters[subject] = [*waiters, *self._waiters.get(subject, ())]

    def pop(self, subject: str) -> list[Waiting]:
        """Removes and returns the jobs of a subject."""
        return self._waiters.pop(subject, [])

    def take(self) -> list[Waiting]:
        """A batch in which the jobs of a subject are adjacent; a subject that has more of them
        goes to the end of the queue.
        """
        batch: list[Waiting] = []
        now = time.monotonic()
        for subject in tuple(self._waiters):
            if subject in self._isolated:
                continue
            waiters = self._waiters.pop(subject)
            if min(map(_LATEST, waiters), default=now) < now:
                waiters = in_time(waiters)
            room = BATCH_LIMIT - len(batch)
            batch += waiters[:room]
            if waiters[room:]:
                self._waiters[subject] = waiters[room:]
            if len(batch) == BATCH_LIMIT:
                break
        return batch

    def clear(self) -> list[Waiting]:
        waiters = [waiter for subject in self._waiters.values() for waiter in subject]
        self._waiters.clear()
        return waiters


SIZES = Histogram(
    "teamvars_batch_changes",
    "How many changes shared a transaction.",
    bounds=(1, 2, 4, 8, 16, 32, 64),
)


class Batches:
    """Makes changes in batches; those of one stream in the order of their calls."""

    def __init__(self, database: Store, tools: Tools) -> None:
        self._database = database
        self._tools = tools
        self._lock_places = asyncio.Semaphore(LOCK_WAITERS)
        self._isolated: dict[str, asyncio.Task[None]] = {}
        self._queue = _SubjectQueue(self._isolated)
        self._coalescer = Coalescer(self._run_batch, self._queue)

    def make(self, change: Change[T], known: Known) -> "asyncio.Future[T]":
        """Makes a change in a batch and returns its answer after the commit.

        It is made also when the caller is cancelled meanwhile. Raises Needs, of a thought.
        """
        return self._coalescer.submit(Attempt(change, known, self._database.deadline()))

    async def close(self) -> None:
        """Waits until no change is queued or runs."""
        await self._coalescer.close()
        while self._isolated:
            await asyncio.wait(set(self._isolated.values()))
            await self._coalescer.close()

    async def _run_batch(self, batch: list[Waiting]) -> None:
        try:
            remaining, blocked = await self._run_in_one(batch, waits=False)
        except Locked:
            await self._run_apart([list(group) for _, group in groupby(batch, _SUBJECT)])
            return
        for subject, group in groupby(remaining, _SUBJECT):
            self._isolate(
                self._run_locked if subject in blocked else self._run_isolated, subject, group
            )

    async def _run_apart(self, groups: Sequence[list[Waiting]]) -> None:
        """Runs the jobs of each subject in a transaction of their own, after one of them met a
        lock. Whoever is alone has met it, and is in no batch again: each time all would wait.
        """
        if len(groups) == 1:
            (waiters,) = groups
            self._isolate(self._run_in_turn, _SUBJECT(waiters[0]), waiters)
            return
        for group in groups:
            if waiters := in_time(group):
                await self._run_batch(waiters)

    def _isolate(
        self,
        run: Callable[[str, list[Waiting]], Coroutine[Any, Any, None]],
        subject: str,
        waiters: Iterable[Waiting],
    ) -> None:
        """From here on no batch takes the subject: see `_SubjectQueue`."""
        self._isolated[subject] = asyncio.create_task(run(subject, list(waiters)))

    async def _run_in_one(
        self, waiters: list[Waiting], *, waits: bool
    ) -> tuple[list[Waiting], set[str]]:
        """Runs jobs in one transaction, and after the commit resolves those that have ended.

        Puts those back that came too late for it. Returns the others, in order, and which of their
        subjects are locked by another transaction. Raises Refusal when the store is unavailable or
        the outcome of the commit unknown: that is for all of them, since what refuses one job stays
        with that job. Raises Locked: one of them met a lock that none of these looks for.
        """
        calls: list[Call] = list(map(_ITEM, waiters))
        body = partial(run, self._tools, calls, waits)
        deadline = min(calls, key=_DEADLINE).deadline
        SIZES.observe(len(calls))
        # Several would be many statements, and one that finds its stream moved would end them all.
        is_brief = len(calls) == 1 and calls[0].change.is_brief
        try:
            await self._database.batch(body, deadline, waits=waits, is_brief=is_brief)
        except Refusal as refusal:
            if refusal.kind is Kind.UNAVAILABLE and not tells_of_damage(refusal):
                raise
            return waiters, set()
        except Locked:
            raise
        except Exception:  # of a statement, and so of anybody in it
            return waiters, set()
        if all(list(map(_has_settled, waiters))):
            return [], set()
        open_ = [waiter for waiter in waiters if not waiter.item.has_ended]
        late = [waiter for waiter in open_ if not waiter.item.is_blocked]
        if not waits:
            for subject, group in groupby(late, _SUBJECT):
                self._queue.put_back(subject, list(group))
        blocked = [waiter for waiter in open_ if waiter.item.is_blocked]
        remaining = blocked if not waits else late
        return remaining, set(map(_SUBJECT, blocked))

    async def _run_locked(self, subject: str, waiters: list[Waiting]) -> None:
        """Waits for the lock isolated; with too many waiting, tries in a batch again later."""
        if not self._lock_places.locked():
            await self._run_in_turn(subject, waiters)
            return
        await asyncio.sleep(RETRY_SECONDS)
        self._queue.put_back(subject, waiters)
        self._release(subject)

    async def _run_in_turn(self, subject: str, waiters: list[Waiting]) -> None:
        """Waits for the lock isolated, once there is a place for that."""
        async with self._lock_places:
            await self._run_isolated(subject, waiters)

    async def _run_isolated(self, subject: str, waiters: list[Waiting]) -> None:
        """Runs the jobs of one subject; batches leave the subject out meanwhile."""
        try:
            # They may have waited for a place. The connection of one that is late would end at
            # once, and with it all others be taken for lost.
            if len(waiters := in_time(waiters)) > 1:
                waiters, _ = await self._run_in_one(waiters, waits=True)
            await self._run_singly(in_time(waiters))
        except Refusal as refusal:
            fail(waiters, refusal)
            if is_unavailable(refusal):
                # What came for the subject since would wait for the same lock as long in vain.
                fail(self._queue.pop(subject), refusal)
        finally:
            self._release(subject)

    async def _run_singly(self, waiters: list[Waiting]) -> None:
        """Runs each job in its own transaction. Raises Refusal when the store is unavailable, with
        which the rest of them remains to be refused.
        """
        for waiter in waiters:
            body = partial(run, self._tools, [waiter.item], True)
            try:
                await self._database.batch(body, waiter.item.deadline, waits=True)
            except Exception as error:
                if is_unavailable(error):
                    raise
                waiter.set_exception(error)
            else:
                _has_settled(waiter)

    def _release(self, subject: str) -> None:
        """Lets batches take the subject again."""
        del self._isolated[subject]
        self._coalescer.wake()


def _has_settled(waiter: Waiting) -> bool:
    """Gives the waiter the outcome, if there is one. Call it after the commit."""
    attempt = waiter.item
    if attempt.error is not None:
        waiter.set_exception(attempt.error)
    elif attempt.decision is not None:
        waiter.set_result(attempt.decision.answer)
    return attempt.has_ended
