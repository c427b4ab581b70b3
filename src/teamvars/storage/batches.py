"""Writers who wait at the same time share one transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Sequence
from functools import partial
from itertools import groupby, zip_longest
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from teamvars.domain.errors import Code, Refusal, storage_unavailable
from teamvars.storage.database import Body, Question, Row, Statement, T, Transaction
from teamvars.storage.deadlines import Deadline, earliest
from teamvars.storage.sharing import answers, fail, succeed

MOST_IN_A_BATCH = 64
MOST_OF_A_SUBJECT = 8
"""Each is a step more for all in the batch, which keep their locks meanwhile."""


class SharedTransaction(Transaction, Protocol):
    """A transaction that can do the same for many at once."""

    async def for_each(self, sqls: Sequence[str], args: Sequence[Sequence[object]]) -> None:
        """Runs statements together, once for each sequence of all their parameters."""
        ...


MOST_APART = 2
"""How many may wait for locks at a time; each has a connection meanwhile."""

_AGAIN_SECONDS = 0.05

Write = Callable[[Any, Deadline, bool], Awaitable[Any]]
"""`Database.write`, which gives the function a `SharedTransaction`; by when, and whether apart."""

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", "_Asking", "_Writing")


class Batches:
    """Runs functions that ask questions and then write `together`, step by step in one transaction.

    All of them take each step in one statement; those about one subject take their steps one after
    another. A batch never waits for a lock: those about a subject whose row another has locked wait
    for it together, apart from all others; of such subjects only a few wait with a connection,
    and the others come to a batch again in a while. When a statement fails it is undone for all.
    Then each subject is tried apart, and where that fails too each function runs alone, so that
    nobody is answered for another's failure. A function that does what cannot be shared runs alone
    as well.

    A question that locks is answered with no row where the row is locked, as where there is none
    for that asker. Who then finds that there should be one asks it again, and only so gets to wait.
    """

    def __init__(self, write: Write, deadline: Callable[[], Deadline]) -> None:
        """`deadline` says by when who comes now has to be answered."""
        self._write = write
        self._deadline = deadline
        self._places_apart = MOST_APART
        self._waiting: dict[str, list[_Job[Any]]] = {}
        self._leader: asyncio.Task[None] | None = None
        self._apart: dict[str, asyncio.Task[None]] = {}

    async def change(self, subject: str, body: Body[T]) -> T:
        """Runs the function in a batch with others."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = _Job(subject, body, self._deadline(), answer)
        self._waiting.setdefault(subject, []).append(job)
        self._begin()
        return await job.answer

    async def close(self) -> None:
        """Waits until nobody waits any more."""
        while self._leader is not None or self._apart:
            leader = [] if self._leader is None else [self._leader]
            await asyncio.wait([*self._apart.values(), *leader])

    def _begin(self) -> None:
        if self._leader is None:
            self._leader = asyncio.ensure_future(self._lead())

    async def _lead(self) -> None:
        """Runs the waiting functions in batches, but for those whose subject is set apart."""
        try:
            while batch := self._next_batch():
                left, locked = await self._share(batch, apart=False)
                for subject, group in groupby(left, lambda job: job.subject):
                    run = self._wait if subject in locked else self._run_apart
                    self._apart[subject] = asyncio.ensure_future(run(subject, list(group)))
        finally:
            self._leader = None

    def _next_batch(self) -> "list[list[_Job[Any]]]":
        """By subject: those that have waited longest, and of each no more than a few."""
        batch = []
        room = MOST_IN_A_BATCH
        for subject in [subject for subject in self._waiting if subject not in self._apart]:
            jobs = _in_time(self._waiting.pop(subject))
            if not jobs:
                continue
            most = min(room, MOST_OF_A_SUBJECT)
            batch.append(jobs[:most])
            room -= len(batch[-1])
            if jobs[most:]:
                self._waiting[subject] = jobs[most:]
            if room == 0:
                break
        return batch

    async def _share(
        self, batch: "Sequence[Sequence[_Job[Any]]]", *, apart: bool
    ) -> "tuple[Sequence[_Job[Any]], set[str]]":
        """Runs the functions in one transaction and answers them, but for those it returns.

        They come back in the order of the batch, those about one subject together; with them the
        subjects of those that another's lock is in the way of.
        """
        jobs = [job for group in batch for job in group]
        deadline = earliest(job.deadline for job in jobs)
        try:
            members, locked = await self._write(partial(_in_step, batch, apart), deadline, apart)
        except Refusal as refusal:  # nobody's own: those are given to the members
            self._refuse(jobs, refusal, [jobs[0].subject] if apart else list(self._waiting))
            return [], set()
        except Exception:
            return jobs, set()
        answered = {member.job for member in members if member.settle()}
        return [job for job in jobs if job not in answered], locked

    async def _wait(self, subject: str, jobs: "Sequence[_Job[Any]]") -> None:
        """Waits for a lock if there is a place for that, else comes to a batch again in a while."""
        if self._places_apart:
            self._places_apart -= 1
            try:
                await self._run_apart(subject, jobs)
            finally:
                self._places_apart += 1
            return
        await asyncio.sleep(_AGAIN_SECONDS)
        self._waiting[subject] = [*jobs, *self._waiting.get(subject, [])]
        del self._apart[subject]
        self._begin()

    async def _run_apart(self, subject: str, jobs: "Sequence[_Job[Any]]") -> None:
        """Runs functions about one subject, for which the batches then have to wait."""
        try:
            if len(jobs) > 1:
                jobs, _ = await self._share([jobs], apart=True)
            await self._run_alone(subject, jobs)
        finally:
            del self._apart[subject]
            self._begin()

    async def _run_alone(self, subject: str, jobs: "Sequence[_Job[Any]]") -> None:
        """Runs functions about one subject, each in a transaction of its own."""
        for number, job in enumerate(jobs):
            try:
                succeed(job.answer, await self._write(job.body, job.deadline, True))
            except Refusal as refusal:
                if _is_silence(refusal):
                    self._refuse(jobs[number:], refusal, [subject])
                    break
                fail(job.answer, refusal)
            except Exception as error:
                fail(job.answer, error)

    def _refuse(
        self, jobs: "Sequence[_Job[Any]]", refusal: Refusal, subjects: Sequence[str]
    ) -> None:
        """Answers with the refusal. Where the store is silent, also who waits for those subjects:
        they would do no better, and each batch of them would wait as long.
        """
        for job in jobs:
            fail(job.answer, refusal)
        if _is_silence(refusal):
            for subject in subjects:
                for job in self._waiting.pop(subject, []):
                    fail(job.answer, refusal)


def _in_time(jobs: "Sequence[_Job[Any]]") -> "list[_Job[Any]]":
    """Those that can still be done in time. The others are refused: nothing of them was begun."""
    late = [job for job in jobs if job.deadline.is_nearly_over]
    for job in late:
        fail(job.answer, storage_unavailable())
    return [job for job in jobs if job not in late]


def _is_silence(refusal: Refusal) -> bool:
    """Whether the store did not do what it was asked to."""
    return refusal.faults[0].code is Code.STORAGE_UNAVAILABLE


class _Job(msgspec.Struct, Generic[T], frozen=True):
    """A function that somebody wants to be run."""

    subject: str
    body: Body[T]
    deadline: Deadline
    answer: "asyncio.Future[T]"


class _Unshared(Exception):
    """A function does what cannot be done for many at once."""


class _Asking(msgspec.Struct, frozen=True):
    """The next step of a function is a question."""

    question: Question
    args: tuple[object, ...]

    def __await__(self) -> Generator["_Asking", Row, Row]:
        return (yield self)


class _Writing(msgspec.Struct, frozen=True):
    """The next step of a function is to write."""

    statements: tuple[Statement, ...]

    def __await__(self) -> Generator["_Writing", None, None]:
        yield self

    @property
    def sqls(self) -> tuple[str, ...]:
        return tuple(statement.sql for statement in self.statements)

    @property
    def args(self) -> list[object]:
        return [arg for statement in self.statements for arg in statement.args]


class _Member(Transaction, Generic[T]):
    """One function of a batch, and the transaction as that function sees it."""

    def __init__(self, job: _Job[T]) -> None:
        self.job = job
        self._function = job.body(self)
        self._result: T | None = None
        self._error: Exception | None = None
        self._has_left = False
        self._in_vain: Question | None = None
        self.step: _Asking | _Writing | None = None
        self.go_on(None)

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        raise _Unshared

    async def script(self, sql: str) -> None:
        raise _Unshared

    async def ask(self, question: Question, *args: object) -> Row | None:
        return await _Asking(question, args)

    async def together(self, *statements: Statement) -> None:
        await _Writing(statements)

    def go_on(self, outcome: Row | None) -> None:
        """Runs the function up to its next step, or to its end."""
        self.step = None
        try:
            step = self._function.send(outcome)
        except StopIteration as end:
            self._result = end.value
        except _Unshared:
            self._has_left = True
        except Exception as error:
            self._error = error
        else:
            if isinstance(step, (_Asking, _Writing)):
                self.step = step
            else:
                self.leave()

    def answer(self, row: Row | None) -> None:
        """Gives the row of the question that is the function's step, None when there is none."""
        assert isinstance(self.step, _Asking)
        if row is None:
            self._in_vain = self.step.question
        self.go_on(row)

    def is_locked_out(self) -> bool:
        """Whether the function asks once more what had no row: another has that row locked."""
        return isinstance(self.step, _Asking) and self.step.question is self._in_vain

    def leave(self) -> None:
        """Ends here, to run another time."""
        self.step = None
        self._has_left = True
        self._function.close()

    def has_ended_well(self) -> bool:
        """Whether the function has given a result."""
        return self.step is None and self._error is None and not self._has_left

    def settle(self) -> bool:
        """Gives the outcome, once that is committed; False: there is none, it has to run again."""
        if self._has_left:
            return False
        if self._error is not None:
            fail(self.job.answer, self._error)
        else:
            succeed(self.job.answer, self._result)  # type: ignore[misc]
        return True


async def _in_step(
    groups: Sequence[Sequence[_Job[Any]]], apart: bool, tx: SharedTransaction
) -> "tuple[list[_Member[Any]], set[str]]":
    """Runs functions in one transaction; each ends, or leaves without having written.

    Those about one subject, a group, begin when the one before them has ended. Who would have to
    wait for a lock leaves, and with it the rest of its group, whose subjects are returned; but not
    apart, where it waits.
    """
    members: list[_Member[Any]] = []
    locked: set[str] = set()
    try:
        for jobs in zip_longest(*groups):
            abreast = [_Member(job) for job in jobs if job and job.subject not in locked]
            members += abreast
            while asking := _by(lambda step: step.question, abreast, _Asking):
                for question, askers in asking.items():
                    await (_answer_each if apart else _answer)(tx, question, askers)
                locked |= set() if apart else _locked_out(abreast)
            for sqls, writers in _by(lambda step: step.sqls, abreast, _Writing).items():
                await _write(tx, sqls, writers)
    except BaseException:
        for member in members:
            member.leave()
        raise
    return members, locked


def _locked_out(members: "Iterable[_Member[Any]]") -> set[str]:
    """Makes those leave who would have to wait for a lock. Returns their subjects."""
    out = [member for member in members if member.is_locked_out()]
    for member in out:
        member.leave()
    return {member.job.subject for member in out}


async def _answer(
    tx: SharedTransaction, question: Question, askers: "list[tuple[_Member[Any], _Asking]]"
) -> None:
    """Answers all with one statement that waits for no lock."""
    rows = await answers(tx.fetch, question, [step.args for _, step in askers])
    for number, (member, _) in enumerate(askers, start=1):
        member.answer(rows.get(number))


async def _answer_each(
    tx: SharedTransaction, question: Question, askers: "list[tuple[_Member[Any], _Asking]]"
) -> None:
    for member, step in askers:
        member.go_on(await tx.ask(question, *step.args))


async def _write(
    tx: SharedTransaction, sqls: tuple[str, ...], writers: "list[tuple[_Member[Any], _Writing]]"
) -> None:
    await tx.for_each(sqls, [step.args for _, step in writers])
    for member, _ in writers:
        member.go_on(None)
        if not member.has_ended_well():
            raise _Unshared  # only the end of the transaction undoes what it has written


def _by(
    key: Callable[[S], K], members: Iterable[_Member[Any]], kind: type[S]
) -> dict[K, list[tuple[_Member[Any], S]]]:
    """The members whose next step is of that kind, with their steps, by the key of the step."""
    groups: dict[K, list[tuple[_Member[Any], S]]] = {}
    for member in members:
        if isinstance(member.step, kind):
            groups.setdefault(key(member.step), []).append((member, member.step))
    return groups
