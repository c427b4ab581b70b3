"""How every command speaks: what goes to stdout, what to stderr, and how it ends."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TextIO

import msgspec
import typer

from teamvars.cli.exits import CLOSED_PIPE, ERROR
from teamvars.cli.failures import Failure
from teamvars.domain.names import escaped


def fail(text: str, code: int = ERROR) -> NoReturn:
    """Ends the command with an error."""
    raise Failure(text, code)


def ended(failure: Failure) -> int:
    """Says on stderr why a command failed; returns what the process exits with."""
    try:
        note(f"teamvars: {failure}")
    except typer.Exit as closed:
        return closed.exit_code
    except Failure:
        pass  # there is no place to say it
    return failure.code


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    for line in msgspec.json.format(msgspec.json.encode(value)).decode().split("\n"):
        say(line)


def say(line: str) -> None:
    """One line on stdout; what is in it commands no terminal, whoever wrote it (see `escaped`)."""
    _write(line, sys.stdout)


def note(text: str) -> None:
    """A word to the person at the terminal, on stderr."""
    for line in text.split("\n"):
        _write(line, sys.stderr)


def say_rows(rows: Sequence[Sequence[str]]) -> None:
    """Prints rows of equally many cells on stdout, each column as wide as its widest cell."""
    for line in aligned(rows):
        say(line)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row of equally many cells, its columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _write(line: str, stream: TextIO) -> None:
    """Writes a line, what the stream cannot have in the form of `escaped`."""
    text = escaped(line)
    try:
        text.encode(stream.encoding)
    except UnicodeEncodeError:
        text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    with writing(stream):
        typer.echo(text, stream)


@contextmanager
def writing(stream: TextIO) -> Iterator[None]:
    """In a `with` that writes. Where nobody reads any more, as of `| head`, ends in silence."""
    try:
        yield
    except OSError as error:
        # Else the interpreter would complain when it writes what is left at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(CLOSED_PIPE) from None
        raise Failure(f"The output cannot be written: {error.strerror}.") from None
