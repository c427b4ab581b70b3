"""Who may read and write the variables of a workspace, as its owners want to know it."""

from teamvars.domain.access import Caller, Permission
from teamvars.domain.holders import Principal
from teamvars.domain.pages import Page, Paged
from teamvars.services import Clock
from teamvars.storage import access, holders
from teamvars.storage.database import Database, Transaction


class Accesses:
    """What owners and the organization's token learn of the access that others have."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def list(self, caller: Caller, workspace_id: str, page: Page) -> Paged[Principal]:
        """Everybody and every live token with access to a workspace.

        Refuses: unauthenticated, not found, forbidden.
        """

        async def body(tx: Transaction) -> Paged[Principal]:
            now = self._clock()
            granted = await access.workspace(tx, caller, now, workspace_id)
            granted.require(Permission.MANAGE_WORKSPACE)
            return await holders.principals(tx, granted.workspace, now, page)

        return await self._database.query(body)
