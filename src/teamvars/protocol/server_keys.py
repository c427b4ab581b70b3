"""The keys that a service signs deliveries with, as one text that clients are given beforehand."""

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from teamvars.protocol import Malformed, decoded, encoded

_SEPARATOR = ","


def shown(keys: Iterable[Ed25519PublicKey]) -> str:
    """The text for these keys; the one that signs comes first."""
    return _SEPARATOR.join(encoded(key.public_bytes_raw()) for key in keys)


def read(text: str) -> list[Ed25519PublicKey]:
    """The keys of such a text. Raises Malformed where it has none, or anything else."""
    try:
        return [
            Ed25519PublicKey.from_public_bytes(decoded(part)) for part in text.split(_SEPARATOR)
        ]
    except ValueError:
        raise Malformed from None
