"""Grants: show, create, change and delete them."""

from teamvars.decisions import team_access as decisions
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.domain.team_access import Grant, GrantDraft, NamedGrant
from teamvars.services.house import UseCases, looks, makes, reads
from teamvars.storage import access, team_access
from teamvars.storage.database import Transaction


class Grants(UseCases):
    """What callers do with grants. All methods refuse unauthenticated and not found.

    A grant is seen by whoever sees the team and may read the workspace's variables.
    """

    read = looks(decisions.read)
    update = makes(decisions.update)
    delete = makes(decisions.delete)

    @reads
    async def list(
        self, tx: Transaction, caller: Caller, workspace_id: str, page: Page
    ) -> Paged[NamedGrant]:
        """The grants on a workspace."""
        now = self._clock()
        granted = await access.workspace(tx, caller, now, workspace_id)
        granted.require_visible()
        whole = await access.organization(tx, caller, now, granted.workspace.organization_id)
        return await team_access.of_workspace(tx, workspace_id, whole.sees_secret, page)

    @reads
    async def list_of_team(
        self, tx: Transaction, caller: Caller, team_id: str, page: Page
    ) -> Paged[NamedGrant]:
        """The grants of a team."""
        now = self._clock()
        granted = await access.team(tx, caller, now, team_id)
        granted.require_visible()
        whole = await access.organization(tx, caller, now, granted.team.organization_id)
        seen = None if whole.is_owner else whole.team_ids
        return await team_access.of_team(tx, team_id, seen, page)

    async def create(self, caller: Caller, draft: GrantDraft) -> Grant:
        """See `decisions.team_access.create`."""
        return await self._make(caller, decisions.create, draft, new_id("tws"))
