"""Projects: show, create, change and delete them, and put workspaces into them."""

from teamvars.decisions import projects as decisions
from teamvars.domain.access import Caller, ProjectAccess
from teamvars.domain.ids import new_id
from teamvars.domain.moves import Foreseen, MoveDraft
from teamvars.domain.pages import Page, Paged
from teamvars.domain.projects import PREFIX, ProjectDraft, ProjectSearch
from teamvars.services.house import UseCases, looks, makes, surveys
from teamvars.storage import access_by_name, projects
from teamvars.storage.database import Transaction


class Projects(UseCases):
    """What callers do with projects. All methods refuse unauthenticated and not found.

    A project is seen by whoever sees a workspace in it, by teams with access to it, and by those
    who read all projects.
    """

    read = looks(decisions.to_project)
    update = makes(decisions.update)
    delete = makes(decisions.delete)
    _move = makes(decisions.move, in_turns=True)

    async def move(self, caller: Caller, project_id: str, draft: MoveDraft) -> Foreseen | None:
        """See `decisions.projects.move`; and `preview_move`, of a dry run. That is not of one
        snapshot: much may be looked up.
        """
        asked = project_id, draft, self._trust
        if draft.dry_run:
            return await self._house.changes.glance(
                caller, lambda found: decisions.preview_move(found, *asked)
            )
        await self._move(caller, *asked)
        return None

    @surveys
    async def list(
        self, tx: Transaction, caller: Caller, organization: str, wanted: ProjectSearch, page: Page
    ) -> Paged[ProjectAccess]:
        """The organization's projects that the caller sees and wants."""
        owner = await access_by_name.organization(tx, caller, self._clock(), organization)
        found = await projects.find_visible(tx, owner, wanted, page)
        return Paged(await projects.views(tx, owner, found.items), found.total)

    async def create(self, caller: Caller, organization: str, draft: ProjectDraft) -> ProjectAccess:
        """See `decisions.projects.create`."""
        return await self._make(caller, decisions.create, organization, draft, new_id(PREFIX))
