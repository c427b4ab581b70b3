"""Changes to grants; each is recorded in the stream of its team."""

from collections.abc import Iterable, Sequence

from teamvars.domain.grants import Grant
from teamvars.services.directory.ledger import Ledger, others
from teamvars.storage import grants


async def create(ledger: Ledger, made: Sequence[Grant]) -> None:
    """Gives teams access to workspaces. Refuses: grant_taken."""
    await grants.insert(ledger.tx, made)
    for grant in made:
        await ledger.record(grant.team_id, "grant.put", grant.team_id, _details(grant))


async def update(ledger: Ledger, changed: Sequence[tuple[Grant, Grant]]) -> None:
    """Changes what grants let their teams do, each from what it was."""
    await grants.update(ledger.tx, [grant for _, grant in changed])
    for before, grant in changed:
        details = others(_details(before), _details(grant))
        await ledger.record(grant.team_id, "grant.put", grant.team_id, details)


async def delete(ledger: Ledger, team_id: str, workspace_ids: Iterable[str]) -> None:
    """Takes a team's access to workspaces away."""
    ids = sorted(workspace_ids)
    await grants.delete(ledger.tx, team_id, ids)
    await ledger.record(team_id, "grant.remove", team_id, {"workspaces": ids})


def _details(grant: Grant) -> dict[str, object]:
    return {
        "workspace": grant.workspace_id,
        "access": grant.access.value,
        "variables": grant.level.word,
    }
