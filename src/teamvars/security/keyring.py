"""The keyring: the master keys and audit keys of one installation, in a file of mode 0600.

It is never in the database and never in a backup: without it, a copy of the database is useless.
Beside it is a mark, a file of one line that says which store the keyring is for. It is no secret,
and what is wrong with it is never a fault: a keyring may be mounted read-only.

Either is there whole or not at all, however the process that makes it ends. What is killed on the
way may leave a file of eight more characters beside it, of the same mode. Nothing reads it.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from teamvars.domain.ids import new_id
from teamvars.kernel import Discreet
from teamvars.security.permissions import Purpose, by_mode

KEY_BYTES = 32
MASTER = "master"
AUDIT = "audit"
_PREFIXES = {MASTER: "mk", AUDIT: "ak"}
_FORMAT = 1
_MARK = re.compile(r"store-[0-9A-Za-z-]{1,80}")
_MOST_MARK_BYTES = 200


class KeyringError(Exception):
    """The keyring cannot be used; the text says why and what to do, and holds no key."""


class KeySet(Discreet, frozen=True):
    """The keys of one purpose by id, and the id of the one in use for new data."""

    active: str
    keys: Mapping[str, bytes]


class Keyring(msgspec.Struct, frozen=True):
    """Master keys wrap the data keys of organizations; audit keys authenticate the audit trail."""

    master: KeySet
    audit: KeySet

    def checks(self) -> dict[str, tuple[str, bytes]]:
        """For each key id its purpose and check value: proof of the key, and of no other use."""
        return {
            key_id: (purpose, hmac.digest(key, _check_label(purpose, key_id), hashlib.sha256))
            for purpose, key_set in ((MASTER, self.master), (AUDIT, self.audit))
            for key_id, key in key_set.keys.items()
        }


def generate() -> Keyring:
    """A new keyring with one key of each purpose."""
    return Keyring(_new_key_set(MASTER), _new_key_set(AUDIT))


def save_new(keyring: Keyring, path: Path) -> None:
    """Makes the file, whole or not at all, durably and readable by its owner alone. Refuses to
    overwrite one.
    """
    purposes = {MASTER: _as_json(keyring.master), AUDIT: _as_json(keyring.audit)}
    text = json.dumps({"format": _FORMAT, **purposes}, indent=2)
    try:
        _create(path, text + "\n")
    except FileExistsError:
        raise KeyringError(f"{path} exists already and is never overwritten.") from None


def load(path: Path) -> Keyring:
    """Reads the file. Refuses one that is missing, open to others, or damaged."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except FileNotFoundError:
        raise KeyringError(
            f"There is no keyring at {path}. Restore it, or point TEAMVARS_KEYRING at it; "
            "a new installation makes one with 'teamvars init'."
        ) from None
    except OSError as error:
        raise KeyringError(f"The keyring {path} cannot be read: {error.strerror}.") from None
    exposed = by_mode(Purpose.KEYRING, path, mode)
    if exposed and sys.platform != "win32":
        raise KeyringError(exposed[0].text)
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT:
            raise KeyringError(f"The keyring {path} was written by a newer teamvars.")
        return Keyring(_from_json(document[MASTER]), _from_json(document[AUDIT]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # The cause would quote the file's content.
        raise KeyringError(f"The keyring {path} is damaged. Restore it from your copy.") from None


def mark_path(keyring: Path) -> Path:
    """Where the mark of a keyring is."""
    return keyring.with_name(f"{keyring.name}.store")


def read_mark(keyring: Path) -> str | None:
    """The lineage of the keyring's store; None without a mark that can be read."""
    try:
        with mark_path(keyring).open("rb") as file:
            text = file.read(_MOST_MARK_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if _MARK.fullmatch(text) else None


def write_mark(keyring: Path, lineage: str) -> None:
    """Puts the mark in place, whole and durably, of whatever was there. Raises OSError."""
    _replace(mark_path(keyring), f"{lineage}\n")


def _new_key_set(purpose: str) -> KeySet:
    key_id = new_id(_PREFIXES[purpose])
    return KeySet(key_id, {key_id: secrets.token_bytes(KEY_BYTES)})


def _as_json(key_set: KeySet) -> dict[str, object]:
    keys = {key_id: base64.b64encode(key).decode() for key_id, key in key_set.keys.items()}
    return {"active": key_set.active, "keys": keys}


def _from_json(document: Mapping[str, object]) -> KeySet:
    active, encoded = document["active"], document["keys"]
    if not isinstance(active, str) or not isinstance(encoded, dict) or active not in encoded:
        raise ValueError
    keys = {str(key_id): base64.b64decode(text, validate=True) for key_id, text in encoded.items()}
    if any(len(key) != KEY_BYTES for key in keys.values()):
        raise ValueError
    return KeySet(active, keys)


def _check_label(purpose: str, key_id: str) -> bytes:
    return f"teamvars key check\n{purpose}\n{key_id}".encode()


def _create(path: Path, text: str) -> None:
    """Makes the file, durably and for its owner alone. Raises FileExistsError where there is one,
    and OSError.
    """
    with _written(path, text) as new:
        # Unlike a rename it replaces nothing.
        path.hardlink_to(new)
    _settle(path.parent)


def _replace(path: Path, text: str) -> None:
    """Puts the file in the place of whatever was there; else as `_create`."""
    with _written(path, text) as new:
        new.replace(path)
    _settle(path.parent)


@contextmanager
def _written(path: Path, text: str) -> Iterator[Path]:
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        yield new
    finally:
        new.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Waits until the disk has what the folder lists."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
