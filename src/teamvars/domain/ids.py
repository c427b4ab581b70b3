"""Ids: a prefix that says what it names, and 16 random base58 characters (contract §4)."""

import secrets

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
LENGTH = 16
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_SPACE = len(ALPHABET) ** LENGTH


def new_id(prefix: str) -> str:
    """A fresh id such as `var-8fTzQ1sYkpRb3mXc`; about 94 random bits, so it is never repeated."""
    # 128 random bits folded into 94: the bias is below 2**-34.
    rest = int.from_bytes(secrets.token_bytes(16)) % _SPACE
    pairs = []
    for _ in range(LENGTH // 2):
        rest, index = divmod(rest, len(_PAIRS))
        pairs.append(_PAIRS[index])
    return prefix + "-" + "".join(pairs)


def new_version_id() -> str:
    """A fresh opaque `version-id`: 36 hex characters."""
    return secrets.token_hex(18)
