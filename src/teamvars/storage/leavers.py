"""What somebody leaves behind, in the rows of others."""

from teamvars.domain.leavers import LeftBehind
from teamvars.storage import memberships, organizations, runners, teams, tokens
from teamvars.storage.database import Transaction

# Wherever somebody is, or was: what they made says so.
_ORGANIZATIONS = """
SELECT organization_id FROM memberships WHERE user_id = $1
UNION SELECT coalesce(tokens.organization_id, teams.organization_id) FROM tokens
    LEFT JOIN teams ON teams.id = tokens.team_id
    WHERE tokens.created_by = $1 AND tokens.user_id IS NULL
UNION SELECT organization_id FROM runners WHERE proposed_by = $1
UNION SELECT memberships.organization_id FROM invitations
    JOIN memberships ON memberships.id = invitations.membership_id
    WHERE invitations.invited_by = $1
ORDER BY 1
"""


async def organizations_of(tx: Transaction, user_id: str) -> list[str]:
    """The organizations that somebody is in or has left something in, by id."""
    return [row[0] for row in await tx.fetch(_ORGANIZATIONS, user_id)]


async def left_behind(tx: Transaction, organization_id: str, user_id: str) -> LeftBehind:
    """What somebody leaves behind in an organization. Refuses: not found."""
    organization = await organizations.get(tx, organization_id)
    place = organization_id, user_id
    return LeftBehind(
        organization_id,
        organization.name,
        user_id,
        await tokens.made_by(tx, *place),
        await runners.proposed_by(tx, *place),
        await memberships.invited_by(tx, *place),
        await teams.held_alone(tx, *place),
    )
