"""Organizations, as their members and site admins deal with them."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.access import Caller, OrganizationAccess
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Refusal, forbidden, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.organizations import Organization, OrganizationDraft, still_used
from teamvars.domain.pages import Page, Paged
from teamvars.domain.users import User
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.services import Clock
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory import organizations as organization_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, access_by_name, organizations, teams, users, workspaces
from teamvars.storage.database import Database, Transaction


class OrganizationView(msgspec.Struct, frozen=True):
    """An organization, and whether the one who looks may do everything in it."""

    organization: Organization
    is_owner: bool


class Organizations:
    """What callers do with organizations. All methods refuse unauthenticated."""

    def __init__(self, database: Database, sealer: Sealer, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._sealer = sealer
        self._chain = chain
        self._clock = clock

    async def list(
        self, caller: Caller, searches: Sequence[str], page: Page
    ) -> Paged[OrganizationView]:
        """The organizations that the caller is in and whose names contain each of the texts."""

        async def body(tx: Transaction) -> Paged[OrganizationView]:
            await access.authenticate(tx, caller, self._clock())
            assert caller.actor is not None
            found = await organizations.find_visible(tx, caller.actor, searches, page)
            return Paged([OrganizationView(*one) for one in found.items], found.total)

        return await self._database.read(body)

    async def read(self, caller: Caller, name: str) -> OrganizationView:
        """One organization, shown to its members. Refuses: not found."""

        async def body(tx: Transaction) -> OrganizationView:
            granted = await access_by_name.organization(tx, caller, self._clock(), name)
            granted.require_visible()
            return OrganizationView(granted.organization, granted.is_owner)

        return await self._database.read(body)

    async def create(self, caller: Caller, draft: OrganizationDraft) -> OrganizationView:
        """Adds an organization; a site admin, who makes it, is an active member and owner at once.

        Refuses: forbidden to everyone else, every fault of the draft, a taken name.
        """

        async def body(tx: Transaction) -> OrganizationView:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> User:
                await access.authenticate(tx, caller, ledger.now)
                return await _require_site_admin(tx, caller)

            creator = await ledger.locked(look, lambda _: [SYSTEM_STREAM])
            refuse_all(draft.all_faults())
            made, owners = await organization_changes.create(
                ledger, self._sealer, draft.name or "", draft.email
            )
            membership = Membership(
                new_id("ou"), made.id, made.name, creator, Status.ACTIVE, ledger.now
            )
            await membership_changes.create(ledger, [membership])
            await membership_changes.add_to_teams(ledger, [(owners, [membership.id])])
            return OrganizationView(made, is_owner=True)

        return await self._database.write(body)

    async def update(self, caller: Caller, name: str, draft: OrganizationDraft) -> OrganizationView:
        """Changes what the draft names; changes nothing when that is nothing.

        Refuses: not found, forbidden to whoever is no owner, every fault of the draft, another id
        than the path's, a taken name.
        """

        async def body(tx: Transaction) -> OrganizationView:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            granted = await access_by_name.organization(tx, caller, ledger.now, name, lock=True)
            granted.require_owner()
            before = granted.organization
            refuse_all([*draft.all_faults(), *draft.conflicts(before)])
            after = draft.applied_to(before)
            if after != before:
                ledger.adopt(granted.stream)
                await organization_changes.update(ledger, before, after)
            return OrganizationView(after, is_owner=True)

        return await self._database.write(body)

    async def delete(self, caller: Caller, name: str, *, force: bool) -> None:
        """Removes an organization with its workspaces, teams, memberships, tokens and data keys.

        Users stay. Refuses: not found, forbidden to whoever is no owner, and unless forced one
        that still has variables.
        """

        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            granted = await _locked(ledger, caller, name)
            organization = granted.organization
            of_teams = await teams.of_organizations(tx, [organization.id])
            of_workspaces = await workspaces.of_organizations(tx, [organization.id])
            children = [team.id for team in of_teams]
            children += [workspace.id for workspace, _ in of_workspaces]
            await ledger.lock(children)
            variables = await _count_variables(tx, organization, force=force)
            await organization_changes.delete(ledger, organization, children, variables)

        await self._database.write_in_turns(body)


async def _locked(ledger: Ledger, caller: Caller, name: str) -> OrganizationAccess:
    """The organization, locked together with the system, for a caller who may remove it."""

    async def look() -> OrganizationAccess:
        granted = await access_by_name.organization(ledger.tx, caller, ledger.now, name)
        granted.require_owner()
        return granted

    return await ledger.locked(look, lambda seen: [seen.organization.id, SYSTEM_STREAM])


async def _count_variables(tx: Transaction, organization: Organization, *, force: bool) -> int:
    """How many variables the organization has; its workspaces must be locked.

    Refuses, unless forced, when there are any.
    """
    of_workspaces = await workspaces.of_organizations(tx, [organization.id])
    counts = [variables for _, variables in of_workspaces if variables]
    if counts and not force:
        raise Refusal(still_used(sum(counts), len(counts)))
    return sum(counts)


async def _require_site_admin(tx: Transaction, caller: Caller) -> User:
    """The user who calls. Refuses teams, organizations and users who are no site admins."""
    assert caller.actor is not None
    user = await users.find(tx, caller.actor.id) if caller.actor.kind == "user" else None
    if user is None or not user.site_admin:
        raise forbidden("Only site admins create organizations.")
    return user
