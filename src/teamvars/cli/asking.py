"""What a command asks for: answers of the person at the terminal, standard input, files."""

import getpass
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from teamvars.cli.exits import ERROR, INVALID, Failure, Misuse, writing
from teamvars.cli.output import note
from teamvars.domain.names import escaped
from teamvars.signals import clearing_up

_MOST_OF_STDIN = 16 * 1024 * 1024
STDIN = "-"
_MOST_BYTES = 24 * 1024 * 1024


def is_terminal() -> bool:
    """Whether somebody is there who can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """Asks, unless `--yes` has answered already. Ends the command on any answer but y."""
    if yes:
        return
    if not is_terminal():
        raise Misuse("No terminal to confirm on. Give --yes to do it.")
    if not agrees(f"{question} [y/N] "):
        raise Failure("Nothing was changed.")


def agrees(question: str) -> bool:
    """Whether the person at the terminal says y."""
    return _answer(question).lower() in ("y", "yes")


def ask(question: str, instead: str) -> str:
    """A line that the person types; `instead` says what to give where there is no terminal."""
    if not is_terminal():
        raise Misuse(f"No terminal to answer on. Give {instead}.")
    return _answer(question)


def secret(question: str, most_bytes: int = _MOST_OF_STDIN) -> str:
    """What is typed without being shown, or, where there is no terminal, standard input.

    One line end at the end of standard input, LF or CRLF, does not count.
    """
    if sys.stdin.isatty():
        try:
            with _reading(), clearing_up():  # what is typed is shown again
                return getpass.getpass(escaped(question), stream=sys.stderr)
        except EOFError:
            raise Misuse("Nothing was given.") from None
    # A line end and a byte too many: what is cut off in the middle is too much whatever its end.
    with _reading():
        given = re.sub(rb"\r?\n\Z", b"", sys.stdin.buffer.read(most_bytes + 3))
    if len(given) > most_bytes:
        raise Misuse(f"Standard input has more than {most_bytes} bytes.")
    try:
        return given.decode()
    except UnicodeDecodeError:
        raise Misuse("Standard input is not UTF-8.") from None


def choose(kind: str, names: list[str], option: str) -> str:
    """One of these names: the only one, or what the person chooses by name or number."""
    if not names:
        raise Failure(f"You see no {kind} there. An owner can give a team of yours access.")
    if len(names) == 1:
        return names[0]
    if not is_terminal():
        raise Misuse(f"There are several: {', '.join(names)}. Give {option}.")
    for number, name in enumerate(names, 1):
        note(f"{number:3}  {name}")
    given = _answer(f"Which {kind}, by name or number? ")
    if given in names:
        return given
    if given.isdecimal() and 1 <= int(given) <= len(names):
        return names[int(given) - 1]
    raise Misuse("That is not one of them.")


def _answer(question: str) -> str:
    with writing(sys.stderr):
        sys.stderr.write(escaped(question))
        sys.stderr.flush()
    with _reading():
        return sys.stdin.readline().strip()


@contextmanager
def _reading() -> Iterator[None]:
    """In a `with` that reads standard input, such as what somebody types."""
    try:
        yield
    except UnicodeDecodeError:
        raise Misuse(
            f"What you typed has letters that the locale does not know ({sys.stdin.encoding}). "
            "Set LC_ALL to one with UTF-8, such as C.UTF-8."
        ) from None
    except OSError as error:  # as of a terminal that has gone
        raise Failure(f"Standard input cannot be read: {error.strerror}.") from None


def text_of(path: str) -> str:
    """What a file holds, or standard input for `-`, byte for byte. Fails without quoting it."""
    try:
        if path == STDIN:
            given = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                given = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", ERROR) from None
    if len(given) > _MOST_BYTES:
        raise Failure(f"{path} has more than {_MOST_BYTES} bytes.", INVALID)
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        raise Failure(f"{path}:{line}: This is not UTF-8.", INVALID) from None
