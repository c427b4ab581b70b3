"""Options that client commands share, and what makes them a `Where`."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import click

from teamvars.cli import named
from teamvars.cli.client.api import connect, misfit, release_of
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import Where
from teamvars.cli.exits import Failure, Misuse
from teamvars.cli.options import UNSET, Decorator, Function, argument, flag, option, together
from teamvars.origins import origin


def offered(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell offers in the place of a word of this kind; see `offers`."""

    def words(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        # Only then: no other command needs what this loads.
        found: list[str] = named("teamvars.cli.client.offers:offers")(kind, context, incomplete)
        return found

    return words


dry_run_option = flag("--dry-run", "Change nothing; exit with 3 if anything would change.")
category_option = option("--category", "env or tool.", shell_complete=offered("category"))
key_argument = argument("key", "The variable.", shell_complete=offered("key"))
workspaces_argument = argument(
    "workspaces",
    "Their names or ids.",
    nargs=-1,
    required=True,
    metavar="WORKSPACE…",
    shell_complete=offered("workspace"),
)
some_workspaces_argument = argument(
    "workspaces",
    "Their names or ids.",
    nargs=-1,
    metavar="[WORKSPACE…]",
    shell_complete=offered("workspace"),
)
allow_missing_option = flag(
    "--allow-missing", "Leave out sensitive variables without a value here."
)
skip_invalid_keys_option = flag(
    "--skip-invalid-keys", "Leave out keys that are not names, and say so."
)
yes_option = flag("--yes", "Do it without asking.", "-y")

_OF_THE_UNKNOWN = (400, 404, 405)
"""Statuses of a path, a parameter or a method that a service does not know."""
_SECONDS = 5.0
"""For a service that has just answered to say its release: whoever was refused waits for it."""

_SHARED: dict[str, Decorator] = {
    "address": option("--address", "The service, such as https://host:8443."),
    "organization": option(
        "--organization", "The organization.", "-o", shell_complete=offered("organization")
    ),
    "workspace": option(
        "--workspace",
        "The workspace, by name or id.",
        "-w",
        shell_complete=offered("workspace"),
    ),
    "set": option(
        "--set",
        "A variable set, by name or id, instead of a workspace.",
        metavar="SET",
        shell_complete=offered("set"),
    ),
    "account": option(
        "--account",
        "The account that 'login --name NAME' stored.",
        metavar="NAME",
        shell_complete=offered("account"),
    ),
    "timeout": option(
        "--timeout",
        "Limit of each request, retries included: 30, 10 of them to connect.",
        metavar="SECONDS",
    ),
    "proxy": option("--proxy", "Use HTTPS_PROXY and NO_PROXY.", metavar="environment"),
    "debug": flag("--debug", "Show requests, without tokens and values."),
}


def placed(*names: str, account: bool = True) -> Decorator:
    """Gives a command the options named, and those that all have: what they say is its `where`.

    `account`: whether it may be that of a name.
    """
    always = ("account", "timeout", "proxy", "debug") if account else ("timeout", "proxy", "debug")
    shared = {name: _SHARED[name] for name in ("address", *names, *always)}

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapped(**given: Any) -> None:
            try:
                function(**given)
            except ApiError as error:
                raise _with_misfit(error) from None
            except (LookupError, TypeError, AttributeError) as error:
                # As of an answer of something else than teamvars, or of another release.
                raise Failure(
                    f"unexpected {origin(error)}. Whether the service fits: teamvars version"
                ) from None

        return together("where", _where, **shared)(wrapped)

    return decorate


def connected(*names: str) -> Decorator:
    """The same for a command that goes to the service at once: it is given the `api`."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapped(where: Where, **given: Any) -> None:
            function(connect(where), **given)

        return placed(*names)(wrapped)

    return decorate


def _with_misfit(error: ApiError) -> ApiError:
    """The error, and with it whether the service may be of another release that does not know what
    it was asked for: it answers as it does of what is not there.
    """
    if error.status in _OF_THE_UNKNOWN:
        service, travel = error.target.address, error.target.travel
        travel = travel._replace(seconds=min(travel.seconds, _SECONDS))
        with suppress(Failure, KeyboardInterrupt):  # what was refused is told all the same
            if said := misfit(service, release_of(service, travel)):
                error.args = (f"{error}\n{said}",)
    return error


def _where(**said: Any) -> Where:
    require_said(said)
    return Where(**said, of_organization="organization" in said, of_workspace="workspace" in said)


def ending_after(lives: int) -> str:
    """When so many µs from now are over, as the service reads it. Fails beyond any calendar."""
    try:
        return f"{datetime.now(UTC) + timedelta(microseconds=lives):%Y-%m-%dT%H:%M:%SZ}"
    except OverflowError:
        raise Misuse("--expires is too late for any calendar.") from None


def require_said(options: Mapping[str, str | bool | None]) -> None:
    """Fails on an option that is empty: it would stand for what another source says instead."""
    for name, value in options.items():
        if value == "":
            raise Misuse(f"--{name} is empty. {UNSET}")
