"""Commands whose modules are loaded when they run, so that help and version need none of them."""

import importlib
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class LazyCommand(TyperCommand):
    """Stands in a group for the function at `module:function`; help shows its summary alone."""

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name=name, help=summary)
        self._place = place

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context of the command itself, which takes over from here."""
        return self.load().make_context(info_name, args, *rest, **more)

    def load(self) -> Any:
        """The command itself."""
        module, _, function = self._place.partition(":")
        # By name, and only here: an import at the top would load everything for every command.
        loaded = importlib.import_module(module)
        app = typer.Typer(add_completion=False)
        app.command(self.name)(getattr(loaded, function))
        return typer.main.get_command(app)


def add(app: TyperGroup, groups: dict[str, str], words: str, place: str, summary: str) -> None:
    """Puts a command of one or two words into the program, and its group if it is the first.

    `groups` has the help of each group.
    """
    group, _, name = words.rpartition(" ")
    if not group:
        app.add_command(LazyCommand(name, place, summary))
        return
    if group not in app.commands:
        app.add_command(TyperGroup(name=group, help=groups[group], no_args_is_help=True))
    parent = app.commands[group]
    assert isinstance(parent, TyperGroup)
    parent.add_command(LazyCommand(name, place, summary))
