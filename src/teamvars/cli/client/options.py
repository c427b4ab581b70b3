"""Options that client commands share, and what makes them a `Where`."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from teamvars.cli.client.place import Where
from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named
from teamvars.origins import origin


def offered(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """What a shell offers in the place of a word of this kind; see `offers`."""

    def words(context: typer.Context, incomplete: str) -> list[str]:
        # Only then: no other command needs what this loads.
        found: list[str] = named("teamvars.cli.client.offers:offers")(kind, context, incomplete)
        return found

    return words


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing; exit with 3 where something would.")
]
CategoryWord = Annotated[
    str | None,
    typer.Option("--category", help="env or tool.", autocompletion=offered("category")),
]
Key = Annotated[str, typer.Argument(help="The variable.", autocompletion=offered("key"))]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave out sensitive ones that have no value here.")
]
SkipInvalidKeys = Annotated[
    bool, typer.Option("--skip-invalid-keys", help="Leave out keys that are no names, and say so.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


_SHARED: dict[str, Any] = {
    "address": Annotated[
        str | None, typer.Option("--address", help="The service, such as https://host:8443.")
    ],
    "organization": Annotated[
        str | None,
        typer.Option(
            "--organization", "-o", help="The organization.", autocompletion=offered("organization")
        ),
    ],
    "workspace": Annotated[
        str | None,
        typer.Option(
            "--workspace", "-w", help="The workspace.", autocompletion=offered("workspace")
        ),
    ],
}
_ALWAYS: dict[str, Any] = {
    "account": Annotated[
        str | None,
        typer.Option(
            "--account",
            metavar="NAME",
            help="The account that 'login --name NAME' stored.",
            autocompletion=offered("account"),
        ),
    ],
    "timeout": Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Limit of each request, retries included: 30, 10 of them to connect.",
        ),
    ],
    "proxy": Annotated[
        str | None,
        typer.Option("--proxy", metavar="environment", help="Use HTTPS_PROXY and NO_PROXY."),
    ],
}
_DEBUG = Annotated[bool, typer.Option("--debug", help="Show requests, without tokens and values.")]


def placed(
    *names: str, account: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options named, and those that all have: what they say is a `Where`.

    The function takes it as its first parameter. `account`: whether it may be that of a name.
    """
    shared = {name: _SHARED[name] for name in ("address", *names)} | _ALWAYS
    if not account:
        del shared["account"]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            said = {name: given.pop(name) for name in (*shared, "debug")}
            require_said(said)
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


def require_said(options: Mapping[str, str | bool | None]) -> None:
    """Fails on an option that is empty: it would stand for what another source says instead."""
    for name, value in options.items():
        if value == "":
            raise Failure(f"--{name} is empty. Is a variable of your shell not set?", USAGE)


def _option(name: str, type_: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_
    )
