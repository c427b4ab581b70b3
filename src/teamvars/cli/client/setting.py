"""`vars set`, `vars unset`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from teamvars.cli.asking import is_terminal, secret
from teamvars.cli.client.api import connect
from teamvars.cli.client.applying import How, change
from teamvars.cli.client.held import Held, category_of
from teamvars.cli.client.inputs import text_of
from teamvars.cli.client.options import AsJson, CategoryWord, DryRun, Yes, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.wanted import Change, Wanted, compare
from teamvars.cli.failures import Failure
from teamvars.cli.output import USAGE
from teamvars.domain.applies import Outcome
from teamvars.domain.variables import MAX_VALUE_BYTES, Category


@placed("organization", "workspace")
def set_(
    where: Where,
    words: Annotated[
        list[str], typer.Argument(metavar="KEY | KEY=VALUE…", help="What to set, and to what.")
    ],
    file: Annotated[
        str | None, typer.Option("--file", help="The value, byte for byte; - is standard input.")
    ] = None,
    category: CategoryWord = None,
    hcl: Annotated[bool | None, typer.Option("--hcl/--no-hcl", help="The value is code.")] = None,
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Nobody can read it again, for ever.")
    ] = False,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Set variables: make them, or give them another value.

    The value of a KEY alone is typed without being shown, or comes from standard input. In
    KEY=VALUE it stays in your shell's history: a sensitive one is refused there.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all.

    Example: teamvars vars set LOG_LEVEL=debug
    """
    entries = _entries(words)
    if sensitive and any("=" in word for word in words):
        raise Failure(_not_as_argument(entries), USAGE)
    if file is not None and any("=" in word for word in words):
        raise Failure("Give the value in the file or as an argument, not as both.", USAGE)
    of = category_of(category) or (Category.TOOL if hcl else None)
    api = connect(where)
    api.announce()
    values = {key: _asked(key, file) if value is None else value for key, value in entries.items()}

    def planned(found: Held) -> Sequence[Change]:
        known = {key: found.called(key) for key in entries}
        hidden = [key for key, value in entries.items() if value is not None]
        if any(one.sensitive for key in hidden for one in known[key]):
            raise Failure(_not_as_argument(hidden), USAGE)
        return compare(
            found.variables,
            [
                Wanted(key, _category(found, key, of), value, hcl, sensitive or None, description)
                for key, value in values.items()
            ],
        )

    change(api, planned, How(yes, dry_run, as_json, asks=False))


@placed("organization", "workspace")
def unset(
    where: Where,
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="What to delete.")],
    category: CategoryWord = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete variables, all or none. Nobody can bring a sensitive one back.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all.

    Example: teamvars vars unset OLD_FLAG --yes
    """
    of = category_of(category)

    def planned(found: Held) -> Sequence[Change]:
        going = [found.one(key, of) for key in dict.fromkeys(keys)]
        return [Change(Outcome.DELETED, one.key, one.category, one, None) for one in going]

    change(connect(where), planned, How(yes, dry_run, as_json))


def _entries(words: Sequence[str]) -> dict[str, str | None]:
    """Keys and what stands for their values; None where nothing does."""
    entries: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals and len(words) > 1:
            text = f"{key} has no value here. Give KEY=VALUE for each of several"
            raise Failure(f"{text}; a value that must not be seen goes by itself.", USAGE)
        if key in entries:
            raise Failure(f"{key} stands here twice.", USAGE)
        entries[key] = value if equals else None
    return entries


def _asked(key: str, file: str | None) -> str:
    """The value from the file, the person at the terminal, or standard input."""
    if file is not None:
        return text_of(file)
    value = secret(f"{key}: ", MAX_VALUE_BYTES + 1)
    if not value and not is_terminal():
        raise Failure(f"There is no value on standard input. An empty one: {key}=", USAGE)
    return value


def _category(found: Held, key: str, given: Category | None) -> Category:
    """That of the variable that is there; of a new one `env`, unless it is said."""
    if given is not None:
        return given
    return found.one(key, None).category if found.called(key) else Category.ENV


def _not_as_argument(keys: Sequence[str] | dict[str, str | None]) -> str:
    return (
        f"A sensitive value is no argument: your shell keeps it, and everybody on this host sees "
        f"it. Type it, or give it on standard input: teamvars vars set {next(iter(keys))}"
    )
