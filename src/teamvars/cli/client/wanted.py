"""What a workspace should hold, and what has to change for that."""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from teamvars.domain.applies import Outcome
from teamvars.domain.discreet import Discreet
from teamvars.domain.secret_names import says_secret
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
    held = {(one.key, one.category): one for one in variables}
    changes = []
    for want in wanted:
        name, unseen = (want.key, want.category), want.key in hidden
        before = held.pop(name, None)
        if before is None:
            changes.append(Change(Outcome.CREATED, *name, None, want, unseen=unseen))
        elif names := want.changes(before):
            changes.append(Change(Outcome.UPDATED, *name, before, want, names, unseen))
    gone = (one for one in held.values() if one.category in prune)
    return [*changes, *(deleted(one, unseen=one.key in hidden) for one in gone)]
