"""API tokens as they are listed: everything about one but the token."""

from datetime import UTC, datetime

import msgspec

from teamvars.domain.errors import Code, Fault

MAX_DESCRIPTION_CHARACTERS = 512


class Token(msgspec.Struct, frozen=True):
    """A token of a `user`, `team` or `organization`. Times in µs UTC, None: never."""

    id: str
    owner_kind: str
    owner_id: str
    created_at: int
    expires_at: int | None
    last_used_at: int | None
    description: str = ""


class TokenOwner(msgspec.Struct, frozen=True):
    """Whom a token is for, and the stream in which its birth and revocation are recorded."""

    kind: str
    id: str
    stream_id: str


class TokenDraft(msgspec.Struct, frozen=True):
    """What a request says of a new token; `expired_at` is a time as RFC 3339 writes it."""

    description: str | None = None
    expired_at: str | None = None
    faults: tuple[Fault, ...] = ()

    def expires_at(self) -> int | None:
        """When it will expire, in µs UTC; None when it never will, or at no time at all."""
        if self.expired_at is None:
            return None
        try:
            at = datetime.fromisoformat(self.expired_at)
            return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000_000)
        except (ValueError, OverflowError):
            return None

    def all_faults(self, now: int) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        faults = list(self.faults)
        if len(self.description or "") > MAX_DESCRIPTION_CHARACTERS:
            detail = f"A description has at most {MAX_DESCRIPTION_CHARACTERS} characters."
            faults.append(_fault("description", detail))
        if self.expired_at is not None and (self.expires_at() or 0) <= now:
            faults.append(_fault("expired-at", "This must be a time to come, as RFC 3339 has it."))
        return faults


def _fault(name: str, detail: str) -> Fault:
    return Fault(Code.INVALID_VALUE, detail, pointer=f"/data/attributes/{name}")
