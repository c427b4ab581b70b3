"""The keyring: the master keys and audit keys of one installation, in a file of mode 0600.

It is never in the database and never in a backup: without it, a copy of the database is useless.
Where something outside wraps it, the file has it sealed (`teamvars.security.wrapping`).
Beside it is a mark, a file of one line that says which store the keyring is for. It is no secret,
and what is wrong with it is never a fault: a keyring may be mounted read-only.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from teamvars.domain.ids import new_id
from teamvars.domain.keys import AUDIT, MASTER, SERVER
from teamvars.kernel import Discreet
from teamvars.security import files
from teamvars.security.files import Purpose, by_mode, followed
from teamvars.security.wrapping import NotUnwrapped, Unavailable, Wrapping, opened, sealed

if sys.platform != "win32":
    import fcntl

KEY_BYTES = 32
_PREFIXES = {MASTER: "mk", AUDIT: "ak", SERVER: "sk"}
_FORMAT, _WRAPPED_FORMAT = 1, 2
_MARK = re.compile(r"store-[0-9A-Za-z-]{1,80}")
_MOST_MARK_BYTES = 200


class KeyringError(Exception):
    """The keyring cannot be used; the text says why and what to do, and holds no key."""


class KeyringUnavailable(KeyringError):
    """What is outside, and has to unwrap it, cannot be asked now, and may be later."""


class KeyringExists(KeyringError):
    """There is one already, which nothing overwrites."""


class KeySet(Discreet, frozen=True):
    """The keys of one purpose by id, and the id of the one in use for new data.

    `closed` says since when, in µs, a key only verifies what it has signed before.
    """

    active: str
    keys: Mapping[str, bytes]
    closed: Mapping[str, int] = {}

    @property
    def usable(self) -> dict[str, bytes]:
        """The keys that are not closed; the active one is the first, since most is under it."""
        ids = sorted(self.keys, key=lambda id_: id_ != self.active)
        return {id_: self.keys[id_] for id_ in ids if id_ not in self.closed}


class Keyring(msgspec.Struct, frozen=True):
    """Master keys wrap the data keys of organizations; audit keys authenticate the audit trail.

    Server keys, the seeds of Ed25519, sign what is delivered. A keyring of an older release has
    none.
    """

    master: KeySet
    audit: KeySet
    server: KeySet | None = None

    @property
    def key_sets(self) -> dict[str, KeySet]:
        """The keys of each purpose that it has any for."""
        sets = {MASTER: self.master, AUDIT: self.audit}
        return sets if self.server is None else {**sets, SERVER: self.server}

    def purpose_of(self, key_id: str) -> str | None:
        """What the key is for; None: it has none with that id."""
        return next((name for name, its in self.key_sets.items() if key_id in its.keys), None)

    def holding(self, purpose: str, added: KeySet) -> "Keyring":
        """The same with another key, which is in use only if it is the first for that purpose."""
        its = self.key_sets.get(purpose, added)
        return self._with(purpose, replace(its, keys={**its.keys, **added.keys}))

    def using(self, purpose: str, key_id: str) -> "Keyring":
        """The same with that key in use, which it has."""
        return self._with(purpose, replace(self.key_sets[purpose], active=key_id))

    def closing(self, purpose: str, key_id: str, at: int) -> "Keyring":
        """The same with that key closed, which it has and which is not in use."""
        its = self.key_sets[purpose]
        return self._with(purpose, replace(its, closed={**its.closed, key_id: at}))

    def without(self, purpose: str, key_id: str) -> "Keyring":
        """The same without that key, which is not in use."""
        its = self.key_sets[purpose]
        left = {id_: key for id_, key in its.keys.items() if id_ != key_id}
        return self._with(purpose, replace(its, keys=left))

    def _with(self, purpose: str, key_set: KeySet) -> "Keyring":
        return replace(self, **{purpose: key_set})

    @property
    def held(self) -> frozenset[str]:
        """The ids of its keys."""
        return frozenset(id_ for its in self.key_sets.values() for id_ in its.keys)

    @property
    def active(self) -> frozenset[str]:
        """The ids of the keys in use."""
        return frozenset(its.active for its in self.key_sets.values())

    def checks(self) -> dict[str, tuple[str, bytes]]:
        """For the id of each key its purpose and check value: proof of the key, and of no other
        use.
        """
        return {
            key_id: (purpose, check_value(purpose, key_id, key))
            for purpose, key_set in self.key_sets.items()
            for key_id, key in key_set.keys.items()
        }


def generate() -> Keyring:
    """A new keyring with one key of each purpose."""
    return Keyring(new_key(MASTER), new_key(AUDIT), new_key(SERVER))


def new_key(purpose: str) -> KeySet:
    """A key that no keyring has yet."""
    key_id = new_id(_PREFIXES[purpose])
    return KeySet(key_id, {key_id: secrets.token_bytes(KEY_BYTES)})


def save_new(keyring: Keyring, path: Path, by: Wrapping | None = None) -> None:
    """Makes the file, whole or not at all, durably and readable by its owner alone. Refuses to
    overwrite one.
    """
    try:
        files.create(path, _text(keyring, path, by))
    except FileExistsError:
        raise KeyringExists(f"{path} exists already and is never overwritten.") from None


def change(path: Path, step: Callable[[Keyring], Keyring], by: Wrapping | None = None) -> Keyring:
    """Puts what the step makes of the keyring into the file, whole and durably, of the same account
    and mode 0600. Of several at once each sees what the one before it has made.
    """
    whole = followed(path)  # a link to it stays a link
    with _alone(whole.parent):
        keyring = step(load(whole, by))
        _put(keyring, path, by)
    return keyring


def wrap(path: Path, former: Wrapping | None, by: Wrapping | None) -> None:
    """Puts the same keys in the file, wrapped otherwise; None is plain."""
    whole = followed(path)
    with _alone(whole.parent):
        _put(load(whole, former), path, by)


def _put(keyring: Keyring, path: Path, by: Wrapping | None) -> None:
    """Puts it in the place of the file that there is."""
    text = _text(keyring, path, by)
    try:
        files.replace(followed(path), text)
    except OSError as error:
        raise KeyringError(f"The keyring {path} cannot be written: {error.strerror}.") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits for others that change a file of the folder, and has others wait."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def load(path: Path, by: Wrapping | None = None) -> Keyring:
    """Reads the file, which is wrapped if it is `by` anything. Refuses one that is missing, open to
    others, wrapped otherwise or damaged.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except FileNotFoundError:
        if path.is_symlink():
            raise KeyringError(
                f"The keyring {path} is a link, and there is none at {followed(path)}. Restore it "
                "there, or point TEAMVARS_KEYRING at it."
            ) from None
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
        document = _unwrapped(json.loads(content), path, by)
        server = document.get(SERVER)
        return Keyring(
            _from_json(document[MASTER]),
            _from_json(document[AUDIT]),
            None if server is None else _from_json(server),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # The cause would quote the file's content.
        raise KeyringError(f"The keyring {path} is damaged. Restore it from your copy.") from None


def _unwrapped(document: Mapping[str, Any], path: Path, by: Wrapping | None) -> Mapping[str, Any]:
    """The keyring of a file, which has to be wrapped as it should be."""
    if document["format"] not in (_FORMAT, _WRAPPED_FORMAT):
        raise KeyringError(f"The keyring {path} was written by a newer teamvars.")
    wrapped_by = document["by"] if document["format"] == _WRAPPED_FORMAT else None
    if wrapped_by is None and by is not None:
        raise KeyringError(
            f"The keyring {path} is not wrapped, and TEAMVARS_KEYRING_WRAP says that it is. "
            "Run: teamvars keys wrap"
        )
    if wrapped_by is not None and (by is None or by.id != wrapped_by):
        raise KeyringError(
            f"The keyring {path} is wrapped by {wrapped_by!r}: TEAMVARS_KEYRING_WRAP has to say "
            "how that is asked."
        )
    if by is None:
        return document
    with _asking(path):
        return _unwrapped(json.loads(opened(document, by)), path, None)


@contextmanager
def _asking(path: Path) -> Iterator[None]:
    """Within it what is outside is asked."""
    try:
        yield
    except NotUnwrapped as error:
        kind = KeyringUnavailable if isinstance(error, Unavailable) else KeyringError
        text = f"What TEAMVARS_KEYRING_WRAP names does not serve the keyring {path}: {error}"
        raise kind(text) from None


def _text(keyring: Keyring, path: Path, by: Wrapping | None) -> str:
    purposes = {name: _as_json(key_set) for name, key_set in keyring.key_sets.items()}
    text = json.dumps({"format": _FORMAT, **purposes}, indent=2) + "\n"
    if by is None:
        return text
    with _asking(path):
        wrapped = sealed(text.encode(), by)
    return json.dumps({"format": _WRAPPED_FORMAT, **wrapped}, indent=2) + "\n"


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
    files.replace(mark_path(keyring), f"{lineage}\n")


def _as_json(key_set: KeySet) -> dict[str, object]:
    keys = {key_id: base64.b64encode(key).decode() for key_id, key in key_set.keys.items()}
    closed = {"closed": key_set.closed} if key_set.closed else {}
    return {"active": key_set.active, "keys": keys, **closed}


def _from_json(document: Mapping[str, object]) -> KeySet:
    active, encoded = document["active"], document["keys"]
    if not isinstance(active, str) or not isinstance(encoded, dict) or active not in encoded:
        raise ValueError
    keys = {str(key_id): base64.b64decode(text, validate=True) for key_id, text in encoded.items()}
    closed = document.get("closed", {})
    if not isinstance(closed, dict) or not all(isinstance(at, int) for at in closed.values()):
        raise ValueError
    if any(len(key) != KEY_BYTES for key in keys.values()) or active in closed:
        raise ValueError
    return KeySet(active, keys, closed)


def check_value(purpose: str, key_id: str, key: bytes) -> bytes:
    """What proves that it is the key with that id."""
    label = f"teamvars key check\n{purpose}\n{key_id}".encode()
    return hmac.digest(key, label, hashlib.sha256)


class User(Protocol):
    """What does its work with keys. It may be asked at any moment between two steps of the loop."""

    def take(self, keyring: Keyring) -> None:
        """Goes on with these keys: what was sealed or signed by others that it has still holds."""


class KeysInUse:
    """The keyring, for all who use it; `refused` says why another was not taken, until one is."""

    def __init__(self, keyring: Keyring, *users: User) -> None:
        self.keyring = keyring
        self.refused: str | None = None
        self._users = users

    def take(self, keyring: Keyring) -> None:
        """From now on everybody uses these keys."""
        self.keyring, self.refused = keyring, None
        for user in self._users:
            user.take(keyring)

    def refuse(self, reason: str) -> None:
        """Everybody goes on with the keys that there are."""
        self.refused = reason
