"""`vars import`, `vars apply`, `vars diff`: what a file says, and what is there."""

import sys
from collections.abc import Collection
from itertools import starmap

from teamvars.cli.asking import is_terminal
from teamvars.cli.client.api import Api, Resource
from teamvars.cli.client.changes import (
    Change,
    How,
    Wanted,
    Work,
    change,
    change_row,
    compare,
    counted,
    how_options,
    in_full,
    number,
)
from teamvars.cli.client.contents import Contents, all_contents, shown_in
from teamvars.cli.client.files import Source, prune_option, source_options, wanted_in
from teamvars.cli.client.options import connected
from teamvars.cli.client.secrecy import (
    Intent,
    Secrecy,
    attributes,
    followed,
    secrecy_options,
    secret_keys,
    settled,
    suggested,
)
from teamvars.cli.exits import DIFFERENCES, Misuse
from teamvars.cli.options import command, json_option
from teamvars.cli.output import Row, note, show
from teamvars.domain.applies import Outcome
from teamvars.kernel.variables import Category

_UNKNOWN = "sensitive, cannot be compared"


@command
@source_options
@secrecy_options
@how_options
@connected("organization", "workspace", "set")
def import_(api: Api, source: Source, told: Secrecy, how: How) -> None:
    """Add and update variables from a file. The rest stays.

    -w 'prod-*' or -w eu,us means every workspace that matches, each changed completely or not at
    all. A variable that is sensitive in one of them is made sensitive where it is new; where it is
    readable, choose --sensitive or --no-sensitive.

    Example: teamvars vars import prod.tfvars --yes
    """
    _, wanted = wanted_in(source)
    _make(api, wanted, (), told, how)


@command
@source_options
@secrecy_options
@prune_option
@how_options
@connected("organization", "workspace", "set")
def apply(api: Api, source: Source, told: Secrecy, prune: bool, how: How) -> None:
    """Make the variables match a file.

    With --prune all others of their category are deleted; a file without any is refused then.
    Sensitive values cannot be compared, and are sent again.

    -w 'prod-*' or -w eu,us means every workspace that matches, each changed completely or not at
    all. A variable that is sensitive in one of them is made sensitive where it is new; where it is
    readable, choose --sensitive or --no-sensitive.

    Example: teamvars vars apply prod.tfvars --prune --yes
    """
    of, wanted = wanted_in(source)
    if prune and not wanted:  # as of a program before a pipe that has failed
        raise Misuse(f"{source.path} has no variables: --prune would delete all of its category.")
    _make(api, wanted, (of,) if prune else (), told, how)


def _make(
    api: Api, wanted: list[Wanted], prune: Collection[Category], told: Secrecy, how: How
) -> None:
    """Makes what is wanted so in each workspace, once what is sensitive is settled."""
    if told.takes_suggestions and told.sensitive is False:
        raise Misuse("Give one of --no-sensitive and --take-suggestions.")
    told.require_meant(wanted)
    api.announce()
    asks = not how.yes and not how.dry_run and is_terminal()
    founds = all_contents(api)
    hidden = secret_keys(founds)
    intents = settled([Intent(found, wanted) for found in founds], told)
    intents = suggested(intents, told, asks=asks)
    work = [
        Work(each.there, compare(each.there.variables, each.wanted, prune, hidden))
        for each in intents
    ]
    for there, changes, _ in work if told.skips else ():
        kept = [one for one in changes if not (one.wanted and one.before and one.before.sensitive)]
        if left := len(changes) - len(kept):
            are = "is left as it is" if left == 1 else "are left as they are"
            note(f"{there.name}: {number(left, 'sensitive variable')} {are}.")
        changes[:] = kept
    change(api, work, how)


@command
@source_options
@prune_option
@json_option
@connected("organization", "workspace", "set")
def diff(api: Api, source: Source, prune: bool) -> None:
    """Show what applying a file would change.

    Exits with 3 if anything would change. Sensitive values cannot be compared: it says so, and does
    not count them as a difference.

    -w 'prod-*' or -w eu,us means every workspace that matches.

    Example: teamvars vars diff prod.tfvars
    """
    of, wanted = wanted_in(source)
    founds = all_contents(api)
    hidden = secret_keys(founds)
    intents = followed([Intent(found, wanted) for found in founds])
    found = [
        (each.there, compare(each.there.variables, each.wanted, (of,), hidden)) for each in intents
    ]
    shown = [
        (there, one)
        for there, changes in found
        for one in changes
        if prune or one.outcome is not Outcome.DELETED
    ]
    show([*starmap(_told, shown)], shown_in(api, starmap(_row, shown)))
    for there, changes in found:
        _sum_up(there, changes, prune=prune)
    if any(not one.is_unknown for _, one in shown):
        sys.exit(DIFFERENCES)


def _row(there: Contents, change: Change) -> Row:
    """A change for people, the workspace first."""
    word = there.word(change.category)
    if change.is_unknown:
        return there.name, "?", change.key, word, _UNKNOWN
    return there.name, *change_row(change, word, in_full)


def _told(there: Contents, change: Change) -> Resource:
    """The same for programs."""
    return {
        **there.told,
        "key": change.key,
        "category": there.word(change.category),
        "outcome": "unknown" if change.is_unknown else change.outcome.value,
        "changed": list(change.names),
        "before": attributes(change.before, is_hidden=change.is_hidden),
        "after": attributes(change.after, is_hidden=change.is_hidden),
    }


def _sum_up(there: Contents, changes: list[Change], *, prune: bool) -> None:
    """Says on stderr how much differs, what nobody can say it of, and what only pruning takes."""
    known = [one for one in changes if not one.is_unknown]
    alone = [one for one in known if one.outcome is Outcome.DELETED and not prune]
    note(f"{there.name}: {counted([one for one in known if one not in alone], is_done=False)}.")
    if unknown := len(changes) - len(known):
        note(
            f"{there.name}: {number(unknown, 'sensitive value')} cannot be compared, since nobody "
            "can read them. An apply sends them again (--skip-sensitive)."
        )
    if alone:
        note(f"{there.name} has {len(alone)} more that the file does not have (--prune).")
