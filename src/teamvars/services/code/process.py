"""A worker's end of the process that reads and evaluates long code. It blocks: call it in a thread.

A thread and not the event loop's own means: those of uvloop fork, which stops the loop for
milliseconds, the more the larger the worker is; and whoever sends a job here also takes its reply,
so that no reply is ever taken for another's.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import msgspec

from teamvars.services.code import child
from teamvars.services.code.examination import Examination, Job, TooComplex

_CHILD = "teamvars.services.code.child"
_DECODER: msgspec.msgpack.Decoder[Examination | None] = msgspec.msgpack.Decoder(Examination | None)


class Limits(msgspec.Struct, frozen=True):
    """What one job may cost: time of a processor, time in all with waiting, and memory."""

    processor_seconds: float = 2.0
    seconds: float = 10.0
    memory_bytes: int = 384 * 1024 * 1024


class Killed(Exception):
    """Somebody or something has ended the process with a signal, and not for the time it took."""


class Process:
    """At most one process, started for the first job and again where it has ended.

    One thread at a time; only `kill` may be called beside it.
    """

    def __init__(self, limits: Limits) -> None:
        self._arguments = (str(limits.processor_seconds), str(limits.memory_bytes))
        self._running: subprocess.Popen[bytes] | None = None

    def examine(self, job: Job) -> Examination:
        """Raises TooComplex, Killed, and OSError where no process can be started."""
        if self._running is None or self._running.poll() is not None:
            self.end()
            self._running = self._started()
        try:
            reply = self._answer(child.message(job))
        except (BrokenPipeError, EOFError):
            raise _reason(self._running.wait()) from None
        if reply is None:
            raise TooComplex
        return reply

    def kill(self) -> None:
        """Ends the process, and so whatever it does; it has nothing that could be lost."""
        if self._running is not None:
            self._running.kill()

    def end(self) -> None:
        """Ends the process, and leaves nothing of it."""
        process, self._running = self._running, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError):  # a part of a job may still be in the buffer
                process.__exit__(None, None, None)

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            # -P: nothing is imported from the folder the server happens to run in.
            [sys.executable, "-P", "-m", _CHILD, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback there could hold some of the code
            # No setting, and so no password either: it runs what strangers have written.
            env={k: v for k, v in os.environ.items() if not k.startswith("TEAMVARS_")},
        )
        assert process.stdout is not None
        # What strangers have written is not sent before it has confined itself.
        if process.stdout.read(len(child.READY)) != child.READY:
            with process:
                raise ChildProcessError(f"ended with code {process.wait()} before its first job")
        return process

    def _answer(self, message: bytes) -> Examination | None:
        assert self._running is not None
        jobs, replies = self._running.stdin, self._running.stdout
        assert jobs is not None and replies is not None
        jobs.write(message)
        jobs.flush()
        length = int.from_bytes(_whole(replies.read(child.LENGTH_BYTES), child.LENGTH_BYTES), "big")
        return _DECODER.decode(_whole(replies.read(length), length))


def _whole(read: bytes, length: int) -> bytes:
    if len(read) < length:
        raise EOFError
    return read


def _reason(code: int) -> Exception:
    """What it means that the process has ended so."""
    if sys.platform != "win32" and code == -signal.SIGPROF:
        return TooComplex()
    if code < 0:
        return Killed()
    return RuntimeError(f"the process for code has ended by itself, with code {code}")
