"""What is asked about a piece of code and what is found: the same on the event loop and in a child.

The child imports this module and what it needs, and little else: it starts in a tenth of a second.
"""

import msgspec
from msgspec.structs import replace

from teamvars.domain.discreet import Discreet
from teamvars.hcl import Expression, HclError, TooMuchWork, parse

QUICK_BYTES = 4_096
"""Up to here reading takes 8 ms at most, whatever the code is."""

QUICK_TO_EVALUATE_BYTES = 2_048
"""Up to here so does finding out whether it repeats anything and what it refers to."""

QUICK_STEPS = 2_000
"""So many steps of evaluation take 4 ms at most, as long as nothing is repeated."""

_ROOM = 64 * 1024
_GROWTH = 8
"""A value has this many bytes of JSON for each of its code's, and that room besides. JSON takes six
for some characters, so that no value which stands there written out is too large."""

# Exact numbers stay exact: 1e400 is a number of JSON, however few programs can hold it.
_ENCODER = msgspec.json.Encoder(decimal_format="number")


class CodeError(Discreet, frozen=True, array_like=True):
    """Why and where code does not parse or evaluate.

    `message` may be published; `name` is the unknown variable or function where that is the fault.
    `line` and `column` count from 1, in characters.
    """

    message: str
    line: int
    column: int
    name: str = ""


class Job(Discreet, frozen=True, array_like=True):
    """A piece of code to read and, if wanted, to evaluate."""

    source: str
    evaluate: bool = False


class Examination(Discreet, frozen=True, array_like=True):
    """What became of it.

    `valid` says that it parses. `value`, as JSON, counts only where `evaluated`. `error` says why
    it does not parse or evaluate: what refers to variables or calls functions has no value.
    """

    valid: bool
    evaluated: bool = False
    value: bytes = b"null"
    error: CodeError | None = None
    references: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


class TooComplex(Exception):
    """The code takes more time or memory than it may have, or its value is far larger than it."""


def has_at_most(size: int, source: str) -> bool:
    """Whether the code has no more bytes than that."""
    return len(source) <= size and len(source.encode(errors="replace")) <= size


def examined(job: Job) -> Examination:
    """Reads and evaluates without regard to time. Raises TooComplex."""
    expression = read(job.source)
    if isinstance(expression, CodeError):
        return Examination(valid=False, error=expression)
    if not job.evaluate:
        return Examination(valid=True)
    try:
        return evaluated(job.source, expression)
    except TooMuchWork:
        raise TooComplex from None


def evaluated_at_once(source: str, expression: Expression) -> Examination | None:
    """What an expression that repeats nothing comes to; None: it takes long. Raises TooComplex."""
    try:
        return evaluated(source, expression, QUICK_STEPS)
    except TooMuchWork:
        return None


def read(source: str) -> Expression | CodeError:
    """The expression, or why there is none."""
    try:
        return parse(source)
    except HclError as error:
        return _told(error)


def evaluated(source: str, expression: Expression, *steps: int) -> Examination:
    """What the expression comes to, in that many steps. Raises TooMuchWork and TooComplex."""
    parsed = Examination(
        valid=True, references=expression.references, functions=expression.functions
    )
    try:
        value = _ENCODER.encode(expression.evaluate(*steps))
    except TooMuchWork:
        raise
    except HclError as error:
        return replace(parsed, error=_told(error))
    if len(value) > _ROOM + _GROWTH * len(source):
        raise TooComplex
    return replace(parsed, evaluated=True, value=value)


def _told(error: HclError) -> CodeError:
    return CodeError(error.message, error.line, error.column, error.name)
