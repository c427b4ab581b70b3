"""The subprocess that parses and evaluates long code, and parses files of variables.

It is started with `python -m teamvars.services.code.child`.

Messages are length-prefixed MessagePack documents: jobs on standard input, replies on standard
output. A job that exceeds its processor time ends the process; so does the end of its input, when
the worker has exited. It opens no files and writes nothing else.
"""

import os
import signal
import sys

import msgspec

from teamvars.services.code.examination import (
    CheckJob,
    CodeError,
    Examination,
    FileJob,
    Job,
    TooComplex,
    checked,
    examined,
)
from teamvars.variable_files import ParsedFile, parse

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
            return parse(job.format, job.content)
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
