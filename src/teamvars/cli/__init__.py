"""The `teamvars` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from teamvars import __version__
from teamvars.cli.flags import Flags
from teamvars.cli.lazy import add
from teamvars.origins import origin

GROUPS = {
    "migrate": "The schema of the database.",
    "directory": "Users, organizations, workspaces and teams.",
    "invite": "Invitations of organizations.",
    "token": "API tokens.",
    "user": "Users, and those who leave.",
    "keys": "The keys of the keyring.",
    "audit": "The audit trail.",
}
COMMANDS = (
    ("dev", "dev:dev", "Try it: a server with sample data that is gone after Ctrl-C."),
    ("init", "installation:init", "Make the data directory, the keyring and the schema."),
    ("serve", "serve:serve", "Serve the API until SIGTERM."),
    ("doctor", "doctor:doctor", "Look at everything, change nothing."),
    ("migrate up", "installation:up", "Apply the migrations that are missing."),
    ("migrate status", "installation:status", "List the migrations that are missing."),
    ("migrate check", "installation:check", "Exit with 3 when migrations are missing."),
    ("directory apply", "directory:apply", "Make the directory what the file says."),
    (
        "directory export",
        "directory:export",
        "Print the directory as a file that 'directory apply' takes.",
    ),
    ("invite create", "invitations:create", "Invite somebody by e-mail address."),
    ("invite list", "invitations:list_", "List the invitations that were not accepted yet."),
    ("invite resend", "invitations:resend", "Make a new link; the former one is void."),
    ("invite revoke", "invitations:revoke", "Take an invitation back."),
    ("token create", "tokens:create", "Make a token and show it, once."),
    ("token list", "tokens:list_", "List the tokens that were not revoked."),
    ("token revoke", "tokens:revoke", "End tokens at once."),
    ("user list", "users:list_", "List all users."),
    ("user show", "users:show", "Show a user's memberships and tokens."),
    ("user disable", "users:disable", "Refuse all of a user's tokens from now on."),
    ("user enable", "users:enable", "Let a user's tokens and memberships count again."),
    ("user rename", "users:rename", "Give a user another name."),
    ("access", "access:access", "Show who may read and write the variables of a workspace."),
    ("keys status", "keys:status", "List the keys, and which are active."),
    ("audit list", "audit:list_", "Show the newest entries."),
    ("audit verify", "audit:verify", "Prove that nobody has touched the trail."),
    ("audit head", "audit:head", "Print where each stream stands."),
    ("audit export", "audit:export", "Print all entries, one JSON object a line."),
)
"""Each command's words, its function in a module of `cli/operator`, and a summary of its help."""


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
        no_args_is_help=True,
        add_completion=False,
    )
    typed.callback()(_root)
    program = typer.main.get_group(typed)
    for words, place, summary in COMMANDS:
        add(program, GROUPS, words, f"teamvars.cli.operator.{place}", summary)
    return program


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


app = _program()


def main() -> None:
    """The entry point."""
    # Python lets such bytes through as lone surrogates, which no store takes and nothing can print.
    if any(not _is_text(word) for word in sys.argv[1:]):
        typer.echo("teamvars: An argument is not UTF-8.", err=True)
        sys.exit(2)
    try:
        app()
    except Exception as error:
        # Its text may hold what nobody may see, such as a part of the database's URL.
        sys.exit(f"teamvars: unexpected {origin(error)}")
