"""Changes to workspaces."""

from collections.abc import Sequence

from teamvars.domain.workspaces import Workspace, WorkspaceSettings
from teamvars.services.directory.ledger import Ledger, opens, others
from teamvars.storage import workspaces


async def create(
    ledger: Ledger,
    workspace: Workspace,
    settings: WorkspaceSettings = WorkspaceSettings(),  # noqa: B008 - frozen
) -> None:
    """Adds a workspace. Refuses: name_taken."""
    await ledger.open({workspace.id: workspace.organization_id})
    await workspaces.insert(ledger.tx, workspace, ledger.now, settings)
    await _record(ledger, workspace, "create", opens(workspace.id))


async def create_all(ledger: Ledger, made: Sequence[Workspace]) -> None:
    """Adds workspaces with names that are free."""
    await ledger.open({workspace.id: workspace.organization_id for workspace in made})
    await workspaces.insert_all(ledger.tx, made, ledger.now)
    for workspace in made:
        await _record(ledger, workspace, "create", opens(workspace.id))


Whole = tuple[Workspace, WorkspaceSettings]
"""A workspace with its settings."""


async def update(ledger: Ledger, before: Whole, after: Whole) -> None:
    """Stores name and settings. Refuses: name_taken.

    Its own stream moves, and with another name the organization's as well.
    """
    workspace, _ = after
    former, _ = before
    await workspaces.update(ledger.tx, *after)
    details = others(_settings(*before), _settings(*after))
    await ledger.record(workspace.id, "workspace.update", workspace.id, details)
    if workspace.name != former.name:
        await _record(ledger, workspace, "rename", {"from": former.name})


async def set_lock(ledger: Ledger, workspace: Workspace, locked_by: str | None) -> None:
    """Locks a workspace for whoever has that id, or unlocks it."""
    await workspaces.set_lock(ledger.tx, workspace.id, locked_by)
    verb = "unlock" if locked_by is None else "lock"
    await ledger.record(workspace.id, f"workspace.{verb}", workspace.id, {"name": workspace.name})


async def delete(ledger: Ledger, removed: Sequence[Workspace]) -> None:
    """Removes workspaces with their variables and the grants on them."""
    ids = [workspace.id for workspace in removed]
    await workspaces.delete(ledger.tx, *ids)
    for workspace in removed:
        await _record(ledger, workspace, "delete", ledger.ends([workspace.id]))
    await ledger.forget(ids)


async def _record(
    ledger: Ledger, workspace: Workspace, verb: str, stream: dict[str, object]
) -> None:
    details = {"name": workspace.name, **stream}
    await ledger.record(workspace.organization_id, f"workspace.{verb}", workspace.id, details)


def _settings(workspace: Workspace, settings: WorkspaceSettings) -> dict[str, object]:
    return {
        "name": workspace.name,
        "execution-mode": settings.execution_mode.value,
        "terraform-version": settings.terraform_version,
    }
