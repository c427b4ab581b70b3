"""The `teamvars` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from teamvars import __version__, logs
from teamvars.cli.operator import (
    access,
    audit,
    dev,
    directory,
    doctor,
    installation,
    keys,
    serve,
    tokens,
    users,
)
from teamvars.cli.operator.context import Flags

app = typer.Typer(
    name="teamvars",
    help="The variables of workspaces and the members of teams, behind a JSON:API.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("dev")(dev.dev)
app.command("init")(installation.init)
app.command("serve")(serve.serve)
app.command("doctor")(doctor.doctor)
app.add_typer(installation.migrate, name="migrate")
app.add_typer(directory.app, name="directory")
app.add_typer(tokens.app, name="token")
app.add_typer(users.app, name="user")
app.command("access")(access.access)
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"teamvars {__version__}")
        raise typer.Exit


@app.callback()
def root(
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


def main() -> None:
    """The entry point."""
    try:
        app()
    except Exception as error:
        # Its text may hold what nobody may see, such as a part of the database's URL.
        sys.exit(f"teamvars: unexpected {logs.origin(error)}")
