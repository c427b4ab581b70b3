"""`vars import`, `vars apply`, `vars diff`: what a file says, and what is there."""

from collections.abc import Callable
from typing import Annotated

import typer

from teamvars.cli.client import files
from teamvars.cli.client.api import connect
from teamvars.cli.client.applying import How, change, counted
from teamvars.cli.client.held import Held, category_of, held
from teamvars.cli.client.options import AsJson, CategoryWord, DryRun, Yes, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.tables import change_row
from teamvars.cli.client.wanted import Change, compare
from teamvars.cli.output import DIFFERENCES, note, print_json, say_rows
from teamvars.domain.applies import Outcome
from teamvars.variable_files import Format

File = Annotated[
    str, typer.Argument(metavar="FILE", help=".env, .tfvars, JSON or YAML; - is standard input.")
]
Written = Annotated[Format | None, typer.Option("--format", help="How it is written.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete what the file does not have, of its category.")
]
Sensitive = Annotated[bool, typer.Option("--sensitive", help="Make all of them sensitive.")]


@placed("organization", "workspace")
def import_(
    where: Where,
    file: File,
    file_format: Written = None,
    category: CategoryWord = None,
    sensitive: Sensitive = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add and update what a file says. The rest stays.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all.

    Example: teamvars vars import prod.tfvars --yes
    """
    planned = _planned(file, file_format, category, sensitive=sensitive)
    change(connect(where), planned, How(yes, dry_run, as_json))


@placed("organization", "workspace")
def apply(
    where: Where,
    file: File,
    file_format: Written = None,
    category: CategoryWord = None,
    sensitive: Sensitive = False,
    prune: Prune = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make variables what a file says.

    With --prune nothing else of their category stays.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all.

    Example: teamvars vars apply prod.tfvars --prune --yes
    """
    planned = _planned(file, file_format, category, sensitive=sensitive, prune=prune)
    change(connect(where), planned, How(yes, dry_run, as_json))


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

    Exits with 3 where something would.

    Example: teamvars vars diff prod.tfvars
    """
    planned = _planned(file, file_format, category, prune=True)
    found = held(connect(where))
    everything = planned(found)
    changes = [one for one in everything if prune or one.outcome is not Outcome.DELETED]
    if as_json:
        print_json([_told(found, one) for one in changes])
    elif changes:
        say_rows([change_row(one, found.word(one.category)) for one in changes])
    note(f"{found.name}: {counted(changes)}.")
    if alone := len(everything) - len(changes):
        note(f"{found.name} has {alone} more that the file does not have (--prune).")
    if changes:
        raise typer.Exit(DIFFERENCES)


def _planned(
    file: str,
    file_format: Format | None,
    category: str | None,
    *,
    sensitive: bool = False,
    prune: bool = False,
) -> Callable[[Held], list[Change]]:
    """Reads the file; returns what tells the changes that it means for a workspace."""
    of, wanted = files.wanted(file, file_format, category_of(category), sensitive=sensitive)
    return lambda found: compare(found.variables, wanted, (of,) if prune else ())


def _told(found: Held, change: Change) -> dict[str, object]:
    return {
        "key": change.key,
        "category": found.word(change.category),
        "outcome": change.outcome.value,
        "changed": list(change.names),
    }
