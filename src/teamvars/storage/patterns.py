"""Patterns for LIKE, with `!` as the escape character."""

from teamvars.domain.names import fold


def containing(text: str) -> str:
    """The pattern of every folded name that has the text in it."""
    escaped = "".join(f"!{char}" if char in "!%_" else char for char in fold(text))
    return f"%{escaped}%"
