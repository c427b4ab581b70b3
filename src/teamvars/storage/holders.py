"""Everybody with rights to a workspace."""

from teamvars.domain.access import Level
from teamvars.domain.holders import Holder, Standing, WorkspaceHolders
from teamvars.domain.names import fold
from teamvars.domain.workspaces import Workspace
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


async def of_workspace(tx: Transaction, workspace: Workspace, now: int) -> WorkspaceHolders:
    """All who may read the variables of a workspace."""
    place = workspace.organization_id, workspace.id
    found = [_user(one) for one in await tx.fetch(_USERS, *place)]
    for token_id, team, level, through in await tx.fetch(_TEAM_TOKENS, *place, now):
        found.append(Holder("team-token", token_id, team, Level(level), through))
    for (token_id,) in await tx.fetch(_ORGANIZATION_TOKENS, workspace.organization_id, now):
        name = workspace.organization_name
        found.append(Holder("organization-token", token_id, name, Level.OWNER, name))
    found.sort(key=lambda one: (-one.level, one.kind != "user", fold(one.name), one.through))
    return WorkspaceHolders(workspace.organization_name, workspace.name, workspace.id, found)


def _user(row: Row) -> Holder:
    id_, name, level, team, status, disabled = row
    standing = Standing.DISABLED if disabled else Standing(status)
    return Holder("user", id_, name, Level(level), team, standing)
