"""Rows for people: columns that stand below each other."""

from collections.abc import Sequence

from teamvars.cli.operator.context import say


def say_rows(rows: Sequence[Sequence[str]]) -> None:
    """Prints rows of equally many cells on stdout, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())
