"""The process that reads and evaluates long code: `python -m teamvars.services.code.child`.

A message is four bytes of length and a MessagePack document, jobs on standard input and replies on
standard output. A job that takes too long ends the process; so does the end of its input, when the
worker it belongs to has gone. It opens nothing and writes nothing else.
"""

import os
import signal
import sys

import msgspec

from teamvars.services.code.examination import Examination, Job, TooComplex, examined

if sys.platform != "win32":
    import resource

LENGTH_BYTES = 4
"""Of the number before each message, the most significant byte first."""

READY = b"\x06"
"""What it says once it is confined and can take a job."""

_NICENESS = 5


def message(document: Job | Examination | None) -> bytes:
    """The document as it goes through the pipe; None stands for code that is too complex."""
    body = msgspec.msgpack.encode(document)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def serve(processor_seconds: float) -> None:
    """Takes one job after another until the input ends."""
    decoder = msgspec.msgpack.Decoder(Job)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(READY)
    sink.flush()
    while header := source.read(LENGTH_BYTES):
        body = source.read(int.from_bytes(header, "big"))
        _end_after(processor_seconds)
        sink.write(_reply(decoder, body))
        sink.flush()
        _end_after(0)


def _reply(decoder: msgspec.msgpack.Decoder[Job], body: bytes) -> bytes:
    try:
        return message(examined(decoder.decode(body)))
    except (TooComplex, MemoryError):
        return message(None)


def _end_after(processor_seconds: float) -> None:
    """Has the kernel end this process when it has used that much time; 0 takes it back.

    RLIMIT_CPU, which is for this, counts whole seconds of the process's life. Without timers, on
    Windows, there is only the worker's own patience.
    """
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, processor_seconds)


def _confine(memory_bytes: int) -> None:
    """Gives up whatever this process must not have or do."""
    # The worker decides when to end it: whoever stops a server may signal all of its processes, and
    # requests under way are finished first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(_NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":  # others have the limit and do not keep to it
        _limit(resource.RLIMIT_AS, memory_bytes)


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))


if __name__ == "__main__":
    _confine(int(sys.argv[2]))
    serve(float(sys.argv[1]))
