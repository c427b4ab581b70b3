"""What all owners of an organization are told by mail."""

from collections.abc import Sequence

from teamvars.decisions import Decision, Found, Write
from teamvars.decisions.needs import UserWithId
from teamvars.domain.diagnosis import some_of
from teamvars.domain.memberships import Membership
from teamvars.domain.notices import UNWANTED
from teamvars.domain.times import moment

MOST_NAMED = 20
"""New owners that a letter names."""
_NAMELESS = {
    "operator": "Whoever runs this service",
    "organization": "Somebody with the organization's token",
    "team": "Somebody with a token of the owners team",
}


class TellOwners(Write, frozen=True):
    """Each active owner with an address has a letter. Who becomes one by what is written later with
    it has none.

    Of an `id` one letter waits for an owner: the newest, which then says that there were others.
    """

    id: str
    organization_id: str
    subject: str
    text: str


def joined(found: Found, newcomers: Sequence[Membership]) -> Decision[None]:
    """Who owns an organization is told which of these, who come to be in its owners team or active,
    are owners by that, and who has done it. It is written before they are.
    """
    names = sorted(one.user.username for one in newcomers if one.counts_as_owner)
    actor = found.caller.actor
    if not names or actor is None:
        return Decision(None)
    id_, place = newcomers[0].organization_id, newcomers[0].organization_name
    user = found.of(UserWithId(actor.id)) if actor.kind == "user" else None
    by = _NAMELESS[actor.kind] if user is None else user.username
    did = "accepted an invitation" if by in names else "did that"
    text = (
        f"New owners of {place} since {moment(found.now):%Y-%m-%d %H:%M} UTC: "
        f"{some_of(names[:MOST_NAMED], len(names))}. {by} {did}. "
        f"{UNWANTED.format('take them out of the owners team')}"
    )
    return Decision(None, (TellOwners(f"owners of {id_}", id_, f"New owners of {place}", text),))
