"""`vars diff`: what an apply of a file would change."""

from typing import Any, NamedTuple

import typer

from teamvars.cli.client import files
from teamvars.cli.client.api import connect
from teamvars.cli.client.applying import counted
from teamvars.cli.client.files import File, Prune, Written
from teamvars.cli.client.held import Held, all_held, category_of, is_for_several
from teamvars.cli.client.options import AsJson, CategoryWord, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.secrecy import Intent, followed, secret_keys
from teamvars.cli.client.tables import change_row, in_full, number
from teamvars.cli.client.wanted import Change, compare
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.applies import Outcome
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable

_UNKNOWN = "sensitive, cannot be compared"


@placed("organization", "workspace")
def diff(
    where: Where,
    file: File,
    file_format: Written = None,
    category: CategoryWord = None,
    prune: Prune = False,
    as_json: AsJson = False,
) -> None:
    """Show what an apply of the file would change.

    Exits with 3 where something would. What is sensitive there cannot be compared: that is said,
    and is no difference.

    -w 'prod-*' or -w eu,us means each that matches.

    Example: teamvars vars diff prod.tfvars
    """
    of, wanted = files.wanted(file, file_format, category_of(category))
    api = connect(where)
    founds = all_held(api)
    hidden = secret_keys(founds)
    intents = followed([Intent(found, wanted) for found in founds])
    found = [
        Difference(each.held, one)
        for each in intents
        for one in compare(each.held.variables, each.wanted, (of,), hidden)
    ]
    shown = [one for one in found if prune or one.change.outcome is not Outcome.DELETED]
    if as_json:
        print_json([one.told() for one in shown])
    elif shown:
        say_rows([one.row()[0 if is_for_several(api) else 1 :] for one in shown])
    for each in intents:
        _sum_up(each.held, [one.change for one in found if one.held is each.held], prune=prune)
    if any(not one.change.is_unknown for one in shown):
        raise typer.Exit(DIFFERENCES)


class Difference(NamedTuple):
    """One change in one workspace."""

    held: Held
    change: Change

    def row(self) -> tuple[str, ...]:
        """For people, the workspace first."""
        word = self.held.word(self.change.category)
        if self.change.is_unknown:
            return self.held.name, "?", escaped(self.change.key), word, _UNKNOWN
        return self.held.name, *change_row(self.change, word, in_full)

    def told(self) -> dict[str, Any]:
        """For programs. What nobody may see is null, and `hidden` says so."""
        change = self.change
        return {
            "workspace": self.held.name,
            "key": change.key,
            "category": self.held.word(change.category),
            "outcome": "unknown" if change.is_unknown else change.outcome.value,
            "changed": list(change.names),
            "before": _attributes(change.before, change),
            "after": _attributes(change.after, change),
        }


def _attributes(variable: Variable | None, change: Change) -> dict[str, Any] | None:
    if variable is None:
        return None
    hidden = variable.sensitive or change.is_hidden
    return {
        "value": None if hidden else variable.value,
        "hidden": hidden,
        "hcl": variable.hcl,
        "sensitive": variable.sensitive,
        "description": variable.description,
    }


def _sum_up(held: Held, changes: list[Change], *, prune: bool) -> None:
    """Says on stderr how much differs, what nobody can say it of, and what only pruning takes."""
    known = [one for one in changes if not one.is_unknown]
    alone = [one for one in known if one.outcome is Outcome.DELETED and not prune]
    note(f"{held.name}: {counted([one for one in known if one not in alone], is_done=False)}.")
    if unknown := len(changes) - len(known):
        note(
            f"{held.name}: {number(unknown, 'sensitive value')} cannot be compared, since nobody "
            "reads them. An apply sends them again (--skip-sensitive)."
        )
    if alone:
        note(f"{held.name} has {len(alone)} more that the file does not have (--prune).")
