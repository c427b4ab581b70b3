"""Changes to invitations; each is recorded in the stream of the organization."""

from collections.abc import Mapping

import msgspec

from teamvars.domain.errors import Fault
from teamvars.domain.invitations import (
    LIFETIME,
    MAX_A_DAY_OF_ADDRESS,
    Delivery,
    Link,
    too_many_of_address,
    too_many_of_organization,
)
from teamvars.domain.memberships import Membership
from teamvars.mail.messages import counted_as
from teamvars.security.sealing import Sealer
from teamvars.security.tokens import INVITATION, hash_token, new_token
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import invitations, organizations
from teamvars.storage.invitations import Put

_ALONE: Mapping[str, object] = {}


class Inviting(msgspec.Struct, frozen=True):
    """What inviting takes: whether mail is set up, how many links an organization has a day, and
    where people find the service.
    """

    sealer: Sealer
    mail: bool
    a_day: int
    url: str

    @property
    def delivery(self) -> Delivery:
        """What becomes of a link that nobody is to be shown."""
        return Delivery.WAITING if self.mail else Delivery.NONE


async def surplus(
    ledger: Ledger, inviting: Inviting, organization_id: str, address: str, pointer: str | None
) -> list[Fault]:
    """The faults of one link more than a day may have.

    Both the organization and the system must be locked: all counts wait for the latter.
    """
    tx, now = ledger.tx, ledger.now
    faults = []
    if await invitations.requests_of_organization(tx, organization_id, now) >= inviting.a_day:
        faults.append(too_many_of_organization(inviting.a_day))
    if await invitations.requests_of_address(tx, counted_as(address), now) >= MAX_A_DAY_OF_ADDRESS:
        faults.append(too_many_of_address(pointer))
    return faults


async def create(
    ledger: Ledger,
    inviting: Inviting,
    membership: Membership,
    inviter: str | None,
    delivery: Delivery,
) -> str | None:
    """Makes the first link of a membership, or a new one that voids it; returns its secret.

    With it the message is stored that will carry it, sealed. With no delivery there is no link.
    """
    verb = "create" if membership.invitation is None else "resend"
    address = membership.shown_email
    assert address is not None  # else there is nobody to invite
    secret = None if delivery is Delivery.NONE else new_token(INVITATION)
    link = None if secret is None else await _link(ledger, inviting, membership, secret, delivery)
    expires_at = ledger.now + LIFETIME
    made = Put(membership.id, expires_at, inviter, delivery, link)
    await invitations.put(ledger.tx, made, ledger.now)
    whose = membership.organization_id, counted_as(address)
    await invitations.note_request(ledger.tx, *whose, ledger.now)
    await record(ledger, membership, verb, {"email": address, "expires-at": expires_at})
    return secret


async def record(
    ledger: Ledger, membership: Membership, verb: str, more: Mapping[str, object] = _ALONE
) -> None:
    """Records what happens to the invitation of a membership, whose organization is locked."""
    details = {"user": membership.user.id, **more}
    await ledger.record(membership.organization_id, f"invitation.{verb}", membership.id, details)


async def _link(
    ledger: Ledger, inviting: Inviting, membership: Membership, secret: str, delivery: Delivery
) -> Link:
    hash_ = hash_token(secret)
    if delivery is not Delivery.WAITING:
        return Link(hash_)
    wrapped = await organizations.data_key(ledger.tx, membership.organization_id)
    assert wrapped is not None  # every organization has one, and this one is locked
    key = inviting.sealer.data_key(wrapped)
    return Link(hash_, key.seal_secret(secret, membership.id, hash_), key.version)
