"""Writers who wait at the same time share one transaction."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from teamvars.domain.errors import Code, Refusal
from teamvars.storage.database import Body, Question, Row, Statement, T, Transaction
from teamvars.storage.sharing import answers, fail, succeed

MOST_IN_A_BATCH = 64


class SharedTransaction(Transaction, Protocol):
    """A transaction that can do the same for many at once."""

    async def for_each(self, sqls: Sequence[str], args: Sequence[Sequence[object]]) -> None:
        """Runs statements together, once for each sequence of all their parameters."""
        ...


Write = Callable[[Any], Awaitable[Any]]
"""`Database.write`, which gives the function a `SharedTransaction`."""

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", "_Asking", "_Writing")


class Batches:
    """Runs functions that ask questions and then write `together`, step by step in one transaction.

    All of them take each step in one statement. A batch never waits for a lock: whoever has no row
    runs alone, and so does one who does what cannot be shared. When a statement fails it is undone
    for all, and each runs alone, so that nobody is answered for another's failure.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._waiting: deque[_Job[Any]] = deque()
        self._leader: asyncio.Task[None] | None = None
        self._alone: set[asyncio.Task[None]] = set()

    async def change(self, subject: str, body: Body[T]) -> T:
        """Runs the function in a batch with others that are about other subjects."""
        job: _Job[T] = _Job(subject, body, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if self._leader is None:
            self._leader = asyncio.ensure_future(self._lead())
        return await job.answer

    async def close(self) -> None:
        """Waits until nobody waits any more."""
        while self._leader is not None or self._alone:
            await asyncio.wait([*self._alone, *([self._leader] if self._leader else [])])

    async def _lead(self) -> None:
        """Runs the waiting functions in batches until none is left."""
        try:
            while self._waiting:
                await self._run(self._next_batch())
        finally:
            self._leader = None

    def _next_batch(self) -> "list[_Job[Any]]":
        """Those who have waited longest, but of each subject only the first."""
        batch: dict[str, _Job[Any]] = {}
        later = []
        while self._waiting and len(batch) < MOST_IN_A_BATCH:
            job = self._waiting.popleft()
            if job.subject in batch:
                later.append(job)
            else:
                batch[job.subject] = job
        self._waiting.extendleft(reversed(later))
        return list(batch.values())

    async def _run(self, batch: "list[_Job[Any]]") -> None:
        async def in_step(tx: SharedTransaction) -> list[_Member[Any]]:
            return await _in_step(tx, [job.body for job in batch])

        try:
            members: list[_Member[Any]] = await self._write(in_step)
        except Refusal as refusal:  # nobody's own: those are given to the members
            if refusal.faults[0].code is Code.STORAGE_UNAVAILABLE:
                # Nor will the next batch do better; a silent store would make each of them wait.
                batch += self._waiting
                self._waiting.clear()
            for job in batch:
                fail(job.answer, refusal)
        except Exception:
            self._run_alone(batch)
        else:
            self._run_alone(
                job for job, member in zip(batch, members, strict=True) if not member.settle(job)
            )

    def _run_alone(self, jobs: "Iterable[_Job[Any]]") -> None:
        for job in jobs:
            task = asyncio.ensure_future(self._run_one(job))
            self._alone.add(task)
            task.add_done_callback(self._alone.discard)

    async def _run_one(self, job: "_Job[Any]") -> None:
        try:
            succeed(job.answer, await self._write(job.body))
        except Exception as error:
            fail(job.answer, error)


class _Job(msgspec.Struct, Generic[T], frozen=True):
    """A function that somebody wants to be run."""

    subject: str
    body: Body[T]
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

    def __init__(self, body: Body[T]) -> None:
        self._function = body(self)
        self._result: T | None = None
        self._error: Exception | None = None
        self._alone = False
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
            self._alone = True
        except Exception as error:
            self._error = error
        else:
            if isinstance(step, (_Asking, _Writing)):
                self.step = step
            else:
                self.leave()

    def leave(self) -> None:
        """Ends here, to run alone."""
        self.step = None
        self._alone = True
        self._function.close()

    def has_ended_well(self) -> bool:
        """Whether the function has given a result."""
        return self.step is None and self._error is None and not self._alone

    def settle(self, job: _Job[T]) -> bool:
        """Gives the outcome, once that is committed; False: it has to run alone."""
        if self._alone:
            return False
        if self._error is not None:
            fail(job.answer, self._error)
        else:
            succeed(job.answer, self._result)  # type: ignore[misc]
        return True


async def _in_step(tx: SharedTransaction, bodies: Sequence[Body[Any]]) -> "list[_Member[Any]]":
    """Runs the functions in one transaction; each ends, or leaves without having written."""
    members: list[_Member[Any]] = [_Member(body) for body in bodies]
    try:
        while asking := _by(lambda step: step.question, members, _Asking):
            for question, askers in asking.items():
                await _answer(tx, question, askers)
        for sqls, writers in _by(lambda step: step.sqls, members, _Writing).items():
            await _write(tx, sqls, writers)
    except BaseException:
        for member in members:
            member.leave()
        raise
    return members


async def _answer(
    tx: SharedTransaction, question: Question, askers: "list[tuple[_Member[Any], _Asking]]"
) -> None:
    rows = await answers(tx.fetch, question, [step.args for _, step in askers])
    for number, (member, _) in enumerate(askers, start=1):
        if number in rows:
            member.go_on(rows[number])
        else:
            member.leave()


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
