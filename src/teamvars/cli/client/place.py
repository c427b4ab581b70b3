"""Where a command goes and as whom: flags, then environment, then link, then user settings."""

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from teamvars.cli.client import links, stored_tokens, user_files
from teamvars.cli.client.addresses import Address, address
from teamvars.cli.client.user_files import Account, Settings
from teamvars.cli.failures import Failure
from teamvars.cli.output import UNAUTHENTICATED, USAGE
from teamvars.cli.variables import ADDRESS, ORGANIZATION, TOKEN, WORKSPACE
from teamvars.domain.discreet import Discreet
from teamvars.domain.names import NAME_RULE, is_name

WORKSPACE_FLAG = "--workspace"
"""What a workspace comes from that was said for this one command."""


class Where(NamedTuple):
    """What the flags of a command say; None where a flag was not given."""

    address: str | None = None
    organization: str | None = None
    workspace: str | None = None
    debug: bool = False


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
    debug: bool = False

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
        known = [given.value for given in (self.organization, self.workspace) if given]
        return f"{'/'.join(known)} on {self.address}" if known else str(self.address)


def resolve(where: Where, *, use_link: bool = True) -> Target:
    """Where the flags, the environment, the link and the settings say to go, and as whom.

    Fails on a link that is not trusted, on what is no address, and without a token.
    """
    link, settings = links.find_trusted() if use_link else None, user_files.read(Settings)
    found = _address(where, link, settings)
    if found is None:
        raise Failure(
            f"Nothing says where the service is. Run: teamvars login --address https://… "
            f"(or set {ADDRESS} and {TOKEN})",
            USAGE,
        )
    account = settings.accounts.get(str(found[0]), Account())
    linked = link or links.Link(Path(), b"")
    origin = f"the link {linked.path}"
    return Target(
        *found,
        token=_token(*found),
        organization=_first(
            (where.organization, "--organization"),
            (os.environ.get(ORGANIZATION), ORGANIZATION),
            (linked.organization, origin),
            (account.organization, "teamvars login"),
        ),
        workspace=_first(
            (where.workspace, WORKSPACE_FLAG),
            (os.environ.get(WORKSPACE), WORKSPACE),
            (linked.workspace, origin),
        ),
        debug=where.debug,
    )


def located(where: Where) -> Address | None:
    """Where a command goes that needs no token; None where nothing says so."""
    found = _address(where, links.find_trusted(), user_files.read(Settings))
    return found and found[0]


def said_address(where: Where) -> tuple[Address, str] | None:
    """The address that this command or its environment names, and which of them does."""
    for value, origin in ((where.address, "--address"), (os.environ.get(ADDRESS), ADDRESS)):
        if value:
            return address(value, origin), origin
    return None


def _address(
    where: Where, link: links.Link | None, settings: Settings
) -> tuple[Address, str] | None:
    if said := said_address(where):
        return said
    if link is not None and link.address is not None:
        return address(link.address, "the link"), f"the link {link.path}"
    if settings.address is not None:
        return address(settings.address, "your settings"), "teamvars login"
    return None


def _token(where: Address, origin: str) -> Token:
    given = os.environ.get(TOKEN, "").strip()
    if not given:
        stored = stored_tokens.find(where)
        if stored is None:
            text = f"You are not logged in to {where}. Run: teamvars login --address {where}"
            raise Failure(text, UNAUTHENTICATED)
        return Token(stored, "teamvars login")
    # Where a folder or an earlier login says the address, nobody has said this token is for it.
    if origin not in ("--address", ADDRESS):
        raise Failure(
            f"{TOKEN} is set, and the address {where} comes from {origin}: the token is sent "
            f"to --address or {ADDRESS} alone. Set {ADDRESS} too, or unset {TOKEN}.",
            USAGE,
        )
    return Token(sendable(given, TOKEN), TOKEN)


def sendable(token: str, origin: str) -> str:
    """The token, when it can stand in a header. Fails without showing it."""
    if token and token.isascii() and token.isprintable() and " " not in token:
        return token
    raise Failure(f"What came from {origin} is no token. Copy it again, all of it.", USAGE)


def _first(*sources: tuple[str | None, str]) -> Given | None:
    return next((Given(value, origin) for value, origin in sources if value), None)


def _required(given: Given | None, kind: str, variable: str) -> str:
    if given is None:
        raise Failure(
            f"Nothing says which {kind}. Give --{kind}, set {variable}, or link this folder: "
            "teamvars link",
            USAGE,
        )
    if not is_name(given.value):
        raise Failure(f"The {kind} from {given.origin} is none: it is {NAME_RULE}.", USAGE)
    return given.value
