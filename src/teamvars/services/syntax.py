"""Whether values parse as configuration-language code, determined between two transactions.

Parsing can take long and must not happen under a lock, but only the transaction knows whether a
value is to be code at all and whether the caller may write it. So a transaction that needs a
verdict rolls back by raising `Unparsed`, the value is parsed, and the transaction is retried.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from teamvars.domain.access import Caller
from teamvars.domain.errors import Code, Fault
from teamvars.domain.variables import MAX_VALUE_BYTES, SourceCode
from teamvars.services.code.checker import CodeChecker
from teamvars.services.code.examination import CodeError, TooComplex

T = TypeVar("T")


class Verdicts:
    """The results of parsing values so far, within one request."""

    def __init__(self) -> None:
        self._errors: dict[str, CodeError | TooComplex | None] = {}

    def lack(self, code: SourceCode) -> bool:
        """Whether it is still to be parsed. What is too long is not: that is a fault of its own."""
        return len(code.text) <= MAX_VALUE_BYTES and code.text not in self._errors

    def faults(self, code: SourceCode | None) -> list[Fault]:
        """The fault of code that does not parse. Raises Unparsed when that is not known yet."""
        if code is None:
            return []
        if self.lack(code):
            raise Unparsed(code.text)
        if code.text not in self._errors:
            return []
        error = self._errors[code.text]
        if error is None:
            return []
        if isinstance(error, TooComplex):
            return [too_complex(code.pointer)]
        return [_fault(error, code.pointer)]

    async def learn(self, code: CodeChecker, caller: Caller, texts: Sequence[str]) -> None:
        """Parses values outside any transaction. Refuses: busy, too many requests."""
        assert caller.actor is not None  # authenticated before a verdict is asked for
        found = await code.check(caller.actor.id, texts)
        self._errors.update(zip(texts, found, strict=True))


class Unparsed(Exception):
    """A transaction needs to know whether these texts parse."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = texts


async def with_verdicts(
    code: CodeChecker, caller: Caller, attempt: Callable[[Verdicts], Awaitable[T]]
) -> T:
    """Runs the attempt, again after each value it lacks the verdict on."""
    verdicts = Verdicts()
    while True:
        try:
            return await attempt(verdicts)
        except Unparsed as unparsed:
            await verdicts.learn(code, caller, unparsed.texts)


def too_complex(pointer: str) -> Fault:
    """Parsing or evaluating it exceeds the limits of time or memory."""
    return Fault(
        Code.TOO_COMPLEX, "This takes too long to read or evaluate, or grows too large.", pointer
    )


def _fault(error: CodeError, pointer: str) -> Fault:
    """Says the place and the rule, and never quotes the value."""
    return Fault(
        Code.HCL_SYNTAX,
        f"At line {error.line}, column {error.column}: {error.message}.",
        pointer=pointer,
        meta={"line": error.line, "column": error.column},
    )
