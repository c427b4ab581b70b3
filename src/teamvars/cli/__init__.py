"""The `teamvars` command."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from teamvars import __version__
from teamvars.cli.commands import CLIENT, GROUPS, OPERATOR
from teamvars.cli.exits import NOT_STARTED, USAGE, epilog
from teamvars.cli.failures import Failure
from teamvars.cli.flags import Flags
from teamvars.cli.lazy import AbsentCommand, Room, add, named
from teamvars.cli.texts import Group
from teamvars.origins import origin

_COMPLETE = "_TEAMVARS_COMPLETE"
_HAS_SERVER = find_spec("teamvars.cli.operator") is not None
"""Whether there is more than the client, which is a distribution of its own."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"teamvars {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    data_dir: Annotated[
        Path | None, typer.Option(hidden=not _HAS_SERVER, help="The data directory.")
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            hidden=not _HAS_SERVER, help="sqlite:///path or postgresql://…, without a password."
        ),
    ] = None,
    keyring: Annotated[
        Path | None, typer.Option(hidden=not _HAS_SERVER, help="The file with the master keys.")
    ] = None,
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
        epilog=epilog(),
        no_args_is_help=True,
        add_completion=False,
    )
    typed.callback()(_root)
    program = typer.main.get_group(typed)
    client = Room("teamvars.cli.client", "With a service", GROUPS)
    operator = Room("teamvars.cli.operator", "On the service's host", GROUPS)
    for words, place, summary in CLIENT:
        add(program, client, words, place, summary)
    for words, place, summary in OPERATOR:
        if _HAS_SERVER:
            add(program, operator, words, place, summary)
        else:
            name = words.partition(" ")[0]
            program.commands[name] = AbsentCommand(name)
    return program


def _text(word: str) -> str:
    """An argument as UTF-8, where the locale knows no such letters. Raises UnicodeDecodeError."""
    try:
        word.encode()
    except UnicodeEncodeError:
        # Python lets what the locale does not know through as lone surrogates, which no store
        # takes and nothing can print.
        return os.fsencode(word).decode()
    return word


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
    try:
        sys.argv[1:] = [_text(word) for word in sys.argv[1:]]
    except UnicodeDecodeError:
        typer.echo("teamvars: An argument is not UTF-8.", err=True)
        sys.exit(NOT_STARTED if sys.argv[1] == "run" else USAGE)
    if _COMPLETE in os.environ:  # a shell asks for words
        named("teamvars.cli.client.completion:register")()
    try:
        app()
    except Failure as failure:
        sys.exit(named("teamvars.cli.output:ended")(failure))
    except Exception as error:
        # Its text may hold what nobody may see, such as a part of the database's URL.
        sys.exit(f"teamvars: unexpected {origin(error)}")
