"""`vars set`, `vars unset`."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from teamvars.cli.asking import is_terminal, secret
from teamvars.cli.client.api import connect
from teamvars.cli.client.applies import Work
from teamvars.cli.client.applying import How, change
from teamvars.cli.client.held import Held, all_held, category_of, is_for_several
from teamvars.cli.client.inputs import text_of
from teamvars.cli.client.options import AsJson, CategoryWord, DryRun, Yes, offered, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.secrecy import Intent, Secrecy, secret_keys, settled
from teamvars.cli.client.wanted import Wanted, compare, deleted
from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note
from teamvars.domain.names import escaped
from teamvars.domain.variables import MAX_VALUE_BYTES, Category, Variable


@placed("organization", "workspace")
def set_(
    where: Where,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY | KEY=VALUE…",
            help="What to set, and to what.",
            autocompletion=offered("key"),
        ),
    ],
    file: Annotated[
        str | None, typer.Option("--file", help="The value, byte for byte; - is standard input.")
    ] = None,
    category: CategoryWord = None,
    hcl: Annotated[bool | None, typer.Option("--hcl/--no-hcl", help="The value is code.")] = None,
    sensitive: Annotated[
        bool | None,
        typer.Option(
            "--sensitive/--no-sensitive",
            help="Make it sensitive for ever; or make new ones readable.",
        ),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Set variables: make them, or give them another value.

    The value of a KEY alone is typed without being shown, or comes from standard input. In
    KEY=VALUE it stays in your shell's history: a sensitive one is refused there. What others change
    meanwhile does not matter, unless it is the same variable.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all. What is
    sensitive in one of them is made so where it is new.

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
    founds = all_held(api)
    _refuse_arguments(entries, founds)

    hidden = secret_keys(founds) | {key for key, value in entries.items() if value is None}

    def intended(found: Held) -> Intent:
        wanted = [
            Wanted(key, _category(found, key, of), value, hcl=hcl, description=description)
            for key, value in values.items()
        ]
        return Intent(found, wanted)

    intents = settled([intended(found) for found in founds], Secrecy(sensitive))
    work = [
        Work(each.held, compare(each.held.variables, each.wanted, (), hidden), versioned=True)
        for each in intents
    ]
    change(api, work, How(yes, dry_run, as_json, asks=False))


@placed("organization", "workspace")
def unset(
    where: Where,
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY…", help="What to delete.", autocompletion=offered("key")),
    ],
    category: CategoryWord = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete variables, all or none. Nobody can bring a sensitive one back.

    -w 'prod-*' or -w eu,us means each that matches: each is changed whole or not at all, and where
    a variable is not there is nothing to do.

    Example: teamvars vars unset OLD_FLAG --yes
    """
    of = category_of(category)
    api = connect(where)
    api.announce()
    may_lack = is_for_several(api)
    founds = all_held(api)
    hidden = secret_keys(founds)
    for key in keys if may_lack else ():
        if not any(found.has(key, of) for found in founds):
            note(f"None of these workspaces has a variable {escaped(key)}.")

    def work(found: Held) -> Work:
        going = _going(found, keys, of, may_lack)
        changes = [deleted(one, unseen=one.key in hidden) for one in going]
        return Work(found, changes, versioned=True)

    change(api, [work(found) for found in founds], How(yes, dry_run, as_json))


def _going(
    found: Held, keys: Sequence[str], of: Category | None, may_lack: bool
) -> Iterator[Variable]:
    """What is to be deleted. Fails on a key that is not there, unless the workspace may lack it."""
    for key in dict.fromkeys(keys):
        if not may_lack or found.has(key, of):
            yield found.one(key, of)


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


def _refuse_arguments(entries: dict[str, str | None], founds: Sequence[Held]) -> None:
    """Fails on a value that is an argument where the variable is sensitive already."""
    given = [key for key, value in entries.items() if value is not None]
    if any(one.sensitive for found in founds for key in given for one in found.called(key)):
        raise Failure(_not_as_argument(given), USAGE)


def _not_as_argument(keys: Sequence[str] | dict[str, str | None]) -> str:
    return (
        f"A sensitive value is no argument: your shell keeps it, and everybody on this host sees "
        f"it. Type it, or give it on standard input: teamvars vars set {next(iter(keys))}"
    )
