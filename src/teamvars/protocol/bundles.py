"""What a delivery holds and is bound to, and the service's signature over both; and the keys of
such signatures, as one text that clients are given beforehand.
"""

from collections.abc import Iterable, Sequence

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category
from teamvars.protocol import Malformed, decoded, encoded
from teamvars.protocol.job_keys import JobKey, seal

_SEPARATOR = ","
_SIGNED = b"teamvars delivery 1\0"
"""Before what is signed, so that the signature is good for nothing else."""


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
