"""`login` and `logout`."""

from typing import Annotated

import typer

from teamvars.cli import asking
from teamvars.cli.client import reading, stored_tokens, user_files
from teamvars.cli.client.addresses import Address, address
from teamvars.cli.client.api import Api
from teamvars.cli.client.options import offered, placed, require_said
from teamvars.cli.client.place import Target, Token, Where, said_address, sendable, travel_of
from teamvars.cli.client.user_files import Settings
from teamvars.cli.exits import NOT_FOUND, USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note
from teamvars.domain.names import NAME_RULE, fold, is_name

_MOST_BYTES = 4096


@placed("organization", account=False)
def login(
    where: Where,
    context: typer.Context,
    name: Annotated[
        str | None, typer.Option("--name", help="Keep it beside others, for --account NAME.")
    ] = None,
) -> None:
    """Log in to a service, and keep the token.

    The token is typed without being shown, or comes from standard input. It is tried, and kept in
    the system's keyring where there is one, else in a file that only you can read.

    With --name it is kept beside the others, and used where --account names it.

    Example: teamvars login --address https://teamvars.example.com
    """
    if context.invoked_subcommand is not None:
        return
    if name is not None and not is_name(name):
        raise Failure(f"--name is {NAME_RULE}.", USAGE)
    place, _ = said_address(where) or _asked(user_files.read(Settings))
    given = asking.secret(f"Token for {place}: ", _MOST_BYTES).strip()
    token = Token(sendable(given, "you"), "you")
    api = Api(Target(place, "you", token, travel=travel_of(where)))
    who = reading.account(api)["attributes"]["username"]
    organization = _organization(where.organization, reading.organizations(api))
    kept = stored_tokens.keep(place, name, token.value, organization)
    note(f"Logged in to {place} as {who}. The token is in {kept}.")
    if name is not None:
        note(f"To use it: --account {name}, with any command.")
    if organization is not None:
        note(f"Organization: {organization}.")
    note("Next: teamvars link, in a folder that is for one workspace.")


def logout(
    at: Annotated[str | None, typer.Option("--address", help="Of this service alone.")] = None,
    name: Annotated[
        str | None,
        typer.Option("--account", help="Only of this account.", autocompletion=offered("account")),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Of all services and accounts.")] = False,
) -> None:
    """Forget a token that was kept.

    It stays valid for whoever has a copy: 'teamvars login tokens revoke' ends it.

    Example: teamvars logout
    """
    require_said({"address": at, "account": name})
    if bool(at) + bool(name) + all_ > 1:
        raise Failure("Give one of --address, --account and --all.", USAGE)
    settings = user_files.read(Settings)
    if all_:
        accounts = list(settings.accounts)
    else:
        accounts = [str(address(at, "--address")) if at else name or settings.address or ""]
    forgotten = [account for account in accounts if stored_tokens.forget(account)]
    if not forgotten:
        raise Failure(f"You are not logged in{' there' if at or name else ''}.")
    for account in forgotten:
        note(f"Logged out of {account}.")


def _asked(settings: Settings) -> tuple[Address, str]:
    """Where to log in, when nothing says so: where it was before, or what the person types."""
    if settings.address is not None:
        return address(settings.address, "your settings"), "teamvars login"
    return address(asking.ask("Address of the service: ", "--address"), "you"), "you"


def _organization(wanted: str | None, names: list[str]) -> str | None:
    """The one that counts unless another is said: what is wanted, or the only one."""
    if wanted is None:
        return names[0] if len(names) == 1 else None
    for name in names:
        if fold(name) == fold(wanted):
            return name
    raise Failure(f"You are in no organization {wanted}. Yours: {', '.join(names)}.", NOT_FOUND)
