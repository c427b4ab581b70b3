"""Text that is wanted as it is, byte for byte."""

import os
import sys

import typer

from teamvars.cli.output import CLOSED_PIPE, say


def say_text(text: str) -> None:
    """The text on stdout: as it is for a program, and so that it commands nothing on a terminal."""
    if sys.stdout.isatty():
        for line in text.removesuffix("\n").split("\n"):
            say(line)
        return
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Else the interpreter would complain when it writes what is left at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
