"""Jobs and their results: the same functions run in the subprocess and, for short code, on the
event loop.

The subprocess imports little besides this module, so that it starts in a tenth of a second.
"""

import msgspec
from msgspec.structs import replace

from teamvars.hcl import Expression, HclError, TooMuchWork, parse
from teamvars.kernel import Discreet
from teamvars.variable_files import Format

QUICK_BYTES = 4_096
"""Up to this size parsing takes 8 ms at most, whatever the code is."""

QUICK_TO_EVALUATE_BYTES = 2_048
"""Up to this size so does analysing what it repeats and what it refers to."""

QUICK_STEPS = 2_000
"""So many steps of evaluation take 4 ms at most, without `for` and splats."""

_ROOM = 64 * 1024
_GROWTH = 8
"""The JSON of a value may have `_GROWTH` bytes for each byte of its code, and `_ROOM` besides. JSON
escapes some characters with six bytes, so that no literal value is too large."""

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


class Job(Discreet, frozen=True, array_like=True, tag="code"):
    """A piece of code to parse and evaluate."""

    source: str


class CheckJob(Discreet, frozen=True, array_like=True, tag="check"):
    """Pieces of code to parse."""

    sources: tuple[str, ...]


class FileJob(Discreet, frozen=True, array_like=True, tag="file"):
    """A file of variables to parse."""

    format: Format
    content: str


class Examination(Discreet, frozen=True, array_like=True):
    """The result of a job.

    `valid`: it parses. `value`, as JSON, is defined only with `evaluated`. `error` is why it does
    not parse or evaluate: what refers to variables or calls functions has no value.
    """

    valid: bool
    evaluated: bool = False
    value: bytes = b"null"
    error: CodeError | None = None
    references: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


class TooComplex(Exception):
    """The code exceeds its processor time or memory, or its value is far larger than the code."""


def has_at_most(size: int, source: str) -> bool:
    """Whether the code has at most so many bytes in UTF-8."""
    return len(source) <= size and len(source.encode(errors="replace")) <= size


def examined(job: Job) -> Examination:
    """Parses and evaluates without a limit of time. Raises TooComplex."""
    expression = read(job.source)
    if isinstance(expression, CodeError):
        return Examination(valid=False, error=expression)
    try:
        return evaluated(job.source, expression)
    except TooMuchWork:
        raise TooComplex from None


def checked(job: CheckJob) -> list[CodeError | None]:
    """Why each piece does not parse, without a limit of time; None: it does."""
    expressions = map(read, job.sources)
    return [found if isinstance(found, CodeError) else None for found in expressions]


def evaluated_at_once(source: str, expression: Expression) -> Examination | None:
    """The result of an expression that repeats nothing, in at most `QUICK_STEPS`; None: it takes
    more. Raises TooComplex.
    """
    try:
        return evaluated(source, expression, QUICK_STEPS)
    except TooMuchWork:
        return None


def read(source: str) -> Expression | CodeError:
    """The expression, or why the source does not parse."""
    try:
        return parse(source)
    except HclError as error:
        return _told(error)


def evaluated(source: str, expression: Expression, *steps: int) -> Examination:
    """The result of the expression, in so many steps. Raises TooMuchWork and TooComplex."""
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
