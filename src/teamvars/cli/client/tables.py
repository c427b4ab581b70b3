"""Variables and changes as rows for people."""

from teamvars.cli.client.wanted import Change
from teamvars.domain.applies import Outcome
from teamvars.domain.names import escaped

_WIDTH = 40
SIGNS = {Outcome.CREATED: "+", Outcome.UPDATED: "~", Outcome.DELETED: "-"}
SENSITIVE = "(sensitive)"
_OVERWRITTEN = "write-only, will be overwritten"
NOTHING = "There is nothing to change."


def glance(value: str | None) -> str:
    """A value on one line and in short; nothing of one that cannot be read."""
    if value is None:
        return SENSITIVE
    text = escaped(value[: _WIDTH + 1])
    return text if len(value) <= _WIDTH and len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def number(count: int, one: str) -> str:
    """So many of them in words."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def change_row(change: Change, category: str) -> tuple[str, ...]:
    """What becomes of a variable; a value that is, or will be, sensitive is not shown."""
    return SIGNS[change.outcome], escaped(change.key), category, _told(change)


def _told(change: Change) -> str:
    before, wanted = change.before, change.wanted
    if before is None:
        assert wanted is not None
        return SENSITIVE if wanted.sensitive else glance(wanted.value or "")
    if wanted is None:
        return glance(before.value)
    return ", ".join(_other(name, change) for name in change.names)


def _other(name: str, change: Change) -> str:
    before, wanted = change.before, change.wanted
    assert before is not None
    assert wanted is not None
    if name != "value":
        return name if name != "hcl" else f"hcl {str(wanted.hcl).lower()}"
    if before.sensitive:
        return _OVERWRITTEN
    if wanted.sensitive:
        return f"{glance(before.value)} -> {SENSITIVE}"
    return f"{glance(before.value)} -> {glance(wanted.value)}"
