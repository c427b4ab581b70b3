"""The program: all commands by name, each loaded when it runs. Help needs none of them."""

import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import click

from teamvars import __version__
from teamvars.cli import named
from teamvars.cli.commands import CLIENT, GROUPS, OPERATOR
from teamvars.cli.exits import Failure, epilog, writing
from teamvars.cli.options import Once

_COMPLETE = "_TEAMVARS_COMPLETE"
_HAS_SERVER = find_spec("teamvars.cli.operator") is not None
"""Whether there is more than the client, which is a distribution of its own."""
_PANELS = {"With a service": CLIENT, "On the service's host": OPERATOR}


class LazyCommand(click.Command):
    """Stands in a group for the command at `module:name`; help shows its summary alone."""

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self._place = place

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> click.Context:
        """The context of the command itself, which takes over from here."""
        own = self.load()
        with writing(sys.stdout):  # its help, at most
            return own.make_context(info_name, args, *rest, **more)

    def load(self) -> click.Command:
        """The command itself."""
        found: click.Command = named(self._place)
        return found


class AbsentCommand(click.Command):
    """Stands for a command of the server where only the client is installed, and says so."""

    def __init__(self, name: str) -> None:
        super().__init__(name, hidden=True)

    def make_context(
        self, info_name: str | None, args: list[str], *_: Any, **__: Any
    ) -> click.Context:
        """Fails, whatever comes behind it."""
        raise Failure(
            f"'teamvars {self.name}' is a command of the service's host. This is the client alone "
            "(teamvars-cli): install teamvars there."
        )


class Group(Once, click.Group):
    """Commands in the order in which they were added."""

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> click.Context:
        """The context, unless its help is asked for."""
        with writing(sys.stdout):
            return super().make_context(info_name, args, *rest, **more)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)


class LazyGroup(Group):
    """A group that is a command as well: `login`, beside `login tokens`."""

    def __init__(self, own: LazyCommand) -> None:
        """`own`: the command that it is without a word behind it."""
        super().__init__(own.name, short_help=own.short_help, invoke_without_command=True)
        self.own = own

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> click.Context:
        """The context of the group, with the options and the function of its own command."""
        own = self.own.load()
        self.params, self.callback, self.help = own.params, own.callback, own.help
        return super().make_context(info_name, args, *rest, **more)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command below it. Another word may be a secret, and is not shown again."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(
                "There is no such command. A token is no argument: login asks for it, or "
                "reads it from standard input."
            )
        return super().resolve_command(ctx, args)


class Program(Group):
    """The group of all; help tells apart what a command is about."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands of each room."""
        for panel, table in _PANELS.items():
            nouns = dict.fromkeys(words.partition(" ")[0] for words, _, _ in table)
            found = [self.commands[noun] for noun in nouns if not self.commands[noun].hidden]
            if found:
                with formatter.section(panel):
                    formatter.write_dl([(str(one.name), str(one.short_help)) for one in found])


@click.group(
    cls=Program,
    help="The variables of workspaces and the members of teams, behind a JSON:API.",
    epilog=f"\b\n{epilog()}",  # which keeps its lines as they are
    no_args_is_help=True,
    context_settings={"show_default": True},
)
@click.option("--data-dir", metavar="PATH", hidden=not _HAS_SERVER, help="The data directory.")
@click.option(
    "--database-url",
    hidden=not _HAS_SERVER,
    help="sqlite:///path or postgresql://…, without a password.",
)
@click.option(
    "--keyring", metavar="PATH", hidden=not _HAS_SERVER, help="The file with the master keys."
)
@click.option(
    "--keyring-wrap",
    hidden=not _HAS_SERVER,
    help="What wraps that file: command:… or transit:URL.",
)
@click.version_option(__version__, message="%(prog)s %(version)s", help="Which release.")
@click.pass_context
def app(context: click.Context, /, **flags: object) -> None:
    """Flags win over TEAMVARS_* variables, and those over teamvars.toml."""
    context.obj = flags


def _add(table: Iterable[tuple[str, str, str]], package: str) -> None:
    """Puts commands of one word or more into the program, and their groups where they are new."""
    for words, place, summary in table:
        *above, name = words.split(" ")
        parent: click.Group = app
        for level, group in enumerate(above, 1):
            if group not in parent.commands:
                help_ = GROUPS[" ".join(above[:level])]
                parent.add_command(Group(group, help=help_, short_help=help_, no_args_is_help=True))
            found = parent.commands[group]
            assert isinstance(found, click.Group)
            parent = found
        command = LazyCommand(name, f"{package}.{place}", summary)
        # A command that is a group as well stands before those below it.
        parent.add_command(LazyGroup(command) if words in GROUPS else command)


_add(CLIENT, "teamvars.cli.client")
if _HAS_SERVER:
    _add(OPERATOR, "teamvars.cli.operator")
else:
    for _words, _, _ in OPERATOR:
        app.add_command(AbsentCommand(_words.partition(" ")[0]))


def run() -> None:
    """Carries out what the arguments of this process say, or answers a shell that asks for words.
    Exits unless all went well.
    """
    if _COMPLETE in os.environ:  # a shell asks for words
        named("teamvars.cli.client.completion:answer")(app, os.environ[_COMPLETE])
        return
    if isinstance(sys.stdout, io.TextIOWrapper):  # help has letters that a locale may not know
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with app.make_context("teamvars", sys.argv[1:]) as context:
            app.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:
        # Help instead of a command is what was asked for, whoever asked so.
        with writing(sys.stdout):
            error.show(sys.stdout)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        with suppress(Failure), writing(sys.stderr):  # there may be no place to say it
            error.show(sys.stderr)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
