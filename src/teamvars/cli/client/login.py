"""`login`, with what is below it, `logout`, `whoami` and `version`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from teamvars import __version__
from teamvars.cli import asking, named
from teamvars.cli.client.api import Api, accounts, at, misfit, release_of, told
from teamvars.cli.client.api.accounts import Account, Settings
from teamvars.cli.client.api.addresses import Address, address
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import (
    Given,
    Said,
    Target,
    Token,
    Where,
    located,
    said_address,
    sendable,
    travel_of,
)
from teamvars.cli.client.api.transport import Travel
from teamvars.cli.client.options import (
    connected,
    ending_after,
    placed,
    yes_option,
)
from teamvars.cli.exits import NOT_FOUND, Failure, Misuse
from teamvars.cli.options import (
    argument,
    command,
    flag,
    json_option,
    lifetime,
    option,
    together,
)
from teamvars.cli.output import note, show, show_token
from teamvars.domain.names import NAME_RULE, fold, is_name
from teamvars.domain.times import DAY, SECOND
from teamvars.signals import clearing_up

_MOST_BYTES = 4096
_LOGINS = "teamvars.cli.client.logins"
"""Loaded only where it is used: what listens for a browser takes a while."""
_MEMBERSHIPS = "organization-memberships"
_SOME = "To accept one: teamvars login accept ORGANIZATION"
_NONE = "You have no open invitation."
_SERVICE_ACCOUNT = "api-"
"""How the name of a team's or organization's token begins: `api-team-…`, `api-organization-…`."""
_TYPE = "authentication-tokens"
_MADE = "already_made"
_SHOWN = {
    "id": "id",
    "description": "description",
    "created": "created-at",
    "expires": "expired-at",
    "last-used": "last-used-at",
}


class How(NamedTuple):
    """How somebody logs in who pastes no token, and for how long."""

    browser: bool = False
    device: bool = False
    expires: str | None = None


@command
@option("--name", "Store it beside others, for --account NAME.")
@option("--server-key", "What 'teamvars server-key show' prints on its host.")
@together(
    "how",
    How,
    browser=flag("--browser", "Approve it in a browser of this machine."),
    device=flag("--device", "Approve it in a browser anywhere, by a code."),
    expires=option(
        "--expires", "How long to stay logged in: 30d or 12h. At most 90d unless given."
    ),
)
@placed("organization", account=False)
def login(where: Where, how: How, name: str | None, server_key: str | None) -> None:
    """Log in to a service, and store the token.

    Press Enter to approve it in your browser, where you sign in as you do in the console, or type a
    token, which is not shown. Where there is no terminal, give a token on standard input. It is
    tried, and then stored in the system's keyring if there is one, else in a file that only you can
    read.

    With --device you approve it in a browser on any machine, by a code that is shown here: so does
    --browser, and Enter, where this machine has none. Type nobody else's code: whoever sent it
    would be you.

    With --name it is stored beside the others, for use with --account. With --server-key, what the
    service delivers to jobs of this machine is checked against that key.

    Example: teamvars login --address https://teamvars.example.com
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    if name is not None and not is_name(name):
        raise Misuse(f"--name is {NAME_RULE}.")
    settings = accounts.read(Settings)  # before anybody is asked for what could not be kept
    service, _ = said_address(where) or _asked(settings)
    if server_key is not None:
        # Only here: what knows keys takes a while to load.
        named("teamvars.cli.client.deliveries:pinned_keys")(server_key)
    with clearing_up():  # a token that was made, and that nobody keeps
        _log_in(where, service, how, name)
    if server_key is not None:
        accounts.pin(service, server_key)
    note("Next: teamvars link, in the folder of a workspace.")


def _log_in(where: Where, service: Address, how: How, name: str | None) -> None:
    """Keeps the token that somebody gives, or approves. A former one that was approved ends, and so
    does a new one that does not serve.
    """
    travel = travel_of(where)
    given = None if any(how) else _typed(service)
    is_own = given is None
    if given is None:
        given = _approved(service, travel, how)
    token = Token(sendable(given, "you"), "you")
    try:
        former = _own_token(name or str(service))
        told = _entered(where, Target(service, "you", token, travel=travel), name, is_own=is_own)
    except BaseException:
        if is_own:
            _revoke(service, travel, token.value)
        raise
    try:
        if former is not None and former != token.value:
            _revoke(service, travel, former)
    finally:  # also where Ctrl-C ends that
        note(told)  # which may fail, but no longer undoes anything


def _entered(where: Where, target: Target, name: str | None, *, is_own: bool) -> str:
    """Tries the token of a target, and keeps it; what to say of that."""
    api = Api(target)
    who = api.account()["attributes"]["username"]
    organization = _organization(where.organization, api.organizations())
    token = target.token.value
    kept = accounts.keep(target.address, name, token, organization, is_own=is_own)
    told = [f"Logged in to {target.address} as {who}. The token is in {kept}."]
    if name is not None:
        told.append(f"To use it: --account {name}, with any command.")
    if organization is not None:
        told.append(f"Organization: {organization}.")
    return "\n".join(told)


@command
@flag("--all", "Of all services and accounts.", "all_")
@flag("--local", "Revoke nothing: only forget it here.")
@placed()
def logout(where: Where, all_: bool, local: bool) -> None:
    """Revoke the token of a login, and forget it.

    It is revoked if you approved the login in a browser. A token that you pasted is only forgotten:
    copies of it still work. To revoke it, run 'teamvars login tokens revoke'.

    If the service cannot be reached, the token stays, for another try: or give --local.

    Example: teamvars logout
    """
    at, name = where.address, where.account
    if bool(at) + bool(name) + all_ > 1:
        raise Misuse("Give one of --address, --account and --all.")
    settings = accounts.read(Settings)
    if all_:
        names = list(settings.accounts)
    else:
        names = [str(address(at, "--address")) if at else name or settings.address or ""]
    known = {one: settings.accounts[one] for one in names if one in settings.accounts}
    if not known:
        raise Failure(f"You are not logged in{' there' if at or name else ''}.")
    travel = None if local else travel_of(where)
    tried = [_left(account, about, travel) for account, about in known.items()]
    if failures := [failure for failure in tried if failure is not None]:
        raise Failure("\n".join(map(str, failures)), failures[0].code)


def _left(account: str, about: Account, travel: Travel | None) -> Failure | None:
    """Forgets a token, once one that is this account's own was revoked; why it could not be.
    Without a way to travel none is.
    """
    own = None if travel is None else _own_token(account)
    if own is not None:
        service = address(about.address or account, "your settings")
        try:
            named(f"{_LOGINS}:Service")(service, travel, None).revoke(own)
        except Failure as failure:
            which = f"--{'account' if about.address else 'address'} {account}"
            more = "The token is still stored. To only forget it here: teamvars logout --local"
            return Failure(f"{failure} {more} {which}", failure.code)
    accounts.forget(account)
    note(f"Logged out of {account}.{' The token is revoked.' if own else ''}")
    return None


def _own_token(account: str) -> str | None:
    """The token that was made for an account alone, if it has such a one."""
    about = accounts.read(Settings).accounts.get(account)
    return accounts.find(account) if about is not None and about.is_own else None


def _revoke(service: Address, travel: Travel, token: str) -> None:
    """Ends a token that nobody has any more, if the service can be reached."""
    try:
        named(f"{_LOGINS}:Service")(service, travel, None).revoke(token)
    except Failure as failure:
        note(f"A token that is no longer used could not be revoked: {failure}")


def _typed(service: Address) -> str | None:
    """The token that somebody gives; None: they would rather approve it in a browser."""
    question = f"Token for {service}, or Enter to log in with your browser: "
    given = asking.secret(question, _MOST_BYTES).strip()
    if not given and not asking.is_terminal():
        raise Misuse("There is no token on standard input.")
    return given or None


def _approved(service: Address, travel: Travel, how: How) -> str:
    """The token that somebody approves in a browser, here unless there is none."""
    if how.browser and how.device:
        raise Misuse("Give one of --browser and --device.")
    lives = lifetime(how.expires, 0)
    is_here = not how.device and (how.browser or named(f"{_LOGINS}:has_browser")())
    asked = named(f"{_LOGINS}:Service")(service, travel, lives // SECOND or None)
    approved = named(f"{_LOGINS}:by_browser" if is_here else f"{_LOGINS}:by_code")
    token: str = approved(asked)
    return token


def _asked(settings: Settings) -> Said:
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


@command
@argument("organization", "Whose invitation to accept.", required=False, metavar="[ORGANIZATION]")
@json_option
@connected()
def accept(api: Api, organization: str | None) -> None:
    """Accept an invitation; without a name, list your open invitations.

    You need a token here. If you have none, open the link that you were sent.

    Example: teamvars login accept
    """
    waiting = [
        {
            "id": one["id"],
            "organization": one["relationships"]["organization"]["data"]["id"],
            "expires": (one["attributes"].get("invitation") or {}).get("expires-at"),
        }
        for one in api.listed(at(_MEMBERSHIPS))
        if one["attributes"]["status"] == "invited"
    ]
    if organization is None:
        cells = ((row["organization"], f"expires {row['expires'] or 'never'}") for row in waiting)
        show(waiting, cells, said=_SOME, empty=_NONE)
        return
    found = next((row for row in waiting if fold(row["organization"]) == fold(organization)), None)
    if found is None:
        raise Failure(f"You have no open invitation from {organization}.", NOT_FOUND)
    api.announce(f"Your membership of {found['organization']}")
    api.post(at(_MEMBERSHIPS, found["id"], "actions", "accept"))
    show(found, ())
    note(f"You are a member of {found['organization']}. Next: teamvars link")


@command
@json_option
@connected("organization", "workspace")
def whoami(api: Api) -> None:
    """Show who you are, on which service, and which settings say so.

    Example: teamvars whoami
    """
    account, target = api.account(), api.target
    attributes = account["attributes"]
    kind = "user"
    if attributes["is-service-account"]:
        kind = attributes["username"].removeprefix(_SERVICE_ACCOUNT).partition("-")[0]
    found = {
        "address": Given(str(target.address), target.address_origin)._asdict(),
        "name": attributes["username"],
        "id": account["id"],
        "email": attributes["email"],
        "token": Given(kind, target.token.origin)._asdict(),
        "organization": target.organization and target.organization._asdict(),
        "workspace": target.workspace and target.workspace._asdict(),
    }
    rows = (
        (name, one["value"], f"from {one['origin']}")
        if isinstance(one, dict)
        else (name, one or "-", "")
        for name, one in found.items()
    )
    show(found, rows)


@command
@json_option
@placed()
def version(where: Where) -> None:
    """Show the versions of this command and of the service.

    They fit if the first number is the same and, while that is 0, the second too.

    Example: teamvars version
    """
    service = located(where)
    served = None if service is None else release_of(service, travel_of(where))
    told = {"client": __version__, "server": served, "address": service and str(service)}
    rows = [("client", __version__), ("server", f"{served}  {service}" if served else "-")]
    show(told, rows)
    if service is not None and served is not None and (said := misfit(service, served)):
        note(said)


@command
@json_option
@connected()
def list_(api: Api) -> None:
    """List your tokens.

    Example: teamvars login tokens list
    """
    found = [told(one, _SHOWN) for one in api.listed(_path(api))]
    rows = (
        (
            one["id"],
            one["description"] or "-",
            f"expires {one['expires'] or 'never'}",
            f"last used {one['last-used'] or 'never'}",
        )
        for one in found
    )
    show(found, rows, empty="You have no tokens.")


@command
@option(
    "--description",
    "What it is for; shown beside each change made with it.",
    default="",
    show_default=False,
)
@option("--expires", "Lifetime: 90d, 12h, 30m or 45s. 90d unless given.")
@json_option
@connected()
def create(api: Api, description: str, expires: str | None) -> None:
    """Make a token for yourself and show it once.

    Example: teamvars login tokens create --description laptop --expires 30d
    """
    lives = lifetime(expires, 90 * DAY)
    said = {"description": description or None, "expired-at": ending_after(lives)}
    api.announce("Your tokens")
    try:
        made = _made(api, said)
    except ApiError as error:
        # Refused for its end alone: the token in use ends sooner.
        outlives = [fault.pointer for fault in error.faults] == ["/data/attributes/expired-at"]
        if expires is not None or not outlives:
            raise _unseen(error) from None
        made = _made(api, {**said, "expired-at": None})  # when the one in use does
    attributes = made["attributes"]
    ends = attributes["expired-at"] or "never"
    show_token(made["id"], attributes["token"], ends, "teamvars login tokens revoke")


@command
@argument("token_ids", "From the list.", nargs=-1, required=True, metavar="ID…")
@yes_option
@connected()
def revoke(api: Api, token_ids: Sequence[str], yes: bool) -> None:
    """Revoke your tokens at once.

    Example: teamvars login tokens revoke at-2TeBwD7yRZ4pQ1nC --yes
    """
    api.announce("Your tokens")
    asking.confirm(f"Revoke {', '.join(token_ids)}?", yes=yes)
    for token_id in token_ids:
        api.delete(at(_TYPE, token_id))
        note(f"Revoked: {token_id}.")


def _made(api: Api, attributes: dict[str, str | None]) -> Any:
    document = {"data": {"type": _TYPE, "attributes": attributes}}
    return api.post(_path(api), document).document["data"]


def _unseen(error: ApiError) -> Failure:
    """A token that was made without an answer was shown to nobody, and cannot be shown again."""
    made = next((fault.meta.get("id") for fault in error.faults if fault.code == _MADE), None)
    if made is None:
        return error
    return Failure(
        "The token was made, but its text was lost with the answer. "
        f"Run: teamvars login tokens revoke {made}, then make another.",
        error.code,
    )


def _path(api: Api) -> str:
    return at("users", api.account()["id"], _TYPE)
