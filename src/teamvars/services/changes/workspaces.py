"""Changes to workspaces."""

from teamvars.domain.workspaces import Workspace
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import workspaces


async def create(ledger: Ledger, workspace: Workspace) -> None:
    """Adds a workspace."""
    opened = await ledger.open(workspace.id)
    await workspaces.insert(ledger.tx, workspace, ledger.now)
    await _record(ledger, workspace, "create", opened)


async def delete(ledger: Ledger, workspace: Workspace) -> None:
    """Removes a workspace with its variables and the grants on it."""
    await workspaces.delete(ledger.tx, workspace.id)
    await _record(ledger, workspace, "delete", await ledger.close(workspace.id))


async def _record(
    ledger: Ledger, workspace: Workspace, verb: str, stream: dict[str, object]
) -> None:
    details = {"name": workspace.name, **stream}
    subject = ("workspaces", workspace.id)
    await ledger.record(workspace.organization_id, f"workspace.{verb}", subject, details)
