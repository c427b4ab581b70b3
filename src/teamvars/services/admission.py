"""The look at a caller's right before what is costly, and where nothing else is read."""

from teamvars.domain.access import Caller, Permission
from teamvars.storage import access
from teamvars.storage.database import Database, Transaction


async def admit_writer(database: Database, caller: Caller, now: int, workspace_id: str) -> None:
    """Refuses callers who may not change the variables of a workspace.

    Refuses: unauthenticated, not found, forbidden.
    """

    async def body(tx: Transaction) -> None:
        granted = await access.workspace(tx, caller, now, workspace_id)
        granted.require(Permission.WRITE_VARIABLES)

    await database.query(body)
