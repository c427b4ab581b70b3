"""Tokens that are kept: in the system's keyring where there is one, else in a file (0600).

Each belongs to one account: that of a scheme, host and port, or one that was given a name there.
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


def find(account: str) -> str | None:
    """The token of an account, by its address or its name, if one is kept."""
    known = user_files.read(Settings).accounts.get(account)
    if known is not None and known.in_keyring:
        found: str | None = _ask("get_password", account)
        return found
    return user_files.read(Tokens).by_address.get(account)


def keep(address: Address, name: str | None, token: str, organization: str | None) -> str:
    """Keeps the token of an account; one without a name becomes the current one of its address.

    Returns where it is kept, in words.
    """
    in_keyring, account = _has_keyring(), name or str(address)
    if in_keyring:
        _ask("set_password", account, token)
    user_files.change(Tokens, lambda tokens: _put(tokens, account, None if in_keyring else token))

    def known(settings: Settings) -> None:
        at = None if name is None else str(address)
        settings.accounts[account] = Account(organization, in_keyring, at)
        if name is None:
            settings.address = str(address)

    user_files.change(Settings, known)
    return "the system's keyring" if in_keyring else str(user_files.path_of(Tokens))


def forget(account: str) -> bool:
    """Forgets the token and the account, by its address or its name; whether there was one."""
    known = user_files.read(Settings).accounts.get(account)
    if known is None:
        return False
    if known.in_keyring:
        _ask("delete_password", account)
    user_files.change(Tokens, lambda tokens: _put(tokens, account, None))

    def without(settings: Settings) -> None:
        settings.accounts.pop(account, None)
        for key in [one for one in settings.agreed_names if one.startswith(f"{account} ")]:
            del settings.agreed_names[key]
        if settings.address == account:
            unnamed = (one for one, known in settings.accounts.items() if known.address is None)
            settings.address = next(unnamed, None)

    user_files.change(Settings, without)
    return True


def _put(tokens: Tokens, account: str, token: str | None) -> None:
    tokens.by_address.pop(account, None)
    if token is not None:
        tokens.by_address[account] = token


def _has_keyring() -> bool:
    if find_spec("keyring") is None:
        return False
    backend: Any = named("keyring:get_keyring")()
    return bool(backend.priority >= _LEAST_PRIORITY)


def _ask(function: str, account: str, *token: str) -> Any:
    """Asks the keyring. What its backends raise is theirs, and may hold anything."""
    try:
        return named(f"keyring:{function}")(_SERVICE, account, *token)
    except Exception as error:
        raise Failure(
            f"The system's keyring does not answer ({type(error).__name__}). Unlock it, or set "
            "TEAMVARS_ADDRESS and TEAMVARS_TOKEN."
        ) from None
