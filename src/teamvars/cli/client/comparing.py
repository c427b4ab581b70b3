"""`vars compare`: two workspaces side by side, or a workspace and a file."""

import sys
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from teamvars.cli.client.api import Api, Resource
from teamvars.cli.client.changes import HIDDEN, SENSITIVE, Wanted, in_full, number
from teamvars.cli.client.contents import Contents, category_of, contents_of, workspace_of
from teamvars.cli.client.files import Source, wanted_in
from teamvars.cli.client.options import category_option, connected, offered
from teamvars.cli.client.secrecy import attributes, secret_keys
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.options import OneOf, argument, command, flag, json_option, option
from teamvars.cli.output import Row, note, show
from teamvars.domain.key_names import says_secret
from teamvars.domain.names import is_name
from teamvars.domain.variables import Variable
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format


class Relation(StrEnum):
    """How a variable of the one side is to that of the other."""

    ONLY_A = "only-a"
    ONLY_B = "only-b"
    DIFFERENT = "different"
    SAME = "same"
    UNKNOWN = "unknown"
    """Nobody can tell: what they differ in, if in anything, is a sensitive value."""


_SIGNS = {
    Relation.ONLY_A: "<",
    Relation.ONLY_B: ">",
    Relation.DIFFERENT: "~",
    Relation.SAME: "=",
    Relation.UNKNOWN: "?",
}


class Pair(Discreet, frozen=True):
    """What two sides have of one name; None where a side has nothing."""

    key: str
    category: Category
    a: Variable | None
    b: Wanted | None

    @property
    def is_sensitive(self) -> bool:
        """Whether a value of the two can be read by nobody."""
        return any(side is not None and bool(side.sensitive) for side in (self.a, self.b))

    @property
    def differs(self) -> list[str]:
        """The names of what they are known to differ in."""
        if self.a is None or self.b is None:
            return []
        return [name for name in self.b.changes(self.a) if name != "value" or not self.is_sensitive]

    @property
    def relation(self) -> Relation:
        """In which of the groups it is."""
        if self.a is None or self.b is None:
            return Relation.ONLY_A if self.b is None else Relation.ONLY_B
        if self.differs:
            return Relation.DIFFERENT
        return Relation.UNKNOWN if self.is_sensitive else Relation.SAME


class Sides(NamedTuple):
    """What is compared. `secret`: keys whose values are not to be shown."""

    a: Contents
    name_of_b: str
    pairs: Sequence[Pair]
    secret: Collection[str]

    def hides(self, pair: Pair) -> bool:
        """Whether no value of it is shown, readable or not."""
        return pair.key in self.secret or says_secret(pair.key)


def paired(a: Sequence[Variable], b: Sequence[Wanted]) -> list[Pair]:
    """Every name that one of the two has, in the order of a list."""
    of_a = {(one.key, one.category): one for one in a}
    of_b = {(one.key, one.category): one for one in b}
    return [Pair(*name, of_a.get(name), of_b.get(name)) for name in sorted({*of_a, *of_b})]


@command
@argument("a", "A workspace.", metavar="A", shell_complete=offered("workspace"))
@argument(
    "b", "Another one, or a file: see 'import'.", metavar="B", shell_complete=offered("workspace")
)
@option("--format", "How the file B is written.", "form", type=OneOf(Format))
@category_option
@flag("--effective", "All that a run gets, from variable sets as well.")
@json_option
@connected("organization")
def compare(
    api: Api, a: str, b: str, form: Format | None, category: str | None, effective: bool
) -> None:
    """Compare two workspaces, or a workspace and a file.

    < is in A alone, > in B alone, ~ different and = the same. Sensitive variables are compared by
    key alone, since nobody can read them: these have a ?. Exits with 3 if anything other than =
    and ? was found.

    B is a file where it is no name of a workspace, as with a dot in it, or with --format. Only
    variables of the file's category are compared then.

    Example: teamvars vars compare network prod.tfvars
    """
    first = contents_of(api, workspace_of(api.workspace(a)), effective=effective)
    of = category_of(category)
    if form is not None or not is_name(b):
        of, wanted = wanted_in(Source(b, form, category))
        name_of_b, secret = b, secret_keys([first])
    else:
        second = contents_of(api, workspace_of(api.workspace(b)), effective=effective)
        wanted = [Wanted.like(one) for one in second.in_category(of)]
        name_of_b, secret = second.name, secret_keys([first, second])
    sides = Sides(first, name_of_b, paired(first.in_category(of), wanted), secret)
    show([_told(sides, one) for one in sides.pairs], [_row(sides, one) for one in sides.pairs])
    _sum_up(sides)
    if any(one.relation not in (Relation.SAME, Relation.UNKNOWN) for one in sides.pairs):
        sys.exit(DIFFERENCES)


def _row(sides: Sides, pair: Pair) -> Row:
    """A name for people: what A has, what B has, and what differs beside the value."""
    more = [name for name in pair.differs if name != "value"]
    return (
        _SIGNS[pair.relation],
        pair.key,
        sides.a.word(pair.category),
        _shown(sides, pair, pair.a),
        _shown(sides, pair, pair.b),
        ", ".join(more),
    )


def _shown(sides: Sides, pair: Pair, side: Variable | Wanted | None) -> str:
    if side is None:
        return ""
    if side.sensitive:
        return SENSITIVE
    return HIDDEN if sides.hides(pair) else in_full(side.value)


def _told(sides: Sides, pair: Pair) -> Resource:
    """The same for programs."""
    is_hidden = sides.hides(pair)
    return {
        "key": pair.key,
        "category": sides.a.word(pair.category),
        "relation": pair.relation.value,
        "differs": pair.differs,
        "a": attributes(pair.a, is_hidden=is_hidden),
        "b": attributes(pair.b, is_hidden=is_hidden),
    }


def _sum_up(sides: Sides) -> None:
    """Says on stderr how many there are of each group, and what cannot be compared."""
    many = {kind: sum(one.relation is kind for one in sides.pairs) for kind in Relation}
    note(
        f"{many[Relation.ONLY_A]} only in {sides.a.name}, "
        f"{many[Relation.ONLY_B]} only in {sides.name_of_b}, "
        f"{many[Relation.DIFFERENT]} different, {many[Relation.SAME]} the same."
    )
    both = [one for one in sides.pairs if one.is_sensitive and one.a and one.b]
    if both:
        said = "is" if len(both) == 1 else "are"
        note(
            f"{number(len(both), 'sensitive variable')} {said} compared by key alone, since nobody "
            "can read the values."
        )
