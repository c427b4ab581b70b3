"""Where code is read: short code on the event loop, all else in a process beside the worker."""

import asyncio

import structlog

from teamvars.domain.errors import busy
from teamvars.hcl import Expression
from teamvars.services.code.examination import (
    CodeError,
    Examination,
    Job,
    TooComplex,
    examined_quickly,
    is_quick,
    read,
)
from teamvars.services.code.process import Killed, Limits, Process
from teamvars.services.code.turns import Turns

log = structlog.get_logger("teamvars.code")


class CodeChecker:
    """Reads and evaluates code that anybody may have written; one a worker.

    It starts a process when the first code comes that may take long, and keeps it for the next.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._short = asyncio.Lock()
        self._turns = Turns()
        self._process: Process | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def check(self, principal: str, source: str) -> CodeError | None:
        """Why the source is not exactly one expression; None: it is.

        `principal` is the id of whoever sent it. Refuses: busy, too many requests. Raises
        TooComplex.
        """
        if is_quick(source):
            async with self._short:
                expression = await self._read(source)
            return expression if isinstance(expression, CodeError) else None
        return (await self._examined(principal, Job(source))).error

    async def evaluate(self, principal: str, source: str) -> Examination:
        """What the source comes to. Refuses and raises as `check` does."""
        found = await self._evaluated_here(source) if is_quick(source) else None
        return found or await self._examined(principal, Job(source, evaluate=True))

    async def close(self) -> None:
        """Ends the process, if there is one."""
        self._drop()
        await asyncio.gather(*self._ending)

    async def _evaluated_here(self, source: str) -> Examination | None:
        async with self._short:
            expression = await self._read(source)
            if isinstance(expression, CodeError):
                return Examination(valid=False, error=expression)
            found = examined_quickly(source, expression)
            await asyncio.sleep(0)
        return found

    async def _read(self, source: str) -> Expression | CodeError:
        """Reads one short source, and lets everything else have a turn of the loop before the next.

        Each takes some milliseconds at worst; of all that arrive together only one is read in a
        turn, and so the lock must be held.
        """
        expression = read(source)
        await asyncio.sleep(0)
        return expression

    async def _examined(self, principal: str, job: Job) -> Examination:
        """What the process says, waiting for its turn included."""
        try:
            async with asyncio.timeout(self._limits.seconds), self._turns.turn(principal):
                try:
                    return await self._asked(job)
                except Killed:
                    # Whoever did that may not have meant this code. If it happens again, it was
                    # the code: it has brought down the interpreter, or the memory of the host.
                    return await self._asked(job)
        except TimeoutError:
            raise busy() from None
        except Killed:
            raise TooComplex from None

    async def _asked(self, job: Job) -> Examination:
        try:
            return await (await self._running()).examine(job)
        except TooComplex:
            raise
        except OSError as error:
            log.error("the process for code does not start", exc_info=error)
            self._drop()
            raise busy() from None
        except BaseException:
            # Somebody has gone away, say. A reply that nobody has read would be taken for the
            # reply to the next job.
            self._drop()
            raise

    async def _running(self) -> Process:
        """The process, a new one where there is none that lives. Raises OSError."""
        if self._process is None or not self._process.is_running:
            self._drop()
            self._process = await Process.start(self._limits)
        return self._process

    def _drop(self) -> None:
        """Ends the process without waiting for it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            task = asyncio.ensure_future(process.ended())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
