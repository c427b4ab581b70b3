"""What GitHub's runner is told of values, so that its log shows none of them."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator

from teamvars.cli.exits import Misuse, writing
from teamvars.cli.output import note

_FEWEST = 4
"""Characters: what is shorter is part of too much else."""


def require_log() -> None:
    """Fails where both streams are one pipe. The runner gives each its own, so it may be that
    somebody else reads this one, as with `2>&1 | tee`; without the `| tee` nobody can tell.
    """
    out, err = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    if stat.S_ISFIFO(err.st_mode) and os.path.samestat(out, err):
        raise Misuse(
            "Standard output and standard error are one pipe, so masks might go elsewhere than "
            "into the log, with the values: leave out 2>&1, or give --no-mask."
        )


def mask(values: Iterable[str]) -> None:
    """Has the log of GitHub Actions show none of these values.

    The runner reads both streams. What goes into a file stays there: then nothing is said.
    """
    commands = [f"::add-mask::{_escaped(one)}\n" for one in masked(values)]
    if not commands:
        return
    if stat.S_ISREG(os.fstat(sys.stderr.fileno()).st_mode):
        note("Values are not masked in the log: standard error goes into a file.")
        return
    with writing(sys.stderr):
        sys.stderr.flush()
        sys.stderr.buffer.write("".join(commands).encode())
        sys.stderr.buffer.flush()


def masked(values: Iterable[str]) -> Iterator[str]:
    """Each value, and each line of one that has several, once."""
    found = (text for value in values for text in (value, *value.splitlines()))
    for text in dict.fromkeys(found):
        if len(text.strip()) >= _FEWEST:
            yield text


def _escaped(text: str) -> str:
    """As a command of the runner's has it: one line, which begins no other command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
