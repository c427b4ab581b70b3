"""Variable sets: show, make, change, attach and delete them."""

from teamvars.decisions import variable_sets as decisions
from teamvars.decisions.variable_sets import Rules, SetView
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.set_effects import Effects, PreviewDraft
from teamvars.domain.variable_sets import PREFIX, Attaching, SetDraft, TargetsDraft
from teamvars.services.house import House, UseCases, foretold, looks, makes


class VariableSets(UseCases):
    """What callers do with variable sets. All methods refuse unauthenticated and not found.

    A set is seen by whoever changes it, or may read a workspace that it reaches or the sets of the
    project whose it is.
    """

    read = looks(decisions.read)
    list = looks(decisions.page)
    of_workspace = looks(decisions.page_of_workspace)
    applicable = looks(decisions.page_of_applicable)
    of_project = looks(decisions.page_of_project)
    delete = makes(decisions.delete, in_turns=True)

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._rules = Rules(house.limits, house.trust)

    async def create(self, caller: Caller, organization: str, draft: SetDraft) -> SetView:
        """See `decisions.variable_sets.create`."""
        asked = organization, draft, new_id(PREFIX), self._rules
        return await self._make(caller, decisions.create, *asked)

    async def update(self, caller: Caller, set_id: str, draft: SetDraft) -> SetView:
        """See `decisions.variable_sets.update`."""
        asked = set_id, draft, self._rules
        return await self._make(caller, decisions.update, *asked)

    async def preview(self, caller: Caller, set_id: str, draft: PreviewDraft) -> Effects:
        """See `decisions.variable_sets.preview`. Not of one snapshot: much may be looked up."""
        foreseen = await self._house.changes.glance(
            caller, lambda found: decisions.preview(found, set_id, draft, self._rules)
        )
        return await foretold(foreseen)

    async def attach(
        self, caller: Caller, set_id: str, draft: TargetsDraft, how: Attaching
    ) -> Effects | None:
        """See `decisions.variable_sets.attach`; and `preview_attach`, of a dry run."""
        asked = set_id, draft, how, self._rules
        if not draft.dry_run:
            await self._make(caller, decisions.attach, *asked)
            return None
        foreseen = await self._house.changes.glance(
            caller, lambda found: decisions.preview_attach(found, *asked)
        )
        return await foretold(foreseen)
