"""What commands of both rooms are declared with, and the options that they share."""

import re
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from teamvars.cli.exits import Misuse

Function = Callable[..., None]
"""What a command runs; its options are named arguments."""
Decorator = Callable[[Function], Function]

T = TypeVar("T")

_JSON = "teamvars.json"
UNSET = "Is a variable of your shell not set?"
"""What is asked where a word is empty."""
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})([dhms])", re.ASCII)


class Once(click.Command):
    """A command that takes an option with a value once, unless it is for several: of two values one
    would have no effect.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads its words."""
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args([*args])
            for one, count in Counter(given).items():
                if (
                    count > 1
                    and isinstance(one, click.Option)
                    and not (one.is_flag or one.multiple)
                ):
                    ctx.fail(f"{max(one.opts, key=len)} is given twice, and takes one value.")
        return super().parse_args(ctx, args)


def command(function: Function) -> click.Command:
    """Makes a command of a function, whose docstring is its help."""
    return click.command(cls=Once)(function)


def option(word: str, help_: str, *names: str, **more: Any) -> Decorator:
    """An option and its help. `names`: another word for it, or the name of its value."""
    if more.get("multiple"):  # whoever gives another one twice is refused
        help_ = f"{help_.removesuffix('.')}; repeatable."
    return click.option(word, *names, help=help_, **more)


def flag(word: str, help_: str, *names: str) -> Decorator:
    """An option that is given or not."""
    return option(word, help_, *names, is_flag=True)


def argument(name: str, help_: str, **more: Any) -> Decorator:
    """An argument and its help. An empty word is refused: it would stand for all there is, or for
    the current folder.
    """
    return click.argument(name, cls=_Argument, help=help_, **more)


class _Argument(click.Argument):
    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """What the word says."""
        if "" in (value if isinstance(value, tuple | list) else [value]):
            raise click.BadParameter(f"It is empty. {UNSET}", ctx, self)
        return super().type_cast_value(ctx, value)


def json_flag(help_: str) -> Decorator:
    """The option that has `show` print JSON."""

    def choose(context: click.Context, _: click.Parameter, is_chosen: bool) -> None:
        context.meta[_JSON] = is_chosen

    return option("--json", help_, is_flag=True, expose_value=False, callback=choose)


json_option = json_flag("Print JSON.")


def wants_json() -> bool:
    """Whether the command that runs was given `--json`."""
    return bool(click.get_current_context().meta[_JSON])


def together(name: str, kind: Callable[..., Any], **options: Decorator) -> Decorator:
    """Options by the names of their values, which a command takes as one: `kind` of them all."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapped(**given: Any) -> None:
            own = {word: given.pop(word) for word in options}
            function(**given, **{name: kind(**own)})

        taking: Function = wrapped
        for add in reversed(options.values()):
            taking = add(taking)
        return taking

    return decorate


class OneOf(click.Choice[Any]):
    """One of an enumeration, given and shown by its value."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        """What stands for it on the command line."""
        return str(getattr(choice, "value", choice))


def lifetime(said: str | None, otherwise: T, of: str = "--expires") -> int | T:
    """What the option says, in µs."""
    if said is None:
        return otherwise
    found = _DURATION.fullmatch(said)
    if found is None or int(found[1]) == 0:
        raise Misuse(f"{of} is a duration above zero such as 90d, 12h, 30m or 45s.")
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000
