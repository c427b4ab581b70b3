"""The worker's end of the subprocess that parses and evaluates long code. It blocks: call it in a
thread.

A thread, and not the subprocess support of the event loop: uvloop forks, which stops the loop for
milliseconds, the more the larger the worker is. And as one call sends a job and reads its reply,
no reply is taken for that of another job.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event
from typing import TypeVar

import msgspec

from teamvars.services.code import child
from teamvars.services.code.child import TooComplex

_CHILD = "teamvars.services.code.child"

T = TypeVar("T")


class Limits(msgspec.Struct, frozen=True):
    """Limits of one job: processor time, elapsed time including waits, and memory."""

    processor_seconds: float = 2.0
    seconds: float = 10.0
    memory_bytes: int = 384 * 1024 * 1024


class Killed(Exception):
    """A signal has ended the process, other than that of its processor time."""


class Process:
    """At most one subprocess, started for the first job, and again after it has ended.

    Not thread-safe, but for `kill`, which may be called while another thread is in `examine`.
    """

    def __init__(self, limits: Limits) -> None:
        self._arguments = (str(limits.processor_seconds), str(limits.memory_bytes))
        self._running: subprocess.Popen[bytes] | None = None

    def examine(
        self, job: child.AnyJob, results: msgspec.msgpack.Decoder[T | None], given_up: Event
    ) -> T:
        """The result of the job, which the decoder reads. Raises TooComplex, Killed, and OSError
        when no process can be started.

        Whoever gives up sets `given_up` and calls `kill`.
        """
        if self._running is None or self._running.poll() is not None:
            self.end()
            self._start(given_up)
        assert self._running is not None
        try:
            reply = results.decode(self._answer(child.message(job)))
        except (BrokenPipeError, EOFError):
            raise _reason(self._running.wait()) from None
        if reply is None:
            raise TooComplex
        return reply

    def kill(self) -> None:
        """Kills the process, and with it the job; it has no state to lose."""
        if self._running is not None:
            self._running.kill()

    def end(self) -> None:
        """Kills the process and reaps it."""
        process, self._running = self._running, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError):  # a part of a job may still be in the buffer
                process.__exit__(None, None, None)

    def _start(self, given_up: Event) -> None:
        self._running = process = subprocess.Popen(
            # -P: nothing is imported from the current directory.
            [sys.executable, "-P", "-m", _CHILD, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could contain code
            # Without the settings, one of which may contain a password: it runs untrusted code.
            env={k: v for k, v in os.environ.items() if not k.startswith("TEAMVARS_")},
        )
        if given_up.is_set():  # before there was a process to kill
            process.kill()
        assert process.stdout is not None
        # No untrusted code before it has confined itself.
        if process.stdout.read(len(child.READY)) != child.READY:
            code = process.wait()
            raise Killed if code < 0 else ChildProcessError(f"ended with code {code} at its start")

    def _answer(self, message: bytes) -> bytes:
        assert self._running is not None
        jobs, replies = self._running.stdin, self._running.stdout
        assert jobs is not None and replies is not None
        jobs.write(message)
        jobs.flush()
        length = int.from_bytes(_whole(replies.read(child.LENGTH_BYTES), child.LENGTH_BYTES), "big")
        return _whole(replies.read(length), length)


def _whole(read: bytes, length: int) -> bytes:
    if len(read) < length:
        raise EOFError
    return read


def _reason(code: int) -> Exception:
    """What the exit code of the process means."""
    if sys.platform != "win32" and code == -signal.SIGPROF:
        return TooComplex()
    if code < 0:
        return Killed()
    return RuntimeError(f"the process for code has ended by itself, with code {code}")
