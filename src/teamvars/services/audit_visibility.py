"""Which of the workspaces that audit entries name their reader may see."""

from collections.abc import Iterable

from teamvars.domain.access import Caller, Level
from teamvars.domain.audit import AuditEntry
from teamvars.domain.audit_actions import workspaces_in
from teamvars.domain.errors import Kind, Refusal
from teamvars.storage import access
from teamvars.storage.database import Transaction


async def seen_workspaces(
    tx: Transaction, caller: Caller, now: int, entries: Iterable[AuditEntry]
) -> frozenset[str]:
    """Of the workspaces in the details, the ids of those whose variables the caller may read."""
    named = {id_ for entry in entries for id_ in workspaces_in(entry.read_details() or {})}
    return frozenset([id_ for id_ in sorted(named) if await _sees(tx, caller, now, id_)])


async def _sees(tx: Transaction, caller: Caller, now: int, workspace_id: str) -> bool:
    try:
        return (await access.workspace(tx, caller, now, workspace_id)).level >= Level.READ
    except Refusal as refusal:
        if refusal.kind is not Kind.NOT_FOUND:
            raise
        return False
