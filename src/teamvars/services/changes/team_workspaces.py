"""Changes to teams' accesses to workspaces; each is recorded in the team's stream."""

from teamvars.domain.team_workspaces import TeamWorkspace
from teamvars.services.changes.ledger import Ledger, others
from teamvars.storage import team_workspaces, teams


async def create(ledger: Ledger, made: TeamWorkspace, organization_id: str) -> None:
    """Gives a team access to a workspace. Refuses: grant_taken."""
    await team_workspaces.insert(ledger.tx, made, organization_id)
    await ledger.record(made.team_id, "grant.put", ("teams", made.team_id), _details(made))


async def update(ledger: Ledger, before: TeamWorkspace, after: TeamWorkspace) -> None:
    """Changes what an access lets its team do."""
    await team_workspaces.update(ledger.tx, after)
    details = others(_details(before), _details(after))
    await ledger.record(after.team_id, "grant.put", ("teams", after.team_id), details)


async def delete(ledger: Ledger, removed: TeamWorkspace) -> None:
    """Takes a team's access to a workspace away."""
    await teams.remove_grants(ledger.tx, removed.team_id, [removed.workspace_id])
    subject = ("teams", removed.team_id)
    details = {"workspaces": [removed.workspace_id]}
    await ledger.record(removed.team_id, "grant.remove", subject, details)


def _details(put: TeamWorkspace) -> dict[str, object]:
    return {
        "workspace": put.workspace_id,
        "access": put.access.value,
        "variables": put.level.word,
    }
