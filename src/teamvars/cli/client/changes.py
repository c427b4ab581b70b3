"""What a workspace should hold, what has to change for that, and how that is shown."""

import sys
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from teamvars.domain.applies import Outcome
from teamvars.domain.key_names import says_secret
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable
from teamvars.kernel.discreet import Discreet
from teamvars.kernel.variables import Category

_WIDTH = 40
SIGNS = {Outcome.CREATED: "+", Outcome.UPDATED: "~", Outcome.DELETED: "-"}
SENSITIVE = "(sensitive)"
HIDDEN = "(hidden)"
_OVERWRITTEN = "write-only, will be overwritten"
NOTHING = "There is nothing to change."

Show = Callable[[str | None], str]


class Wanted(Discreet, frozen=True):
    """What a variable should be; None leaves it as it is, or as a new one is."""

    key: str
    category: Category
    value: str | None = None
    hcl: bool | None = None
    sensitive: bool | None = None
    description: str | None = None

    def changes(self, before: Variable) -> list[str]:
        """The names of what would be another. A sensitive value counts as one: nobody sees it."""
        return [
            name
            for name in ("value", "hcl", "sensitive", "description")
            if getattr(self, name) not in (None, getattr(before, name))
            and (name != "hcl" or self.category is Category.TOOL)
        ]


class Change(Discreet, frozen=True):
    """What becomes of one variable. `before` is None for a new one, `wanted` for one that goes."""

    outcome: Outcome
    key: str
    category: Category
    before: Variable | None
    wanted: Wanted | None
    names: Sequence[str] = ()
    """Of what will be another."""
    unseen: bool = False
    """Whether its values are not to be shown, whatever it is called."""

    @property
    def after(self) -> Variable | None:
        """What the variable will be; of a new one, without an id and a version."""
        if self.wanted is None:
            return None
        want, before = self.wanted, self.before or _nothing(self.key, self.category)
        return replace(
            before,
            value=before.value if want.value is None else want.value,
            hcl=before.hcl if want.hcl is None else want.hcl,
            sensitive=before.sensitive or bool(want.sensitive),
            description=before.description if want.description is None else want.description,
        )

    @property
    def is_hidden(self) -> bool:
        """Whether no value is shown, past or future: the key says what it is, or it is unseen."""
        return self.unseen or says_secret(self.key)

    @property
    def is_secret(self) -> bool:
        """Whether the value that it will have is not to be shown."""
        return self.is_hidden or (self.after is not None and self.after.sensitive)

    @property
    def is_unknown(self) -> bool:
        """Whether nobody can tell if anything changes: it is about a sensitive value alone."""
        return self.before is not None and self.before.sensitive and list(self.names) == ["value"]


def _nothing(key: str, category: Category) -> Variable:
    """What a new variable is before anything is said of it."""
    return Variable("", "", key, "", "", category, False, False, "", 0)


def deleted(variable: Variable, *, unseen: bool = False) -> Change:
    """That it goes."""
    name = variable.key, variable.category
    return Change(Outcome.DELETED, *name, variable, None, unseen=unseen)


def compare(
    variables: Sequence[Variable],
    wanted: Sequence[Wanted],
    prune: Collection[Category] = (),
    hidden: Collection[str] = (),
) -> list[Change]:
    """What changes, in the order of `wanted`, and then what goes: of the categories to `prune`.

    Values of the keys that are `hidden` are not to be shown.
    """
    present = {(one.key, one.category): one for one in variables}
    changes = []
    for want in wanted:
        name, unseen = (want.key, want.category), want.key in hidden
        before = present.pop(name, None)
        if before is None:
            changes.append(Change(Outcome.CREATED, *name, None, want, unseen=unseen))
        elif names := want.changes(before):
            changes.append(Change(Outcome.UPDATED, *name, before, want, names, unseen))
    gone = (one for one in present.values() if one.category in prune)
    return [*changes, *(deleted(one, unseen=one.key in hidden) for one in gone)]


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
