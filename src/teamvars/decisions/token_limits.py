"""What becomes of a request to limit how long tokens live, and what that records."""

from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Write
from teamvars.decisions.needs import TokenLimitsOf, ToOrganization
from teamvars.decisions.rows import Insert, Update, together
from teamvars.domain.errors import refuse_all
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.token_limits import (
    LIMITED,
    MILLISECOND,
    LimitsDraft,
    TokenLimit,
    counts,
    lifetime,
    limit_of,
)


class Shorten(Write, frozen=True):
    """Tokens of a kind, an organization's or those of its teams, live no longer than so many µs."""

    organization_id: str
    kind: str
    lifetime: int


def page(found: Found, organization: str, wanted: Page | None) -> Paged[TokenLimit]:
    """The limits of an organization, all or a page of them. Refuses: forbidden."""
    granted = found.of(ToOrganization(organization))
    granted.require_owner()
    limits = found.of(TokenLimitsOf(granted.organization.id))
    some = limits if wanted is None else limits[wanted.offset : wanted.offset + wanted.size]
    return Paged(some, len(limits))


def put(found: Found, organization: str, draft: LimitsDraft) -> Decision[Sequence[TokenLimit]]:
    """Sets limits; tokens that live longer are shortened at once, where limits count.

    Refuses: forbidden, every fault of the draft.
    """
    granted = found.of(ToOrganization(organization))
    granted.require_owner()
    refuse_all(draft.all_faults())
    owner = granted.organization
    limits = {one.kind: one for one in found.of(TokenLimitsOf(owner.id))}
    parts = []
    for kind, max_ttl_ms in draft.wanted().items():
        former = limits.get(kind)
        if former is None or former.max_ttl_ms != max_ttl_ms:
            made = former or limit_of(owner.id, kind, max_ttl_ms, found.now)
            limits[kind] = replace(made, max_ttl_ms=max_ttl_ms, updated_at=found.now)
            parts.append(_limited(found, owner, former, limits[kind]))
    return together([limits[kind] for kind in LIMITED if kind in limits], *parts)


def shortened(found: Found, organization: Organization) -> list[Write]:
    """What is written where limits begin to count."""
    limits = found.of(TokenLimitsOf(organization.id))
    return [Shorten(organization.id, kind, lifetime(kind, limits)) for kind in LIMITED]


def _limited(
    found: Found, owner: Organization, former: TokenLimit | None, limit: TokenLimit
) -> Decision[None]:
    write = Insert(limit) if former is None else Update(former, limit)
    shorter = Shorten(owner.id, limit.kind, limit.max_ttl_ms * MILLISECOND)
    details = {"token-type": limit.kind, "max-ttl-ms": limit.max_ttl_ms}
    note = found.note(owner.id, "organization.limit-tokens", owner.id, details)
    return Decision(None, (write, *((shorter,) if counts(owner) else ())), (note,))
