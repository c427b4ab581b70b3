"""Organizations, as their members and site admins deal with them."""

from teamvars.decisions import organizations as decisions
from teamvars.decisions.organizations import Fresh, OrganizationView
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import OrganizationDraft, OrganizationSearch
from teamvars.domain.pages import Page, Paged
from teamvars.services.house import UseCases, makes, reads
from teamvars.storage import access, access_by_name, organizations
from teamvars.storage.database import Transaction


class Organizations(UseCases):
    """What callers do with organizations. All methods refuse unauthenticated."""

    update = makes(decisions.update, in_turns=True)
    delete = makes(decisions.delete, in_turns=True)

    @reads
    async def list(
        self, tx: Transaction, caller: Caller, wanted: OrganizationSearch, page: Page
    ) -> Paged[OrganizationView]:
        """The organizations that the caller is in and wants."""
        seen = await access.sight(tx, caller, self._clock())
        assert caller.actor is not None  # known since the access check
        found = await organizations.find_visible(tx, caller.actor, wanted, page)
        views = [
            OrganizationView(one, one.id in seen.owned, seen.rights.get(one.id, frozenset()))
            for one in found.items
        ]
        return Paged(views, found.total)

    @reads
    async def read(self, tx: Transaction, caller: Caller, name: str) -> OrganizationView:
        """One organization, shown to its members. Refuses: not found."""
        granted = await access_by_name.organization(tx, caller, self._clock(), name)
        return OrganizationView(granted.organization, granted.is_owner, granted.rights)

    async def create(self, caller: Caller, draft: OrganizationDraft) -> OrganizationView:
        """See `decisions.organizations.create`."""
        fresh = Fresh(new_id("org"), new_id("team"), new_id("ou"))
        return await self._make(caller, decisions.create, draft, fresh)
