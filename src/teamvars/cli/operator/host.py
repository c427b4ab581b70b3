"""What operator commands find on this host: settings, closed files, who runs them, clear ends."""

import asyncio
import getpass
import os
from collections.abc import Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import click

from teamvars import logs, settings
from teamvars.cli.exits import (
    CONFLICT,
    ERROR,
    INVALID,
    NOT_FOUND,
    UNAUTHENTICATED,
    Failure,
    Misuse,
)
from teamvars.cli.output import note
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Code, Kind, Refusal, Unfinished
from teamvars.domain.ids import new_id
from teamvars.domain.keys import KeyRefused
from teamvars.security.files import ExposedFiles, Exposure, Purpose, followed, look
from teamvars.security.keyring import KeyringError
from teamvars.settings import Settings, SettingsError
from teamvars.storage.database import NotReady, StorageMisconfigured
from teamvars.storage.engines import UnknownEngine, described, is_sqlite
from teamvars.storage.engines.outages import is_held, reason

_EXITS = {
    Kind.UNAUTHENTICATED: UNAUTHENTICATED,
    Kind.NOT_FOUND: NOT_FOUND,
    Kind.CONFLICT: CONFLICT,
    Kind.STALE: CONFLICT,
    Kind.INVALID: INVALID,
}
PROBLEMS = (
    ExposedFiles,
    KeyRefused,
    KeyringError,
    NotReady,
    SettingsError,
    StorageMisconfigured,
    Unfinished,
    UnknownEngine,
)

T = TypeVar("T")


def load_settings(**flags: object) -> Settings:
    """The settings with this command's flags. Ends the command when they are wrong.

    From here on, what it makes is 0700 or 0600, whatever umask it was started with.
    """
    os.umask(0o077)
    given: dict[str, Any] = {**click.get_current_context().obj, **flags}
    with suppress(ValueError):  # of what is no URL: the settings say so
        parts = urlsplit(given["database_url"] or "")
        if parts.password or "password" in parse_qs(parts.query):
            raise Misuse(
                "Never put a password on a command line: it belongs in ~/.pgpass or "
                "TEAMVARS_DATABASE_URL."
            )
    try:
        config = settings.load(**given)
    except SettingsError as error:
        raise Misuse(str(error)) from None
    logs.configure(config.log_format, config.log_level)
    return config


def name_store(config: Settings) -> None:
    """Says on stderr which store a command opens: client commands beside it speak to another,
    perhaps.
    """
    note(f"Store: {described(config.url)}")


def both_names(text: str, wrong: str) -> tuple[str, str]:
    """The names of an organization and of what is in it. Fails with what is said on any other text
    than ORG/NAME.
    """
    organization, _, name = text.partition("/")
    if not (organization and name):
        raise Misuse(wrong)
    return organization, name


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end, as in `ending`."""
    with ending(), closing(work):  # which Ctrl-C may come before
        return asyncio.run(work)


@contextmanager
def ending(where: object = "This host") -> Iterator[None]:
    """What is refused within ends the command with the contract's exit code; `where` is at fault
    where the system does not name a file.
    """
    try:
        yield
    except Refusal as refusal:
        raise Failure(explanation(refusal), _EXITS.get(refusal.kind, ERROR)) from None
    except PROBLEMS as problem:
        raise Failure(str(problem)) from None
    except OSError as error:
        raise Failure(
            f"{error.filename or where}: {error.strerror or type(error).__name__}."
        ) from None


def make_folder(path: Path) -> None:
    """Makes the data directory, which only its owner can use, if it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why, place = error.strerror, Path(error.filename)
        if place.is_symlink() and not place.exists():
            why = f"{place} is a link, and there is no {followed(place)}"
        raise Failure(f"The data directory {path} cannot be made: {why}.") from None


def operator() -> Caller:
    """Whoever runs the command, by the name of their account on this host."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # in a container the account often has no name
        account = f"uid {os.getuid()}"
    return Caller(b"", new_id("req"), Actor.operator(account))


def explanation(refusal: Refusal) -> str:
    """What was refused; where storage is the reason, what it said: an operator can act on that."""
    cause = refusal.__cause__
    if isinstance(cause, FileNotFoundError) and cause.filename:
        return f"There is no database at {cause.filename}. Run: teamvars init"
    if cause is not None and refusal.faults[0].code is Code.STORAGE_UNAVAILABLE:
        if is_held(cause):
            return (
                "Other changes had what this one needs for too long, and nothing was changed. Run "
                "the command again."
            )
        # Without the API's "try again": a wrong password or name stays wrong.
        return f"Storage is unavailable, and nothing was changed: {reason(cause)}"
    details = [fault.detail for fault in refusal.faults]
    return "\n".join(details if cause is None else [*details, reason(cause)])


def exposures(config: Settings) -> list[Exposure]:
    """Every way in for somebody else, to what is there already."""
    # Several spellings of a path are one file, and the last says what it is most of all.
    once = {followed(path): (purpose, path) for purpose, path in _files(config)}
    return [exposure for purpose, path in once.values() for exposure in look(purpose, path)]


def require_closed(config: Settings) -> None:
    """Raises ExposedFiles, with all of them, where others can do more than they may."""
    refused = [exposure.text for exposure in exposures(config) if exposure.is_refused]
    if refused:
        raise ExposedFiles("\n".join(refused))


def database_path(config: Settings) -> Path:
    """Where the settings say that a SQLite store is."""
    return Path(config.url.removeprefix("sqlite:///"))


def database_file(config: Settings) -> Path:
    """The file that a link there may lead to; SQLite puts its others beside it."""
    return followed(database_path(config))


def _files(config: Settings) -> Iterator[tuple[Purpose, Path]]:
    keyring = config.keyring_path
    yield Purpose.KEYRING_DIR, followed(keyring).parent
    yield Purpose.KEYRING_DIR, keyring.parent
    if is_sqlite(config.url):
        named, real = database_path(config), database_file(config)
        yield Purpose.DATABASE_DIR, real.parent
        yield Purpose.DATABASE_DIR, named.parent
        yield Purpose.DATABASE, named
        yield Purpose.DATABASE, real.with_name(f"{real.name}-wal")
        yield Purpose.DATABASE, real.with_name(f"{real.name}-shm")
    yield Purpose.DATA_DIR, config.data_dir
    yield Purpose.KEYRING, keyring
