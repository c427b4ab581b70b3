"""Tokens that are kept: in the system's keyring where there is one, else in a file (0600).

Each belongs to one scheme, host and port, and is found for no other.
"""

from importlib.util import find_spec
from typing import Any

from teamvars.cli.client import user_files
from teamvars.cli.client.addresses import Address
from teamvars.cli.client.user_files import Account, Settings, Tokens
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named

_SERVICE = "teamvars"
_LEAST_PRIORITY = 1
"""Of a backend that keeps secrets as a keyring should; plain files have less."""


def find(address: Address) -> str | None:
    """The token for the address, if one is kept."""
    account = user_files.read(Settings).accounts.get(str(address))
    if account is not None and account.in_keyring:
        found: str | None = _ask("get_password", address)
        return found
    return user_files.read(Tokens).by_address.get(str(address))


def keep(address: Address, token: str, organization: str | None) -> str:
    """Keeps a token, and makes its address the current one. Returns where it is kept, in words."""
    in_keyring = _has_keyring()
    if in_keyring:
        _ask("set_password", address, token)
    user_files.change(Tokens, lambda tokens: _put(tokens, address, None if in_keyring else token))

    def current(settings: Settings) -> None:
        settings.address = str(address)
        settings.accounts[str(address)] = Account(organization, in_keyring)

    user_files.change(Settings, current)
    return "the system's keyring" if in_keyring else str(user_files.path_of(Tokens))


def forget(address: Address) -> bool:
    """Forgets the token and the account; whether there was one."""
    account = user_files.read(Settings).accounts.get(str(address))
    if account is None:
        return False
    if account.in_keyring:
        _ask("delete_password", address)
    user_files.change(Tokens, lambda tokens: _put(tokens, address, None))

    def without(settings: Settings) -> None:
        settings.accounts.pop(str(address), None)
        if settings.address == str(address):
            settings.address = next(iter(settings.accounts), None)

    user_files.change(Settings, without)
    return True


def _put(tokens: Tokens, address: Address, token: str | None) -> None:
    tokens.by_address.pop(str(address), None)
    if token is not None:
        tokens.by_address[str(address)] = token


def _has_keyring() -> bool:
    if find_spec("keyring") is None:
        return False
    backend: Any = named("keyring:get_keyring")()
    return bool(backend.priority >= _LEAST_PRIORITY)


def _ask(function: str, address: Address, *token: str) -> Any:
    """Asks the keyring. What its backends raise is theirs, and may hold anything."""
    try:
        return named(f"keyring:{function}")(_SERVICE, str(address), *token)
    except Exception as error:
        raise Failure(
            f"The system's keyring does not answer ({type(error).__name__}). Unlock it, or set "
            "TEAMVARS_ADDRESS and TEAMVARS_TOKEN."
        ) from None
