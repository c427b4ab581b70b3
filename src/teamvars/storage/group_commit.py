"""Group commit for PostgreSQL: changes that wait at the same time share a transaction.

A batch runs up to 64 functions in lockstep (see `lockstep.py`), one statement a step for all of
them. It locks rows with SKIP LOCKED, so that it never blocks: neither two nodes in a deadlock, nor
one subject for another's lock.

The first attempt of a function is in a batch. What the batch could not do runs isolated, subject by
subject, while batches go on with all other subjects: first the functions of the subject in one
transaction, then, if that fails too, each in its own. So no caller gets the failure of another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from teamvars.domain.errors import Kind, Refusal, storage_unavailable
from teamvars.storage.coalescing import (
    BATCH_LIMIT,
    Coalescer,
    Queue,
    fail,
    is_unavailable,
)
from teamvars.storage.database import Body, T
from teamvars.storage.deadlines import Deadline, earliest
from teamvars.storage.lockstep import Job, Waiting, run_in_lockstep

SUBJECT_LIMIT = 8
"""How many functions of one subject a batch takes: each adds steps during which all locks of the
batch are held."""

LOCK_WAITERS = 2
"""How many subjects may wait for a row lock at a time: each blocks a connection."""

RETRY_SECONDS = 0.05
"""After how long a subject whose lock was taken, and that may not wait for it, is tried again."""

Write = Callable[[Any, Deadline, bool], Awaitable[Any]]
"""Runs a function that takes a `BatchTransaction` in a transaction: the function, its deadline, and
whether it is isolated and may so wait for locks."""


class _SubjectQueue(Queue[Job, Any]):
    """Jobs by subject. A batch leaves out isolated subjects, lest a job overtake earlier ones."""

    def __init__(self, isolated: dict[str, "asyncio.Task[None]"]) -> None:
        self._isolated = isolated
        self._waiters: dict[str, list[Waiting]] = {}

    def put(self, waiter: Waiting) -> None:
        self._waiters.setdefault(waiter.item.subject, []).append(waiter)

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
        for subject in [each for each in self._waiters if each not in self._isolated]:
            waiters = _in_time(self.pop(subject))
            limit = min(BATCH_LIMIT - len(batch), SUBJECT_LIMIT)
            batch += waiters[:limit]
            if waiters[limit:]:
                self._waiters[subject] = waiters[limit:]
            if len(batch) == BATCH_LIMIT:
                break
        return batch

    def clear(self) -> list[Waiting]:
        waiters = [waiter for subject in self._waiters.values() for waiter in subject]
        self._waiters.clear()
        return waiters


class GroupCommit:
    """Runs functions that look up rows, lock with at most one lookup, and then write once.

    Functions about one subject run in the order of their calls. A lookup that locks has no row
    where the row is locked by another transaction, just as where there is none for that caller. A
    function that finds there should be one makes the same lookup again, and only then waits for
    the lock, isolated. A function that does anything else than look up and write runs isolated too.
    """

    def __init__(self, write: Write, deadline: Callable[[], Deadline]) -> None:
        """`deadline` is that of a call that begins now."""
        self._write = write
        self._deadline = deadline
        self._lock_waiters = 0
        self._isolated: dict[str, asyncio.Task[None]] = {}
        self._queue = _SubjectQueue(self._isolated)
        self._coalescer = Coalescer(self._run_batch, self._queue)

    async def change(self, subject: str, body: Body[T]) -> T:
        """Runs the function in a batch and returns its result after the commit.

        It is run to its end also when the caller is cancelled meanwhile.
        """
        result: T = await self._coalescer.submit(Job(subject, body, self._deadline()))
        return result

    async def close(self) -> None:
        """Waits until no function is queued or runs."""
        await self._coalescer.close()
        while self._isolated:
            await asyncio.wait(set(self._isolated.values()))
            await self._coalescer.close()

    async def _run_batch(self, batch: list[Waiting]) -> None:
        remaining, locked = await self._run_in_one(batch, isolated=False)
        for subject, group in groupby(remaining, lambda waiter: waiter.item.subject):
            run = self._run_locked if subject in locked else self._run_isolated
            task = asyncio.create_task(run(subject, list(group)))
            # From here on no batch takes the subject: see `_SubjectQueue`.
            self._isolated[subject] = task

    async def _run_in_one(
        self, waiters: list[Waiting], *, isolated: bool
    ) -> tuple[list[Waiting], set[str]]:
        """Runs functions in one transaction, and after the commit resolves those that have ended.

        Returns the others, in order, and which of their subjects are locked by another transaction.
        Raises Refusal when the store is unavailable or the outcome of the commit unknown: that is
        for all of them, since what refuses one function stays with that function.
        """
        deadline = earliest(waiter.item.deadline for waiter in waiters)
        try:
            members, locked = await self._write(
                partial(run_in_lockstep, waiters, isolated), deadline, isolated
            )
        except Refusal as refusal:
            if refusal.kind is Kind.UNAVAILABLE:
                raise
            return waiters, set()
        except Exception:  # of a statement, and so of anybody in it
            return waiters, set()
        settled = {member.waiter for member in members if member.settle()}
        return [waiter for waiter in waiters if waiter not in settled], locked

    async def _run_locked(self, subject: str, waiters: list[Waiting]) -> None:
        """Waits for the lock isolated; with too many waiting, tries in a batch again later."""
        if self._lock_waiters < LOCK_WAITERS:
            self._lock_waiters += 1
            try:
                await self._run_isolated(subject, waiters)
            finally:
                self._lock_waiters -= 1
            return
        await asyncio.sleep(RETRY_SECONDS)
        self._queue.put_back(subject, waiters)
        self._release(subject)

    async def _run_isolated(self, subject: str, waiters: list[Waiting]) -> None:
        """Runs the functions of one subject; batches leave the subject out meanwhile."""
        try:
            if len(waiters) > 1:
                waiters, _ = await self._run_in_one(waiters, isolated=True)
            await self._run_singly(subject, waiters)
        except Refusal as refusal:
            fail(waiters, refusal)
            if is_unavailable(refusal):
                # What came for the subject since would wait for the same lock as long in vain.
                fail(self._queue.pop(subject), refusal)
        finally:
            self._release(subject)

    async def _run_singly(self, subject: str, waiters: list[Waiting]) -> None:
        """Runs each function in its own transaction. Raises Refusal when the store is unavailable,
        with which the rest of them remains to be refused.
        """
        for waiter in waiters:
            try:
                waiter.set_result(await self._write(waiter.item.body, waiter.item.deadline, True))
            except Exception as error:
                if is_unavailable(error):
                    raise
                waiter.set_exception(error)

    def _release(self, subject: str) -> None:
        """Lets batches take the subject again."""
        del self._isolated[subject]
        self._coalescer.wake()


def _in_time(waiters: list[Waiting]) -> list[Waiting]:
    """The jobs that a batch can still do in time. The others are refused, with nothing begun."""
    late = [waiter for waiter in waiters if waiter.item.deadline.is_nearly_over]
    fail(late, storage_unavailable())
    return [waiter for waiter in waiters if waiter not in late] if late else waiters
