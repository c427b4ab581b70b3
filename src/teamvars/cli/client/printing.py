"""Text that is wanted as it is, byte for byte."""

import sys

from teamvars.cli.output import say, writing


def say_text(text: str) -> None:
    """The text on stdout: as it is for a program, and so that it commands nothing on a terminal."""
    if sys.stdout.isatty():
        for line in text.removesuffix("\n").split("\n"):
            say(line)
        return
    with writing(sys.stdout):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
