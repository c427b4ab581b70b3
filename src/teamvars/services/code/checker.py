"""Parses and evaluates code, and files of it: short code on the event loop, all else in a
subprocess.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog
from msgspec.msgpack import Decoder

from teamvars.domain.errors import busy
from teamvars.hcl import Expression
from teamvars.services.code.examination import (
    QUICK_BYTES,
    QUICK_TO_EVALUATE_BYTES,
    CodeError,
    Examination,
    FileJob,
    Job,
    TooComplex,
    evaluated_at_once,
    has_at_most,
    read,
)
from teamvars.services.code.fair_lock import FairLock
from teamvars.services.code.process import Killed, Limits, Process
from teamvars.variable_files import Format, ParsedFile

log = structlog.get_logger("teamvars.code")

T = TypeVar("T")

_EXAMINATIONS: Decoder[Examination | None] = Decoder(Examination | None)
_PARSED_FILES: Decoder[ParsedFile | None] = Decoder(ParsedFile | None)


class CodeChecker:
    """Parses and evaluates untrusted code; one instance a worker.

    It starts a subprocess for the first code that may take long, and keeps it for the next.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._short = asyncio.Lock()
        self._process_lock = FairLock()
        self._process = Process(self._limits)
        self._thread = ThreadPoolExecutor(1, "code")

    async def check(self, principal: str, source: str) -> CodeError | None:
        """Why the source is not exactly one expression; None: it is.

        `principal` is the id of whoever sent it. Refuses: busy, too many requests. Raises
        TooComplex.
        """
        if has_at_most(QUICK_BYTES, source):
            return await self._checked_here(source)
        return (await self._result(principal, Job(source), _EXAMINATIONS)).error

    async def evaluate(self, principal: str, source: str) -> Examination:
        """What the source comes to. Refuses and raises as `check` does."""
        if has_at_most(QUICK_TO_EVALUATE_BYTES, source):
            found = await self._evaluated_here(source)
            if found is not None:
                return found
        return await self._result(principal, Job(source, evaluate=True), _EXAMINATIONS)

    async def parse_file(self, principal: str, file_format: Format, content: str) -> ParsedFile:
        """What the file defines. Refuses and raises as `check` does."""
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

    async def _result(self, principal: str, job: Job | FileJob, results: Decoder[T | None]) -> T:
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
            raise busy() from None
        except Killed:
            raise TooComplex from None
        except OSError as error:
            log.error("the process for code does not start", exc_info=error)
            raise busy() from None

    async def _asked(self, job: Job | FileJob, results: Decoder[T | None]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._process.examine, job, results)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: it ends when the subprocess does. Else the next job
            # would wait for a result that has no caller.
            self._process.kill()
            raise
