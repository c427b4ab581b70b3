"""Changes to teams' accesses to workspaces; each is recorded in the team's stream."""

from teamvars.domain.team_workspaces import TeamWorkspace
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import team_workspaces, teams


async def create(ledger: Ledger, made: TeamWorkspace, organization_id: str) -> None:
    """Gives a team access to a workspace. Refuses: grant_taken."""
    await team_workspaces.insert(ledger.tx, made, organization_id)
    await _record_put(ledger, made)


async def update(ledger: Ledger, changed: TeamWorkspace) -> None:
    """Changes what an access lets its team do."""
    await team_workspaces.update(ledger.tx, changed)
    await _record_put(ledger, changed)


async def delete(ledger: Ledger, removed: TeamWorkspace) -> None:
    """Takes a team's access to a workspace away."""
    await teams.remove_grants(ledger.tx, removed.team_id, [removed.workspace_id])
    subject = ("teams", removed.team_id)
    details = {"workspaces": [removed.workspace_id]}
    await ledger.record(removed.team_id, "grant.remove", subject, details)


async def _record_put(ledger: Ledger, put: TeamWorkspace) -> None:
    details = {
        "workspace": put.workspace_id,
        "access": put.access.value,
        "variables": put.level.word,
    }
    await ledger.record(put.team_id, "grant.put", ("teams", put.team_id), details)
