"""Ids: a prefix that says what it names, and 16 base58 characters (contract §4)."""

import hashlib
import json
import secrets
import time
from functools import lru_cache

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
LENGTH = 16
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_RANDOM_BITS = 51


def new_id(prefix: str) -> str:
    """A fresh id such as `var-FJDA2AmbwMZ4Qx9T`: the millisecond, and 51 random bits.

    Ids sort as text by when they were made, so that what is made together lies together in an
    index (docs/decisions/005). Of two made in one millisecond, the chance to be the same is 2**-51.
    """
    milliseconds = time.time_ns() // 1_000_000
    return _id(prefix, milliseconds << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS))


@lru_cache(maxsize=1024)  # a page has the same tags, and bindings of a project, again and again
def derived_id(prefix: str, *parts: str) -> str:
    """The id that follows from the parts: the same wherever it is made, and of others another."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return _id(prefix, int.from_bytes(digest))


def _id(prefix: str, number: int) -> str:
    """The id with a number, of which it has as much as there is room for."""
    rest, pairs = number, []
    for _ in range(LENGTH // 2):
        rest, index = divmod(rest, len(_PAIRS))
        pairs.append(_PAIRS[index])
    return prefix + "-" + "".join(reversed(pairs))


def prefix_of(id_: str) -> str:
    """What an id names, such as `var`."""
    return id_.partition("-")[0]


def new_version_id() -> str:
    """A fresh opaque `version-id`: 36 hex characters."""
    return secrets.token_hex(18)
