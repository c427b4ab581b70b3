"""Functions of many callers in one transaction, in lockstep: each step is one statement for all.

A function is a coroutine that this module drives itself: it suspends at each lookup and at its
write, and resumes with the outcome when the statement has run for every function that is at the
same step.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from itertools import groupby, zip_longest
from typing import Any, Protocol, TypeVar

import msgspec

from teamvars.storage.coalescing import Waiter
from teamvars.storage.database import Body, Lookup, Row, Statement, Transaction
from teamvars.storage.deadlines import Deadline
from teamvars.storage.lookups import find_all

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", "_Read", "_Write")


class Job(msgspec.Struct, frozen=True):
    """A function to run, the subject whose row it locks, and its deadline."""

    subject: str
    body: Body[Any]
    deadline: Deadline


Waiting = Waiter[Job, Any]


class BatchTransaction(Transaction, Protocol):
    """A transaction that runs statements for many functions at once."""

    async def for_each(self, sqls: tuple[str, ...], args: Sequence[Sequence[object]]) -> None:
        """As `execute_all`, once for each sequence of the parameters of all statements. No two of
        these change the same row.
        """
        ...


class _NotBatchable(Exception):
    """A function does something that cannot be done for many at once."""


class _Read(msgspec.Struct, frozen=True):
    """A function is suspended at a lookup."""

    lookup: Lookup
    args: tuple[object, ...]

    def __await__(self) -> Generator["_Read", Sequence[Row], Sequence[Row]]:
        return (yield self)


class _Write(msgspec.Struct, frozen=True):
    """A function is suspended at its write."""

    statements: tuple[Statement, ...]

    def __await__(self) -> Generator["_Write", None, None]:
        yield self

    @property
    def sqls(self) -> tuple[str, ...]:
        return tuple(statement.sql for statement in self.statements)

    @property
    def args(self) -> list[object]:
        return [arg for statement in self.statements for arg in statement.args]


class Member(Transaction):
    """One function of a batch, and at the same time the transaction that the function sees."""

    def __init__(self, waiter: Waiting) -> None:
        self.waiter = waiter
        self.step: _Read | _Write | None = None
        """Where the function is suspended; None: it has ended, or was deferred."""
        self._coroutine = waiter.item.body(self)
        self._result: Any = None
        self._error: Exception | None = None
        self._is_deferred = False
        self._missed: Lookup | None = None
        self.resume(None)

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        raise _NotBatchable

    async def script(self, sql: str) -> None:
        raise _NotBatchable

    async def look_up_all(self, lookup: Lookup, *args: object) -> Sequence[Row]:
        return await _Read(lookup, args)

    async def execute_all(self, *statements: Statement) -> None:
        await _Write(statements)

    def resume(self, found: Sequence[Row] | None) -> None:
        """Runs the function up to its next step, or to its end. `found` are a lookup's rows."""
        if isinstance(self.step, _Read) and not found:
            self._missed = self.step.lookup
        self.step = None
        try:
            step = self._coroutine.send(found)
        except StopIteration as end:
            self._result = end.value
        except _NotBatchable:
            self._is_deferred = True
        except Exception as error:
            self._error = error
        else:
            if isinstance(step, (_Read, _Write)):
                self.step = step
            else:  # it awaits something of the event loop
                self.defer()

    def is_blocked(self) -> bool:
        """Whether the function repeats a lookup that had no row: SKIP LOCKED has skipped it."""
        return isinstance(self.step, _Read) and self.step.lookup is self._missed

    def defer(self) -> None:
        """Ends the function without an outcome: it has to run again, in another transaction."""
        self.step = None
        self._is_deferred = True
        self._coroutine.close()

    def has_succeeded(self) -> bool:
        """Whether the function has returned."""
        return self.step is None and self._error is None and not self._is_deferred

    def settle(self) -> bool:
        """Gives the waiter the outcome. Call it after the commit. False: it was deferred."""
        if self._is_deferred:
            return False
        if self._error is not None:
            self.waiter.set_exception(self._error)
        else:
            self.waiter.set_result(self._result)
        return True


async def run_in_lockstep(
    waiters: Sequence[Waiting], may_block: bool, tx: BatchTransaction
) -> tuple[list[Member], set[str]]:
    """Runs functions in one transaction; each ends, or is deferred without having written.

    Adjacent waiters of one subject run one after another: each sees what the one before it wrote.
    With `may_block` lookups wait for row locks. Without, they skip locked rows, and the functions
    of a subject whose row was skipped are deferred; those subjects are returned.

    When a statement fails its error is raised: the transaction is aborted, and so has to be
    repeated without the function that the error belongs to.
    """
    groups = [list(group) for _, group in groupby(waiters, lambda waiter: waiter.item.subject)]
    members: list[Member] = []
    locked: set[str] = set()
    try:
        # Column by column: the first functions of all subjects, then the second ones.
        for column in zip_longest(*groups):
            abreast = [Member(each) for each in column if each and each.item.subject not in locked]
            members += abreast
            while reading := _by(lambda step: step.lookup, abreast, _Read):
                for lookup, readers in reading.items():
                    await (_look_up_each if may_block else _look_up)(tx, lookup, readers)
                if not may_block:
                    locked |= _defer_blocked(abreast)
            for sqls, writers in _by(lambda step: step.sqls, abreast, _Write).items():
                await _write(tx, sqls, writers)
    except BaseException:
        # Also of cancellation, by a deadline: no coroutine may stay suspended.
        for member in members:
            member.defer()
        raise
    return members, locked


def _defer_blocked(members: Iterable[Member]) -> set[str]:
    """Defers the functions that would have to wait for a lock. Returns their subjects."""
    blocked = [member for member in members if member.is_blocked()]
    for member in blocked:
        member.defer()
    return {member.waiter.item.subject for member in blocked}


async def _look_up(
    tx: BatchTransaction, lookup: Lookup, readers: list[tuple[Member, _Read]]
) -> None:
    """Looks up for all with one statement, which waits for no lock."""
    rows = await find_all(tx.fetch, lookup, [step.args for _, step in readers])
    for number, (member, _) in enumerate(readers, start=1):
        member.resume(rows.get(number, ()))


async def _look_up_each(
    tx: BatchTransaction, lookup: Lookup, readers: list[tuple[Member, _Read]]
) -> None:
    """Looks up for each with a statement that waits for locks: `single` has no SKIP LOCKED."""
    for member, step in readers:
        member.resume(await tx.look_up_all(lookup, *step.args))


async def _write(
    tx: BatchTransaction, sqls: tuple[str, ...], writers: list[tuple[Member, _Write]]
) -> None:
    await tx.for_each(sqls, [step.args for _, step in writers])
    for member, _ in writers:
        member.resume(None)
        if not member.has_succeeded():
            # It wrote, and then failed or went on: only a rollback of all undoes its write.
            raise _NotBatchable


def _by(
    key: Callable[[S], K], members: Iterable[Member], kind: type[S]
) -> dict[K, list[tuple[Member, S]]]:
    """The members that are suspended at that kind of step, with their steps, by the step's key."""
    groups: dict[K, list[tuple[Member, S]]] = {}
    for member in members:
        if isinstance(member.step, kind):
            groups.setdefault(key(member.step), []).append((member, member.step))
    return groups
