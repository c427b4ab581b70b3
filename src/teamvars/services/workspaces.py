"""Workspaces, as far as `relationships.configurable.links.related` points at them."""

from teamvars.domain.access import Caller
from teamvars.domain.names import fold
from teamvars.domain.workspaces import Workspace
from teamvars.services import Clock
from teamvars.storage import access
from teamvars.storage.database import Database, Transaction


class Workspaces:
    """What callers learn of workspaces."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def read(self, caller: Caller, organization: str, name: str) -> Workspace:
        """A workspace by names, shown to whoever may read its variables.

        Refuses: unauthenticated, not found.
        """

        async def body(tx: Transaction) -> Workspace:
            names = fold(organization), fold(name)
            granted = await access.workspace_by_name(tx, caller, self._clock(), *names)
            granted.require_visible()
            return granted.workspace

        return await self._database.read(body)
