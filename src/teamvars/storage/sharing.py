"""Askers who wait at the same time share one statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from teamvars.domain.errors import Refusal
from teamvars.storage.database import Question, Row, T
from teamvars.storage.deadlines import Deadline, earliest

MOST_IN_A_STATEMENT = 64

Fetch = Callable[..., Awaitable[Sequence[Row]]]


class _Asker(NamedTuple):
    """Somebody who waits for an answer."""

    args: tuple[object, ...]
    deadline: Deadline
    answer: "asyncio.Future[Row | None]"


class Sharing:
    """Puts questions to the database, one statement at a time for each.

    Whoever asks while a statement is under way goes into the next one. So nobody is answered by a
    statement that began before they asked, and the more they are, the fewer statements each costs.
    """

    def __init__(self, fetch: Fetch, deadline: Callable[[], Deadline]) -> None:
        """`fetch` takes a deadline first, and `deadline` says when one who asks now has to know."""
        self._fetch = fetch
        self._deadline = deadline
        self._waiting: dict[Question, list[_Asker]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question, args: tuple[object, ...]) -> Row | None:
        """The row of the question for these arguments, None when there is none."""
        answer: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()
        asker = _Asker(args, self._deadline(), answer)
        if question in self._waiting:
            self._waiting[question].append(asker)
        else:
            self._waiting[question] = [asker]
            task = asyncio.ensure_future(self._answer_all(question))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _answer_all(self, question: Question) -> None:
        """Answers until nobody waits; those who gave up meanwhile are passed over.

        Everybody who waits is refused with the first: else a store that is silent would be waited
        for once for every statement.
        """
        while self._waiting[question]:
            here = [asker for asker in self._waiting[question] if not asker.answer.done()]
            askers, self._waiting[question] = here[:MOST_IN_A_STATEMENT], here[MOST_IN_A_STATEMENT:]
            if not askers:
                break
            try:
                rows = await self._rows(question, askers)
            except Exception as error:
                if isinstance(error, Refusal):
                    askers += self._waiting[question]
                    self._waiting[question].clear()
                for asker in askers:
                    fail(asker.answer, error)
            else:
                for number, asker in enumerate(askers, start=1):
                    succeed(asker.answer, rows.get(number))
        del self._waiting[question]

    async def _rows(self, question: Question, askers: Sequence[_Asker]) -> dict[int, Any]:
        """The row, if any, of each asker by number; in time for the one who has waited longest."""
        fetch = partial(self._fetch, earliest(asker.deadline for asker in askers))
        if len(askers) == 1:
            return dict(enumerate(await fetch(question.one, *askers[0].args), start=1))
        return await answers(fetch, question, [asker.args for asker in askers])


async def answers(
    fetch: Fetch, question: Question, asked: Sequence[tuple[object, ...]]
) -> dict[int, Any]:
    """The row, if any, of each asker by number, from 1."""
    rows = await fetch(question.many, *map(list, zip(*asked, strict=True)))
    return {row[0]: row[1:] for row in rows}


def succeed(answer: "asyncio.Future[T]", result: T) -> None:
    """Gives the result, unless the one who waited has gone."""
    if not answer.done():
        answer.set_result(result)


def fail(answer: "asyncio.Future[T]", error: BaseException) -> None:
    """Gives the error, unless the one who waited has gone."""
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # retrieved: they may still go before they look
