"""Variables and changes as rows for people."""

import sys
from collections.abc import Callable

from teamvars.cli.client.wanted import Change
from teamvars.domain.applies import Outcome
from teamvars.domain.names import escaped

_WIDTH = 40
SIGNS = {Outcome.CREATED: "+", Outcome.UPDATED: "~", Outcome.DELETED: "-"}
SENSITIVE = "(sensitive)"
HIDDEN = "(hidden)"
_OVERWRITTEN = "write-only, will be overwritten"
NOTHING = "There is nothing to change."

Show = Callable[[str | None], str]


def in_full(value: str | None) -> str:
    """A value for standard output, on one line: as `glance` on a terminal, else all of it."""
    return glance(value) if value is None or sys.stdout.isatty() else escaped(value)


def glance(value: str | None) -> str:
    """A value on one line and in short; nothing of one that cannot be read."""
    if value is None:
        return SENSITIVE
    text = escaped(value[: _WIDTH + 1])
    return text if len(value) <= _WIDTH and len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def number(count: int, one: str) -> str:
    """So many of them in words."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def change_row(change: Change, category: str, show: Show = glance) -> tuple[str, ...]:
    """What becomes of a variable; a value that is, or will be, sensitive is not shown, and neither
    is one that is hidden."""
    return SIGNS[change.outcome], escaped(change.key), category, _told(change, show)


def _told(change: Change, show: Show) -> str:
    before, wanted = change.before, change.wanted
    if before is None:
        assert wanted is not None
        return SENSITIVE if wanted.sensitive else _shown(change, wanted.value or "", show)
    if wanted is None:
        return _shown(change, before.value, show)
    return ", ".join(_other(name, change, show) for name in change.names)


def _other(name: str, change: Change, show: Show) -> str:
    before, wanted = change.before, change.wanted
    assert before is not None
    assert wanted is not None
    if name != "value":
        return name if name != "hcl" else f"hcl {str(wanted.hcl).lower()}"
    if before.sensitive:
        return _OVERWRITTEN
    after = SENSITIVE if wanted.sensitive else _shown(change, wanted.value, show)
    return f"{_shown(change, before.value, show)} -> {after}"


def _shown(change: Change, value: str | None, show: Show) -> str:
    """A value of the variable, unless it is hidden."""
    return HIDDEN if change.is_hidden and value is not None else show(value)
