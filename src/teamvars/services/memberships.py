"""Memberships of organizations: show them, invite, accept an invitation, and remove."""

from collections.abc import Mapping, Sequence

import msgspec

from teamvars.domain.access import Caller, OrganizationAccess
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Code, Fault, Refusal, forbidden, not_found, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import (
    InvitationDraft,
    Membership,
    MembershipFilter,
    Status,
)
from teamvars.domain.names import fold, is_email
from teamvars.domain.pages import Page, Paged
from teamvars.domain.team_members import owners_lost
from teamvars.domain.teams import Team
from teamvars.domain.users import User, other_username_for, username_for
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory import users as user_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, memberships, teams, users
from teamvars.storage.database import Database, Transaction
from teamvars.storage.memberships import Within


class MembershipPage(msgspec.Struct, frozen=True):
    """Some memberships by id, how many there are in all, and the teams they name by id."""

    memberships: Sequence[Membership]
    total: int
    teams: Mapping[str, Team]


class Memberships:
    """What callers do with memberships. All methods refuse unauthenticated and not found.

    They are seen by members of the organization; an invited user sees the invitation.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(
        self, caller: Caller, organization: str, wanted: MembershipFilter, page: Page
    ) -> MembershipPage:
        """An organization's memberships."""

        async def body(tx: Transaction) -> MembershipPage:
            granted = await access.organization(tx, caller, self._clock(), organization)
            granted.require_visible()
            within = Within(organization_id=granted.organization.id)
            found = await memberships.search(tx, within, wanted, page)
            return await _page(tx, found, granted.sees_secret)

        return await self._database.read(body)

    async def list_of_caller(self, caller: Caller, page: Page) -> MembershipPage:
        """The calling user's own memberships and invitations; a team or organization has none."""

        async def body(tx: Transaction) -> MembershipPage:
            await access.authenticate(tx, caller, self._clock())
            assert caller.actor is not None
            if caller.actor.kind != "user":
                return MembershipPage([], 0, {})
            within = Within(user_id=caller.actor.id)
            found = await memberships.search(tx, within, MembershipFilter(), page)
            return MembershipPage(found.items, found.total, {})

        return await self._database.read(body)

    async def list_of_team(
        self, caller: Caller, team_id: str, wanted: MembershipFilter, page: Page | None
    ) -> MembershipPage:
        """The memberships that are in a team; all of them when there is no page."""

        async def body(tx: Transaction) -> MembershipPage:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_visible()
            found = await memberships.search(tx, Within(team_id=team_id), wanted, page)
            whole = await access.organization(tx, caller, self._clock(), granted.organization_name)
            return await _page(tx, found, whole.sees_secret)

        return await self._database.read(body)

    async def read(self, caller: Caller, membership_id: str) -> MembershipPage:
        """One membership."""

        async def body(tx: Transaction) -> MembershipPage:
            found, granted = await _granted(tx, caller, self._clock(), membership_id)
            if not (granted.is_owner or granted.is_member):
                return MembershipPage([found], 1, {})  # invited, and no more than that
            return await _page(tx, Paged([found], 1), granted.sees_secret)

        return await self._database.read(body)

    async def invite(
        self, caller: Caller, organization: str, draft: InvitationDraft
    ) -> MembershipPage:
        """Invites whoever has that e-mail address, and puts them into teams.

        Until they accept, the organization learns nothing of them but an id: not their name, nor
        how they write their address, nor whether they were known here. A user who does not exist
        is created. Refuses: forbidden, every fault of the draft, teams of another organization,
        somebody who is in the organization or invited to it.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            granted, into = await _lock_for_invitation(ledger, caller, organization, draft)
            organization_id = granted.organization.id
            faults = [*draft.all_faults(), *draft.missing(team.id for team in into)]
            email = draft.email or ""
            known = await users.find_all_by_email(tx, [email]) if is_email(email) else {}
            user = known.get(fold(email))
            if user and await memberships.find_of_user(tx, organization_id, user.id):
                faults.append(draft.already_member())
            refuse_all(faults)
            user = user or await _create_user(ledger, email)
            made = Membership(
                id=new_id("ou"),
                organization_id=organization_id,
                organization_name=granted.organization.name,
                user=user,
                status=Status.INVITED,
                created_at=ledger.now,
                invited_as=email,
            )
            await membership_changes.create(ledger, [made])
            if into:
                await membership_changes.add_to_teams(ledger, [(team, [made.id]) for team in into])
            return await _page(tx, Paged([made], 1), None)

        return await self._database.write(body)

    async def accept(self, caller: Caller, membership_id: str) -> MembershipPage:
        """Accepts an invitation; one that is accepted already stays so.

        Refuses: forbidden to all but the invited user with a token of their own.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> Membership:
                found, _ = await _granted(tx, caller, ledger.now, membership_id)
                if caller.user_id != found.user.id:
                    raise forbidden("Only the invited user may accept, with a token of their own.")
                return found

            found = await ledger.locked(look, lambda seen: [seen.organization_id])
            if found.status is Status.INVITED:
                await membership_changes.update(ledger, [found.with_status(Status.ACTIVE)])
            found, granted = await _granted(tx, caller, ledger.now, membership_id)
            return await _page(tx, Paged([found], 1), granted.sees_secret)

        return await self._database.write(body)

    async def remove(self, caller: Caller, membership_id: str) -> None:
        """Removes a user from an organization, and so from all its teams; the user stays.

        Refuses: forbidden, the removal of the last active owner.
        """

        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            _, seen = await _granted(tx, caller, ledger.now, membership_id)
            seen.require_owner()
            organization_id = seen.organization.id
            await ledger.lock([organization_id])
            of_organization = await teams.of_organizations(tx, [organization_id])
            # All of them: the membership may come into any while this waits.
            await ledger.lock(team.id for team in of_organization)
            found, granted = await _granted(tx, caller, ledger.now, membership_id)
            granted.require_owner()
            await _require_other_owner(tx, of_organization, found)
            (whole,) = await memberships.with_teams(tx, [found], None)
            for team in of_organization:
                if team.id in whole.team_ids:
                    await membership_changes.remove_from_team(ledger, team, [membership_id])
            await membership_changes.delete(ledger, [found])

        await self._database.write(body)


async def _granted(
    tx: Transaction, caller: Caller, now: int, membership_id: str
) -> tuple[Membership, OrganizationAccess]:
    """A membership the caller sees, and what they may do in its organization."""
    await access.authenticate(tx, caller, now)
    found = await memberships.find(tx, membership_id)
    if found is None:
        raise not_found()
    granted = await access.organization(tx, caller, now, found.organization_name)
    if granted.organization.id != found.organization_id:  # another of that name by now
        raise not_found()
    if caller.user_id != found.user.id:
        granted.require_visible()
    return found, granted


async def _lock_for_invitation(
    ledger: Ledger, caller: Caller, organization: str, draft: InvitationDraft
) -> tuple[OrganizationAccess, Sequence[Team]]:
    """The organization and those of the draft's teams that are its own, all locked."""

    async def look() -> tuple[OrganizationAccess, Sequence[Team]]:
        granted = await access.organization(ledger.tx, caller, ledger.now, organization)
        granted.require_owner()
        found = await teams.find_by_ids(ledger.tx, draft.wanted())
        organization_id = granted.organization.id
        return granted, [team for team in found if team.organization_id == organization_id]

    def streams_of(seen: tuple[OrganizationAccess, Sequence[Team]]) -> list[str]:
        granted, into = seen
        return [granted.organization.id, SYSTEM_STREAM, *(team.id for team in into)]

    return await ledger.locked(look, streams_of)


async def _create_user(ledger: Ledger, email: str) -> User:
    """A user who has not signed in yet, under a name that is free; the system is locked."""
    name = username_for(email)
    while await users.find_all(ledger.tx, [name]):
        name = other_username_for(email)
    user = User(new_id("user"), name, email, site_admin=False, placeholder=True)
    await user_changes.create(ledger, [user])
    return user


async def _require_other_owner(
    tx: Transaction, of_organization: Sequence[Team], leaving: Membership
) -> None:
    owners = next(team for team in of_organization if team.is_owners)
    members = (await memberships.of_teams(tx, [owners.id]))[owners.id]
    active = [member.id for member in members if member.counts_as_owner]
    if owners_lost(active, [leaving.id]):
        detail = "This would leave the organization without an active owner."
        raise Refusal(Fault(Code.LAST_OWNER, detail))


async def _page(
    tx: Transaction, found: Paged[Membership], seen: frozenset[str] | None
) -> MembershipPage:
    whole = await memberships.with_teams(tx, found.items, seen)
    named = {id_ for membership in whole for id_ in membership.team_ids}
    of = await teams.find_by_ids(tx, named) if named else []
    return MembershipPage(whole, found.total, {team.id: team for team in of})
