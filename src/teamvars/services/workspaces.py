"""Workspaces: show, create, change, lock and delete them, and say who has access to them."""

from collections.abc import Sequence

import msgspec

from teamvars.decisions import workspaces as decisions
from teamvars.decisions.organizations import OrganizationView
from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.access import (
    Caller,
    OrganizationAccess,
    Permission,
    Principal,
    ProjectAccess,
)
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.domain.workspaces import (
    Address,
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceSearch,
    WorkspaceSettings,
)
from teamvars.services.house import UseCases, looks, makes, surveys
from teamvars.storage import access, access_by_name, projects, team_access, workspaces
from teamvars.storage.database import Transaction

_UNKNOWN = WorkspaceDetails(WorkspaceSettings(), None, 0, (), 0)
"""Of a workspace in a list whose id somebody has altered."""


class WorkspacePage(msgspec.Struct, frozen=True):
    """Some of the workspaces a caller sees, by name, how many there are in all, and whose. Their
    projects are there when they were asked for.
    """

    workspaces: list[WorkspaceView]
    total: int
    organization: OrganizationView
    projects: Sequence[ProjectAccess] = ()


class Workspaces(UseCases):
    """What callers do with workspaces. All methods refuse unauthenticated and not found.

    A workspace is seen by whoever may read its variables.
    """

    read = looks(decisions.read)
    delete = makes(decisions.delete, in_turns=True)
    lock = makes(decisions.lock)
    unlock = makes(decisions.unlock)
    ask_for_state = looks(decisions.ask_for_state)
    need_state = looks(decisions.need_state)
    need_runs = looks(decisions.need_runs)

    async def update(
        self, caller: Caller, address: Address, draft: WorkspaceDraft
    ) -> WorkspaceView:
        """See `decisions.workspaces.update`."""
        made = makes(decisions.update, in_turns=True)
        return await made(self, caller, address, draft, self._trust)

    async def list(
        self,
        caller: Caller,
        organization: str,
        wanted: WorkspaceSearch,
        page: Page,
        *,
        related: bool,
    ) -> WorkspacePage:
        """The organization's workspaces that the caller sees and wants, on request with their
        projects.
        """

        async def body(tx: Transaction) -> WorkspacePage:
            granted = await access_by_name.organization(tx, caller, self._clock(), organization)
            owner = granted.organization
            seen = granted.everywhere, granted.team_ids
            found = await workspaces.find_visible(tx, owner, seen, wanted, page)
            details = await workspaces.find_details(tx, [one.id for one, _ in found.items])
            views = [
                WorkspaceView(one, details.get(one.id, _UNKNOWN), level)
                for one, level in found.items
            ]
            whole = OrganizationView(owner, granted.is_owner, granted.rights)
            its = await _projects_of(tx, granted, views) if related else ()
            return WorkspacePage(views, found.total, whole, its)

        return await self._database.survey(body)

    async def list_consumers(
        self, caller: Caller, workspace_id: str, _: Page
    ) -> Paged[WorkspaceView]:
        """The workspaces that read its state: none, since there is no state."""
        await self.read(caller, workspace_id)
        return Paged([], 0)

    async def create(
        self, caller: Caller, organization: str, draft: WorkspaceDraft
    ) -> WorkspaceView:
        """See `decisions.workspaces.create`."""
        return await self._make(caller, decisions.create, organization, draft, new_id("ws"))


async def _projects_of(
    tx: Transaction, granted: OrganizationAccess, views: Sequence[WorkspaceView]
) -> list[ProjectAccess]:
    ids = {view.record.in_project for view in views}
    found = await projects.find_by_ids(tx, granted.organization.id, ids)
    return await projects.views(tx, granted, found)


class Accesses(UseCases):
    """What owners and the organization's token learn of the access that others have."""

    @surveys
    async def list(
        self, tx: Transaction, caller: Caller, workspace_id: str, page: Page
    ) -> Paged[Principal]:
        """Everybody and every live token with access to a workspace.

        Refuses: unauthenticated, not found, forbidden.
        """
        now = self._clock()
        granted = await access.workspace(tx, caller, now, workspace_id)
        granted.require(Permission.SEE_ACCESS)
        return await team_access.principals(tx, granted.workspace, now, page)
