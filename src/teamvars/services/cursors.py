"""Cursors as callers send them: the position after which a page of a list begins."""

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.pages import Position
from teamvars.security.cursors import Cursors

PARAMETER = "page[after]"
"""The query parameter that a cursor came in."""


def opened(
    cursors: Cursors, cursor: str | None, list_: str, kind: type[Position]
) -> Position | None:
    """The position that the cursor of that list stands for; without one, that of the beginning.

    Refuses what is no cursor of it.
    """
    if cursor is None:
        return None
    position = cursors.open(cursor, list_, kind)
    if position is None:
        detail = f"This {PARAMETER} is of no page of this list. Begin with the first one."
        raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=PARAMETER))
    return position
