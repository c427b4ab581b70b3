"""Changes to teams."""

from collections.abc import Sequence

from teamvars.domain.teams import Team
from teamvars.services.directory.ledger import Ledger, opens, others
from teamvars.storage import teams


async def create(ledger: Ledger, made: Sequence[Team]) -> None:
    """Adds teams. Refuses: name_taken."""
    await ledger.open({team.id: team.organization_id for team in made})
    await teams.insert(ledger.tx, made, ledger.now)
    for team in made:
        details = {**_settings(team), **opens(team.id)}
        await ledger.record(team.organization_id, "team.create", team.id, details)


async def rename(ledger: Ledger, before: Team, team: Team) -> None:
    """Changes a team's settings and name; the organization's stream must be locked as well.

    Refuses: name_taken.
    """
    await update(ledger, [(before, team)])
    if before.name != team.name:
        details = {"name": team.name, "from": before.name}
        await ledger.record(team.organization_id, "team.rename", team.id, details)


async def update(ledger: Ledger, changed: Sequence[tuple[Team, Team]]) -> None:
    """Changes teams' settings, each from what they were."""
    await teams.update(ledger.tx, [team for _, team in changed])
    for before, team in changed:
        details = others(_settings(before), _settings(team))
        await ledger.record(team.id, "team.update", team.id, details)


async def delete(ledger: Ledger, removed: Sequence[Team]) -> None:
    """Removes teams with their members, grants and tokens."""
    ids = [team.id for team in removed]
    await teams.delete(ledger.tx, ids)
    for team in removed:
        details = {"name": team.name, **ledger.ends([team.id])}
        await ledger.record(team.organization_id, "team.delete", team.id, details)
    await ledger.forget(ids)


def _settings(team: Team) -> dict[str, object]:
    return {
        "name": team.name,
        "visibility": team.visibility.value,
        "manage-membership": team.manage_membership,
        "allow-member-token-management": team.members_manage_token,
    }
