"""`directory apply` and `export`."""

import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import click
import yaml

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES, INVALID, Failure
from teamvars.cli.operator.context import run
from teamvars.cli.operator.directory_file import FileFaults, read
from teamvars.cli.operator.invitations import issued_fields, links_of, told_issued
from teamvars.cli.options import json_option
from teamvars.cli.output import note, show
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied, Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.services.directory_files.files import Options
from teamvars.services.invitations import Issued

_WIDTH = 100


@click.command()
@click.argument("file", type=Path, help="The YAML file; - for standard input.")
@click.option("--dry-run/--no-dry-run", help="Change nothing; exit 3 on differences.")
@click.option("--prune/--no-prune", help="Remove everything else from the named organizations.")
@click.option(
    "--delete-variables/--no-delete-variables",
    help="Let --prune remove workspaces that have variables.",
)
@click.option("--invite", is_flag=True, help="Send a link to invited people who have none.")
@json_option
def apply(
    file: Path, dry_run: bool, prune: bool, delete_variables: bool, invite: bool, as_json: bool
) -> None:
    """Apply a directory file, in one transaction."""
    try:
        directory = read(file)
    except FileFaults as faults:
        raise Failure(str(faults), INVALID) from None
    if prune and not dry_run:
        look = Options(dry_run=True, prune=True, delete_variables=delete_variables)
        for change in _apply(directory, look).changes:
            note(f"will {change}")
    options = Options(dry_run, prune, delete_variables)
    applied = _apply(directory, options)
    invited = _invite(directory) if invite and not dry_run else None
    _show(applied, invited, dry_run=dry_run, as_json=as_json)
    if not dry_run:
        note(f"The store was held for {applied.held * 1000:.0f} ms.")
    if dry_run and applied.changes:
        sys.exit(DIFFERENCES)


def _show(applied: Applied, invited: list[Issued] | None, *, dry_run: bool, as_json: bool) -> None:
    shown: dict[str, Any] = {
        "organizations": applied.organizations,
        "users": applied.users,
        "changes": applied.changes,
    }
    if invited is not None:
        shown["invited"] = [*map(issued_fields, invited)]
    lines = [(change,) for change in applied.changes]
    links = chain.from_iterable(map(links_of, invited or ()))
    counted = f"Changes{' to make' if dry_run else ''}: {len(applied.changes)}."
    said = "\n".join([*map(told_issued, invited or ()), counted])
    show(shown, [*lines, *links], as_json, said=said)
    for name in applied.disabled:
        note(
            f"User {name} is disabled, and stays disabled. To change that: teamvars user enable "
            f"{name}"
        )


@click.command()
@click.argument("organizations", nargs=-1, metavar="[ORG]...", help="Only these; otherwise all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, which is YAML too.")
def export(organizations: tuple[str, ...], as_json: bool) -> None:
    """Print the directory as a file that 'directory apply' takes without a change."""
    exported = run(lambda services, _: services.directory.export(list(organizations)))
    written = document(exported.directory)
    show(written, ((line,) for line in lines(written)), as_json)
    for unsaid in exported.unsaid:
        note(f"teamvars: {unsaid}")


def _invite(directory: Directory) -> list[Issued]:
    """After the file is applied: what is interrupted is made up for by the next time."""

    async def work(services: wiring.Services, caller: Caller) -> list[Issued]:
        invitations = services.operator_invitations
        return [
            issued
            for organization in directory.organizations
            for issued in await invitations.invite_missing(caller, organization.name)
        ]

    return run(work)


def _apply(directory: Directory, options: Options) -> Applied:
    async def work(services: wiring.Services, caller: Caller) -> Applied:
        return await services.directory.apply(caller, directory, options)

    return run(work)


def document(directory: Directory) -> Mapping[str, Any]:
    """What the file says, in its order."""
    return {
        "users": [_user(entry) for entry in directory.users],
        "organizations": [_organization(entry) for entry in directory.organizations],
    }


def lines(written: Mapping[str, Any]) -> list[str]:
    """The same as YAML."""
    text: str = yaml.safe_dump(
        dict(written), sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    return text.splitlines()


def _user(entry: UserEntry) -> dict[str, Any]:
    email = {} if entry.email is None else {"email": entry.email}
    return {"username": entry.username, **email, "site-admin": bool(entry.site_admin)}


def _organization(entry: OrganizationEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "members": {name: status.value for name, status in entry.members.items()},
        "workspaces": list(entry.workspaces),
        "teams": [_team(team) for team in entry.teams],
    }


def _team(entry: TeamEntry) -> dict[str, Any]:
    written: dict[str, Any] = {"name": entry.name}
    if entry.visibility is not None:
        written["visibility"] = entry.visibility.value
    if entry.manage_membership is not None:
        written["manage-membership"] = entry.manage_membership
    if entry.members_manage_token is not None:
        written["members-manage-token"] = entry.members_manage_token
    if entry.members is not None:
        written["members"] = list(entry.members)
    if entry.workspaces is not None:
        written["workspaces"] = {name: access.value for name, access in entry.workspaces.items()}
    return written
