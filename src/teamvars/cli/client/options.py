"""Options that client commands share, and what makes them a `Where`."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from teamvars.cli.client import reading
from teamvars.cli.client.api import connect
from teamvars.cli.client.place import Where
from teamvars.cli.failures import Failure
from teamvars.domain.names import is_name
from teamvars.origins import origin

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing; exit with 3 where something would.")
]
CategoryWord = Annotated[str | None, typer.Option("--category", help="env or tool.")]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave out sensitive ones that have no value here.")
]
SkipInvalidKeys = Annotated[
    bool, typer.Option("--skip-invalid-keys", help="Leave out keys that are no names, and say so.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def _workspaces(context: typer.Context, incomplete: str) -> list[str]:
    """The workspaces that a shell offers. Only names: some shells evaluate what they are given."""
    said = Where(context.params.get("address"), context.params.get("organization"))
    try:
        found = reading.workspaces(connect(said))
    except Failure:
        return []
    names = (one["attributes"]["name"] for one in found)
    return [name for name in names if is_name(name) and name.startswith(incomplete)]


_SHARED: dict[str, Any] = {
    "address": Annotated[
        str | None, typer.Option("--address", help="The service, such as https://host:8443.")
    ],
    "organization": Annotated[
        str | None, typer.Option("--organization", "-o", help="The organization.")
    ],
    "workspace": Annotated[
        str | None,
        typer.Option("--workspace", "-w", help="The workspace.", autocompletion=_workspaces),
    ],
}
_DEBUG = Annotated[bool, typer.Option("--debug", help="Show requests, without tokens and values.")]


def placed(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command `--address`, `--debug` and the options named: what they say is a `Where`.

    The function takes it as its first parameter.
    """
    shared = {"address": _SHARED["address"], **{name: _SHARED[name] for name in names}}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            said = {name: given.pop(name) for name in (*shared, "debug")}
            try:
                function(Where(**said), **given)
            except (LookupError, TypeError, AttributeError) as error:
                # As of an answer of something else than teamvars, or of another release.
                raise Failure(
                    f"unexpected {origin(error)}. Whether the service fits: teamvars version"
                ) from None

        own = list(inspect.signature(function).parameters.values())[1:]
        more = [_option(name, type_, None) for name, type_ in shared.items()]
        parameters = [*own, *more, _option("debug", _DEBUG, False)]
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        )
        return command

    return decorate


def _option(name: str, type_: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_
    )
