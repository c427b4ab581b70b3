"""Invitations as the operator makes, lists, renews and revokes them, and as they expire."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.discreet import Discreet
from teamvars.domain.errors import Kind, Refusal, not_found
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import LIFETIME, Delivery, not_pending
from teamvars.domain.memberships import InvitationDraft, Membership, MembershipFilter, Status
from teamvars.domain.teams import Team
from teamvars.mail.messages import link_of
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import invitations as invitation_changes
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory import users as user_changes
from teamvars.services.directory.invitations import Inviting
from teamvars.services.directory.ledger import Ledger
from teamvars.services.invitations import Found, invite_to, require_pending, streams_of
from teamvars.services.memberships import lock_with_teams
from teamvars.storage import invitations, memberships, operator_names, users
from teamvars.storage.database import Database, Transaction
from teamvars.storage.memberships import Within

_BATCH = 100


class Asked(msgspec.Struct, frozen=True):
    """Whom an operator invites: the address, the organization and its teams by name."""

    email: str
    organization: str
    teams: Sequence[str] = ()


class Issued(Discreet, frozen=True):
    """A membership with a new invitation, and the link, where the operator is shown it."""

    membership: Membership
    link: str | None


class OperatorInvitations:
    """What an operator does with invitations; the bounds of a day do not hold for them.

    A link is shown where they ask for it, or where no mail is set up; else a message carries it.
    All methods refuse: not found.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock, inviting: Inviting) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._inviting = inviting

    async def create(self, caller: Caller, asked: Asked, *, show: bool) -> Issued:
        """Invites somebody. Refuses: an address that is none, somebody who is in already."""

        async def body(tx: Transaction) -> Issued:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found = await ledger.locked(lambda: _named(tx, asked), streams_of)
            draft = InvitationDraft(asked.email, [team.id for team in found[1]])
            return await self._issue(ledger, await invite_to(ledger, None, found, draft), show)

        return await self._database.write(body)

    async def resend(self, caller: Caller, membership_id: str, *, show: bool) -> Issued:
        """Makes a new link and voids the former. Refuses an invitation that was accepted."""

        async def body(tx: Transaction) -> Issued:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found = await ledger.locked(
                lambda: _find(tx, membership_id), lambda it: [it.organization_id, SYSTEM_STREAM]
            )
            require_pending(found)
            return await self._issue(ledger, found, show)

        return await self._database.write(body)

    async def invite_missing(self, caller: Caller, organization: str) -> Sequence[Issued]:
        """Makes links for those of an organization who wait without one, each by itself.

        Whoever has no e-mail address is left out.
        """
        now = self._clock()
        waiting = [one for one in await self.pending(organization) if one.lacks_link(now)]
        return [await self.resend(caller, one.id, show=False) for one in waiting]

    async def revoke(self, caller: Caller, membership_id: str) -> Membership:
        """Takes an invitation back; returns it. Refuses one that was accepted."""

        async def body(tx: Transaction) -> Membership:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found, of_organization = await _locked(ledger, membership_id)
            if found.status is not Status.INVITED:
                raise not_pending()
            await membership_changes.end(ledger, found, of_organization)
            return found

        return await self._database.write(body)

    async def pending(self, organization: str | None = None) -> Sequence[Membership]:
        """The memberships that wait for their users, of one organization or of all."""

        async def body(tx: Transaction) -> Sequence[Membership]:
            within = Within()
            if organization is not None:
                named = await operator_names.organization(tx, organization)
                within = Within(organization_id=named.id)
            wanted = MembershipFilter(status=Status.INVITED)
            return (await memberships.search(tx, within, wanted, None)).items

        return await self._database.read(body)

    async def expire(self) -> None:
        """Ends some of the invitations that have expired, and removes those users whom invitations
        made, nobody was ever known as, and nobody invites any more.
        """
        caller = Caller(b"", new_id("req"), Actor.service("housekeeping"))
        ended = await self._database.read(lambda tx: invitations.expired(tx, self._clock(), _BATCH))
        for membership_id in ended:
            await self._expire(caller, membership_id)
        before = self._clock() - LIFETIME
        if await self._database.read(lambda tx: users.unclaimed(tx, before, 1)):
            await self._remove_unclaimed(caller, before)
        if await self._database.read(lambda tx: invitations.has_old_requests(tx, self._clock())):
            await self._database.write(lambda tx: invitations.forget_requests(tx, self._clock()))

    async def _issue(self, ledger: Ledger, membership: Membership, show: bool) -> Issued:
        how = Delivery.WAITING if self._inviting.mail and not show else Delivery.SHOWN
        secret = await invitation_changes.create(ledger, self._inviting, membership, None, how)
        if secret is None or how is not Delivery.SHOWN:
            return Issued(membership, None)
        return Issued(membership, link_of(self._inviting.url, secret))

    async def _expire(self, caller: Caller, membership_id: str) -> None:
        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found, of_organization = await _locked(ledger, membership_id)
            if found.status is Status.ACTIVE:  # since an older release accepted it
                await invitations.forget(tx, [membership_id])
            elif found.invitation is not None and not found.invitation.is_live(ledger.now):
                await membership_changes.end(ledger, found, of_organization, "expire")

        try:
            await self._database.write(body)
        except Refusal as refusal:
            if refusal.kind is not Kind.NOT_FOUND:  # it ended in another way
                raise

    async def _remove_unclaimed(self, caller: Caller, before: int) -> None:
        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            await ledger.lock([SYSTEM_STREAM])
            # A file that names them does not wait for the system; for their rows it does.
            locked = await users.lock_all(tx, await users.unclaimed(tx, before, _BATCH))
            found = [id_ for id_ in await users.unclaimed(tx, before, _BATCH) if id_ in locked]
            if found:
                await user_changes.delete(ledger, found)

        await self._database.write(body)


async def _find(tx: Transaction, membership_id: str) -> Membership:
    found = await memberships.find(tx, membership_id)
    if found is None:
        raise not_found()
    return found


async def _locked(ledger: Ledger, membership_id: str) -> tuple[Membership, Sequence[Team]]:
    """A membership and all teams of its organization; they and it are locked."""
    seen = await _find(ledger.tx, membership_id)
    of_organization = await lock_with_teams(ledger, seen.organization_id)
    return await _find(ledger.tx, membership_id), of_organization


async def _named(tx: Transaction, asked: Asked) -> Found:
    organization = await operator_names.organization(tx, asked.organization)
    names = dict.fromkeys(asked.teams)
    return organization, [await operator_names.team(tx, organization, name) for name in names]
