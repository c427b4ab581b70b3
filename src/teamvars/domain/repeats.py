"""Requests that may be repeated: what of them is compared, and what is kept for how long."""

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import Code, Fault, Refusal, too_many_requests
from teamvars.kernel.discreet import Discreet

HEADER = "Idempotency-Key"
KEPT_FOR = 86_400_000_000
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


def reused() -> Refusal:
    """The key was used for another request before."""
    detail = "This key was used for another request. Send a new key with each change."
    return Refusal(Fault(Code.IDEMPOTENCY_KEY_REUSED, detail, header=HEADER))


def in_use() -> Refusal:
    """The first request with the key is still under way."""
    detail = "The first request with this key is still under way. Repeat it later."
    return Refusal(Fault(Code.IDEMPOTENCY_KEY_IN_USE, detail, header=HEADER))


def already_made(id_: str) -> Refusal:
    """The first request made what is shown only once."""
    detail = (
        "The first request with this key made it, and its answer showed it. If that answer is "
        "lost, delete what meta.id names and send a new key."
    )
    return Refusal(Fault(Code.ALREADY_MADE, detail, header=HEADER, meta={"id": id_}))
