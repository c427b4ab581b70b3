"""Changes to teams and their members."""

from collections.abc import Sequence

from teamvars.services.changes.ledger import Ledger, opens, others
from teamvars.storage import teams
from teamvars.storage.teams import TeamRow


async def create(ledger: Ledger, made: Sequence[TeamRow]) -> None:
    """Adds teams. Refuses: name_taken."""
    await ledger.open([team.id for team in made])
    await teams.insert(ledger.tx, made, ledger.now)
    for team in made:
        details = {**_settings(team), **opens(team.id)}
        await ledger.record(team.organization_id, "team.create", ("teams", team.id), details)


async def rename(ledger: Ledger, before: TeamRow, team: TeamRow) -> None:
    """Changes a team's settings and name; the organization's stream must be locked as well.

    Refuses: name_taken.
    """
    await update(ledger, [(before, team)])
    if before.name != team.name:
        subject, details = ("teams", team.id), {"name": team.name, "from": before.name}
        await ledger.record(team.organization_id, "team.rename", subject, details)


async def update(ledger: Ledger, changed: Sequence[tuple[TeamRow, TeamRow]]) -> None:
    """Changes teams' settings, each from what they were."""
    await teams.update(ledger.tx, [team for _, team in changed])
    for before, team in changed:
        details = others(_settings(before), _settings(team))
        await ledger.record(team.id, "team.update", ("teams", team.id), details)


async def delete(ledger: Ledger, removed: Sequence[TeamRow]) -> None:
    """Removes teams with their members, grants and tokens."""
    ids = [team.id for team in removed]
    await teams.delete(ledger.tx, ids)
    for team in removed:
        details = {"name": team.name, **ledger.ends([team.id])}
        await ledger.record(team.organization_id, "team.delete", ("teams", team.id), details)
    await ledger.forget(ids)


async def add_members(ledger: Ledger, team: TeamRow, membership_ids: Sequence[str]) -> None:
    """Adds memberships that are not in the team."""
    await teams.add_members(ledger.tx, team.id, team.organization_id, membership_ids)
    await _record_members(ledger, team, "add", membership_ids)


async def add_members_to_all(
    ledger: Ledger, added: Sequence[tuple[TeamRow, Sequence[str]]]
) -> None:
    """Adds to each team memberships that are not in it."""
    await teams.add_members_to_all(ledger.tx, added)
    for team, membership_ids in added:
        await _record_members(ledger, team, "add", membership_ids)


async def remove_members(ledger: Ledger, team: TeamRow, membership_ids: Sequence[str]) -> None:
    """Removes memberships from the team."""
    await teams.remove_members(ledger.tx, team.id, membership_ids)
    await _record_members(ledger, team, "remove", membership_ids)


async def _record_members(
    ledger: Ledger, team: TeamRow, verb: str, membership_ids: Sequence[str]
) -> None:
    details = {"organization-memberships": list(membership_ids)}
    await ledger.record(team.id, f"member.{verb}", ("teams", team.id), details)


def _settings(team: TeamRow) -> dict[str, object]:
    return {
        "name": team.name,
        "visibility": team.visibility.value,
        "manage-membership": team.manage_membership,
        "allow-member-token-management": team.members_manage_token,
    }
