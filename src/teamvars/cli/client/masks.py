"""What GitHub's runner is told of values, so that its log shows none of them."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator

from teamvars.cli.output import note, writing

_FEWEST = 4
"""Characters: what is shorter is part of too much else."""


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
