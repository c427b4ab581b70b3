"""Sealing of values: AES-256-GCM under a data key per organization, bound to the row it belongs to.

A sealed value is a 96-bit random nonce, the ciphertext and the 128-bit tag. One data key may seal
2**32 values before the chance of a repeated nonce reaches 2**-32 (NIST SP 800-38D, 8.3).

An organization has a data key of each generation that it still needs. They are wrapped together:
the one in use, then each of the others behind its number. One alone is wrapped as it ever was.
"""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from teamvars.domain.access import WrappedKey
from teamvars.domain.keys import Sealed
from teamvars.domain.variables import Variable
from teamvars.security import length_prefixed, text_field
from teamvars.security.keyring import KEY_BYTES, Keyring

_NONCE_BYTES = 12
_NUMBER_BYTES = 8
_OPENED_KEYS = 4096
_REMEMBERED_PLACES = 64
_NO_GENERATION = 0

Opener = Callable[[bytes, int, str], str]
"""Takes a sealed value, the generation of its key and the id of its variable; gives the value."""


class SealBroken(Exception):
    """A sealed value or key does not open where it stands: altered, moved, or another key's."""


class KeyMissing(SealBroken):
    """A data key is under a master key that the keyring does not have."""


def _refuse(id_: str) -> NoReturn:
    raise SealBroken(f"The value of {id_} does not open.") from None


class DataKey:
    """The opened data keys of one organization: seals with the one in use, and opens what that or
    another of them has sealed. Of what does not open there are none: neither does any value.
    """

    __slots__ = ("_ciphers", "_organization_id", "_places", "_seal", "version")

    def __init__(self, keys: Mapping[int, bytes], organization_id: str, version: int) -> None:
        """`keys` by their generations; `version` is that of the one in use."""
        self._ciphers = {number: AESGCM(key) for number, key in keys.items()}
        self._seal: Callable[[bytes, bytes, bytes], bytes] = self._seal_nothing
        if version in self._ciphers:
            self._seal = self._ciphers[version].encrypt
        self._organization_id = organization_id
        self._places = lru_cache(_REMEMBERED_PLACES)(self._owner_place)
        self.version = version

    def seal(self, value: str, variable: Variable) -> Sealed:
        """The value, sealed to the variable's row and to its sensitive flag."""
        owner = self._places(self.version, variable.owner_id, variable.sensitive)
        return self._encrypted(value.encode(), owner + text_field(variable.id))

    def open(self, sealed: Sealed, variable: Variable) -> str:
        """The value. Raises SealBroken unless it was sealed to exactly this row and flag."""
        return self.opener(variable.owner_id, variable.sensitive)(*sealed, variable.id)

    def opener(self, owner_id: str, sensitive: bool, damaged: set[str] | None = None) -> Opener:
        """`open` for many variables of one workspace or set that have the same flag.

        With `damaged` an empty value is taken for one that does not open, and the id of its
        variable noted there.
        """
        ways = {
            version: (cipher.decrypt, self._places(version, owner_id, sensitive))
            for version, cipher in self._ciphers.items()
        }

        def opened(sealed: bytes, version: int, id_: str) -> str:
            try:
                decrypt, owner = ways[version]
                nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
                return decrypt(nonce, ciphertext, owner + text_field(id_)).decode()
            except (KeyError, InvalidTag, ValueError, TypeError):
                if damaged is None:
                    _refuse(id_)
                damaged.add(id_)
                return ""

        return opened

    def seal_secret(self, secret: str, membership_id: str, link_hash: bytes) -> Sealed:
        """The secret of an invitation's link, sealed to its membership and its hash."""
        place = self._link_place(self.version, membership_id, link_hash)
        return self._encrypted(secret.encode(), place)

    def open_secret(self, sealed: Sealed, membership_id: str, link_hash: bytes) -> str:
        """The secret. Raises SealBroken unless it was sealed to exactly this link."""
        place = self._link_place(sealed.version, membership_id, link_hash)
        try:
            return self._decrypted(sealed, place).decode()
        except (KeyError, InvalidTag, ValueError, TypeError):
            raise SealBroken(f"The link of {membership_id} does not open.") from None

    def resealed(self, sealed: Sealed, owner_id: str, sensitive: bool, id_: str) -> Sealed:
        """The value of a variable under the key in use. Raises SealBroken as `open`."""
        field = text_field(id_)
        try:
            plain = self._decrypted(
                sealed, self._places(sealed.version, owner_id, sensitive) + field
            )
        except (KeyError, InvalidTag, ValueError, TypeError):
            _refuse(id_)
        return self._encrypted(plain, self._places(self.version, owner_id, sensitive) + field)

    def resealed_secret(self, sealed: Sealed, membership_id: str, link_hash: bytes) -> Sealed:
        """The secret of an invitation's link under the key in use. Raises SealBroken."""
        secret = self.open_secret(sealed, membership_id, link_hash)
        return self.seal_secret(secret, membership_id, link_hash)

    def _encrypted(self, plain: bytes, place: bytes) -> Sealed:
        nonce = os.urandom(_NONCE_BYTES)
        return Sealed(nonce + self._seal(nonce, plain, place), self.version)

    def _decrypted(self, sealed: Sealed, place: bytes) -> bytes:
        nonce, ciphertext = sealed.content[:_NONCE_BYTES], sealed.content[_NONCE_BYTES:]
        return self._ciphers[sealed.version].decrypt(nonce, ciphertext, place)

    def _seal_nothing(self, *_: object) -> NoReturn:
        raise _no_key(self._organization_id)

    def _link_place(self, version: int, membership_id: str, link_hash: bytes) -> bytes:
        purpose = "invitation link"
        return length_prefixed(purpose, self._organization_id, version, membership_id, link_hash)

    def _owner_place(self, version: int, owner_id: str, sensitive: bool) -> bytes:
        """All but the variable's id, which is the same for most of a list."""
        purpose = "variable value"
        return length_prefixed(purpose, self._organization_id, owner_id, version, sensitive)


class Sealer:
    """Makes and opens data keys with the master keys of a keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self.take(keyring)
        # Keyed by everything that is stored, so a changed row is never answered from memory.
        self.data_key = lru_cache(_OPENED_KEYS)(self._open)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self.active = keyring.master.active
        """The id of the master key that wraps what is wrapped from now on."""
        self._masters = {key_id: AESGCM(key) for key_id, key in keyring.master.keys.items()}

    def new_data_key(self, organization_id: str, version: int) -> WrappedKey:
        """A fresh random data key, wrapped by the active master key."""
        return self._wrapped(organization_id, version, {version: os.urandom(KEY_BYTES)})

    def with_generation(self, stored: WrappedKey, version: int) -> WrappedKey:
        """With a fresh data key of that generation, which is not in use yet; one that is there
        stays. Raises SealBroken.
        """
        keys = {version: os.urandom(KEY_BYTES), **self._unwrapped(stored)}
        return self._wrapped(stored.organization_id, stored.version, keys)

    def without_generation(self, stored: WrappedKey, version: int) -> WrappedKey:
        """Without the data key of that generation, which is not in use. Raises SealBroken."""
        keys = self._unwrapped(stored)
        keys.pop(version, None)
        return self._wrapped(stored.organization_id, stored.version, keys)

    def in_use(self, stored: WrappedKey, version: int) -> WrappedKey:
        """The same data keys wrapped by the active master key, with that of this generation in use.
        Raises SealBroken, of one that is not there too.
        """
        keys = self._unwrapped(stored)
        if version not in keys:
            raise _no_key(stored.organization_id)
        return self._wrapped(stored.organization_id, version, keys)

    def generations(self, stored: WrappedKey) -> frozenset[int]:
        """The generations of which there are data keys. Raises SealBroken."""
        return frozenset(self._unwrapped(stored))

    def _open(self, stored: WrappedKey) -> DataKey:
        """The opened data keys, none where they do not open for their organization: what needs no
        value goes on, and each value that does not open is named. Raises KeyMissing.
        """
        try:
            return DataKey(self._unwrapped(stored), stored.organization_id, stored.version)
        except KeyMissing:
            raise
        except SealBroken:
            return DataKey({}, stored.organization_id, _NO_GENERATION)

    def _wrapped(self, organization_id: str, version: int, keys: Mapping[int, bytes]) -> WrappedKey:
        others = sorted((number, key) for number, key in keys.items() if number != version)
        behind = b"".join(number.to_bytes(_NUMBER_BYTES) + key for number, key in others)
        nonce = os.urandom(_NONCE_BYTES)
        place = _wrapping_place(organization_id, version, self.active)
        sealed = self._masters[self.active].encrypt(nonce, keys[version] + behind, place)
        return WrappedKey(organization_id, version, self.active, nonce + sealed)

    def _unwrapped(self, stored: WrappedKey) -> dict[int, bytes]:
        if not isinstance(stored.wrapped, bytes):  # its row is gone, or was altered by hand
            raise _no_key(stored.organization_id)
        nonce, sealed = stored.wrapped[:_NONCE_BYTES], stored.wrapped[_NONCE_BYTES:]
        master = self._masters.get(stored.master_key_id)
        if master is None:
            raise KeyMissing(
                f"{_no_key(stored.organization_id)} The keyring lacks {stored.master_key_id}."
            )
        try:
            place = _wrapping_place(stored.organization_id, stored.version, stored.master_key_id)
            plain = master.decrypt(nonce, sealed, place)
        except (InvalidTag, ValueError, TypeError):
            raise _no_key(stored.organization_id) from None
        keys, behind = {stored.version: plain[:KEY_BYTES]}, plain[KEY_BYTES:]
        while behind:
            number, behind = int.from_bytes(behind[:_NUMBER_BYTES]), behind[_NUMBER_BYTES:]
            keys[number], behind = behind[:KEY_BYTES], behind[KEY_BYTES:]
        return keys


def _no_key(organization_id: str) -> SealBroken:
    return SealBroken(f"The data key of {organization_id} does not open.")


def _wrapping_place(organization_id: str, version: int, master_key_id: str) -> bytes:
    return length_prefixed("data key", organization_id, version, master_key_id)
