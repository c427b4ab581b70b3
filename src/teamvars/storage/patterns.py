"""Patterns for LIKE, with `!` as the escape character."""

from teamvars.domain.names import fold


def containing(text: str) -> str:
    """The pattern of every folded name that has the text in it."""
    return f"%{_escaped(text)}%"


def matching(wildcard: str) -> str:
    """The pattern of every folded name that is this text, with `*` for any characters or none."""
    return "%".join(_escaped(part) for part in wildcard.split("*"))


def _escaped(text: str) -> str:
    return "".join(f"!{char}" if char in "!%_" else char for char in fold(text))
