"""The keys that sign what jobs are handed: their public parts, as clients are given them."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from teamvars.protocol import bundles, encoded
from teamvars.security.keyring import KeySet


def text(*key_sets: KeySet) -> str:
    """What clients are told to accept: the key of each that is in use."""
    return bundles.shown_keys([_public(its.keys[its.active]) for its in key_sets])


def thumbprint(key_set: KeySet) -> str:
    """What names the public part of the key that is in use: its SHA-256, in base64url."""
    public = _public(key_set.keys[key_set.active]).public_bytes_raw()
    return encoded(hashlib.sha256(public).digest())


def _public(seed: bytes) -> Ed25519PublicKey:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key()
