"""Sealing of values: AES-256-GCM under a data key per organization, bound to the row it belongs to.

A sealed value is a 96-bit random nonce, the ciphertext and the 128-bit tag. One data key may seal
2**32 values before the chance of a repeated nonce reaches 2**-32 (NIST SP 800-38D, 8.3).
"""

import os
from collections.abc import Callable
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from teamvars.domain.access import WrappedKey
from teamvars.domain.variables import Variable
from teamvars.security.encoding import length_prefixed, text_field
from teamvars.security.keyring import KEY_BYTES, Keyring

_NONCE_BYTES = 12
_OPENED_KEYS = 4096
_REMEMBERED_PLACES = 64

Opener = Callable[[bytes, str], str]
"""Takes a sealed value and the id of its variable, and gives the value."""


class SealBroken(Exception):
    """A sealed value or key does not open where it stands: altered, moved, or another key's."""


def _refuse(id_: str) -> str:
    raise SealBroken(f"The value of {id_} does not open.") from None


class DataKey:
    """An opened data key. It seals and opens the values of one organization."""

    __slots__ = ("_cipher", "_organization_id", "_places", "version")

    def __init__(self, key: bytes, organization_id: str, version: int) -> None:
        self._cipher = AESGCM(key)
        self._organization_id = organization_id
        self._places = lru_cache(_REMEMBERED_PLACES)(self._owner_place)
        self.version = version

    def seal(self, value: str, variable: Variable) -> bytes:
        """The value, sealed to the variable's row and to its sensitive flag."""
        nonce = os.urandom(_NONCE_BYTES)
        place = self._places(variable.owner_id, variable.sensitive) + text_field(variable.id)
        return nonce + self._cipher.encrypt(nonce, value.encode(), place)

    def open(self, sealed: bytes, variable: Variable) -> str:
        """The value. Raises SealBroken unless it was sealed to exactly this row and flag."""
        return self.opener(variable.owner_id, variable.sensitive)(sealed, variable.id)

    def opener(
        self, owner_id: str, sensitive: bool, damaged: Callable[[str], str] = _refuse
    ) -> Opener:
        """`open` for many variables of one workspace or set that have the same flag.

        `damaged` says what to take for the value of the variable of that id, which does not open.
        """
        decrypt = self._cipher.decrypt
        owner = self._places(owner_id, sensitive)

        def opened(sealed: bytes, id_: str) -> str:
            nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            try:
                return decrypt(nonce, ciphertext, owner + text_field(id_)).decode()
            except (InvalidTag, ValueError, TypeError):
                return damaged(id_)

        return opened

    def seal_secret(self, secret: str, membership_id: str, link_hash: bytes) -> bytes:
        """The secret of an invitation's link, sealed to its membership and its hash."""
        nonce = os.urandom(_NONCE_BYTES)
        place = self._link_place(membership_id, link_hash)
        return nonce + self._cipher.encrypt(nonce, secret.encode(), place)

    def open_secret(self, sealed: bytes, membership_id: str, link_hash: bytes) -> str:
        """The secret. Raises SealBroken unless it was sealed to exactly this link."""
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        place = self._link_place(membership_id, link_hash)
        try:
            return self._cipher.decrypt(nonce, ciphertext, place).decode()
        except (InvalidTag, ValueError):
            raise SealBroken(f"The link of {membership_id} does not open.") from None

    def _link_place(self, membership_id: str, link_hash: bytes) -> bytes:
        purpose = "invitation link"
        return length_prefixed(
            purpose, self._organization_id, self.version, membership_id, link_hash
        )

    def _owner_place(self, owner_id: str, sensitive: bool) -> bytes:
        """All but the variable's id, which is the same for most of a list."""
        purpose = "variable value"
        return length_prefixed(purpose, self._organization_id, owner_id, self.version, sensitive)


class Sealer:
    """Makes and opens data keys with the master keys of a keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self._active = keyring.master.active
        self._masters = {key_id: AESGCM(key) for key_id, key in keyring.master.keys.items()}
        # Keyed by everything that is stored, so a changed row is never answered from memory.
        self.data_key = lru_cache(_OPENED_KEYS)(self._open)

    def new_data_key(self, organization_id: str, version: int) -> WrappedKey:
        """A fresh random data key, wrapped by the active master key."""
        nonce = os.urandom(_NONCE_BYTES)
        place = _wrapping_place(organization_id, version, self._active)
        sealed = self._masters[self._active].encrypt(nonce, os.urandom(KEY_BYTES), place)
        return WrappedKey(organization_id, version, self._active, nonce + sealed)

    def _open(self, stored: WrappedKey) -> DataKey:
        """The opened data key. Raises SealBroken when it does not open for its organization."""
        nonce, sealed = stored.wrapped[:_NONCE_BYTES], stored.wrapped[_NONCE_BYTES:]
        place = _wrapping_place(stored.organization_id, stored.version, stored.master_key_id)
        try:
            key = self._masters[stored.master_key_id].decrypt(nonce, sealed, place)
        except (KeyError, InvalidTag, ValueError):
            raise SealBroken(f"The data key of {stored.organization_id} does not open.") from None
        return DataKey(key, stored.organization_id, stored.version)


def _wrapping_place(organization_id: str, version: int, master_key_id: str) -> bytes:
    return length_prefixed("data key", organization_id, version, master_key_id)
