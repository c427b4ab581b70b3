"""`directory apply`."""

from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.context import DIFFERENCES, fail, note, print_json, run, say
from teamvars.cli.operator.directory_file import FileFaults, read
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied, Directory
from teamvars.services.directory import Options

INVALID = 7


def apply(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The YAML file.")],
    dry_run: Annotated[bool, typer.Option(help="Change nothing; exit 3 on differences.")] = False,
    prune: Annotated[
        bool, typer.Option(help="Remove what the named organizations have besides.")
    ] = False,
    delete_variables: Annotated[
        bool, typer.Option(help="Let --prune remove workspaces that have variables.")
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
    if as_json:
        shown = ("organizations", "users", "changes")
        print_json({name: getattr(applied, name) for name in shown})
    else:
        for change in applied.changes:
            say(change)
        note(f"Changes{' to make' if dry_run else ''}: {len(applied.changes)}.")
    if not dry_run:
        note(f"The store was held for {applied.held * 1000:.0f} ms.")
    if dry_run and applied.changes:
        raise typer.Exit(DIFFERENCES)


def _apply(context: typer.Context, directory: Directory, options: Options) -> Applied:
    async def work(services: wiring.Services, caller: Caller) -> Applied:
        return await services.directory.apply(caller, directory, options)

    return run(context, work)
