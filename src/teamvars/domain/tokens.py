"""API tokens as they are listed, everything about one but the token; and how long they may live, as
an organization prescribes it to its own and to those of its teams.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeGuard

import msgspec

from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Code, Fault, invalid
from teamvars.domain.ids import derived_id
from teamvars.domain.names import is_safe
from teamvars.domain.organizations import Organization
from teamvars.domain.times import DAY, LATEST, in_24_months, moment, timestamp
from teamvars.kernel import Discreet

MAX_DESCRIPTION_CHARACTERS = 512
EXPIRY_RULE = "at the latest 9999-12-31T23:59:59Z"
DESCRIPTION_TAKEN = Fault(
    Code.NAME_TAKEN,
    "The team has a token with this description.",
    pointer="/data/attributes/description",
)
MAX_LIVE_TOKENS = 100
"""Of one user, team or organization. One that has expired is not alive."""

OWN_END = "Your token expires at {}, and tokens that you make with it expire no later."
SESSION_END = "Tokens that you make while you are signed in here expire at {} at the latest."
ORGANIZATION_END = (
    "The organization limits how long such a token lives: now it ends at {} at the latest."
)
WAY_BACK = DAY // 24
"""A user's token that the host makes for so long at most is good where members have to sign in; in
µs. So owners get back in while no provider lets them."""
UNUSED_AFTER = 90 * DAY
"""A token that nobody has used for so long is probably forgotten; in µs."""
SIGNED_IN = "signed in with "
LOGGED_IN = "teamvars login on "
"""How the descriptions begin that say whence somebody came."""

MILLISECOND = 1000
"""In µs, which all times are in."""
MIN_LIMIT_MS = 60_000
DEFAULT_LIMIT_MS = 731 * 86_400_000
"""24 months with a leap day, so that nobody's 24 months are cut short who said nothing."""
TWO_YEARS_MS = 730 * 86_400_000
"""What clients make of two years."""
MAX_LIMIT_MS = 36_500 * 86_400_000
LIMITED_KINDS = ("organization", "team")
UNLIMITED_KINDS = ("user", "audit_trails", "metrics")
"""A user's token is of no organization, and there are none of the other kinds."""
LIMITS_ENABLED = "max-ttl-enabled"


class Token(msgspec.Struct, frozen=True):
    """A token of a `user`, `team` or `organization`. Times in µs UTC, None: never.

    `created_by` is the user who made it, None where it was not made with a user's token. `reach`
    are the organizations in which one of a user has rights, by id; None: wherever its user has.
    `provider` is that with which somebody has signed in for it, or for the token it was made with,
    and `sid` its name for the session that they have there, if it has told.
    """

    id: str
    owner_kind: str
    owner_id: str
    created_at: int
    expires_at: int | None
    last_used_at: int | None
    description: str = ""
    created_by: str | None = None
    reach: frozenset[str] | None = None
    provider: str | None = None
    sid: str | None = None

    def is_live(self, now: int) -> bool:
        """Whether it has not ended by itself."""
        return self.expires_at is None or self.expires_at > now

    def faulty(self) -> list[str]:
        """The names of the times that no calendar has: the row was altered by hand."""
        times = {
            "created": self.created_at,
            "expires": self.expires_at,
            "last-used": self.last_used_at,
        }
        return [name for name, at in times.items() if at is not None and moment(at) is None]


class HashedToken(Discreet, frozen=True):
    """A token as it is stored: by its hash, from which nobody can make it."""

    token: Token
    hash: bytes


class NewToken(Discreet, frozen=True):
    """A token just made. `secret` is the token itself: shown once, stored nowhere."""

    token: Token
    secret: str


class OwnerName(msgspec.Struct, frozen=True):
    """Whom a token is for, by name: a user, whom an address or id names too, an organization, or a
    team of that organization.
    """

    user: str | None = None
    organization: str | None = None
    team: str | None = None


class OfOrganization(msgspec.Struct, frozen=True):
    """The token of an organization, by the organization's name."""

    name: str
    kind = "organization"


class OfTeam(msgspec.Struct, frozen=True):
    """The token of a team that has no description."""

    id: str
    kind = "team"


class DescribedOfTeam(msgspec.Struct, frozen=True):
    """The tokens of a team, of which it has any number with a description."""

    id: str
    kind = "team"


class OfUser(msgspec.Struct, frozen=True):
    """The tokens of a user."""

    id: str
    kind = "user"


Whose = OfOrganization | OfTeam | DescribedOfTeam | OfUser
"""Whose tokens a caller speaks of: one of an organization or a team, or any number of them."""


class TokenOrder(StrEnum):
    """What a list of tokens of several teams is ordered by."""

    TEAM = "team-name"
    MAKER = "created-by"
    END = "expired-at"
    USE = "last-used-at"


class TokenEnd(StrEnum):
    """Which tokens a list has, by their end. All that can be used are `active`."""

    ACTIVE = "active"
    WITHIN_7_DAYS = "expiring_in_7_days"
    WITHIN_30_DAYS = "expiring_in_30_days"
    EXPIRED = "expired"
    NEVER = "no_expiration"


class TeamTokenSearch(msgspec.Struct, frozen=True):
    """Which tokens of teams are wanted, by a part of a team's name and by their end, any where none
    of the `ends` is said, and in which order; without one the oldest comes first.
    """

    part: str = ""
    order: TokenOrder | None = None
    is_reversed: bool = False
    ends: tuple[TokenEnd, ...] = ()


class IssuedToken(msgspec.Struct, frozen=True):
    """A token as an operator sees it: with its owner's name, which of a team is ORG/TEAM, or with
    the id of one whose row somebody took away.
    """

    token: Token
    owner: str
    owner_disabled: bool = False

    @property
    def title(self) -> str:
        """Whose it is, as in `user alice`, `team acme/platform`, `organization acme`."""
        return f"{self.token.owner_kind} {self.owner}"

    def marks(self, now: int) -> list[str]:
        """What is to be known of it: `disabled`, `expired`, `unused` for a while, or `touched`."""
        token = self.token
        if token.faulty():
            return ["touched"]
        found = {
            "disabled": self.owner_disabled,
            "expired": not token.is_live(now),
            "unused": max(token.created_at, token.last_used_at or 0) <= now - UNUSED_AFTER,
        }
        return [mark for mark, holds in found.items() if holds]


class Suspects(msgspec.Struct, frozen=True):
    """Some tokens with something to be said of them all, and how many there are."""

    named: Sequence[IssuedToken]
    total: int


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

    def expires_at(self, now: int, latest: int | None) -> int | None:
        """When it will expire, in µs UTC; None: at no time at all.

        `latest` is when the token ends that it is made with, where it may not outlive that. One
        that says nothing ends then, after 24 months at the latest.
        """
        if self.expired_at is None:
            return min(in_24_months(now), LATEST if latest is None else latest)
        return timestamp(self.expired_at)

    def all_faults(self, now: int, latest: int | None, why: str = "") -> list[Fault]:
        """Those of the document, and every rule it breaks; `why` there is a latest end."""
        faults = list(self.faults)
        text = self.description or ""
        if len(text) > MAX_DESCRIPTION_CHARACTERS or not is_safe(text):
            detail = (
                f"A description has at most {MAX_DESCRIPTION_CHARACTERS} characters, on one line, "
                "none of which are control or format characters."
            )
            faults.append(invalid("description", detail))
        expires_at = self.expires_at(now, latest)
        if not can_expire(expires_at, now):
            detail = f"This must be a future time as in RFC 3339, {EXPIRY_RULE}."
            faults.append(invalid("expired-at", detail))
        elif latest is not None and expires_at > latest:
            detail = f"{ends_by(why, latest)} Leave expired-at out to make it expire then."
            faults.append(invalid("expired-at", detail))
        return faults

    def description_faults(self, whose: Whose) -> list[Fault]:
        """A fault of a team's token that has a description and should have none, or the reverse."""
        if isinstance(whose, OfTeam) and self.description:
            detail = f"This token has none: POST to {described_path(whose.id)} makes others."
            return [invalid("description", detail)]
        if not isinstance(whose, DescribedOfTeam) or self.description:
            return []
        if any(fault.pointer == DESCRIPTION_TAKEN.pointer for fault in self.faults):
            return []
        code = Code.MISSING_MEMBER if self.description is None else Code.INVALID_VALUE
        detail = "A token beside others needs a description, which none of them has."
        return [Fault(code, detail, pointer=DESCRIPTION_TAKEN.pointer)]


def described_path(team_id: str) -> str:
    """Where a team's tokens with descriptions are made."""
    return f"/api/v2/teams/{team_id}/authentication-tokens"


def stream_of(token: Token) -> str:
    """The stream in which a token's birth and revocation are recorded."""
    return token.owner_id if token.owner_kind in ("team", "organization") else SYSTEM_STREAM


def told_of(description: str) -> str:
    """What others are told of a description: not whence somebody came, nor with what browser."""
    if description.startswith(SIGNED_IN):
        return "a sign-in"
    if description.startswith(LOGGED_IN):
        return description.partition(" from ")[0]
    return description


def ends_by(why: str, latest: int) -> str:
    """A sentence on why a token ends then at the latest."""
    return why.format(f"{moment(latest):%Y-%m-%dT%H:%M:%SZ}")


def can_expire(at: int | None, now: int) -> TypeGuard[int]:
    """Whether a token may expire then (µs UTC): a time to come, and one that can be written."""
    return at is not None and now < at <= LATEST


class TokenLimit(msgspec.Struct, frozen=True):
    """How long tokens of a kind may live in an organization. Times in µs UTC."""

    id: str
    organization_id: str
    kind: str
    max_ttl_ms: int
    created_at: int
    updated_at: int


class SaidLimit(msgspec.Struct, frozen=True):
    """A limit that a request names, and where it does."""

    kind: str
    max_ttl_ms: int
    at: str

    def faults(self) -> list[Fault]:
        """What is wrong with it."""
        if self.kind in UNLIMITED_KINDS:
            if self.max_ttl_ms == TWO_YEARS_MS:
                return []
            detail = (
                "Only tokens of an organization and of its teams are limited here. For others "
                f"there is no value but {TWO_YEARS_MS}."
            )
            return [Fault(Code.NOT_OFFERED, detail, pointer=f"{self.at}/max-ttl-ms")]
        if self.kind not in LIMITED_KINDS:
            detail = f"A kind of tokens is one of {', '.join((*LIMITED_KINDS, *UNLIMITED_KINDS))}."
            return [Fault(Code.INVALID_VALUE, detail, pointer=f"{self.at}/token-type")]
        if not MIN_LIMIT_MS <= self.max_ttl_ms <= MAX_LIMIT_MS:
            detail = f"A limit is {MIN_LIMIT_MS} to {MAX_LIMIT_MS} milliseconds."
            return [Fault(Code.INVALID_VALUE, detail, pointer=f"{self.at}/max-ttl-ms")]
        return []


class LimitsDraft(msgspec.Struct, frozen=True):
    """The limits that a request sets; others stay."""

    limits: tuple[SaidLimit, ...] = ()
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        said: dict[str, int] = {}
        faults = list(self.faults)
        for one in self.limits:
            faults += one.faults()
            if said.setdefault(one.kind, one.max_ttl_ms) != one.max_ttl_ms:
                detail = "Tokens of this kind are given another limit before."
                faults.append(Fault(Code.INVALID_VALUE, detail, pointer=f"{one.at}/token-type"))
        return faults

    def wanted(self) -> dict[str, int]:
        """In milliseconds by kind."""
        return {one.kind: one.max_ttl_ms for one in self.limits if one.kind in LIMITED_KINDS}


def limit_of(organization_id: str, kind: str, max_ttl_ms: int, now: int) -> TokenLimit:
    """A new limit; a kind has one."""
    id_ = derived_id("ttl", organization_id, kind)
    return TokenLimit(id_, organization_id, kind, max_ttl_ms, now, now)


def lifetime(kind: str, limits: Iterable[TokenLimit]) -> int:
    """How long a token of that kind may live where limits count, in µs."""
    said = {one.kind: one.max_ttl_ms for one in limits}
    return said.get(kind, DEFAULT_LIMIT_MS) * MILLISECOND


def latest_end(
    organization: Organization, kind: str, limits: Sequence[TokenLimit], now: int
) -> int | None:
    """When a token ends at the latest that is made now; None: the organization does not say."""
    return min(now + lifetime(kind, limits), LATEST) if limits_tokens(organization) else None


def limits_tokens(organization: Organization) -> bool:
    """Whether an organization does: its limits count where it has them enabled."""
    return bool(organization.settings.get(LIMITS_ENABLED))
