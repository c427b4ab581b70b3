"""`vars import`, `vars apply`: what a file says becomes what is there."""

from collections.abc import Collection
from typing import Annotated

import typer

from teamvars.cli.asking import is_terminal
from teamvars.cli.client import files
from teamvars.cli.client.api import connect
from teamvars.cli.client.applies import Work
from teamvars.cli.client.applying import How, change
from teamvars.cli.client.files import File, Prune, Written
from teamvars.cli.client.held import all_held, category_of
from teamvars.cli.client.options import AsJson, CategoryWord, DryRun, Yes, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.secrecy import Intent, Secrecy, secret_keys, settled, suggested
from teamvars.cli.client.tables import number
from teamvars.cli.client.wanted import Wanted, compare
from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note
from teamvars.domain.variables import Category

Sensitive = Annotated[
    bool | None,
    typer.Option(
        "--sensitive/--no-sensitive", help="Make all of them sensitive; or new ones readable."
    ),
]
SensitiveKeys = Annotated[
    list[str] | None,
    typer.Option("--sensitive-keys", metavar="GLOB", help="Make those that match sensitive."),
]
TakeSuggestions = Annotated[
    bool,
    typer.Option("--take-suggestions", help="Make new ones with a secret's name sensitive."),
]
SkipSensitive = Annotated[
    bool,
    typer.Option("--skip-sensitive", help="Do not change variables that are sensitive there."),
]


@placed("organization", "workspace")
def import_(
    where: Where,
    file: File,
    file_format: Written = None,
    category: CategoryWord = None,
    sensitive: Sensitive = None,
    sensitive_keys: SensitiveKeys = None,
    take_suggestions: TakeSuggestions = False,
    skip_sensitive: SkipSensitive = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add and update what a file says. The rest stays.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all. What is
    sensitive in one of them is made so where it is new.

    Example: teamvars vars import prod.tfvars --yes
    """
    _, wanted = files.wanted(file, file_format, category_of(category))
    told = _told(Secrecy(sensitive, sensitive_keys or (), take_suggestions, skip_sensitive))
    _make(where, wanted, (), told, How(yes, dry_run, as_json))


@placed("organization", "workspace")
def apply(
    where: Where,
    file: File,
    file_format: Written = None,
    category: CategoryWord = None,
    sensitive: Sensitive = None,
    sensitive_keys: SensitiveKeys = None,
    take_suggestions: TakeSuggestions = False,
    skip_sensitive: SkipSensitive = False,
    prune: Prune = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make variables what a file says.

    With --prune nothing else of their category stays. What is sensitive cannot be compared, and is
    sent again.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all. What is
    sensitive in one of them is made so where it is new.

    Example: teamvars vars apply prod.tfvars --prune --yes
    """
    of, wanted = files.wanted(file, file_format, category_of(category))
    told = _told(Secrecy(sensitive, sensitive_keys or (), take_suggestions, skip_sensitive))
    _make(where, wanted, (of,) if prune else (), told, How(yes, dry_run, as_json))


def _told(told: Secrecy) -> Secrecy:
    """What the command was told. Fails where that contradicts itself."""
    if told.takes_suggestions and told.sensitive is False:
        raise Failure("Give one of --no-sensitive and --take-suggestions.", USAGE)
    return told


def _make(
    where: Where,
    wanted: list[Wanted],
    prune: Collection[Category],
    told: Secrecy,
    how: How,
) -> None:
    """Makes what is wanted so in each workspace, once what is sensitive is settled."""
    api = connect(where)
    api.announce()
    asks = not how.yes and not how.dry_run and is_terminal()
    founds = all_held(api)
    hidden = secret_keys(founds)
    intents = settled([Intent(found, wanted) for found in founds], told)
    intents = suggested(intents, told, asks=asks)
    work = [
        Work(each.held, compare(each.held.variables, each.wanted, prune, hidden))
        for each in intents
    ]
    change(api, [_spared(one) for one in work] if told.skips else work, how)


def _spared(work: Work) -> Work:
    """The same without what is sensitive already, unless it is to go."""
    held, changes, _ = work
    kept = [
        one for one in changes if one.wanted is None or not (one.before and one.before.sensitive)
    ]
    if left := len(changes) - len(kept):
        are = "is left as it is" if left == 1 else "are left as they are"
        note(f"{held.name}: {number(left, 'sensitive variable')} {are}.")
    return Work(held, kept)
