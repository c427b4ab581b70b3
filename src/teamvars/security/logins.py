"""The codes of programs that somebody is to approve: made here, and hashed."""

import hashlib
import secrets

from teamvars.protocol import encoded

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that they spell nothing, and no digits to take for letters (RFC 8628, 6.1)."""
_LENGTH = 10
"""So that nobody guesses that of any program which waits: 20 ** 10, in ten minutes."""
_BYTES = 32


def new_code() -> str:
    """What a program shows for its token."""
    return secrets.token_urlsafe(_BYTES)


def new_user_code() -> str:
    """What somebody types, as it is kept."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def written(user_code: str) -> str:
    """The same as a person reads it."""
    half = _LENGTH // 2
    return f"{user_code[:half]}-{user_code[half:]}"


def challenge_of(verifier: str) -> str:
    """What S256 makes of a verifier (RFC 7636, 4.2)."""
    return encoded(hashlib.sha256(verifier.encode()).digest())
