"""Workspaces as rows."""

from teamvars.domain.names import fold
from teamvars.domain.workspaces import Workspace
from teamvars.storage.database import Transaction


async def of_organization(tx: Transaction, organization_id: str) -> dict[str, str]:
    """An organization's workspaces: name by id."""
    rows = await tx.fetch(
        "SELECT id, name FROM workspaces WHERE organization_id = $1 ORDER BY id", organization_id
    )
    return {row[0]: row[1] for row in rows}


async def insert(tx: Transaction, workspace: Workspace, now: int) -> None:
    """Adds a workspace."""
    await tx.execute(
        "INSERT INTO workspaces (id, organization_id, name, name_folded, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        workspace.id,
        workspace.organization_id,
        workspace.name,
        fold(workspace.name),
        now,
    )


async def delete(tx: Transaction, workspace_id: str) -> None:
    """Removes a workspace with its variables and the grants on it."""
    await tx.execute("DELETE FROM workspaces WHERE id = $1", workspace_id)
