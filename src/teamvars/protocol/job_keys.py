"""The key of one job: made in its memory, and the only one that opens what is delivered to it.

One suite of HPKE (RFC 9180) in mode base, with nothing to negotiate: MLKEM768-X25519, HKDF-SHA256,
AES-256-GCM. Whoever records what was sent today needs to break both key exchanges to read it.
"""

import hashlib
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

from teamvars.protocol import Malformed, encoded

_SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_SUITE_IDS = bytes.fromhex("647a 0001 0002")
"""Of its key encapsulation, key derivation and encryption, in the registry of RFC 9180."""

_MLKEM_BYTES = 1184
PUBLIC_KEY_BYTES = _MLKEM_BYTES + 32
"""The encapsulation key of ML-KEM-768, then the public key of X25519, both raw."""


class JobKey:
    """A key pair, whose private part never leaves the process that made it."""

    def __init__(self, mlkem: MLKEM768PrivateKey, x25519: X25519PrivateKey) -> None:
        self._private = MLKEM768X25519PrivateKey(mlkem, x25519)
        self.public = mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()
        self.thumbprint = thumbprint(self.public)

    @classmethod
    def generate(cls) -> Self:
        """A new one."""
        return cls(MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())

    def open(self, sealed: bytes, info: bytes) -> bytes:
        """What was sealed to this key with that info. Raises Malformed for anything else."""
        try:
            return _SUITE.decrypt(sealed, self._private, info=info)
        except (InvalidTag, ValueError):
            raise Malformed from None


def thumbprint(public: bytes) -> str:
    """What names a public key, and the suite with it: SHA-256, as `encoded` shows it."""
    return encoded(hashlib.sha256(_SUITE_IDS + public).digest())


def seal(public: bytes, content: bytes, info: bytes) -> bytes:
    """The encapsulated key, then the ciphertext. Raises Malformed unless that is a public key."""
    if len(public) != PUBLIC_KEY_BYTES:
        raise Malformed
    try:
        key = MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(public[:_MLKEM_BYTES]),
            X25519PublicKey.from_public_bytes(public[_MLKEM_BYTES:]),
        )
        return _SUITE.encrypt(content, key, info=info)
    except ValueError:  # no such key, or one with which there is no secret
        raise Malformed from None
