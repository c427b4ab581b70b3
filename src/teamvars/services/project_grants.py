"""Grants on projects: show, create, change and delete them."""

from teamvars.decisions import project_grants as decisions
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.domain.project_grants import ProjectGrant, ProjectGrantDraft
from teamvars.domain.team_access import NamedGrant
from teamvars.services.house import UseCases, looks, makes, reads
from teamvars.storage import access, project_grants
from teamvars.storage.database import Transaction


class ProjectGrants(UseCases):
    """What callers do with grants on projects. All methods refuse unauthenticated and not found.

    Such a grant is seen by whoever sees the team and the project.
    """

    read = looks(decisions.read)
    update = makes(decisions.update)
    delete = makes(decisions.delete)

    @reads
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
        return await project_grants.find_visible(tx, seen, project_id, team_id, page)

    async def create(self, caller: Caller, draft: ProjectGrantDraft) -> ProjectGrant:
        """See `decisions.project_grants.create`."""
        return await self._make(caller, decisions.create, draft, new_id("tprj"))
