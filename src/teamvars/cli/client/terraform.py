"""Variables of the tool as terraform takes them, at the rank of what is said for one run.

`TF_VAR_…` ranks below the files of a configuration; `-var-file` ranks above. So they go into a
file that is in memory alone, and that the command inherits: no path leads there for others.
"""

import fcntl
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from ctypes import CDLL, get_errno
from itertools import pairwise
from pathlib import Path

from teamvars.cli import named
from teamvars.cli.exits import Failure, Misuse
from teamvars.kernel.variables import Category, Variable

_COMMANDS = ("plan", "apply", "destroy", "refresh", "import", "console", "test")
"""Those of terraform that take variables."""
_ARGS = "TF_CLI_ARGS"
_PROGRAMS = frozenset(("terraform", "tofu", "terragrunt"))
_TAKING = frozenset(
    f"{dashes}{name}"
    for name in (
        *("var", "var-file", "target", "replace", "parallelism", "lock-timeout"),
        *("state", "state-out", "backup"),
    )
    for dashes in ("-", "--")
)
"""Options of an apply that take the next word, where they have no `=`."""

_LEAST = 100
"""Shells and scripts use small numbers for their own files."""
_READ_ONLY = 0o400
# As linux/memfd.h and linux/fcntl.h have them.
_CLOEXEC, _ALLOW_SEALING = 1, 2
_ADD_SEALS = 1033
_SEALS = 0b1111
"""Nothing is added, taken away or written over, nor may that be undone."""


def contradictions(
    variables: Sequence[Variable], command: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """What the command line, or the words that the environment adds to it, say otherwise."""
    tools = {one.key: one.value for one in variables if one.category is Category.TOOL}
    said = [*_said(command)]
    for name, text in environment.items():
        if name == _ARGS or name.startswith(f"{_ARGS}_"):
            said += _said(_words(name, text))
    return [
        f"-var {name} is another value than the workspace has for it. Leave out one of the two."
        for name, value in said
        if tools.get(name, value) not in (None, value)
    ]


def with_file(
    variables: Sequence[Variable], command: Sequence[str], environment: Mapping[str, str]
) -> dict[str, str]:
    """The environment, with a file of the variables for each command of terraform that takes one.

    An apply of a saved plan has its variables in the plan. Fails on a variable that no such file
    can have.
    """
    file = f"-var-file=/dev/fd/{_in_memory(_text(variables))}"
    names = [f"{_ARGS}_{one}" for one in _COMMANDS if not (one == "apply" and _applies(command))]
    more = {name: f"{environment.get(name, '')} {file}".strip() for name in names}
    return {**environment, **more}


def _text(variables: Sequence[Variable]) -> str:
    # Only here: what knows the language takes a while to load.
    form = named("teamvars.variable_files.writing:Writing").TFVARS
    written = named("teamvars.variable_files.writing:write")(form, variables)
    if written.unwritten:
        lines = [f"{one.key}: {one.detail}." for one in written.unwritten]
        raise Failure("\n".join([*lines, "--tf-var gives terraform values in its environment."]))
    text: str = written.text
    return text


def _in_memory(text: str) -> int:
    """The number of a file with that text, which nobody changes any more. What this process turns
    into inherits it.
    """
    try:
        made = _made_in_memory()
        with os.fdopen(made, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fchmod(made, _READ_ONLY)
            fcntl.fcntl(made, _ADD_SEALS, _SEALS)
            os.lseek(made, 0, os.SEEK_SET)
            return fcntl.fcntl(made, fcntl.F_DUPFD, _LEAST)  # which is inherited
    except OSError as error:
        raise Failure(
            f"There is no file in memory for terraform: {error.strerror}. Give --tf-var."
        ) from None


def _made_in_memory() -> int:
    """The number of a file that is empty. A Python that was built for every Linux does not offer
    it, so the C library is asked.
    """
    library = CDLL(None, use_errno=True)
    if not hasattr(library, "memfd_create"):
        raise Misuse("There are no files in memory here. Give --tf-var.")
    made: int = library.memfd_create(b"variables", _CLOEXEC | _ALLOW_SEALING)
    if made < 0:
        raise OSError(number := get_errno(), os.strerror(number))
    return made


def _applies(command: Sequence[str]) -> bool:
    """Whether it is terraform that applies a saved plan."""
    if not command or Path(command[0]).name not in _PROGRAMS:
        return False
    words = [
        word
        for former, word in pairwise(command)
        if not word.startswith("-") and former not in _TAKING
    ]
    return len(words) > 1 and words[0] == "apply"


def _said(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names and values that `-var` gives."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, pair = word.partition("=")
        if option not in ("-var", "--var"):
            continue
        name, _, value = (pair if equals else following).partition("=")
        yield name.strip(), value


def _words(name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise Misuse(f"{name} has a quotation mark that is not closed.") from None
