"""Records of answered changes: their names, fingerprints and seals, under keys of the keyring.

Each use has a key of its own, derived from a master key by HMAC-SHA-256 with a label. An answer is
sealed with AES-256-GCM under a key of its record's own, so that no number of records brings two
nonces of one key together.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from teamvars.domain.idempotency import Asked, Record
from teamvars.security import length_prefixed
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import SealBroken

_NONCE_BYTES = 12
_NAME, _FINGERPRINT, _ANSWER = "name", "fingerprint", "answer"


class RecordKeys:
    """Makes and opens records with the master keys of a keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self._active = keyring.master.active
        self._keys = {
            (key_id, use): _mac(key, "idempotency record", use, key_id)
            for key_id, key in keyring.master.keys.items()
            for use in (_NAME, _FINGERPRINT, _ANSWER)
        }
        self._key_ids = tuple(keyring.master.keys)

    def lock(self, asked: Asked) -> bytes:
        """What stands for token and key while the request runs; the same under every keyring."""
        place = length_prefixed("idempotency lock", asked.caller.token_hash, asked.key)
        return hashlib.sha256(place).digest()

    def names(self, asked: Asked) -> Mapping[str, str]:
        """By key id, the name that a record of the request has under each master key."""
        token_hash, key = asked.caller.token_hash, asked.key
        return {
            key_id: _mac(self._keys[key_id, _NAME], token_hash, key).hex()
            for key_id in self._key_ids
        }

    def seal(self, asked: Asked, answer: bytes, expires_at: int) -> Record:
        """The record of a request and its answer, under the active master key."""
        key_id, name = self._active, self.names(asked)[self._active]
        fingerprint = self._fingerprint(asked, key_id)
        nonce = os.urandom(_NONCE_BYTES)
        place = _place(name, key_id, fingerprint, expires_at)
        sealed = nonce + self._cipher(key_id, name).encrypt(nonce, answer, place)
        return Record(name, key_id, fingerprint, sealed, expires_at)

    def is_of(self, record: Record, asked: Asked) -> bool:
        """Whether the record's request said the same."""
        return hmac.compare_digest(record.fingerprint, self._fingerprint(asked, record.key_id))

    def open(self, record: Record) -> bytes:
        """The answer. Raises SealBroken unless it was sealed to exactly this record."""
        nonce, sealed = record.answer[:_NONCE_BYTES], record.answer[_NONCE_BYTES:]
        place = _place(record.name, record.key_id, record.fingerprint, record.expires_at)
        try:
            return self._cipher(record.key_id, record.name).decrypt(nonce, sealed, place)
        except (InvalidTag, ValueError):
            raise SealBroken(f"The answer kept as {record.name} does not open.") from None

    def _fingerprint(self, asked: Asked, key_id: str) -> bytes:
        return _mac(self._keys[key_id, _FINGERPRINT], *asked.content, asked.body_hash)

    def _cipher(self, key_id: str, name: str) -> AESGCM:
        return AESGCM(_mac(self._keys[key_id, _ANSWER], name))


def _place(name: str, key_id: str, fingerprint: bytes, expires_at: int) -> bytes:
    return length_prefixed("idempotency answer", name, key_id, fingerprint, expires_at)


def _mac(key: bytes, *fields: str | bytes | None) -> bytes:
    return hmac.digest(key, length_prefixed(*fields), hashlib.sha256)
