"""How long tokens may live, as an organization prescribes it to its own and to those of its teams.

A limit counts while the organization has `max-ttl-enabled`; whoever has said nothing else has the
default then. It shortens the tokens that there are, and none of them grows again.
"""

from collections.abc import Iterable, Sequence

import msgspec

from teamvars.domain.errors import Code, Fault
from teamvars.domain.ids import derived_id
from teamvars.domain.organizations import Organization
from teamvars.domain.times import LATEST

MILLISECOND = 1000
"""In µs, which all times are in."""
MIN_MS = 60_000
DEFAULT_MS = 731 * 86_400_000
"""24 months with a leap day, so that nobody's 24 months are cut short who said nothing."""
TWO_YEARS_MS = 730 * 86_400_000
"""What clients make of two years."""
MAX_MS = 36_500 * 86_400_000
LIMITED = ("organization", "team")
NOT_LIMITED = ("user", "audit_trails", "metrics")
"""A user's token is of no organization, and there are none of the other kinds."""
ENABLED = "max-ttl-enabled"


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
        if self.kind in NOT_LIMITED:
            if self.max_ttl_ms == TWO_YEARS_MS:
                return []
            detail = (
                "Only tokens of an organization and of its teams are limited here. For others "
                f"there is no value but {TWO_YEARS_MS}."
            )
            return [Fault(Code.NOT_OFFERED, detail, pointer=f"{self.at}/max-ttl-ms")]
        if self.kind not in LIMITED:
            detail = f"A kind of tokens is one of {', '.join((*LIMITED, *NOT_LIMITED))}."
            return [Fault(Code.INVALID_VALUE, detail, pointer=f"{self.at}/token-type")]
        if not MIN_MS <= self.max_ttl_ms <= MAX_MS:
            detail = f"A limit is {MIN_MS} to {MAX_MS} milliseconds."
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
        return {one.kind: one.max_ttl_ms for one in self.limits if one.kind in LIMITED}


def limit_of(organization_id: str, kind: str, max_ttl_ms: int, now: int) -> TokenLimit:
    """A new limit; a kind has one."""
    id_ = derived_id("ttl", organization_id, kind)
    return TokenLimit(id_, organization_id, kind, max_ttl_ms, now, now)


def lifetime(kind: str, limits: Iterable[TokenLimit]) -> int:
    """How long a token of that kind may live where limits count, in µs."""
    said = {one.kind: one.max_ttl_ms for one in limits}
    return said.get(kind, DEFAULT_MS) * MILLISECOND


def latest_end(
    organization: Organization, kind: str, limits: Sequence[TokenLimit], now: int
) -> int | None:
    """When a token ends at the latest that is made now; None: the organization does not say."""
    if not counts(organization):
        return None
    return min(now + lifetime(kind, limits), LATEST)


def counts(organization: Organization) -> bool:
    """Whether the organization's limits count."""
    return bool(organization.settings.get(ENABLED))
