"""The `teamvars` command."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from teamvars import __version__
from teamvars.cli.commands import CLIENT, GROUPS, OPERATOR
from teamvars.cli.failures import Failure
from teamvars.cli.flags import Flags
from teamvars.cli.lazy import Room, add, named
from teamvars.cli.texts import Group
from teamvars.origins import origin

_COMPLETE = "_TEAMVARS_COMPLETE"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"teamvars {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    data_dir: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    database_url: Annotated[
        str | None, typer.Option(help="sqlite:///path or postgresql://…, without a password.")
    ] = None,
    keyring: Annotated[Path | None, typer.Option(help="The file with the master keys.")] = None,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Which release."),
    ] = False,
) -> None:
    """Flags win over TEAMVARS_* variables, and those over teamvars.toml."""
    context.obj = Flags(data_dir=data_dir, database_url=database_url, keyring=keyring)


def _program() -> typer.core.TyperGroup:
    """The command with all commands below it, none of them loaded."""
    typed = typer.Typer(
        name="teamvars",
        help="The variables of workspaces and the members of teams, behind a JSON:API.",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
    )
    typed.callback()(_root)
    program = typer.main.get_group(typed)
    client = Room("teamvars.cli.client", "With a service", GROUPS)
    operator = Room("teamvars.cli.operator", "On the service's host", GROUPS)
    for room, commands in ((client, CLIENT), (operator, OPERATOR)):
        for words, place, summary in commands:
            add(program, room, words, place, summary)
    return program


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _open_what_is_closed() -> None:
    """Gives standard streams that the caller has closed a place: their numbers would be taken by
    the next file or connection, and what is meant for the stream would go there."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


app = _program()


def main() -> None:
    """The entry point."""
    _open_what_is_closed()
    # Python lets such bytes through as lone surrogates, which no store takes and nothing can print.
    if any(not _is_text(word) for word in sys.argv[1:]):
        typer.echo("teamvars: An argument is not UTF-8.", err=True)
        sys.exit(2)
    if _COMPLETE in os.environ:  # a shell asks for words
        named("teamvars.cli.client.completion:register")()
    try:
        app()
    except Failure as failure:
        sys.exit(named("teamvars.cli.output:ended")(failure))
    except Exception as error:
        # Its text may hold what nobody may see, such as a part of the database's URL.
        sys.exit(f"teamvars: unexpected {origin(error)}")
