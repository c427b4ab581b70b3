"""Grants on workspaces and on projects: show, create, change and delete them."""

from teamvars.decisions import team_access as decisions
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.domain.project_grants import ProjectGrant, ProjectGrantDraft
from teamvars.domain.team_access import Grant, GrantDraft, NamedGrant
from teamvars.services.house import UseCases, looks, makes, surveys
from teamvars.storage import access, team_access
from teamvars.storage.database import Transaction


class Grants(UseCases):
    """What callers do with grants on workspaces. All methods refuse unauthenticated and not found.

    A grant is seen by whoever sees the team and may read the workspace's variables.
    """

    read = looks(decisions.read)
    update = makes(decisions.update)
    delete = makes(decisions.delete)

    @surveys
    async def list(
        self,
        tx: Transaction,
        caller: Caller,
        workspace_id: str | None,
        team_id: str | None,
        page: Page,
    ) -> Paged[NamedGrant[Grant]]:
        """The grants on a workspace, of a team, or all there are, by the workspaces' names."""
        now = self._clock()
        if workspace_id is not None:
            (await access.workspace(tx, caller, now, workspace_id)).require_visible()
        if team_id is not None:
            (await access.team(tx, caller, now, team_id)).require_visible()
        seen = await access.sight(tx, caller, now)
        return await team_access.find_visible(tx, seen, workspace_id, team_id, page)

    async def create(self, caller: Caller, draft: GrantDraft) -> Grant:
        """See `decisions.team_access.create`."""
        return await self._make(caller, decisions.create, draft, new_id("tws"))


class ProjectGrants(UseCases):
    """What callers do with grants on projects. All methods refuse unauthenticated and not found.

    Such a grant is seen by whoever sees the team and the project.
    """

    read = looks(decisions.read_on_project)
    update = makes(decisions.update_on_project)
    delete = makes(decisions.delete_on_project)

    @surveys
    async def list(
        self,
        tx: Transaction,
        caller: Caller,
        project_id: str | None,
        team_id: str | None,
        page: Page,
    ) -> Paged[NamedGrant[ProjectGrant]]:
        """The grants on a project, of a team, or all there are, by the projects' names."""
        now = self._clock()
        if project_id is not None:
            await access.project(tx, caller, now, project_id)
        if team_id is not None:
            (await access.team(tx, caller, now, team_id)).require_visible()
        seen = await access.sight(tx, caller, now)
        return await team_access.find_visible_on_projects(tx, seen, project_id, team_id, page)

    async def create(self, caller: Caller, draft: ProjectGrantDraft) -> ProjectGrant:
        """See `decisions.team_access.create_on_project`."""
        return await self._make(caller, decisions.create_on_project, draft, new_id("tprj"))
