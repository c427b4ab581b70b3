"""Where a command goes and as whom: flags, then environment, then link, then user settings."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from teamvars.cli.client.api import accounts, links
from teamvars.cli.client.api.accounts import Account, Machine, Settings
from teamvars.cli.client.api.addresses import ENVIRONMENT, Address, address
from teamvars.cli.client.api.transport import Travel
from teamvars.cli.commands import (
    ADDRESS,
    ORGANIZATION,
    PROXY,
    SERVER_KEY,
    TOKEN,
    WORKSPACE,
)
from teamvars.cli.exits import UNAUTHENTICATED, Failure, Misuse
from teamvars.domain.names import NAME_RULE, is_name
from teamvars.kernel import Discreet

WORKSPACE_FLAG = "--workspace"
"""What a workspace comes from that was said for this one command."""


Said = tuple[Address, str]
"""An address, and where it came from in words."""


class Where(NamedTuple):
    """What the flags of a command say; None where a flag was not given.

    `of_organization`, `of_workspace`: whether it is about one.
    """

    address: str | None = None
    organization: str | None = None
    workspace: str | None = None
    set: str | None = None
    account: str | None = None
    timeout: str | None = None
    proxy: str | None = None
    debug: bool = False
    of_organization: bool = True
    of_workspace: bool = True


class Given(NamedTuple):
    """A value, and where it came from in words."""

    value: str
    origin: str


class Token(Discreet, frozen=True):
    """A token, and where it came from in words."""

    value: str
    origin: str


class Target(msgspec.Struct, frozen=True):
    """Where a command goes. Only `address` is always known."""

    address: Address
    address_origin: str
    token: Token
    organization: Given | None = None
    workspace: Given | None = None
    set: str | None = None
    travel: Travel = Travel()

    @property
    def organization_name(self) -> str:
        """The organization; fails where nothing says which."""
        return _required(self.organization, "organization", ORGANIZATION)

    @property
    def workspace_name(self) -> str:
        """The one workspace; fails where nothing says which, and on a pattern."""
        return _required(self.workspace, "workspace", WORKSPACE)

    @property
    def title(self) -> str:
        """What a command that writes says first: `acme/network on https://…`."""
        of_workspace = self.workspace if self.set is None else None
        known = [given.value for given in (self.organization, of_workspace) if given]
        what = "/".join(known) if self.set is None else f"set {self.set} of {', '.join(known)}"
        return f"{what} on {self.address}" if known else str(self.address)


class JobTarget(NamedTuple):
    """Where a job goes, which has no token."""

    address: Address
    workspace: Given | None
    travel: Travel

    @property
    def pins(self) -> str | None:
        """The service's keys, if anybody said them."""
        if said := os.environ.get(SERVER_KEY):
            return said
        return accounts.read_at_home(Settings).server_keys.get(str(self.address))


def target_of_job(where: Where) -> JobTarget | None:
    """Where a job would go. None where the flags name an account, or nothing says an address: that
    of a machine is the one that it was enrolled for, if nothing else says one.

    Where flags and environment say address and workspace, link and settings are not looked at. Else
    fails on a link that is not trusted.
    """
    if where.account is not None:
        return None
    workspace = _workspace_said(where)
    link = None if said_address(where) and workspace else links.find_trusted()
    found = said_address(where) or _address(where, link, accounts.read(Settings)) or _of_machine()
    if found is None:
        return None
    if workspace is None and link is not None:
        workspace = _first((link.workspace, f"the link {link.path}"))
    return JobTarget(found[0], workspace, travel_of(where))


def has_token(service: Address) -> bool:
    """Whether somebody has logged in to a service, or the environment has a token."""
    return bool(_own_token()) or accounts.find(str(service)) is not None


def _workspace_said(where: Where) -> Given | None:
    return _first((where.workspace, WORKSPACE_FLAG), (os.environ.get(WORKSPACE), WORKSPACE))


def resolve(where: Where, *, use_link: bool) -> Target:
    """Where the flags, the environment, the link and the settings say to go, and as whom.

    Where flags and environment say all that the command is about, link and settings are not looked
    at. Else fails on a link that is not trusted; always on what is no address, and without a token.
    A named account says address and token, whatever else does.
    """
    if where.workspace is not None and where.set is not None:
        raise Misuse("Give one of --workspace and --set.")
    organization = _first(
        (where.organization, "--organization"), (os.environ.get(ORGANIZATION), ORGANIZATION)
    )
    workspace = _workspace_said(where)
    # A link may be anybody's: it is not looked at where nothing is left that it could say.
    is_said = where.account is None and all(
        (
            said_address(where),
            organization or not where.of_organization,
            workspace or where.set or not where.of_workspace,
            _own_token(),
        )
    )
    link = links.find_trusted() if use_link and not is_said else None
    settings = Settings() if is_said else accounts.read(Settings)
    chosen = None if where.account is None else _account(where, settings)
    found = chosen or _address(where, link, settings)
    if found is None:
        raise Misuse(
            f"Nothing says where the service is. Run: teamvars login --address https://… "
            f"(or set {ADDRESS} and {TOKEN})"
        )
    account = settings.accounts.get(where.account or str(found[0]), Account())
    linked = link or links.Link(Path(), b"")
    origin = f"the link {linked.path}"
    return Target(
        *found,
        token=_token(*found, where.account),
        organization=organization
        or _first((linked.organization, origin), (account.organization, "teamvars login")),
        workspace=(workspace or _first((linked.workspace, origin))) if where.of_workspace else None,
        set=where.set,
        travel=travel_of(where),
    )


def travel_of(where: Where) -> Travel:
    """How requests travel, by flags and environment. Fails where these make no sense."""
    proxy = where.proxy or os.environ.get(PROXY)
    if proxy not in (None, "", ENVIRONMENT):
        raise Misuse(f"--proxy and {PROXY} can only be {ENVIRONMENT}.")
    travel = Travel(by_environment=bool(proxy), debug=where.debug)
    if where.timeout is None:
        return travel
    is_number = re.fullmatch(r"\d{1,5}(\.\d{1,3})?", where.timeout, re.ASCII)
    if not is_number or float(where.timeout) == 0:
        raise Misuse("--timeout is a number of seconds above zero, such as 5 or 0.5.")
    return travel._replace(seconds=float(where.timeout))


def _account(where: Where, settings: Settings) -> Said:
    """The address of the account that `--account` names. Fails where it is none, or elsewhere."""
    if not is_name(where.account or ""):
        raise Misuse(f"--account is {NAME_RULE}.")
    known = {name: one.address for name, one in settings.accounts.items() if one.address}
    at = known.get(where.account or "")
    if at is None:
        names = ", ".join(known) or "none yet"
        raise Failure(
            f"You have no account {where.account}. Yours: {names}. "
            f"To add one: teamvars login --name {where.account}",
            UNAUTHENTICATED,
        )
    found = address(at, "your settings")
    if where.address and address(where.address, "--address") != found:
        raise Misuse(f"The account {where.account} is one of {found}, not of --address.")
    return found, "--account"


def located(where: Where) -> Address | None:
    """Where a command goes that needs an address alone; None where nothing says one."""
    if where.account is not None:
        return _account(where, accounts.read(Settings))[0]
    found = said_address(where) or _address(where, links.find_trusted(), accounts.read(Settings))
    return found and found[0]


def said_address(where: Where) -> Said | None:
    """The address that this command or its environment names, and which of them does."""
    for value, origin in ((where.address, "--address"), (os.environ.get(ADDRESS), ADDRESS)):
        if value:
            return address(value, origin), origin
    return None


def _address(where: Where, link: links.Link | None, settings: Settings) -> Said | None:
    if said := said_address(where):
        return said
    if link is not None and link.address is not None:
        return address(link.address, "the link"), f"the link {link.path}"
    if settings.address is not None:
        return address(settings.address, "your settings"), "teamvars login"
    return None


def _of_machine() -> Said | None:
    addresses = accounts.read(Machine).addresses
    if len(addresses) != 1:
        return None
    return address(addresses[0], "this machine's key"), "teamvars runner init"


def _own_token() -> str:
    return os.environ.get(TOKEN, "").strip()


def _token(service: Address, origin: str, account: str | None) -> Token:
    """The token of a named account; else the environment's, or what was stored for the service."""
    if account is None and (given := _own_token()):
        # Where a folder or an earlier login says the address, nobody said this token is for it.
        if origin not in ("--address", ADDRESS):
            raise Misuse(
                f"{TOKEN} is set, and the address {service} comes from {origin}: the token is sent "
                f"to --address or {ADDRESS} alone. Set {ADDRESS} too, or unset {TOKEN}."
            )
        return Token(sendable(given, TOKEN), TOKEN)
    stored = accounts.find(account or str(service))
    if stored is not None:
        return Token(stored, "teamvars login" if account is None else "--account")
    missing, name = f"You are not logged in to {service}.", ""
    if account is not None:
        missing, name = f"The token of the account {account} is gone.", f" --name {account}"
    raise Failure(f"{missing} Run: teamvars login{name} --address {service}", UNAUTHENTICATED)


def sendable(token: str, origin: str) -> str:
    """The token, when it can stand in a header. Fails without showing it."""
    if token and token.isascii() and token.isprintable() and " " not in token:
        return token
    raise Misuse(f"The text from {origin} is not a token. Copy the whole token again.")


def _first(*sources: tuple[str | None, str]) -> Given | None:
    return next((Given(value, origin) for value, origin in sources if value), None)


def _required(given: Given | None, kind: str, variable: str) -> str:
    if given is None:
        raise Misuse(
            f"Nothing says which {kind}. Give --{kind}, set {variable}, or link this folder: "
            "teamvars link"
        )
    if not is_name(given.value):
        raise Misuse(f"The {kind} from {given.origin} is not one: it has {NAME_RULE}.")
    return given.value
