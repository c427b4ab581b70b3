"""`directory apply` and `export`: the directory as a file."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.operator.context import run
from teamvars.cli.operator.directory_file import document, read
from teamvars.cli.operator.invitations import issued_fields, links_of, told_issued, told_lost
from teamvars.cli.options import argument, command, flag, json_flag, json_option, option
from teamvars.cli.output import Row, note, show, telling
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied, Directory
from teamvars.domain.set_effects import MOST_NAMED, Effect, keys_of
from teamvars.services.directory_files.files import Options
from teamvars.services.house import afterwards
from teamvars.services.invitations import Issued

_WIDTH = 100
_MOST_ON_A_LINE = 10
"""Keys, or names."""


@command
@argument("file", "The YAML file; - for standard input.", type=Path)
@option("--dry-run/--no-dry-run", "Change nothing; exit 3 on differences.")
@option("--prune/--no-prune", "Remove everything else from the named organizations.")
@option(
    "--delete-variables/--no-delete-variables",
    "Let --prune remove workspaces and variable sets that have variables.",
)
@flag("--invite", "Send a link to invited people who have none.")
@json_option
def apply(file: Path, dry_run: bool, prune: bool, delete_variables: bool, invite: bool) -> None:
    """Apply a directory file, in one transaction."""
    directory = read(file)
    how = Options(dry_run, prune, delete_variables)

    async def work(services: wiring.Services, caller: Caller) -> Applied:
        if prune and not dry_run:
            look = msgspec.structs.replace(how, dry_run=True)
            _announce(await services.directory.apply(caller, directory, look))
        applied = await services.directory.apply(caller, directory, how)
        invited: list[Issued] | None = [] if invite and not dry_run else None
        try:
            if invited is not None:
                await _invite(services, caller, directory, invited)
        finally:  # links are shown once, and so also where the store has gone away since
            _show(applied, invited, dry_run=dry_run)
        return applied

    applied = run(work)
    for name in applied.disabled:
        note(
            f"User {name} is disabled, and stays disabled. To change that: teamvars user enable "
            f"{name}"
        )
    if applied.proposed and not dry_run:
        names = ", ".join(applied.proposed)
        note(f"Runners that wait for approval: {names}. See: teamvars approvals list")
    if not dry_run:
        note(f"The store was held for {applied.held * 1000:.0f} ms.")
    elif applied.changes:
        sys.exit(DIFFERENCES)


@command
@argument("organizations", "Only these; otherwise all.", nargs=-1, metavar="[ORG]...")
@json_flag("Print JSON, which is YAML too.")
def export(organizations: Sequence[str]) -> None:
    """Print the directory as a file that 'directory apply' takes without a change."""
    exported = run(lambda services, _: services.directory.export(organizations))
    written = document(exported.directory)
    show(written, _lines(written))
    for unsaid in exported.unsaid:
        note(f"teamvars: {unsaid}")


def _lines(written: dict[str, Any]) -> Iterator[Row]:
    text: str = yaml.safe_dump(
        written, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    for line in text.splitlines():
        yield (line,)


def _announce(foreseen: Applied) -> None:
    """What is about to be changed, for whoever may still interrupt it."""
    for told in (*(f"will {change}" for change in foreseen.changes), *_told_effects(foreseen)):
        note(told)


async def _invite(
    services: wiring.Services, caller: Caller, directory: Directory, invited: list[Issued]
) -> None:
    """After the file is applied: what is interrupted is made up for by the next time. Whoever is
    invited by then is among the `invited` all the same.
    """
    invite = services.operator_invitations.invite_missing
    with afterwards("The file is applied. The same command invites whoever has no link yet."):
        for organization in directory.organizations:
            await invite(caller, organization.name, invited.append)


def _show(applied: Applied, invited: Sequence[Issued] | None, *, dry_run: bool) -> None:
    """What has changed, and who is invited, if anybody was to be."""
    shown: dict[str, Any] = {
        "organizations": applied.organizations,
        "users": applied.users,
        "changes": applied.changes,
        **_counted_effects(applied, dry_run=dry_run),
    }
    if invited is not None:
        shown["invited"] = [*map(issued_fields, invited)]
    issued = invited or ()
    rows = [(told,) for told in (*applied.changes, *_told_effects(applied))]
    links = [row for one in issued for row in links_of(one)]
    counted = f"Changes{' to make' if dry_run else ''}: {len(applied.changes)}."
    with telling(*map(told_lost, issued)):
        show(shown, [*rows, *links], said="\n".join([*map(told_issued, issued), counted]))


def _told_effects(applied: Applied) -> list[str]:
    """Which workspaces variable sets would give another value, or take one from, a line each."""
    every = [(name, one) for name, effects in applied.effects.items() for one in effects]
    lines = [f"workspace {name}/{one.workspace.name} {_told(one)}" for name, one in every]
    left = len(every) - MOST_NAMED
    return [*lines[:MOST_NAMED], *([f"and {left} workspaces more"] if left > 0 else [])]


def _told(effect: Effect) -> str:
    verbs = {
        "gains": effect.gained,
        "gets another value of": effect.changed,
        "loses": effect.lost,
    }
    told = [f"{verb} {_some(keys_of(names))}" for verb, names in verbs.items() if names]
    runners = [f"runners that reach it: {_some(effect.runners)}"] if effect.runners else []
    return "; ".join([*told, *runners])


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MOST_ON_A_LINE
    more = [f"and {left} more"] if left > 0 else []
    return ", ".join([*names[:_MOST_ON_A_LINE], *more])


def _counted_effects(applied: Applied, *, dry_run: bool) -> dict[str, object]:
    """The same for programs, as the API tells the effects of a change of one set; of a dry run
    alone, since nothing else looks.
    """
    if not dry_run:
        return {}
    return {"effects": {name: _counted(effects) for name, effects in applied.effects.items()}}


def _counted(effects: Sequence[Effect]) -> dict[str, object]:
    return {
        "gaining": sum(1 for one in effects if one.gained),
        "changing": sum(1 for one in effects if one.changed),
        "losing": sum(1 for one in effects if one.lost),
        "workspaces": [
            {
                "name": one.workspace.name,
                "gains": keys_of(one.gained),
                "changes": keys_of(one.changed),
                "loses": keys_of(one.lost),
                "runners": one.runners,
            }
            for one in effects[:MOST_NAMED]
        ],
    }
