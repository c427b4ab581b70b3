"""What a delivery holds and is bound to, the key of the job that opens it, and the service's
signature over both; and the keys of such signatures, as one text that clients are given beforehand.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
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

from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category
from teamvars.protocol import Malformed, decoded, encoded

# Nothing to negotiate, in mode base. Whoever records what was sent today needs to break both key
# exchanges to read it.
_SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_SUITE_IDS = bytes.fromhex("647a 0001 0002")
"""Of its key encapsulation, key derivation and encryption, in the registry of HPKE (RFC 9180)."""

_MLKEM_BYTES = 1184
PUBLIC_KEY_BYTES = _MLKEM_BYTES + 32
"""The encapsulation key of ML-KEM-768, then the public key of X25519, both raw."""

_SEPARATOR = ","
_SIGNED = b"teamvars delivery 1\0"
"""Before what is signed, so that the signature is good for nothing else."""


class JobKey:
    """A key pair, whose private part never leaves the process that made it: of one job, and the
    only one that opens what is delivered to it.
    """

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


class Info(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a bundle is bound to: it opens for none other.

    `token` is the id of the token it was asked for with, `head` where the workspace's stream stood,
    in hex, and `expires_at` when the token ends, in seconds since 1970. `only`: the globs of the
    keys that were asked for, none for all, so that nobody on the way leaves something out.
    """

    organization: str
    workspace: str
    runner: str
    version: int
    token: str
    thumbprint: str
    head: str
    expires_at: int
    only: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """The bytes that are bound and signed."""
        return msgspec.json.encode(self)


class Delivered(Discreet, frozen=True):
    """A variable with its value, as the job gets it. None: the job is not handed this one."""

    id: str
    key: str
    value: str | None
    category: Category
    hcl: bool
    sensitive: bool
    version_id: str


class Delivery(Discreet, frozen=True):
    """What is sent: each of the three as it is signed."""

    info: bytes
    bundle: bytes
    signature: bytes


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(list[Delivered])
_INFO = msgspec.json.Decoder(Info)


def deliver(
    variables: Sequence[Delivered], info: Info, public: bytes, signer: Ed25519PrivateKey
) -> Delivery:
    """The variables, sealed to that key. Raises Malformed unless it is one."""
    said = info.encode()
    # One by one: encoding keeps all other threads waiting.
    content = b"[" + b",".join(map(_ENCODER.encode, variables)) + b"]"
    bundle = seal(public, content, said)
    return Delivery(said, bundle, signer.sign(_signed(said, bundle)))


def received(
    delivery: Delivery, key: JobKey, signers: Iterable[Ed25519PublicKey]
) -> tuple[Info, list[Delivered]]:
    """What one of these signers has delivered to that key. Raises Malformed for anything else.

    Whether the info is what was asked for, the caller has to see.
    """
    signed = _signed(delivery.info, delivery.bundle)
    if not any(_is_by(signer, delivery.signature, signed) for signer in signers):
        raise Malformed
    try:
        info = _INFO.decode(delivery.info)
        if info.encode() != delivery.info or info.thumbprint != key.thumbprint:
            raise Malformed
        return info, _DECODER.decode(key.open(delivery.bundle, delivery.info))
    except (ValueError, RecursionError):
        raise Malformed from None


def _signed(info: bytes, bundle: bytes) -> bytes:
    return _SIGNED + len(info).to_bytes(8, "big") + info + bundle


def _is_by(signer: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        signer.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def shown_keys(keys: Iterable[Ed25519PublicKey]) -> str:
    """The text for these keys; the one that signs comes first."""
    return _SEPARATOR.join(encoded(key.public_bytes_raw()) for key in keys)


def read_keys(text: str) -> list[Ed25519PublicKey]:
    """The keys of such a text. Raises Malformed where it has none, or anything else."""
    try:
        return [
            Ed25519PublicKey.from_public_bytes(decoded(part)) for part in text.split(_SEPARATOR)
        ]
    except ValueError:
        raise Malformed from None
