"""Changes to teams, their members and their grants."""

from collections.abc import Iterable, Sequence

from teamvars.domain.directory import Grant
from teamvars.domain.ids import new_id
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import teams
from teamvars.storage.teams import TeamRow


async def create(ledger: Ledger, team: TeamRow) -> None:
    """Adds a team. Refuses: name_taken."""
    opened = await ledger.open(team.id)
    await teams.insert(ledger.tx, team, ledger.now)
    details = {**_settings(team), **opened}
    await ledger.record(team.organization_id, "team.create", ("teams", team.id), details)


async def update(ledger: Ledger, team: TeamRow, *, renamed_from: str | None = None) -> None:
    """Changes a team's settings, and its name when `renamed_from` is another.

    The organization's stream must be locked for that as well. Refuses: name_taken.
    """
    await teams.update(ledger.tx, team)
    subject = ("teams", team.id)
    await ledger.record(team.id, "team.update", subject, _settings(team))
    if renamed_from not in (None, team.name):
        details = {"name": team.name, "from": renamed_from}
        await ledger.record(team.organization_id, "team.rename", subject, details)


async def delete(ledger: Ledger, team: TeamRow) -> None:
    """Removes a team with its members, grants and tokens."""
    await teams.delete(ledger.tx, team.id)
    details = {"name": team.name, **await ledger.close(team.id)}
    await ledger.record(team.organization_id, "team.delete", ("teams", team.id), details)


async def add_members(ledger: Ledger, team: TeamRow, membership_ids: Sequence[str]) -> None:
    """Adds memberships that are not in the team."""
    await teams.add_members(ledger.tx, team.id, team.organization_id, membership_ids)
    await _record_members(ledger, team, "add", membership_ids)


async def remove_members(ledger: Ledger, team: TeamRow, membership_ids: Sequence[str]) -> None:
    """Removes memberships from the team."""
    await teams.remove_members(ledger.tx, team.id, membership_ids)
    await _record_members(ledger, team, "remove", membership_ids)


async def put_grant(ledger: Ledger, team: TeamRow, workspace_id: str, grant: Grant) -> None:
    """Gives a team a right to a workspace, in place of the one it had."""
    await teams.put_grant(ledger.tx, new_id("tws"), team, workspace_id, grant)
    details = {"workspace": workspace_id, "access": grant.word}
    await ledger.record(team.id, "grant.put", ("teams", team.id), details)


async def remove_grants(ledger: Ledger, team: TeamRow, workspace_ids: Iterable[str]) -> None:
    """Takes a team's rights to workspaces away."""
    ids = sorted(workspace_ids)
    await teams.remove_grants(ledger.tx, team.id, ids)
    await ledger.record(team.id, "grant.remove", ("teams", team.id), {"workspaces": ids})


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
    }
