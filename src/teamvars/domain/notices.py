"""What people are told by mail, and until when it is tried."""

import msgspec

from teamvars.domain.times import DAY

GIVEN_UP_AFTER = 10
"""Attempts, in about a day."""
STALE_AFTER = DAY
"""In µs: what has waited for longer, because there was no mail, is told no more."""

UNWANTED = (
    "If no owner wanted that, {}, look at the organization's audit trail, and revoke the tokens of "
    "who did it."
)
"""What an owner can do about it, with what comes first."""
AND_BEFORE = (
    "This letter takes the place of others that were not sent in time: the audit trail has what "
    "they said."
)
"""What a letter says besides that takes the place of another."""


class Memo(msgspec.Struct, frozen=True):
    """What somebody is told once, in plain text; it waits from then on, in µs UTC. `page` is the
    path of what they then look at.
    """

    id: str
    address: str
    subject: str
    text: str
    due_at: int
    page: str = ""
