"""Everybody with rights to a workspace."""

from teamvars.domain.access import Level
from teamvars.domain.errors import there_is_no
from teamvars.domain.holders import Holder, Standing, WorkspaceHolders
from teamvars.domain.names import fold
from teamvars.storage.database import Row, Transaction

# $1: the organization, $2: the workspace. A team with a grant, or the owners.
_TEAMS = f"""
SELECT teams.id, teams.name,
    CASE WHEN teams.is_owners = 1 THEN {Level.OWNER.value} ELSE grants.level END AS level
FROM teams LEFT JOIN grants ON grants.team_id = teams.id AND grants.workspace_id = $2
WHERE teams.organization_id = $1 AND (teams.is_owners = 1 OR grants.level >= {Level.READ.value})
"""
_USERS = f"""
SELECT users.id, users.username, teams.level, teams.name, memberships.status, users.disabled
FROM ({_TEAMS}) AS teams
JOIN team_members ON team_members.team_id = teams.id
JOIN memberships ON memberships.id = team_members.membership_id
JOIN users ON users.id = memberships.user_id
"""
_LIVE = "(tokens.expires_at IS NULL OR tokens.expires_at > $3)"
_TEAM_TOKENS = f"""
SELECT tokens.id, teams.name, teams.level, teams.name
FROM ({_TEAMS}) AS teams JOIN tokens ON tokens.team_id = teams.id WHERE {_LIVE}
"""
_ORGANIZATION_TOKENS = """
SELECT tokens.id FROM tokens
WHERE tokens.organization_id = $1 AND (tokens.expires_at IS NULL OR tokens.expires_at > $2)
"""


async def of_workspace(
    tx: Transaction, organization: str, workspace: str, now: int
) -> WorkspaceHolders:
    """All who may read the variables of the workspace with that name. Refuses: not found."""
    row = await tx.fetch_one(
        "SELECT organizations.id, organizations.name, workspaces.id, workspaces.name "
        "FROM organizations LEFT JOIN workspaces "
        "ON workspaces.organization_id = organizations.id AND workspaces.name_folded = $2 "
        "WHERE organizations.name_folded = $1",
        fold(organization),
        fold(workspace),
    )
    if row is None:
        raise there_is_no(f"organization {organization}")
    organization_id, organization_name, workspace_id, name = row
    if workspace_id is None:
        raise there_is_no(f"workspace {organization}/{workspace}")
    place = organization_id, workspace_id
    found = [_user(one) for one in await tx.fetch(_USERS, *place)]
    for token_id, team, level, through in await tx.fetch(_TEAM_TOKENS, *place, now):
        found.append(Holder("team-token", token_id, team, Level(level), through))
    for (token_id,) in await tx.fetch(_ORGANIZATION_TOKENS, organization_id, now):
        holder = "organization-token", token_id, organization_name, Level.OWNER, organization_name
        found.append(Holder(*holder))
    found.sort(key=lambda one: (-one.level, one.kind != "user", fold(one.name), one.through))
    return WorkspaceHolders(organization_name, name, workspace_id, found)


def _user(row: Row) -> Holder:
    id_, name, level, team, status, disabled = row
    standing = Standing.DISABLED if disabled else Standing(status)
    return Holder("user", id_, name, Level(level), team, standing)
