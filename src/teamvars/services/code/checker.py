"""Parses and evaluates code, and files of it: short code on the event loop, all else in a
subprocess.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Event
from typing import TypeVar

import msgspec
import structlog
from msgspec.msgpack import Decoder

from teamvars.domain.errors import BUSY, TOO_COMPLEX, Code, Fault, Refusal
from teamvars.fair_slots import FairLock
from teamvars.hcl import Expression
from teamvars.services.code import child
from teamvars.services.code.child import AnyJob
from teamvars.services.code.examination import (
    QUICK_BYTES,
    QUICK_TO_EVALUATE_BYTES,
    CheckJob,
    CodeError,
    Examination,
    FileJob,
    Job,
    TooComplex,
    evaluated_at_once,
    has_at_most,
    read,
)
from teamvars.variable_files import Format, ParsedFile

log = structlog.get_logger("teamvars.code")

_CHILD = "teamvars.services.code.child"
_BATCH_BYTES = 16 * 1024
"""How much code is sent to the subprocess at a time, unless one piece is longer."""

T = TypeVar("T")

_EXAMINATIONS: Decoder[Examination | None] = Decoder(Examination | None)
_CHECKS: Decoder[list[CodeError | None] | None] = Decoder(list[CodeError | None] | None)
_PARSED_FILES: Decoder[ParsedFile | None] = Decoder(ParsedFile | None)


class Limits(msgspec.Struct, frozen=True):
    """Limits of one job: processor time, elapsed time including waits, and memory."""

    processor_seconds: float = 2.0
    seconds: float = 10.0
    memory_bytes: int = 384 * 1024 * 1024


_USUAL = Limits()


class CodeChecker:
    """Parses and evaluates untrusted code; one instance a worker.

    It starts a subprocess for the first code that may take long, and keeps it for the next.
    """

    def __init__(self, limits: Limits = _USUAL) -> None:
        self._limits = limits
        self._short = asyncio.Lock()
        self._process_lock = FairLock()
        self._process = Process(self._limits)
        self._thread = ThreadPoolExecutor(1, "code")

    async def verdicts(self, principal: str, texts: Sequence[str]) -> Sequence[Fault | None]:
        """Why each text is refused as code, without a pointer. Refuses as `check` does."""
        return [_fault(error) for error in await self.check(principal, texts)]

    async def check(
        self, principal: str, sources: Sequence[str]
    ) -> list[CodeError | TooComplex | None]:
        """Why each source is not exactly one expression; None: it is.

        `principal` is the id of whoever sent them. Refuses: busy, too many requests.
        """
        if has_at_most(QUICK_BYTES, "".join(sources)):
            return [await self._checked_here(source) for source in sources]
        found: list[CodeError | TooComplex | None] = []
        for batch in _batches(sources):
            found += await self._checked(principal, batch)
        return found

    async def evaluate(self, principal: str, source: str) -> Examination:
        """What the source comes to. Refuses as `check` does. Raises TooComplex."""
        if has_at_most(QUICK_TO_EVALUATE_BYTES, source):
            found = await self._evaluated_here(source)
            if found is not None:
                return found
        return await self._result(principal, Job(source), _EXAMINATIONS)

    async def parse_file(self, principal: str, file_format: Format, content: str) -> ParsedFile:
        """What the file defines. Refuses and raises as `evaluate` does."""
        return await self._result(principal, FileJob(file_format, content), _PARSED_FILES)

    async def close(self) -> None:
        """Ends the process, if there is one."""
        self._process.kill()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._process.end)
        self._thread.shutdown()

    async def _checked_here(self, source: str) -> CodeError | None:
        async with self._short:
            expression = read(source)
            # The lock is held for an iteration of the event loop: of many pieces of code that
            # arrive at the same time one is parsed an iteration, with all other work in between.
            await asyncio.sleep(0)
        return expression if isinstance(expression, CodeError) else None

    async def _checked(
        self, principal: str, sources: Sequence[str]
    ) -> list[CodeError | TooComplex | None]:
        """The same by the subprocess; of a batch that is too complex each source by itself."""
        try:
            return [*await self._result(principal, CheckJob(tuple(sources)), _CHECKS)]
        except TooComplex as error:
            if len(sources) == 1:
                return [error]
        return [found for each in sources for found in await self._checked(principal, [each])]

    async def _evaluated_here(self, source: str) -> Examination | None:
        """The result, within two iterations of the loop; None: it may take longer.

        A `for` or a splat repeats an expression, so that the number of steps is no bound of time.
        """
        async with self._short:
            expression = read(source)
            repeats = isinstance(expression, Expression) and expression.repeats
            await asyncio.sleep(0)
            if isinstance(expression, CodeError):
                return Examination(valid=False, error=expression)
            found = None if repeats else evaluated_at_once(source, expression)
            await asyncio.sleep(0)
        return found

    async def _result(self, principal: str, job: AnyJob, results: Decoder[T | None]) -> T:
        """The result of the subprocess, in `Limits.seconds` including the wait for the lock."""
        try:
            async with (
                asyncio.timeout(self._limits.seconds),
                self._process_lock.held_by(principal),
            ):
                try:
                    return await self._asked(job, results)
                except Killed:
                    # The signal may have nothing to do with this code. If it happens again it has:
                    # the code has crashed the interpreter, or used up the memory of the host.
                    return await self._asked(job, results)
        except TimeoutError:
            raise Refusal(BUSY) from None
        except Killed:
            raise TooComplex from None
        except OSError as error:
            log.error("the process for code does not start", exc_info=error)
            raise Refusal(BUSY) from None

    async def _asked(self, job: AnyJob, results: Decoder[T | None]) -> T:
        loop, given_up = asyncio.get_running_loop(), Event()
        examine = partial(self._process.examine, job, results, given_up)
        try:
            return await loop.run_in_executor(self._thread, examine)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: it ends when the subprocess does. Else the next job
            # would wait for a result that has no caller.
            given_up.set()
            self._process.kill()
            raise


class Killed(Exception):
    """A signal has ended the process, other than that of its processor time."""


class Process:
    """At most one subprocess, started for the first job, and again after it has ended.

    It blocks, and so is called in a thread: uvloop forks for the subprocess support of the event
    loop, which stops the loop for milliseconds, the more the larger the worker is. And as one call
    sends a job and reads its reply, no reply is taken for that of another job.

    Not thread-safe, but for `kill`, which may be called while another thread is in `examine`.
    """

    def __init__(self, limits: Limits) -> None:
        self._arguments = (str(limits.processor_seconds), str(limits.memory_bytes))
        self._running: subprocess.Popen[bytes] | None = None

    def examine(self, job: AnyJob, results: Decoder[T | None], given_up: Event) -> T:
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


def _batches(sources: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    room = _BATCH_BYTES
    for source in sources:
        if batch and len(source) > room:
            yield batch
            batch, room = [], _BATCH_BYTES
        batch.append(source)
        room -= len(source)
    if batch:
        yield batch


def _fault(error: CodeError | TooComplex | None) -> Fault | None:
    """Says the place and the rule, and never quotes the value."""
    if error is None:
        return None
    if isinstance(error, TooComplex):
        return TOO_COMPLEX
    return Fault(
        Code.HCL_SYNTAX,
        f"At line {error.line}, column {error.column}: {error.message}.",
        meta={"line": error.line, "column": error.column},
    )


def _whole(found: bytes, length: int) -> bytes:
    if len(found) < length:
        raise EOFError
    return found


def _reason(code: int) -> Exception:
    """What the exit code of the process means."""
    if sys.platform != "win32" and code == -signal.SIGPROF:
        return TooComplex()
    if code < 0:
        return Killed()
    return RuntimeError(f"the process for code has ended by itself, with code {code}")
