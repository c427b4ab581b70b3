"""Whether values parse as configuration-language code, found out between two transactions.

Parsing can take long and must not hold a lock, but only the transaction knows whether a value is to
be code at all and whether the caller may write it. So it asks for a verdict, and where there is
none yet it ends, the value is parsed, and it runs again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from teamvars.domain.errors import Code, Fault
from teamvars.domain.variables import MAX_VALUE_BYTES, SourceCode
from teamvars.hcl import HclError, parse

_PARSED_ON_THE_LOOP = 4096
"""Characters up to which parsing is too quick to be worth a thread."""

T = TypeVar("T")


class Verdicts:
    """What parsing has said of values so far, in the course of one request."""

    def __init__(self) -> None:
        self._errors: dict[str, HclError | None] = {}

    def faults(self, code: SourceCode | None) -> list[Fault]:
        """The fault of code that does not parse. Raises Unparsed when that is not known yet."""
        if code is None or len(code.text) > MAX_VALUE_BYTES:  # its length is a fault of its own
            return []
        if code.text not in self._errors:
            raise Unparsed(code.text)
        error = self._errors[code.text]
        return [] if error is None else [_fault(error, code.pointer)]

    async def learn(self, text: str) -> None:
        """Parses a value, a long one off the event loop."""
        quick = len(text) <= _PARSED_ON_THE_LOOP
        self._errors[text] = (
            _first_error(text) if quick else await asyncio.to_thread(_first_error, text)
        )


class Unparsed(Exception):
    """A transaction needs to know whether this text parses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


async def with_verdicts(attempt: Callable[[Verdicts], Awaitable[T]]) -> T:
    """Runs the attempt, again after each value it lacks the verdict on."""
    verdicts = Verdicts()
    while True:
        try:
            return await attempt(verdicts)
        except Unparsed as unparsed:
            await verdicts.learn(unparsed.text)


def _first_error(source: str) -> HclError | None:
    """Why the source is not exactly one expression; None: it is."""
    try:
        parse(source)
    except HclError as error:
        return error
    return None


def _fault(error: HclError, pointer: str) -> Fault:
    """The place and the rule; never a piece of the value."""
    return Fault(
        Code.HCL_SYNTAX,
        f"At line {error.line}, column {error.column}: {error.message}.",
        pointer=pointer,
        meta={"line": error.line, "column": error.column},
    )
