"""What an operator has accepted: streams that did not hold, as they were found then."""

from typing import Self

import msgspec

from teamvars.domain.audit import AuditEntry
from teamvars.domain.audit_actions import ACCEPT

MAX_REASON_CHARACTERS = 512


class Acceptance(msgspec.Struct, frozen=True):
    """What was found of a stream, and why an operator goes on from there.

    `digest` is of all that was there, and `row` of the stream's row; empty where that was gone, and
    so the stream has ended. Else `sequence` is the number of the entry from which it goes on.
    """

    stream_id: str
    sequence: int
    digest: str
    row: str
    reason: str

    @classmethod
    def read(cls, entry: AuditEntry) -> Self:
        """What an authentic entry says of it."""
        details = entry.read_details() or {}
        names = "stream", "sequence", "digest", "row", "reason"
        return cls(*(details[name] for name in names))

    def details(self) -> dict[str, object]:
        """What the entries of it say."""
        return {
            "stream": self.stream_id,
            "sequence": self.sequence,
            "digest": self.digest,
            "row": self.row,
            "reason": self.reason,
        }

    def is_of(self, entry: AuditEntry) -> bool:
        """Whether it is the one that an entry records; an altered one may say anything."""
        return entry.action == ACCEPT and entry.read_details() == self.details()
