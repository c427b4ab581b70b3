"""The files of an installation: who else can get at them, by their modes and owners, and files that
are there whole or not at all, however the process that makes them ends.

Symbolic links are followed and what they lead to is judged: secrets are often mounted through them.
What is killed on the way may leave a file of eight more characters beside the one it was to make,
of the same mode. Nothing reads it.
"""

import os
import secrets
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from teamvars.signals import clearing_first

_WORDS = {
    0o020: "its group can write",
    0o002: "others can write",
    0o040: "its group can read",
    0o004: "others can read",
    0o010: "its group can enter",
    0o001: "others can enter",
}
_ROOT = 0


class ExposedFiles(Exception):
    """Others can get at files as they must not; the text names each and the command for it."""


class Purpose(StrEnum):
    """What a file is to an installation."""

    DATA_DIR = "data directory"
    DATABASE = "database"
    DATABASE_DIR = "directory of the database"
    KEYRING = "keyring"
    KEYRING_DIR = "directory of the keyring"


class _Rule(NamedTuple):
    refused: int
    """Bits of a mode with which nothing starts."""
    told: int
    """Bits of a mode that are worth a word."""
    mend: str


# The group may read a keyring: so are secrets mounted for an account that does not own them.
_RULES = {
    Purpose.DATA_DIR: _Rule(0o022, 0o077, "700"),
    Purpose.DATABASE: _Rule(0o022, 0o066, "600"),
    Purpose.DATABASE_DIR: _Rule(0o022, 0o022, "go-w"),
    Purpose.KEYRING: _Rule(0o026, 0o026, "600"),
    Purpose.KEYRING_DIR: _Rule(0o022, 0o022, "go-w"),
}


class Exposure(msgspec.Struct, frozen=True):
    """A way to a file for somebody else; `text` says how to close it."""

    text: str
    is_refused: bool


def by_mode(purpose: Purpose, path: Path, mode: int) -> list[Exposure]:
    """What a mode lets others do, if anything."""
    rule, bits = _RULES[purpose], stat.S_IMODE(mode)
    if purpose is Purpose.KEYRING_DIR and bits & stat.S_ISVTX:
        return []  # whoever can write there can still not replace what is another's
    if stat.S_ISCHR(mode):
        return []  # /dev/null is to stay everybody's; whoever reads it hears what it is not
    able = [words for bit, words in _WORDS.items() if bits & rule.told & bit]
    if not able:
        return []
    text = f"The {purpose} {path} has mode {bits:04o}: {', '.join(able)} it."
    mend = f"Run: chmod {rule.mend} {shlex.quote(str(path))}"
    return [Exposure(f"{text} {mend}", bool(bits & rule.refused))]


def by_owner(path: Path, owner: int, account: int) -> list[Exposure]:
    """A keyring of somebody who is neither the account nor root, who could exchange it."""
    if owner in (account, _ROOT):
        return []
    text = f"The {Purpose.KEYRING} {path} belongs to uid {owner}, neither to this account nor root."
    return [Exposure(f"{text} Run: chown {account} {shlex.quote(str(path))}", True)]


def followed(path: Path) -> Path:
    """What a path leads to by its links, whether anything is there or not. Of links that lead in a
    circle it is one of them, and whoever opens that hears it: `Path.resolve` raises what no OSError
    is.
    """
    return Path(os.path.realpath(path))


def look(purpose: Purpose, path: Path) -> list[Exposure]:
    """What there is to say of a file; nothing where there is none, and nothing on Windows."""
    if sys.platform == "win32":
        return []
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return []
    is_file = purpose in (Purpose.DATABASE, Purpose.KEYRING)
    if is_file and stat.S_ISDIR(status.st_mode):
        return []  # whoever opens it hears that; the mode of a file would close it to everybody
    found = by_mode(purpose, path, status.st_mode)
    if purpose is Purpose.KEYRING:
        found += by_owner(path, status.st_uid, os.geteuid())
    return found


def create(path: Path, text: str) -> None:
    """Makes the file, durably and for its owner alone. Raises FileExistsError where there is one,
    and OSError.
    """
    with _written(path, text) as new:
        # Unlike a rename it replaces nothing.
        path.hardlink_to(new)
    settle(path.parent)


def replace(path: Path, text: str) -> None:
    """Puts the file in the place of whatever was there, of the same account; else as `create`."""
    with _written(path, text) as new:
        with suppress(FileNotFoundError):
            _own_as(path, new)
        new.replace(path)
    settle(path.parent)


def _own_as(path: Path, new: Path) -> None:
    """Else what root has written nobody else could read."""
    there = path.stat()
    if os.geteuid() == 0:
        os.chown(new, there.st_uid, there.st_gid)


@contextmanager
def _written(path: Path, text: str) -> Iterator[Path]:
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with clearing_first(partial(new.unlink, missing_ok=True)):
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            yield new
        finally:
            new.unlink(missing_ok=True)


def settle(folder: Path) -> None:
    """Waits until the disk has what the folder lists."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
