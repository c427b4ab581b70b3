"""Workspaces: show, create, change, lock and delete them."""

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Level, Permission, WorkspaceAccess
from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.ids import new_id, prefix_of
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page
from teamvars.domain.teams import Visibility
from teamvars.domain.workspaces import (
    Workspace,
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceSearch,
    WorkspaceSettings,
    locked_by,
)
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import workspaces as workspace_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, access_by_name, memberships, organizations, teams, workspaces
from teamvars.storage.database import Database, Transaction


class ByNames(msgspec.Struct, frozen=True):
    """A workspace as its organization's name and its own say which."""

    organization: str
    workspace: str


Address = str | ByNames
"""Which workspace: by id or by names."""


class WorkspaceView(msgspec.Struct, frozen=True):
    """A workspace, and what the one who looks may do in it.

    Its organization is there when it was asked for.
    """

    workspace: Workspace
    details: WorkspaceDetails
    level: Level
    organization: Organization | None = None


class WorkspacePage(msgspec.Struct, frozen=True):
    """Some of the workspaces a caller sees, by name, how many there are in all, and whose."""

    workspaces: list[WorkspaceView]
    total: int
    organization: Organization
    is_owner: bool


class Workspaces:
    """What callers do with workspaces. All methods refuse unauthenticated and not found.

    A workspace is seen by whoever may read its variables.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def read(
        self, caller: Caller, address: Address, *, organization: bool = False
    ) -> WorkspaceView:
        """One workspace, on request with its organization."""

        async def body(tx: Transaction) -> WorkspaceView:
            granted = await _granted(tx, caller, self._clock(), address)
            granted.require_visible()
            view = await _view(tx, granted)
            if not organization:
                return view
            owner = await organizations.get(tx, granted.workspace.organization_id)
            return replace(view, organization=owner)

        return await self._database.read(body)

    async def list(
        self, caller: Caller, organization: str, wanted: WorkspaceSearch, page: Page
    ) -> WorkspacePage:
        """The organization's workspaces that the caller sees and wants."""

        async def body(tx: Transaction) -> WorkspacePage:
            granted = await access_by_name.organization(tx, caller, self._clock(), organization)
            granted.require_visible()
            owner = granted.organization
            team_ids = None if granted.is_owner else granted.team_ids
            found = await workspaces.find_visible(tx, owner, team_ids, wanted, page)
            details = await workspaces.find_details(tx, [one.id for one, _ in found.items])
            views = [WorkspaceView(one, details[one.id], level) for one, level in found.items]
            return WorkspacePage(views, found.total, owner, granted.is_owner)

        return await self._database.read(body)

    async def create(
        self, caller: Caller, organization: str, draft: WorkspaceDraft
    ) -> WorkspaceView:
        """Adds a workspace. Refuses: forbidden, every fault of the draft, a taken name."""

        async def body(tx: Transaction) -> WorkspaceView:
            ledger = self._ledger(tx, caller)
            granted = await access_by_name.organization(
                tx, caller, ledger.now, organization, lock=True
            )
            granted.require_owner()
            refuse_all(draft.all_faults())
            owner = granted.organization
            ledger.adopt(granted.stream)
            made = Workspace(new_id("ws"), draft.name or "", owner.id, owner.name)
            settings = draft.applied_to(WorkspaceSettings())
            await workspace_changes.create(ledger, made, settings)
            details = WorkspaceDetails(settings, None, ledger.now, (), 0)
            return WorkspaceView(made, details, Level.OWNER)

        return await self._database.write(body)

    async def update(
        self, caller: Caller, address: Address, draft: WorkspaceDraft
    ) -> WorkspaceView:
        """Changes what the draft names; changes nothing when that is nothing.

        Refuses: forbidden, every fault of the draft, another id than the path's, a taken name.
        """

        async def body(tx: Transaction) -> WorkspaceView:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, address, Permission.MANAGE_WORKSPACE)
            before = await _view(tx, granted)
            refuse_all([*draft.all_faults(), *draft.conflicts(before.workspace)])
            settings = draft.applied_to(before.details.settings)
            after = replace(
                before,
                workspace=replace(before.workspace, name=draft.name or before.workspace.name),
                details=replace(before.details, settings=settings),
            )
            if after != before:
                was = before.workspace, before.details.settings
                await workspace_changes.update(ledger, was, (after.workspace, settings))
            return after

        return await self._database.write_in_turns(body)

    async def delete(self, caller: Caller, address: Address, *, only_unlocked: bool) -> None:
        """Removes a workspace with its variables and the grants on it.

        Refuses: forbidden, when asked to also a workspace that somebody has locked.
        """

        async def body(tx: Transaction) -> None:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, address, Permission.MANAGE_WORKSPACE)
            found = await _view(tx, granted)
            holder = found.details.locked_by
            if only_unlocked and holder is not None:
                raise await _locked_already(tx, granted, holder)
            await workspace_changes.delete(ledger, [found.workspace])

        await self._database.write_in_turns(body)

    async def lock(self, caller: Caller, workspace_id: str) -> WorkspaceView:
        """Locks a workspace for the caller; it may be locked for the caller already.

        Refuses: forbidden to whoever may not write variables, one that another has locked.
        """

        async def body(tx: Transaction) -> WorkspaceView:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, workspace_id, Permission.WRITE_VARIABLES)
            found = await _view(tx, granted)
            holder = found.details.locked_by
            if holder is not None and holder != _id_of(caller):
                raise await _locked_already(tx, granted, holder)
            return await _relocked(ledger, found, _id_of(caller))

        return await self._database.write(body)

    async def unlock(self, caller: Caller, workspace_id: str, *, force: bool) -> WorkspaceView:
        """Unlocks a workspace that the caller has locked; an owner may force another's lock.

        Refuses: forbidden, one that nobody or another has locked.
        """
        needed = Permission.MANAGE_WORKSPACE if force else Permission.WRITE_VARIABLES

        async def body(tx: Transaction) -> WorkspaceView:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, workspace_id, needed)
            found = await _view(tx, granted)
            holder = found.details.locked_by
            if holder is None:
                detail = "Nobody has locked this workspace."
                raise Refusal(Fault(Code.WORKSPACE_NOT_LOCKED, detail))
            if holder != _id_of(caller) and not force:
                raise await _locked_already(tx, granted, holder)
            return await _relocked(ledger, found, None)

        return await self._database.write(body)

    def _ledger(self, tx: Transaction, caller: Caller) -> Ledger:
        return Ledger(tx, caller, self._chain, self._clock())


async def _granted(tx: Transaction, caller: Caller, now: int, address: Address) -> WorkspaceAccess:
    if isinstance(address, str):
        return await access.workspace(tx, caller, now, address)
    names = fold(address.organization), fold(address.workspace)
    return await access_by_name.workspace(tx, caller, now, *names)


async def _locked(
    ledger: Ledger, caller: Caller, address: Address, needed: Permission
) -> WorkspaceAccess:
    """The workspace, locked, and its organization with it where an owner is needed."""

    async def look() -> WorkspaceAccess:
        granted = await _granted(ledger.tx, caller, ledger.now, address)
        granted.require(needed)
        return granted

    def streams_of(seen: WorkspaceAccess) -> list[str]:
        above = [seen.workspace.organization_id] if needed is Permission.MANAGE_WORKSPACE else []
        return [*above, seen.workspace.id]

    return await ledger.locked(look, streams_of)


async def _view(tx: Transaction, granted: WorkspaceAccess) -> WorkspaceView:
    id_ = granted.workspace.id
    details = await workspaces.find_details(tx, [id_])
    return WorkspaceView(granted.workspace, details[id_], granted.level)


async def _relocked(ledger: Ledger, found: WorkspaceView, holder: str | None) -> WorkspaceView:
    if found.details.locked_by != holder:
        await workspace_changes.set_lock(ledger, found.workspace, holder)
    return replace(found, details=replace(found.details, locked_by=holder))


async def _locked_already(tx: Transaction, granted: WorkspaceAccess, holder: str) -> Refusal:
    """Says who has locked it, by no other name than the caller may see."""
    prefix = prefix_of(holder)
    if prefix == "org":
        # One of the two kinds of holder that clients know.
        name = "User (the organization's token)"
    elif prefix == "team":
        name = f"Team {await _name_of_team(tx, granted, holder)}"
    else:
        organization_id = granted.workspace.organization_id
        found = await memberships.find_of_user(tx, organization_id, holder)
        name = f"User {holder if found is None else found.shown_username}"
    return Refusal(locked_by(granted.workspace, name))


async def _name_of_team(tx: Transaction, granted: WorkspaceAccess, team_id: str) -> str:
    """The name, or the id of a team that is secret or is not there any more."""
    for team in await teams.find_by_ids(tx, [team_id]):
        if team.visibility is not Visibility.SECRET or granted.level is Level.OWNER:
            return team.name
    return team_id


def _id_of(caller: Caller) -> str:
    assert caller.actor is not None  # known since the access check
    return caller.actor.id
