"""API tokens as they are listed: everything about one but the token."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a `user`, `team` or `organization`. Times in µs UTC, None: never."""

    id: str
    owner_kind: str
    owner_id: str
    created_at: int
    expires_at: int | None
    last_used_at: int | None


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """Whom a token is for, and the stream in which its birth and revocation are recorded."""

    kind: str
    id: str
    stream_id: str
