"""A worker's end of the process that reads and evaluates long code."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Self

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
    """One process, which does one job at a time.

    It takes replies in the order of jobs, so whoever does not wait for a reply has to `kill` it.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._jobs = process.stdin
        self._replies = process.stdout
        self._is_ready = False

    @classmethod
    async def start(cls, limits: Limits) -> Self:
        """Starts one. Raises OSError."""
        arguments = (str(limits.processor_seconds), str(limits.memory_bytes))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # nothing is imported from the folder the server happens to run in
            "-m",
            _CHILD,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # a traceback there could hold some of the code
            # No setting, and so no password either: it runs what strangers have written.
            env={name: text for name, text in os.environ.items() if not _is_setting(name)},
        )
        return cls(process)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self._process.returncode is None

    async def examine(self, job: Job) -> Examination:
        """Raises TooComplex and Killed, and ChildProcessError where it cannot take any job.

        Afterwards there may be no process any more.
        """
        await self._ready()
        try:
            self._jobs.write(child.message(job))
            await self._jobs.drain()
            length = int.from_bytes(await self._replies.readexactly(child.LENGTH_BYTES), "big")
            reply = _DECODER.decode(await self._replies.readexactly(length))
        except (ConnectionError, asyncio.IncompleteReadError):
            raise _reason(await self._process.wait()) from None
        if reply is None:
            raise TooComplex
        return reply

    async def _ready(self) -> None:
        """Waits until it has confined itself. What strangers have written is not sent before."""
        if not self._is_ready:
            if await self._replies.read(len(child.READY)) != child.READY:
                code = await self._process.wait()
                raise ChildProcessError(f"it has ended with code {code} before its first job")
            self._is_ready = True

    def kill(self) -> None:
        """Ends it at once; it has nothing that could be lost."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> None:
        """Reads what there is to read, so that its pipes are closed and nothing is left of it."""
        self._jobs.close()
        with suppress(ConnectionError):
            await self._process.communicate()


def _is_setting(name: str) -> bool:
    return name.startswith("TEAMVARS_")


def _reason(code: int) -> Exception:
    """What it means that the process has ended so."""
    if sys.platform != "win32" and code == -signal.SIGPROF:
        return TooComplex()
    if code < 0:
        return Killed()
    return RuntimeError(f"the process for code has ended by itself, with code {code}")
