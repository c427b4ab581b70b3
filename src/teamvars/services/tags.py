"""Tags: of one workspace, and of all that an organization has."""

from teamvars.decisions import projects
from teamvars.decisions import tags as decisions
from teamvars.domain.access import Caller, Level
from teamvars.domain.pages import Page, Paged
from teamvars.domain.tags import Tag, TagSearch
from teamvars.services.house import UseCases, looks, makes, surveys
from teamvars.storage import access_by_name, tags
from teamvars.storage.database import Transaction


class Tags(UseCases):
    """What callers do with tags. All methods refuse unauthenticated and not found.

    Whoever sees a workspace or project sees its tags, and whoever may manage it changes them.
    """

    names = looks(decisions.names)
    bindings = looks(decisions.bindings)
    effective = looks(decisions.effective)
    of_project = looks(decisions.of_project)
    retag_project = makes(projects.retag)
    change = makes(decisions.change)
    delete = makes(decisions.delete, in_turns=True)
    add_workspaces = makes(decisions.add_workspaces, in_turns=True)

    @surveys
    async def list(
        self, tx: Transaction, caller: Caller, organization: str, wanted: TagSearch, page: Page
    ) -> Paged[Tag]:
        """A page of the tags of the workspaces that the caller sees, by name."""
        granted = await access_by_name.organization(tx, caller, self._clock(), organization)
        team_ids = None if granted.everywhere >= Level.READ else granted.team_ids
        return await tags.find_visible(tx, granted.organization, team_ids, wanted, page)
