"""Options that commands of both rooms share."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from teamvars.cli.exits import USAGE, Failure

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
NEVER = "never"

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})([dhms])", re.ASCII)


def together(name: str, kind: Callable[..., Any], **options: Decorator) -> Decorator:
    """Options by the names of their values, which a command takes as one: `kind` of them all."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            own = {option: given.pop(option) for option in options}
            function(**given, **{name: kind(**own)})

        taking: Callable[..., None] = command
        for option in reversed(options.values()):
            taking = option(taking)
        return taking

    return decorate


class OneOf(click.Choice[Any]):
    """One of an enumeration, given and shown by its value."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        """What stands for it on the command line."""
        return str(getattr(choice, "value", choice))


def lifetime(expires: str | None, otherwise: int | None) -> int | None:
    """In µs; None for what never expires."""
    if expires is None:
        return otherwise
    if expires == NEVER:
        return None
    found = _DURATION.fullmatch(expires)
    if found is None or int(found[1]) == 0:
        text = "--expires is never or a duration above zero such as 90d, 12h, 30m or 45s."
        raise Failure(text, USAGE)
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000
