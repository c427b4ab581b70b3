"""`directory apply` and `export`."""

from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES, INVALID
from teamvars.cli.operator import directory_yaml
from teamvars.cli.operator.context import run
from teamvars.cli.operator.directory_file import FileFaults, read
from teamvars.cli.operator.invitations import issued_fields, tell_issued
from teamvars.cli.output import fail, note, print_json, say
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied, Directory
from teamvars.services.directory_files.files import Options
from teamvars.services.operator_invitations import Issued


def apply(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The YAML file; - for standard input.")],
    dry_run: Annotated[bool, typer.Option(help="Change nothing; exit 3 on differences.")] = False,
    prune: Annotated[
        bool, typer.Option(help="Remove what the named organizations have besides.")
    ] = False,
    delete_variables: Annotated[
        bool, typer.Option(help="Let --prune remove workspaces that have variables.")
    ] = False,
    invite: Annotated[
        bool, typer.Option("--invite", help="Send a link to those invited who have none.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make the directory what the file says, in one transaction."""
    try:
        directory = read(file)
    except FileFaults as faults:
        fail(str(faults), INVALID)
    if prune and not dry_run:
        look = Options(dry_run=True, prune=True, delete_variables=delete_variables)
        for change in _apply(context, directory, look).changes:
            note(f"will {change}")
    options = Options(dry_run, prune, delete_variables)
    applied = _apply(context, directory, options)
    invited = _invite(context, directory) if invite and not dry_run else None
    _tell(applied, invited, dry_run=dry_run, as_json=as_json)
    if not dry_run:
        note(f"The store was held for {applied.held * 1000:.0f} ms.")
    if dry_run and applied.changes:
        raise typer.Exit(DIFFERENCES)


def _tell(applied: Applied, invited: list[Issued] | None, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        shown = ("organizations", "users", "changes")
        links = {} if invited is None else {"invited": list(map(issued_fields, invited))}
        print_json({**{name: getattr(applied, name) for name in shown}, **links})
    else:
        for change in applied.changes:
            say(change)
        for issued in invited or ():
            tell_issued(issued)
        note(f"Changes{' to make' if dry_run else ''}: {len(applied.changes)}.")
    for name in applied.disabled:
        note(f"User {name} is disabled, and stays so. To change that: teamvars user enable {name}")


def export(
    context: typer.Context,
    organizations: Annotated[
        list[str] | None, typer.Argument(metavar="[ORG]...", help="These alone; else all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which is YAML too.")] = False,
) -> None:
    """Print the directory as a file that 'directory apply' takes without a change."""
    names = organizations or []
    exported = run(context, lambda services, _: services.directory.export(names))
    document = directory_yaml.document(exported.directory)
    if as_json:
        print_json(document)
    else:
        for line in directory_yaml.lines(document):
            say(line)
    for unsaid in exported.unsaid:
        note(f"teamvars: {unsaid}")


def _invite(context: typer.Context, directory: Directory) -> list[Issued]:
    """After the file is applied: what is interrupted is made up for by the next time."""

    async def work(services: wiring.Services, caller: Caller) -> list[Issued]:
        invitations = services.operator_invitations
        return [
            issued
            for organization in directory.organizations
            for issued in await invitations.invite_missing(caller, organization.name)
        ]

    return run(context, work)


def _apply(context: typer.Context, directory: Directory, options: Options) -> Applied:
    async def work(services: wiring.Services, caller: Caller) -> Applied:
        return await services.directory.apply(caller, directory, options)

    return run(context, work)
