"""What a workspace should hold, and what has to change for that."""

from collections.abc import Collection, Sequence

from teamvars.domain.applies import Outcome
from teamvars.domain.discreet import Discreet
from teamvars.domain.variables import Category, Variable


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


def compare(
    variables: Sequence[Variable], wanted: Sequence[Wanted], prune: Collection[Category] = ()
) -> list[Change]:
    """What changes, in the order of `wanted`, and then what goes: of the categories to `prune`."""
    held = {(one.key, one.category): one for one in variables}
    changes = []
    for want in wanted:
        before = held.pop((want.key, want.category), None)
        if before is None:
            changes.append(Change(Outcome.CREATED, want.key, want.category, None, want))
        elif names := want.changes(before):
            changes.append(Change(Outcome.UPDATED, want.key, want.category, before, want, names))
    gone = [one for one in held.values() if one.category in prune]
    return [*changes, *(Change(Outcome.DELETED, one.key, one.category, one, None) for one in gone)]
