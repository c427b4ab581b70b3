"""Everybody with rights to a workspace."""

import json

from teamvars.domain.access import Level
from teamvars.domain.holders import Holder, Principal, Standing, Way, WorkspaceHolders
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.workspaces import Workspace
from teamvars.storage.database import Row, Transaction
from teamvars.storage.pages import Listing

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
# Those who can use what they have, a row each. Member by member, which is why a page is cheap:
# by way of the teams, all their members would be put together for it.
_PRINCIPALS = f"""(
SELECT 1 AS rank, 'user' AS kind, users.id AS id, users.username AS name
FROM memberships JOIN users ON users.id = memberships.user_id
WHERE memberships.organization_id = $1 AND memberships.status = 'active' AND users.disabled = 0
    AND EXISTS (
        SELECT 1 FROM team_members JOIN teams ON teams.id = team_members.team_id
        LEFT JOIN grants ON grants.team_id = teams.id AND grants.workspace_id = $2
        WHERE team_members.membership_id = memberships.id
            AND (teams.is_owners = 1 OR grants.level >= {Level.READ.value}))
UNION ALL
SELECT 2, 'team-token', tokens.id, teams.name
FROM ({_TEAMS}) AS teams JOIN tokens ON tokens.team_id = teams.id WHERE {_LIVE}
UNION ALL
SELECT 3, 'organization-token', tokens.id, organizations.name
FROM organizations JOIN tokens ON tokens.organization_id = organizations.id
WHERE organizations.id = $1 AND {_LIVE}
) AS principals"""
# $3: ids of principals.
_WAYS = f"""
SELECT memberships.user_id AS id, teams.id AS team_id, teams.name AS team, teams.level AS level
FROM memberships
JOIN team_members ON team_members.membership_id = memberships.id
JOIN ({_TEAMS}) AS teams ON teams.id = team_members.team_id
WHERE memberships.organization_id = $1 AND memberships.user_id IN {{each $3}}
UNION ALL
SELECT tokens.id, teams.id, teams.name, teams.level
FROM tokens JOIN ({_TEAMS}) AS teams ON teams.id = tokens.team_id
WHERE tokens.id IN {{each $3}}
ORDER BY level DESC, team, team_id
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


async def principals(
    tx: Transaction, workspace: Workspace, now: int, page: Page
) -> Paged[Principal]:
    """A page of those who can read the variables of a workspace now, each with all its ways.

    Users by id, then the tokens of teams, then those of the organization. Whoever loses
    the last way while the statements run is left out.
    """
    place = workspace.organization_id, workspace.id
    listing = Listing("kind, id, name", _PRINCIPALS, "rank, id", (*place, now))
    found = await listing.fetch(tx, page, tuple)
    ways: dict[str, list[Way]] = {id_: [] for _, id_, _ in found.items}
    for id_, *way in await tx.fetch(_WAYS, *place, json.dumps(sorted(ways))):
        ways[id_].append(Way(way[0], way[1], Level(way[2])))
    listed = [Principal(row[0], row[1], row[2], ways[row[1]]) for row in found.items]
    return Paged([one for one in listed if one.level >= Level.READ], found.total)


def _user(row: Row) -> Holder:
    id_, name, level, team, status, disabled = row
    standing = Standing.DISABLED if disabled else Standing(status)
    return Holder("user", id_, name, Level(level), team, standing)
