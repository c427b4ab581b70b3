"""Invitations: how long a link is good, how many there may be, and what becomes of its message."""

from enum import StrEnum

import msgspec

from teamvars.domain.keys import Sealed
from teamvars.domain.names import fold
from teamvars.domain.times import DAY, MINUTE
from teamvars.domain.users import User
from teamvars.kernel import Discreet

LIFETIME = 7 * DAY
"""Of an invitation and its link, in µs."""
MAX_A_DAY = 50
"""Links for one organization within a day, unless the operator says otherwise."""
MAX_A_DAY_OF_ADDRESS = 5
"""Links for one address within a day, in all organizations together."""
FIRST_TOKEN_LIFETIME = 90 * DAY
"""Of the token that an invitation may end with, in µs; as those that operators make."""

_BACK_OFF = (1, 5, 15, 60, 240)


class Delivery(StrEnum):
    """What became of the message with the link.

    `none`: there is none, because no mail is set up; `shown`: the operator was shown the link;
    `waiting`: it will be sent, or tried again; `failed`: a mail server refused it for good.
    """

    NONE = "none"
    SHOWN = "shown"
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


class Invitation(msgspec.Struct, frozen=True):
    """Until when a membership can be accepted, in µs UTC, and what became of the message."""

    expires_at: int
    delivery: Delivery

    def is_live(self, now: int) -> bool:
        """Whether it can still be accepted."""
        return now < self.expires_at

    def has_link(self, now: int) -> bool:
        """Whether somebody has the link, or will have it."""
        return self.is_live(now) and self.delivery not in (Delivery.NONE, Delivery.FAILED)


class Link(Discreet, frozen=True):
    """The secret of a link as it is stored: its hash, and sealed as long as a message waits."""

    hash: bytes
    sealed: Sealed | None = None


class Invited(msgspec.Struct, frozen=True):
    """What a link opens: who is invited where, by whom, as what address.

    `inviter` is None where no user invited; `address` is empty where a directory file has given it
    to somebody else since. Only a user who was never known gets a first token.
    """

    membership_id: str
    organization_id: str
    organization: str
    inviter: str | None
    address: str
    user: User
    expires_at: int

    @property
    def first_token(self) -> bool:
        """Whether accepting ends with a token: the address is still the user's, who never had a
        token, was active nowhere, stands in no directory file, and is neither admin nor disabled.
        """
        user = self.user
        return (
            user.placeholder
            and not user.site_admin
            and not user.disabled
            and fold(user.email or "") == fold(self.address)
        )


class Letter(Discreet, frozen=True):
    """A message to be sent: what it says, to whom, and the secret of its link."""

    invited: Invited
    secret: str
    link_hash: bytes


def retry_after(attempts: int) -> int:
    """How long to wait after so many attempts, in µs."""
    return _BACK_OFF[min(attempts, len(_BACK_OFF)) - 1] * MINUTE
