"""Commands whose parameters are texts and flags, taken as they are, and flags shown as such.

Typer hands whatever a command is given to pydantic, which takes longer to load than all that most
commands do. A text needs no conversion, and neither does what was not given.
"""

from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command that converts only what is no text."""

    def get_params(self, ctx: Any) -> Any:
        """Its parameters, and `--help`."""
        return _taken_as_they_are(super().get_params(ctx))


class Group(TyperGroup):
    """The same of a group."""

    def get_params(self, ctx: Any) -> Any:
        """Its parameters, and `--help`."""
        return _taken_as_they_are(super().get_params(ctx))


def _taken_as_they_are(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperArgument) or parameter.is_bool_flag:
            parameter.display_type_rich = _no_type
        whole = parameter.get_runtime_param
        if not isinstance(getattr(whole, "__self__", None), _Converter):
            parameter.get_runtime_param = _Converter(whole).converter
    return parameters


def _no_type(ctx: typer.Context) -> None:
    """What help says of the kind of a flag or an argument: nothing.

    Typer would say `<bool>`, as if a word were to follow, and `<list[str]>` beside a name."""


class _Converter:
    """In the place of typer's own, which it asks for what is no text."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def converter(self) -> "_Converter":
        """Itself: typer asks for it before every value."""
        return self

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """The value as the command gets it."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        annotation = param.type_descriptor.annotation
        if annotation is str and isinstance(value, str):
            return value
        if annotation == list[str] and is_many and not isinstance(value, str):
            return list(value)
        return self._whole().coerce(value, param=param, ctx=ctx)
