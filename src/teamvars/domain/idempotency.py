"""Requests that may be repeated: what of them is compared, and what is kept for how long."""

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import too_many_requests
from teamvars.domain.times import DAY
from teamvars.kernel import Discreet

HEADER = "Idempotency-Key"
KEPT_FOR = DAY
"""How long an answer is kept, in µs."""
MAX_RECORDS = 1_000
MAX_BYTES = 16 * 1024 * 1024
"""Of what is kept of all answers of one user, team or organization."""


class Asked(Discreet, frozen=True):
    """A change that was sent with a key. A repeat of it has the same of everything.

    `content` is what the request says beside its key, `body_hash` the SHA-256 of its body.
    """

    caller: Caller
    key: str
    content: tuple[str | bytes | None, ...]
    body_hash: bytes


class Record(Discreet, frozen=True):
    """What is kept of a change: its name, for its token and key, and the sealed answer.

    `fingerprint` is a keyed hash of what was asked, `key_id` the master key that hash and seal were
    made with. `expires_at` in µs UTC.
    """

    name: str
    key_id: str
    fingerprint: bytes
    answer: bytes
    expires_at: int


class Held(msgspec.Struct, frozen=True):
    """The record of a change, if there is one, and how many and how large the caller's are."""

    record: Record | None
    records: int
    bytes: int

    def require_room(self, record: Record) -> None:
        """Refuses one record more than a caller may have."""
        if self.records >= MAX_RECORDS or self.bytes + len(record.answer) > MAX_BYTES:
            raise too_many_requests(
                f"{MAX_RECORDS} answers, or {MAX_BYTES} bytes of them, are already kept for your "
                f"keys, each for a day. Nothing was changed; without {HEADER} the change is "
                "possible."
            )
