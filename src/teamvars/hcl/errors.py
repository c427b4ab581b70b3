"""The one way this package says no."""

from typing import Self

EXCERPT_BEFORE = 60
"""Characters of the offending line shown before the caret; a line can be a whole 256 KiB value."""

EXCERPT_AFTER = 20


class HclError(Exception):
    """A source that does not parse, or an expression that has no value.

    `message` names a rule and kinds of tokens, never a piece of the source: it may be published.
    `line` and `column` are 1-based; columns count characters. `name` is the unknown variable or
    function when that is the fault, else empty. `str(error)` also shows `name` and the offending
    line with a caret: it is for the owner of the source alone.
    """

    def __init__(
        self, message: str, line: int, column: int, *, name: str = "", excerpt: str = ""
    ) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column
        self.name = name
        self._excerpt = excerpt

    @classmethod
    def at(cls, source: str, offset: int, message: str, *, name: str = "") -> Self:
        """The error whose culprit begins at `offset`, in characters from the start of `source`."""
        start = source.rfind("\n", 0, offset) + 1
        line, column = source.count("\n", 0, offset) + 1, offset - start + 1
        return cls(message, line, column, name=name, excerpt=_excerpt(source, start, offset))

    def __str__(self) -> str:
        about = f"{self.message}: {self.name}" if self.name else self.message
        return f"line {self.line}, column {self.column}: {about}{self._excerpt}"


class TooMuchWork(HclError):
    """An evaluation that was given up, whatever it would have come to."""


def _excerpt(source: str, line_start: int, offset: int) -> str:
    """The part of the offending line around `offset` and, under it, the caret."""
    start = max(line_start, offset - EXCERPT_BEFORE)
    shown = source[start : offset + EXCERPT_AFTER]
    newline = shown.find("\n", offset - start)
    if newline >= 0:
        shown = shown[:newline]
    # Control characters could speak to the reader's terminal, and a tab would shift the caret.
    safe = "".join(character if character.isprintable() else " " for character in shown)
    return f"\n  {safe}\n  {' ' * (offset - start)}^"
