"""Commands whose modules are loaded when they run, so that help and version need none of them."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from teamvars.cli.failures import Failure
from teamvars.cli.texts import Command, Group


def named(place: str) -> Any:
    """What stands at `module:name`; the module is loaded now."""
    module, _, name = place.partition(":")
    # By name, and only here: an import at the top would load everything for every command.
    return getattr(importlib.import_module(module), name)


class LazyCommand(TyperCommand):
    """Stands in a group for the function at `module:function`; help shows its summary alone."""

    def __init__(self, name: str, place: str, summary: str, panel: str) -> None:
        super().__init__(name=name, help=summary, rich_help_panel=panel)
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context of the command itself, which takes over from here."""
        return self.load().make_context(info_name, args, *rest, **more)

    def load(self) -> Any:
        """The command itself."""
        return _command(self.name, self._place)


class AbsentCommand(TyperCommand):
    """Stands for a command of the server where only the client is installed, and says so."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, hidden=True)

    def make_context(self, info_name: str | None, args: list[str], *_: Any, **__: Any) -> Any:
        """Fails, whatever comes behind it."""
        raise Failure(
            f"'teamvars {self.name}' is a command of the service's host. This is the client alone "
            "(teamvars-cli): install teamvars there."
        )


class LazyGroup(Group):
    """A group that is a command as well: `login`, beside `login tokens`."""

    def __init__(self, name: str, place: str, summary: str, panel: str) -> None:
        super().__init__(
            name=name, help=summary, invoke_without_command=True, rich_help_panel=panel
        )
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context of the group, with the options and the function of its own command."""
        own = self.load()
        self.params, self.callback, self.help = own.params, own.callback, own.help
        return super().make_context(info_name, args, *rest, **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command below it. Another word may be a secret, and is not shown again."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(
                "There is no such command. A token is no argument: it is asked for, or read "
                "from standard input."
            )
        return super().resolve_command(ctx, args)

    def load(self) -> Any:
        """Its own command, without those below it."""
        return _command(self.name, self._place)


def _command(name: str | None, place: str) -> Any:
    """The command of a function; its help is the docstring, a paragraph a line of its own."""
    function = named(place)
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    app = typer.Typer(add_completion=False)
    help_ = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    kind = getattr(function, "command_class", Command)
    app.command(name, cls=kind, help=help_)(function)
    return typer.main.get_command(app)


class Room(NamedTuple):
    """Commands that stand together: where their modules are, and what help says above them."""

    package: str
    panel: str
    groups: Mapping[str, str]
    """The help of each group. A command that is named here stands before those below it."""


def add(app: TyperGroup, room: Room, words: str, place: str, summary: str) -> None:
    """Puts a command of one word or more into the program, and its groups where they are new."""
    *above, name = words.split(" ")
    parent = app
    for level, group in enumerate(above, 1):
        if group not in parent.commands:
            help_ = room.groups[" ".join(above[:level])]
            made = Group(name=group, help=help_, no_args_is_help=True)
            made.rich_help_panel = room.panel if level == 1 else ""
            parent.add_command(made)
        found = parent.commands[group]
        assert isinstance(found, TyperGroup)
        parent = found
    # Whoever is below a group already knows which room that is.
    panel = "" if above else room.panel
    kind = LazyGroup if words in room.groups else LazyCommand
    parent.add_command(kind(name, f"{room.package}.{place}", summary, panel))
