"""Memberships of organizations: show and remove them."""

from collections.abc import Mapping, Sequence

import msgspec

from teamvars.domain.access import Caller, OrganizationAccess
from teamvars.domain.errors import Code, Fault, Refusal, not_found
from teamvars.domain.invitations import not_pending
from teamvars.domain.memberships import Membership, MembershipFilter, Status
from teamvars.domain.pages import Page, Paged
from teamvars.domain.team_members import owners_lost
from teamvars.domain.teams import Team
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, access_by_name, memberships, teams
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
            granted = await access_by_name.organization(tx, caller, self._clock(), organization)
            granted.require_visible()
            within = Within(organization_id=granted.organization.id)
            found = await memberships.search(tx, within, wanted, page)
            return await page_of(tx, found, granted.sees_secret)

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
            return await page_of(tx, found, whole.sees_secret)

        return await self._database.read(body)

    async def read(self, caller: Caller, membership_id: str) -> MembershipPage:
        """One membership."""

        async def body(tx: Transaction) -> MembershipPage:
            found, seen = await granted(tx, caller, self._clock(), membership_id)
            if not (seen.is_owner or seen.is_member):
                return MembershipPage([found], 1, {})  # invited, and no more than that
            return await page_of(tx, Paged([found], 1), seen.sees_secret)

        return await self._database.read(body)

    async def remove(self, caller: Caller, membership_id: str) -> None:
        """Removes a user from an organization, and so from all its teams; the user stays.

        Refuses: forbidden, the removal of the last active owner.
        """
        await self._remove(caller, membership_id)

    async def revoke(self, caller: Caller, membership_id: str) -> None:
        """Takes an invitation back: its link opens nothing any more, and its teams lose a member.

        Refuses: forbidden, one that was accepted.
        """
        await self._remove(caller, membership_id, only_invited=True)

    async def _remove(
        self, caller: Caller, membership_id: str, *, only_invited: bool = False
    ) -> None:
        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            _, seen = await granted(tx, caller, ledger.now, membership_id)
            seen.require_owner()
            of_organization = await lock_with_teams(ledger, seen.organization.id)
            found, now_granted = await granted(tx, caller, ledger.now, membership_id)
            now_granted.require_owner()
            if only_invited and found.status is not Status.INVITED:
                raise not_pending()
            await _require_other_owner(tx, of_organization, found)
            await membership_changes.end(ledger, found, of_organization)

        await self._database.write(body)


async def lock_with_teams(ledger: Ledger, organization_id: str) -> Sequence[Team]:
    """Locks an organization and all its teams: the membership may come into any meanwhile."""
    await ledger.lock([organization_id])
    of_organization = await teams.of_organizations(ledger.tx, [organization_id])
    await ledger.lock(team.id for team in of_organization)
    return of_organization


async def granted(
    tx: Transaction, caller: Caller, now: int, membership_id: str
) -> tuple[Membership, OrganizationAccess]:
    """A membership the caller sees, and what they may do in its organization."""
    await access.authenticate(tx, caller, now)
    found = await memberships.find(tx, membership_id)
    if found is None:
        raise not_found()
    seen = await access.organization(tx, caller, now, found.organization_name)
    if seen.organization.id != found.organization_id:  # another of that name by now
        raise not_found()
    if caller.user_id != found.user.id:
        seen.require_visible()
    return found, seen


async def _require_other_owner(
    tx: Transaction, of_organization: Sequence[Team], leaving: Membership
) -> None:
    owners = next(team for team in of_organization if team.is_owners)
    members = (await memberships.of_teams(tx, [owners.id]))[owners.id]
    active = [member.id for member in members if member.counts_as_owner]
    if owners_lost(active, [leaving.id]):
        detail = "This would leave the organization without an active owner."
        raise Refusal(Fault(Code.LAST_OWNER, detail))


async def page_of(
    tx: Transaction, found: Paged[Membership], seen: frozenset[str] | None
) -> MembershipPage:
    """The memberships with their teams: all, or besides those that are no secret the `seen`."""
    whole = await memberships.with_teams(tx, found.items, seen)
    named = {id_ for membership in whole for id_ in membership.team_ids}
    of = await teams.find_by_ids(tx, named) if named else []
    return MembershipPage(whole, found.total, {team.id: team for team in of})
