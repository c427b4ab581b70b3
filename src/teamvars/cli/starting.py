"""Commands that start another one, with more in its environment.

This process becomes the command. So signals reach it, a terminal stops and resumes it, and its
exit code is its own, all without anything of ours between; and nothing of ours stays in memory.
"""

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from teamvars.cli.exits import NO_COMMAND, NOT_EXECUTABLE, NOT_STARTED, Failure
from teamvars.cli.options import Decorator, Once

Values = Mapping[str, str]
"""An environment, or what is to be in one: values by name."""

_TEXT = ("utf-8", "surrogateescape")
"""How an environment is read and written, whatever the locale: byte for byte."""

_NOTHING_THERE = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENODEV,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Of a folder on the PATH, so also one whose file system has gone: the next is looked at."""


class Starter(Once):
    """A command that starts another: options end where that one begins, with `--` or without."""

    allow_interspersed_args = False

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context; wrong usage is a fault of this command's own, too."""
        try:
            return super().make_context(info_name, args, *rest, **more)
        except click.ClickException as error:
            usage = click.Context(self, info_name=f"teamvars {self.name}").get_usage()
            raise Failure(f"{error.format_message()}\n{usage}", NOT_STARTED) from None


def command_argument(**more: Any) -> Decorator:
    """The command to start, whose own words may be empty."""
    return click.argument("command", help="The command.", nargs=-1, metavar="-- CMD…", **more)


def own_environment() -> Values:
    """That of this process."""
    return {name.decode(*_TEXT): value.decode(*_TEXT) for name, value in os.environb.items()}


def become(command: Sequence[str], values: Values) -> NoReturn:
    """Turns this process into the command. Fails as shells do where there is none."""
    whole = {name.encode(*_TEXT): value.encode(*_TEXT) for name, value in values.items()}
    words = [*map(_bytes, command)]
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and what is ignored stays so in what a process becomes.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        _execute(words, whole)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last one: of an empty word
        raise Failure(f"There is no command '{command[0]}'.", NO_COMMAND) from None
    except OSError as error:
        if error.errno == errno.E2BIG:
            largest = max(values, key=lambda name: len(values[name]))
            raise Failure(
                f"This is more than an environment can hold; the largest is {largest}. --only "
                "leaves some out.",
                NOT_STARTED,
            ) from None
        raise Failure(f"{command[0]} cannot be run: {error.strerror}.", NOT_EXECUTABLE) from None


def _execute(words: list[bytes], whole: Mapping[bytes, bytes]) -> NoReturn:
    """The first of that name on the PATH. A script that does not say what reads it is for /bin/sh,
    as it is for `env`; `os.execvpe` would pass over it.
    """
    name = words[0]
    path = b"" if b"/" in name else whole.get(b"PATH", os.defpath.encode())
    refused: OSError = FileNotFoundError()
    for folder in path.split(b":"):
        place = b"/".join(filter(None, (folder, name)))
        try:
            os.execve(place, words, whole)  # noqa: S606 - becoming another is its purpose
        except PermissionError as error:
            refused = error
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                os.execve("/bin/sh", [b"/bin/sh", place, *words[1:]], whole)  # noqa: S606
            if error.errno not in _NOTHING_THERE:
                raise
    raise refused


def _bytes(word: str) -> bytes:
    """An argument as it was given: in the locale's letters, or in UTF-8 where it has none."""
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode()
