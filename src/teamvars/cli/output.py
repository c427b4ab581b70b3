"""How every command speaks: what goes to stdout, what to stderr, and how it ends."""

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TextIO

import msgspec

from teamvars.cli.exits import Failure, writing
from teamvars.cli.options import wants_json
from teamvars.domain.names import escaped

Fields = dict[str, object]
"""What a program is shown of something, by name."""
Row = Sequence[str]
"""The cells of a line of a table."""

_WIDEST = 80
"""Of a cell, in columns of a terminal, that those below and above it are as wide as: a longer one,
such as a value, would have every other row filled up to its end.
"""


def ended(failure: Failure) -> int:
    """Says on stderr why a command failed; returns what the process exits with."""
    with suppress(Failure):  # there is no place to say it
        note(f"teamvars: {failure}")
    return failure.code


def show(
    value: object, rows: Iterable[Row], *, said: str | None = None, empty: str | None = None
) -> None:
    """Prints what a command has to show: one JSON document for programs, where `--json` is given,
    in which an iterator is a list; else for people rows of equally many cells on stdout, and on
    stderr what is `said` of them, or where there are none, and it is given, `empty`.
    """
    if wants_json():
        for written in BytesIO(msgspec.json.format(msgspec.json.encode(value, enc_hook=list))):
            say(written.decode().removesuffix("\n"))
        return
    listed = [*rows]
    for line in aligned(listed):
        say(line)
    told = said if listed or empty is None else empty
    if told is not None:
        note(told)


def show_token(token_id: str, secret: str, ends: str, revoke: str) -> None:
    """Prints a token that was just made. `revoke` is the command that revokes it."""
    said = f"Token {token_id}, expires {ends}. It is shown only this once."
    with telling(f"Token {token_id} was made, and is shown to nobody: {revoke} {token_id}"):
        show({"id": token_id, "token": secret}, [(secret,)], said=said)


@contextmanager
def telling(*made: str) -> Iterator[None]:
    """In a `with` that goes on after something was made, such as to show it: where it fails, says
    on stderr that it was made all the same.
    """
    try:
        yield
    except (Failure, SystemExit, KeyboardInterrupt):
        for text in made:
            with suppress(Failure):
                note(f"teamvars: {text}")
        raise


def say(line: str) -> None:
    """One line on stdout; what is in it commands no terminal, whoever wrote it (see `escaped`)."""
    _write(line, sys.stdout)


def note(text: str) -> None:
    """A word to the person at the terminal, on stderr."""
    for line in text.split("\n"):
        _write(line, sys.stderr)


def aligned(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each row of equally many cells, each column as wide as its widest cell that is no
    wider than `_WIDEST`. Cells are escaped, since that makes them wider.
    """
    widths = [0] * len(rows[0]) if rows else []
    for row in rows:
        taken = (columns(escaped(cell)) for cell in row)
        both = zip(widths, taken, strict=True)
        widths = [max(width, wide if wide <= _WIDEST else 0) for width, wide in both]
    for row in rows:
        cells = (
            cell + " " * (width - columns(cell))
            for cell, width in zip(map(escaped, row), widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def columns(text: str) -> int:
    """How many columns of a terminal it takes: letters of some scripts take two, marks and joiners
    none."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
        if unicodedata.category(char) not in ("Mn", "Me", "Cf")
    )


def _write(line: str, stream: TextIO) -> None:
    """Writes a line, what the stream cannot have in the form of `escaped`."""
    text = escaped(line)
    try:
        text.encode(stream.encoding)
    except UnicodeEncodeError:
        text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    with writing(stream):
        stream.write(f"{text}\n")
        stream.flush()


def say_text(text: str) -> None:
    """The text on stdout: as it is for a program, and so that it commands nothing on a terminal."""
    if sys.stdout.isatty():
        for line in text.removesuffix("\n").split("\n"):
            say(line)
        return
    with writing(sys.stdout):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
