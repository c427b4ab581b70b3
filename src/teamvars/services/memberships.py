"""Memberships of organizations: show them, invite, accept an invitation, and remove."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, OrganizationAccess
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Code, Fault, Refusal, forbidden, not_found, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import (
    InvitationDraft,
    MembershipFilter,
    MembershipView,
)
from teamvars.domain.names import is_email
from teamvars.domain.pages import Page
from teamvars.domain.teams import Status, owners_lost
from teamvars.domain.users import User, other_username_for, username_for
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.changes import organizations as organization_changes
from teamvars.services.changes import teams as team_changes
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import access, memberships, teams, users
from teamvars.storage.database import Database, Transaction
from teamvars.storage.memberships import Within
from teamvars.storage.organizations import MembershipRow
from teamvars.storage.teams import TeamRow


class MembershipPage(msgspec.Struct, frozen=True):
    """Some memberships by id, how many there are in all, and the teams they name by id."""

    memberships: list[MembershipView]
    total: int
    teams: Mapping[str, TeamRow]


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
            found, total = await memberships.search(tx, within, wanted, page)
            return await _page(tx, found, total, _seen(granted))

        return await self._database.read(body)

    async def list_of_caller(self, caller: Caller, page: Page) -> MembershipPage:
        """The calling user's own memberships and invitations; a team or organization has none."""

        async def body(tx: Transaction) -> MembershipPage:
            await access.authenticate(tx, caller, self._clock())
            assert caller.actor is not None
            if caller.actor.kind != "user":
                return MembershipPage([], 0, {})
            within = Within(user_id=caller.actor.id)
            found, total = await memberships.search(tx, within, MembershipFilter(), page)
            return MembershipPage(found, total, {})

        return await self._database.read(body)

    async def list_of_team(
        self, caller: Caller, team_id: str, wanted: MembershipFilter, page: Page | None
    ) -> MembershipPage:
        """The memberships that are in a team; all of them when there is no page."""

        async def body(tx: Transaction) -> MembershipPage:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_visible()
            found, total = await memberships.search(tx, Within(team_id=team_id), wanted, page)
            whole = await access.organization(
                tx, caller, self._clock(), granted.team.organization_name
            )
            return await _page(tx, found, total, _seen(whole))

        return await self._database.read(body)

    async def read(self, caller: Caller, membership_id: str) -> MembershipPage:
        """One membership."""

        async def body(tx: Transaction) -> MembershipPage:
            found, granted = await _granted(tx, caller, self._clock(), membership_id)
            if not (granted.is_owner or granted.is_member):
                return MembershipPage([found], 1, {})  # invited, and no more than that
            return await _page(tx, [found], 1, _seen(granted))

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
            user = await users.find_by_email(tx, email) if is_email(email) else None
            if user and await memberships.find_of_user(tx, organization_id, user.id):
                faults.append(draft.already_member())
            refuse_all(faults)
            user = user or await _create_user(ledger, email)
            made = await organization_changes.add_membership(
                ledger, organization_id, user, Status.INVITED, email
            )
            for team in into:
                await team_changes.add_members(ledger, team, [made.id])
            found = await memberships.find(tx, made.id)
            assert found is not None
            return await _page(tx, [found], 1, None)

        return await self._database.write(body)

    async def accept(self, caller: Caller, membership_id: str) -> MembershipPage:
        """Accepts an invitation; one that is accepted already stays so.

        Refuses: forbidden to all but the invited user with a token of their own.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found, seen = await _granted(tx, caller, ledger.now, membership_id)
            _require_own(caller, found)
            organization_id = seen.organization.id
            await ledger.lock([organization_id])
            found, _ = await _granted(tx, caller, ledger.now, membership_id)
            _require_own(caller, found)
            if found.status is Status.INVITED:
                accepted = replace(_row(found), status=Status.ACTIVE)
                await organization_changes.set_statuses(ledger, [(organization_id, accepted)])
            found, granted = await _granted(tx, caller, ledger.now, membership_id)
            return await _page(tx, [found], 1, _seen(granted))

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
            of_organization = await teams.of_organization(tx, organization_id)
            # All of them: the membership may come into any while this waits.
            await ledger.lock(team.id for team in of_organization)
            found, granted = await _granted(tx, caller, ledger.now, membership_id)
            granted.require_owner()
            await _require_other_owner(tx, of_organization, found)
            (whole,) = await memberships.with_teams(tx, [found], None)
            for team in of_organization:
                if team.id in whole.team_ids:
                    await team_changes.remove_members(ledger, team, [membership_id])
            gone = organization_id, _row(found)
            await organization_changes.remove_memberships(ledger, [gone])

        await self._database.write(body)


async def _granted(
    tx: Transaction, caller: Caller, now: int, membership_id: str
) -> tuple[MembershipView, OrganizationAccess]:
    """A membership the caller sees, and what they may do in its organization."""
    await access.authenticate(tx, caller, now)
    found = await memberships.find(tx, membership_id)
    if found is None:
        raise not_found()
    granted = await access.organization(tx, caller, now, found.organization_name)
    if granted.organization.id != found.organization_id:  # another of that name by now
        raise not_found()
    if not _is_callers(caller, found):
        granted.require_visible()
    return found, granted


async def _lock_for_invitation(
    ledger: Ledger, caller: Caller, organization: str, draft: InvitationDraft
) -> tuple[OrganizationAccess, Sequence[TeamRow]]:
    """The organization and those of the draft's teams that are its own, all locked."""
    seen = await access.organization(ledger.tx, caller, ledger.now, organization)
    seen.require_owner()
    wanted = draft.wanted()
    there = await teams.find_by_ids(ledger.tx, wanted)
    own = [team.id for team in there if team.organization_id == seen.organization.id]
    await ledger.lock([seen.organization.id, SYSTEM_STREAM, *own])
    granted = await access.organization(ledger.tx, caller, ledger.now, organization)
    granted.require_owner()
    if granted.organization.id != seen.organization.id:  # another of that name by now
        raise not_found()
    return granted, await teams.find_by_ids(ledger.tx, own)


async def _create_user(ledger: Ledger, email: str) -> User:
    """A user who has not signed in yet, under a name that is free; the system is locked."""
    name = username_for(email)
    while await users.find_all(ledger.tx, [name]):
        name = other_username_for(email)
    user = User(new_id("user"), name, email, site_admin=False, placeholder=True)
    await organization_changes.create_users(ledger, [user])
    return user


async def _require_other_owner(
    tx: Transaction, of_organization: Sequence[TeamRow], leaving: MembershipView
) -> None:
    owners = next(team for team in of_organization if team.is_owners)
    members = await teams.find_members(tx, owners.id)
    active = [member.id for member in members if member.counts_as_owner]
    if owners_lost(active, [leaving.id]):
        detail = "This would leave the organization without an active owner."
        raise Refusal(Fault(Code.LAST_OWNER, detail))


async def _page(
    tx: Transaction, found: Sequence[MembershipView], total: int, seen: frozenset[str] | None
) -> MembershipPage:
    views = await memberships.with_teams(tx, found, seen)
    named = {id_ for view in views for id_ in view.team_ids}
    rows = await teams.find_by_ids(tx, named) if named else []
    return MembershipPage(views, total, {row.id: row for row in rows})


def _seen(granted: OrganizationAccess) -> frozenset[str] | None:
    """The secret teams the caller sees; None: all."""
    return None if granted.is_owner else granted.team_ids


def _require_own(caller: Caller, found: MembershipView) -> None:
    if not _is_callers(caller, found):
        raise forbidden("Only the invited user may accept, with a token of their own.")


def _is_callers(caller: Caller, found: MembershipView) -> bool:
    actor = caller.actor
    return actor is not None and actor.kind == "user" and actor.id == found.user_id


def _row(view: MembershipView) -> MembershipRow:
    return MembershipRow(view.id, view.user_id, view.username, view.status)
