"""Changes to memberships of organizations and of teams; each is recorded in the stream of that."""

from collections.abc import Mapping, Sequence

from teamvars.domain.memberships import Membership
from teamvars.domain.teams import Team
from teamvars.services.directory import invitations
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import memberships

_NOTHING: Mapping[str, object] = {}


async def create(ledger: Ledger, made: Sequence[Membership]) -> None:
    """Adds users to organizations, invited or active."""
    await memberships.insert(ledger.tx, made)
    await _record(ledger, "create", made)


async def update(ledger: Ledger, changed: Sequence[Membership]) -> None:
    """Makes invited memberships active, or the reverse."""
    await memberships.update(ledger.tx, changed)
    await _record(ledger, "update", changed, {"changed": ["status"]})


async def delete(ledger: Ledger, removed: Sequence[Membership]) -> None:
    """Removes users from organizations, and so from all their teams."""
    await memberships.delete(ledger.tx, [membership.id for membership in removed])
    await _record(ledger, "delete", removed)


async def end(
    ledger: Ledger, found: Membership, of_organization: Sequence[Team], verb: str = "revoke"
) -> None:
    """Removes a user from an organization and from its teams, all of which are locked.

    Where that ends an invitation, `verb` says how.
    """
    (whole,) = await memberships.with_teams(ledger.tx, [found], None)
    for team in of_organization:
        if team.id in whole.team_ids:
            await remove_from_team(ledger, team, [found.id])
    if found.invitation is not None:
        await invitations.record(ledger, found, verb)
    await delete(ledger, [found])


async def add_to_teams(ledger: Ledger, added: Sequence[tuple[Team, Sequence[str]]]) -> None:
    """Adds to each team the memberships with these ids, none of which is in it."""
    await memberships.add_to_teams(ledger.tx, added)
    for team, membership_ids in added:
        await _record_members(ledger, team, "add", membership_ids)


async def remove_from_team(ledger: Ledger, team: Team, membership_ids: Sequence[str]) -> None:
    """Removes the memberships with these ids from the team."""
    await memberships.remove_from_team(ledger.tx, team.id, membership_ids)
    await _record_members(ledger, team, "remove", membership_ids)


def members_details(membership_ids: Sequence[str]) -> dict[str, object]:
    """What the entry of a change to a team's members says of it."""
    return {"organization-memberships": list(membership_ids)}


async def _record(
    ledger: Ledger,
    verb: str,
    concerned: Sequence[Membership],
    more: Mapping[str, object] = _NOTHING,
) -> None:
    for membership in concerned:
        details = {"user": membership.user.id, "status": membership.status.value, **more}
        await ledger.record(
            membership.organization_id, f"membership.{verb}", membership.id, details
        )


async def _record_members(
    ledger: Ledger, team: Team, verb: str, membership_ids: Sequence[str]
) -> None:
    await ledger.record(team.id, f"member.{verb}", team.id, members_details(membership_ids))
