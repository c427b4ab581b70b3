"""The subprocess that parses and evaluates long code, and parses files of variables: jobs and their
results, and how it serves them. Short code is examined by the same functions on the event loop.

It is started with `python -m teamvars.services.code.child`, and imports little besides this module,
so that it starts in a tenth of a second.

Messages are length-prefixed MessagePack documents: jobs on standard input, replies on standard
output. A job that exceeds its processor time ends the process; so does the end of its input, when
the worker has exited. It opens no files and writes nothing else.
"""

import os
import signal
import sys

import msgspec
from msgspec.structs import replace

from teamvars import variable_files
from teamvars.hcl import Expression, HclError, TooMuchWork, parse
from teamvars.kernel import Discreet
from teamvars.variable_files import Format, ParsedFile

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


if sys.platform != "win32":
    import resource

LENGTH_BYTES = 4
"""The size of the length prefix, an unsigned integer in network byte order."""

READY = b"\x06"
"""Written once the process is confined and accepts jobs."""

_NICENESS = 5

AnyJob = Job | CheckJob | FileJob
Result = Examination | list[CodeError | None] | ParsedFile


def message(document: AnyJob | Result | None) -> bytes:
    """The document with its length prefix; None stands for what is too complex."""
    body = msgspec.msgpack.encode(document)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def serve(processor_seconds: float) -> None:
    """Replies to one job after another until the end of the input."""
    decoder = msgspec.msgpack.Decoder(AnyJob)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(READY)
    sink.flush()
    while header := source.read(LENGTH_BYTES):
        body = source.read(int.from_bytes(header, "big"))
        _end_after(processor_seconds)
        sink.write(_reply(decoder, body))
        sink.flush()
        _end_after(0)


def _reply(decoder: msgspec.msgpack.Decoder[AnyJob], body: bytes) -> bytes:
    try:
        return message(_result(decoder.decode(body)))
    except (TooComplex, MemoryError):
        return message(None)


def _result(job: AnyJob) -> Result:
    match job:
        case FileJob():
            return variable_files.parse(job.format, job.content)
        case CheckJob():
            return checked(job)
        case Job():
            return examined(job)


def _end_after(processor_seconds: float) -> None:
    """Sets the timer with which the kernel ends this process by SIGPROF after so many seconds of
    processor time; 0 disarms it.

    RLIMIT_CPU would count whole seconds, from the start of the process. On Windows, which has no
    such timers, only the worker's time-out holds.
    """
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, processor_seconds)


def _confine(memory_bytes: int) -> None:
    """Limits what this process can do and use."""
    # The worker ends it: service managers signal all processes of a service, and the worker
    # finishes its requests first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(_NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":  # other systems have the limit and do not enforce it
        _limit(resource.RLIMIT_AS, memory_bytes)


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))


if __name__ == "__main__":
    _confine(int(sys.argv[2]))
    serve(float(sys.argv[1]))
