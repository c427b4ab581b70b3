"""What all owners of an organization are told by mail."""

from collections.abc import Sequence

from teamvars.decisions import Decision, Found, Write
from teamvars.decisions.needs import UserWithId
from teamvars.domain.notices import NAMELESS, of_new_owners
from teamvars.domain.users import User


class TellOwners(Write, frozen=True):
    """Each active owner with an address has a letter. Who becomes one by what is written later with
    it has none.

    Of an `id` one letter waits for an owner: the newest, which then says that there were others.
    """

    id: str
    organization_id: str
    subject: str
    text: str


def joined(
    found: Found, organization_id: str, name: str, newcomers: Sequence[User]
) -> Decision[None]:
    """Who is an owner already is told who becomes one, and by whom. It is written before that."""
    if not newcomers:
        return Decision(None)
    actor = found.caller.actor
    assert actor is not None  # every change comes after its access check
    user = found.of(UserWithId(actor.id)) if actor.kind == "user" else None
    by = NAMELESS[actor.kind] if user is None else user.username
    names = sorted(one.username for one in newcomers)
    told = of_new_owners(name, names, by, found.now)
    return Decision(None, (TellOwners(f"owners of {organization_id}", organization_id, *told),))
