"""Who may read and write the variables of a workspace, for its owners."""

from teamvars.domain.access import Caller, Permission
from teamvars.domain.holders import Principal
from teamvars.domain.pages import Page, Paged
from teamvars.services.house import UseCases
from teamvars.storage import access, grants
from teamvars.storage.database import Transaction


class Accesses(UseCases):
    """What owners and the organization's token learn of the access that others have."""

    async def list(self, caller: Caller, workspace_id: str, page: Page) -> Paged[Principal]:
        """Everybody and every live token with access to a workspace.

        Refuses: unauthenticated, not found, forbidden.
        """

        async def body(tx: Transaction) -> Paged[Principal]:
            now = self._clock()
            granted = await access.workspace(tx, caller, now, workspace_id)
            granted.require(Permission.MANAGE_WORKSPACE)
            return await grants.principals(tx, granted.workspace, now, page)

        return await self._database.query(body)
