"""`directory apply` and `export`: the directory as a file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.operator.context import run
from teamvars.cli.operator.directory_effects import counted_effects, told_effects
from teamvars.cli.operator.directory_file import document, read
from teamvars.cli.operator.invitations import issued_fields, links_of, told_issued, told_lost
from teamvars.cli.options import argument, command, flag, json_flag, json_option, option
from teamvars.cli.output import note, show, telling
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied, Directory
from teamvars.services.directory_files.files import Options
from teamvars.services.invitations import Issued

_WIDTH = 100


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
    if prune and not dry_run:
        look = Options(dry_run=True, prune=True, delete_variables=delete_variables)
        _announce(_apply(directory, look))
    applied = _apply(directory, Options(dry_run, prune, delete_variables))
    invited: list[Issued] | None = [] if invite and not dry_run else None
    try:
        if invited is not None:
            _invite(directory, invited)
    finally:  # links are shown once, and so also where the store has gone away since
        _show(applied, invited, dry_run=dry_run)
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
    text: str = yaml.safe_dump(
        written, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    show(written, ((line,) for line in text.splitlines()))
    for unsaid in exported.unsaid:
        note(f"teamvars: {unsaid}")


def _announce(foreseen: Applied) -> None:
    """What is about to be changed, for whoever may still interrupt it."""
    for told in (*(f"will {change}" for change in foreseen.changes), *told_effects(foreseen)):
        note(told)


def _apply(directory: Directory, options: Options) -> Applied:
    return run(lambda services, caller: services.directory.apply(caller, directory, options))


def _invite(directory: Directory, invited: list[Issued]) -> None:
    """After the file is applied: what is interrupted is made up for by the next time. Whoever is
    invited by then is among the `invited` all the same.
    """

    async def work(services: wiring.Services, caller: Caller) -> None:
        invite = services.operator_invitations.invite_missing
        for organization in directory.organizations:
            await invite(caller, organization.name, invited.append)

    run(work)


def _show(applied: Applied, invited: Sequence[Issued] | None, *, dry_run: bool) -> None:
    """What has changed, and who is invited, if anybody was to be."""
    shown: dict[str, Any] = {
        "organizations": applied.organizations,
        "users": applied.users,
        "changes": applied.changes,
        **counted_effects(applied, dry_run=dry_run),
    }
    if invited is not None:
        shown["invited"] = [*map(issued_fields, invited)]
    issued = invited or ()
    rows = [(told,) for told in (*applied.changes, *told_effects(applied))]
    links = [row for one in issued for row in links_of(one)]
    counted = f"Changes{' to make' if dry_run else ''}: {len(applied.changes)}."
    with telling(*map(told_lost, issued)):
        show(shown, [*rows, *links], said="\n".join([*map(told_issued, issued), counted]))
