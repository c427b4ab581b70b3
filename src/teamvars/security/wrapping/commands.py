"""A command that wraps keys: it is told `wrap` or `unwrap` as its last word, reads a key on its
standard input and writes one to its standard output.

What it has to say otherwise it says on standard error, which is that of this process.
"""

import os
import select
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from threading import Thread
from typing import IO

import msgspec

from teamvars.security.wrapping import MOST_BYTES, SECONDS, NotUnwrapped, Unavailable

LATER = os.EX_TEMPFAIL
"""The exit code of a command that may succeed later: sysexits.h has it."""


class Command(msgspec.Struct, frozen=True):
    """One by its words, without the last."""

    words: tuple[str, ...]
    seconds: float = SECONDS

    @classmethod
    def of(cls, text: str) -> "Command":
        """The command of a line, which is split as a shell does. Raises ValueError."""
        if not (words := shlex.split(text)) or "\0" in text:
            raise ValueError("command: needs the words of a command")
        return cls(tuple(words))

    @property
    def id(self) -> str:
        return "command"

    def wrap(self, key: bytes) -> bytes:
        return self._said("wrap", key)

    def unwrap(self, wrapped: bytes) -> bytes:
        return self._said("unwrap", wrapped)

    def _said(self, word: str, given: bytes) -> bytes:
        try:
            # A group of its own: what it has started is ended with it.
            process = subprocess.Popen(
                [*self.words, word],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NotUnwrapped(f"{self.words[0]} cannot be run: {error.strerror}.") from None
        try:
            said, code = _outcome(process, given, time.monotonic() + self.seconds)
        except (TimeoutError, subprocess.TimeoutExpired):
            text = f"{self.words[0]} has not ended after {self.seconds:g} seconds."
            raise Unavailable(text) from None
        if code == LATER:
            raise Unavailable(f"{self.words[0]} says to try again later (exit code {code}).")
        if code:
            raise NotUnwrapped(f"{self.words[0]} ends with exit code {code}.")
        return said


def _outcome(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, int]:
    """What it has said, and its exit code. Raises TimeoutError or TimeoutExpired."""
    try:
        said = _exchanged(process, given, deadline)
        return said, process.wait(max(deadline - time.monotonic(), 0))
    except BaseException:
        # Nobody has waited for it, so that the number is still its own. What has become another
        # account's, as sudo does, nobody here can end: it is waited for beside.
        with suppress(PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        Thread(target=process.wait, daemon=True).start()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _exchanged(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> bytes:
    """Writes what is given, and reads what comes, as long as there is time and not too much."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it may have ended unread
        pipe.write(given[:MOST_BYTES])
    said = bytearray()
    while piece := _read(process.stdout, deadline):
        said += piece
        if len(said) > MOST_BYTES:
            raise NotUnwrapped(f"it writes more than {MOST_BYTES} bytes.")
    return bytes(said)


def _read(pipe: IO[bytes], deadline: float) -> bytes:
    """What comes next; nothing at the end. Raises TimeoutError."""
    waiting = select.poll()  # a worker may have more files than select() knows
    waiting.register(pipe, select.POLLIN)
    if not waiting.poll(max(deadline - time.monotonic(), 0) * 1000):
        raise TimeoutError
    return os.read(pipe.fileno(), MOST_BYTES)
