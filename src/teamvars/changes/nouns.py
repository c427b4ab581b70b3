"""How the needs of decisions are looked up, and their writes written, noun by noun."""

from collections.abc import Callable, Mapping
from typing import Any

from teamvars.changes import directory, runners, team_members, trails, variables
from teamvars.changes.looks import LookUp, LookUps
from teamvars.changes.tools import Tools
from teamvars.decisions import Found, Need, Write
from teamvars.storage.database import Statement

_LOOK_UPS: LookUps = {
    **trails.LOOK_UPS,
    **directory.LOOK_UPS,
    **variables.LOOK_UPS,
    **team_members.LOOK_UPS,
    **runners.LOOK_UPS,
}
_STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    **directory.STATEMENTS,
    **variables.STATEMENTS,
    **team_members.STATEMENTS,
    **runners.STATEMENTS,
}


def look_up(need_type: type[Need[Any]]) -> LookUp:
    """How needs of a kind are looked up."""
    return _LOOK_UPS[need_type]


def statement(tools: Tools, found: Found, write: Write) -> Statement:
    """The statement that writes it."""
    return _STATEMENTS[type(write)](tools, found, write)
