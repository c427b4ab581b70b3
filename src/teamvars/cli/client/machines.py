"""The key of this machine: made here, kept for its user alone, and what it signs."""

import os
import socket
import time

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.cli.client.api import accounts
from teamvars.cli.client.api.accounts import Machine
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.exits import Failure
from teamvars.protocol import MACHINE, Malformed, decoded, encoded

_LIFE = 300
"""Seconds that what it signs is good."""


def enrolled(service: Address) -> str:
    """The public key, as `encoded`: made unless there is one, and for that service too."""

    def enroll(machine: Machine) -> None:
        if not machine.private_key:
            machine.private_key = encoded(Ed25519PrivateKey.generate().private_bytes_raw())
        if str(service) not in machine.addresses:
            machine.addresses.append(str(service))

    accounts.change(Machine, enroll)
    return _public(_key())


def assertion(audience: str) -> str:
    """What the machine says of itself, for that audience (JWT, RFC 7519)."""
    key, now = _key(), int(time.time())
    claims = {
        "iss": MACHINE + _public(key),
        "aud": audience,
        "sub": socket.gethostname() or "machine",
        "iat": now,
        "exp": now + _LIFE,
        "jti": encoded(os.urandom(16)),
    }
    signed = ".".join(encoded(msgspec.json.encode(part)) for part in (_HEADER, claims))
    return f"{signed}.{encoded(key.sign(signed.encode()))}"


_HEADER = {"alg": "Ed25519", "typ": "JWT"}


def _key() -> Ed25519PrivateKey:
    try:
        return Ed25519PrivateKey.from_private_bytes(decoded(accounts.read(Machine).private_key))
    except (Malformed, ValueError):
        path = accounts.path_of(Machine)
        raise Failure(f"{path} has no key. Remove it, and run: teamvars runner init") from None


def _public(key: Ed25519PrivateKey) -> str:
    return encoded(key.public_key().public_bytes_raw())
