"""Organizations, as their members and site admins deal with them."""

from teamvars.decisions import organizations as decisions
from teamvars.decisions.organizations import Fresh, OrganizationView
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import OrganizationDraft, OrganizationSearch
from teamvars.domain.pages import Page, Paged
from teamvars.services.house import UseCases, makes, reads
from teamvars.storage import access_by_name, organizations
from teamvars.storage.database import Transaction


class Organizations(UseCases):
    """What callers do with organizations. All methods refuse unauthenticated."""

    update = makes(decisions.update)
    delete = makes(decisions.delete, in_turns=True)

    @reads
    async def list(
        self, tx: Transaction, caller: Caller, wanted: OrganizationSearch, page: Page
    ) -> Paged[OrganizationView]:
        """The organizations that the caller is in and wants."""
        actor = await self._actor(tx, caller)
        found = await organizations.find_visible(tx, actor, wanted, page)
        return Paged([OrganizationView(*one) for one in found.items], found.total)

    @reads
    async def read(self, tx: Transaction, caller: Caller, name: str) -> OrganizationView:
        """One organization, shown to its members. Refuses: not found."""
        granted = await access_by_name.organization(tx, caller, self._clock(), name)
        return OrganizationView(granted.organization, granted.is_owner)

    async def create(self, caller: Caller, draft: OrganizationDraft) -> OrganizationView:
        """See `decisions.organizations.create`."""
        key = self._tools.sealer.new_data_key(new_id("org"), 1)
        fresh = Fresh(key, new_id("team"), new_id("ou"))
        return await self._make(caller, decisions.create, draft, fresh)
