"""How commands end: what they exit with, which `teamvars --help` and docs/cli.md show, and why."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

DONE, ERROR, USAGE, DIFFERENCES, UNAUTHENTICATED, NOT_FOUND, CONFLICT, INVALID = range(8)
FORBIDDEN, BUSY, SERVICE_FAULT, NO_CONNECTION, UNKNOWN_OUTCOME = range(8, 13)
NOT_STARTED, NOT_EXECUTABLE, NO_COMMAND = 125, 126, 127
"""Of `run` and `exec`, as of `env`, `nice` and `timeout`."""
INTERRUPTED = 128 + 2
CLOSED_PIPE = 128 + 13
"""What a shell makes of a program that SIGPIPE has ended."""

MEANINGS = {
    DONE: "done",
    ERROR: "any other error",
    USAGE: "wrong usage: options, arguments, settings or a link",
    DIFFERENCES: "differences were found",
    UNAUTHENTICATED: "not authenticated",
    NOT_FOUND: "not found, or nothing that you may see",
    CONFLICT: "a conflict: somebody else has changed it",
    INVALID: "invalid: your input is refused",
    FORBIDDEN: "forbidden: you may see it, but not do this to it",
    BUSY: "the service is busy, limits you or cannot write; nothing was changed",
    SERVICE_FAULT: "a fault of the service",
    NO_CONNECTION: "no connection, or no answer to a request that changes nothing",
    UNKNOWN_OUTCOME: "unknown outcome: no answer to a change, or Ctrl-C while it was under way",
    NOT_STARTED: "run, exec: a fault of its own; the command was not started",
    NOT_EXECUTABLE: "run, exec: the command cannot be run",
    NO_COMMAND: "run, exec: there is no such command",
    INTERRUPTED: "Ctrl-C while no change was under way",
    CLOSED_PIPE: "nobody reads the output any more, as after head -n 1",
}


def epilog() -> str:
    """The list as help ends with it."""
    lines = (f"{code:>4}  {meaning}" for code, meaning in MEANINGS.items())
    return "\n".join(("Exit codes:", *lines))


class Failure(Exception):
    """Ends the command with an exit code; the text says what is wrong and what to do about it."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class Misuse(Failure):
    """Ends the command because of how it was called or set up: options, arguments, a link."""

    def __init__(self, text: str) -> None:
        super().__init__(text, USAGE)


@contextmanager
def writing(stream: TextIO) -> Iterator[None]:
    """In a `with` that writes. Where nobody reads any more, as of `| head`, ends in silence."""
    try:
        yield
    except OSError as error:
        # Else the interpreter would complain when it writes what is left at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(CLOSED_PIPE)
        raise Failure(f"The output cannot be written: {error.strerror}.") from None
