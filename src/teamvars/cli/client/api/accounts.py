"""What a user has decided: files of theirs alone, below `$XDG_CONFIG_HOME/teamvars`, and tokens.

Tokens are kept in the system's keyring where there is one, else in a file (0600). Each belongs to
one account: that of a scheme, host and port, or one that was given a name there.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from teamvars.cli import named
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.exits import ERROR, Failure, Misuse
from teamvars.signals import clearing_up

_MOST_BYTES = 1024 * 1024
_OTHERS_READ, _OTHERS_WRITE = 0o044, 0o022

T = TypeVar("T")
_SERVICE = "teamvars"
_LEAST_PRIORITY = 1
"""Of a backend that keeps secrets as a keyring should; plain files have less."""


class Account(msgspec.Struct, omit_defaults=True):
    """What is known of a service one has logged in to. `address` is set in those with a name.

    `is_own`: the token was made for this account alone, and ends with it.
    """

    organization: str | None = None
    in_keyring: bool = False
    address: str | None = None
    is_own: bool = False


class Settings(msgspec.Struct, omit_defaults=True):
    """The user's settings: the address that counts unless another is said, and those known.

    Accounts are known by their address, or by the name that 'login --name' gave them: no name is
    an address.

    `links` has the SHA-256 of each link file that the user made or approved, by its path.
    `agreed_names` has what `run` may take from a workspace, by the service's address and its id;
    `server_keys` what services sign with, by their address, as `server-key show` prints it.
    """

    address: str | None = None
    accounts: dict[str, Account] = {}
    links: dict[str, str] = {}
    agreed_names: dict[str, list[str]] = {}
    server_keys: dict[str, str] = {}


class Tokens(msgspec.Struct):
    """Tokens by address or by the account's name, where there is no keyring."""

    by_address: dict[str, str] = {}

    def __repr__(self) -> str:
        return "<Tokens>"


class Machine(msgspec.Struct):
    """The key of this machine (Ed25519, base64url), and the services that it is for."""

    private_key: str = ""
    addresses: list[str] = []

    def __repr__(self) -> str:
        return "<Machine>"


_FILES: dict[type, str] = {
    Settings: "settings.json",
    Tokens: "tokens.json",
    Machine: "machine.json",
}


_MAKERS: dict[type, str] = {
    Settings: "teamvars login",
    Tokens: "teamvars login",
    Machine: "teamvars runner init",
}


def folder() -> Path:
    """Where the files are."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    # A relative one does not count, says the specification: it would be another in each folder.
    base = Path(given) if given.startswith("/") else _home() / ".config"
    return base / "teamvars"


def _home() -> Path:
    with suppress(RuntimeError):
        # An empty HOME would be the root of all folders.
        if os.environ.get("HOME") != "" and (home := Path.home()).is_absolute():
            return home
    raise Misuse("HOME is not a folder. Set it, or XDG_CONFIG_HOME, to a folder of your own.")


def path_of(kind: type) -> Path:
    """Where the file of a kind is."""
    return folder() / _FILES[kind]


def read(kind: type[T]) -> T:
    """What the file says, or what holds without one. Fails where others can read or write it."""
    path = path_of(kind)
    try:
        _require_closed(path.parent, path.parent.stat(), _OTHERS_WRITE)
        with path.open("rb") as file:
            _require_closed(path, os.fstat(file.fileno()), _OTHERS_READ | _OTHERS_WRITE)
            content = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return kind()
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError):
        raise Failure(
            f"{path} is not what '{_MAKERS[kind]}' writes. Remove it, and run that."
        ) from None


def read_at_home(kind: type[T]) -> T:
    """As `read`; what holds without a file where this user has no home, or one of somebody else."""
    try:
        is_own = folder().stat().st_uid == os.geteuid()
    except (OSError, Misuse):
        is_own = False
    return read(kind) if is_own else kind()


def change(kind: type[T], body: Callable[[T], object]) -> None:
    """Changes what the file says, with mode 0600 whatever the umask; nobody else's change is lost.

    Whoever is killed in the middle leaves the former file.
    """
    path = path_of(kind)
    before = os.umask(0o077)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            for left in path.parent.glob(f".{path.name}.*"):  # by whoever was killed in the middle
                left.unlink()
            found = read(kind)
            body(found)
            replace_file(path, found)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        os.umask(before)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _require_closed(path: Path, status: os.stat_result, refused: int) -> None:
    if status.st_uid != os.geteuid():
        raise Failure(
            f"{path} belongs to uid {status.st_uid} and is not used. Set XDG_CONFIG_HOME to a "
            "folder of your own.",
            ERROR,
        )
    if stat.S_IMODE(status.st_mode) & refused:
        mode = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise Failure(
            f"Others can read or change {path}, so it is not used. Run: chmod {mode} '{path}'"
        )


def find(account: str) -> str | None:
    """The token of an account, by its address or its name, if one is kept."""
    known = read(Settings).accounts.get(account)
    if known is not None and known.in_keyring:
        found: str | None = _ask("get_password", account)
        return found
    return read(Tokens).by_address.get(account)


def keep(
    address: Address,
    name: str | None,
    token: str,
    organization: str | None,
    *,
    is_own: bool = False,
) -> str:
    """Keeps the token of an account; one without a name becomes the current one of its address.

    Returns where it is kept, in words.
    """
    account, in_keyring = name or str(address), False
    if find_spec("keyring") is not None:
        backend: Any = named("keyring:get_keyring")()
        in_keyring = backend.priority >= _LEAST_PRIORITY
    if in_keyring:
        _ask("set_password", account, token)
    change(Tokens, lambda tokens: _put(tokens, account, None if in_keyring else token))

    def known(settings: Settings) -> None:
        at = None if name is None else str(address)
        settings.accounts[account] = Account(organization, in_keyring, at, is_own)
        if name is None:
            settings.address = str(address)

    change(Settings, known)
    return "the system's keyring" if in_keyring else str(path_of(Tokens))


def pin(address: Address, keys: str) -> None:
    """Keeps which keys a service signs with, as `server-key show` prints them."""
    change(Settings, lambda settings: settings.server_keys.update({str(address): keys.strip()}))


def forget(account: str) -> bool:
    """Forgets the token and the account, by its address or its name; whether there was one."""
    known = read(Settings).accounts.get(account)
    if known is None:
        return False
    if known.in_keyring and _ask("get_password", account) is not None:
        _ask("delete_password", account)  # which refuses where there is none
    change(Tokens, lambda tokens: _put(tokens, account, None))

    def without(settings: Settings) -> None:
        settings.accounts.pop(account, None)
        for key in [one for one in settings.agreed_names if one.startswith(f"{account} ")]:
            del settings.agreed_names[key]
        if settings.address == account:
            unnamed = (one for one, known in settings.accounts.items() if known.address is None)
            settings.address = next(unnamed, None)

    change(Settings, without)
    return True


def _put(tokens: Tokens, account: str, token: str | None) -> None:
    tokens.by_address.pop(account, None)
    if token is not None:
        tokens.by_address[account] = token


def _ask(function: str, account: str, *token: str) -> Any:
    """Asks the keyring. What its backends raise is theirs, and may hold anything."""
    try:
        return named(f"keyring:{function}")(_SERVICE, account, *token)
    except Exception as error:
        raise Failure(
            f"The system's keyring does not answer ({type(error).__name__}). Unlock it, or set "
            "TEAMVARS_ADDRESS and TEAMVARS_TOKEN."
        ) from None


@clearing_up()
def replace_file(path: Path, content: object) -> None:
    """Puts a file of JSON (0600) in the place of what was there, which whoever is killed in the
    middle leaves. Raises OSError.
    """
    new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
