"""API tokens, the secrets of invitations, and the codes of programs to approve: how they are made,
recognised and hashed.

`tv`, a letter for the owner's kind, `_`, 43 base62 characters (256 random bits), 6 of checksum:
secret scanners find it with `tv[utos]_[0-9A-Za-z]{49}` and can verify it without asking us. The
letter of a user's session is `s`: its token is made of the secret that the browser's cookie has.
The letter of an invitation is `i`, and that of a job `r`: neither is a token to anything else.
"""

import hashlib
import hmac
import re
import secrets
import zlib

from teamvars.protocol import encoded

PATTERN = "tv[utos]_[0-9A-Za-z]{49}"
INVITATION = "invitation"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RUNNER = "runner"
_PREFIXES = {
    "user": "tvu_",
    "team": "tvt_",
    "organization": "tvo_",
    INVITATION: "tvi_",
    RUNNER: "tvr_",
}
_SESSION = "tvs_"
_LABEL = b"teamvars session token"
_LETTERS_OF_CODES = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that they spell nothing, and no digits to take for letters (RFC 8628, 6.1)."""
_CODE_LETTERS = 10
"""So that nobody guesses that of any program which waits: 20 ** 10, in ten minutes."""
_CODE_BYTES = 32
_SECRET_CHARACTERS = 43
_CHECKSUM_CHARACTERS = 6
TOKEN = re.compile(PATTERN)
"""The form of a token; enough where storage is asked for it in any case."""
OF_JOB = re.compile("tvr_[0-9A-Za-z]{49}")
"""That of a job's."""
_INVITATION = re.compile("tvi_[0-9A-Za-z]{49}")


def new_token(owner_kind: str) -> str:
    """A fresh token for a `user`, `team` or `organization`, or the secret of an `invitation`."""
    body = _PREFIXES[owner_kind] + _base62(secrets.randbits(256), _SECRET_CHARACTERS)
    return body + _checksum(body)


def new_session() -> str:
    """The secret of a session: what the cookie of a browser has."""
    return _base62(secrets.randbits(256), _SECRET_CHARACTERS)


def session_token(secret: str) -> str:
    """The token of the session with that secret, which does not lead back to it."""
    digest = hmac.digest(secret.encode(), _LABEL, "sha256")
    body = _SESSION + _base62(int.from_bytes(digest, "big"), _SECRET_CHARACTERS)
    return body + _checksum(body)


def has_invitation_form(text: str) -> bool:
    """Whether it may be the secret of an invitation."""
    return _INVITATION.fullmatch(text) is not None


def is_token(text: str) -> bool:
    """Whether it has the form of a token and its checksum holds; it need not be a known one."""
    if TOKEN.fullmatch(text) is None:
        return False
    return _checksum(text[:-_CHECKSUM_CHARACTERS]) == text[-_CHECKSUM_CHARACTERS:]


def hash_token(token: str) -> bytes:
    """What is stored: SHA-256, since 256 random bits need no slow hash and no salt."""
    return hashlib.sha256(token.encode()).digest()


def new_code() -> str:
    """What a program shows for its token."""
    return secrets.token_urlsafe(_CODE_BYTES)


def new_user_code() -> str:
    """What somebody types, as it is kept."""
    return "".join(secrets.choice(_LETTERS_OF_CODES) for _ in range(_CODE_LETTERS))


def written_code(user_code: str) -> str:
    """The same as a person reads it."""
    half = _CODE_LETTERS // 2
    return f"{user_code[:half]}-{user_code[half:]}"


def challenge_of(verifier: str) -> str:
    """What S256 makes of a verifier (RFC 7636, 4.2)."""
    return encoded(hashlib.sha256(verifier.encode()).digest())


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_CHARACTERS)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
