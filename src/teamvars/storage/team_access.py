"""Grants on workspaces and on projects as rows, and everybody with rights to a workspace."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from teamvars.domain.access import Holder, Level, Principal, Sight, Standing, Way, WorkspaceHolders
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.team_access import GRANT_LEVELS, Grant, NamedGrant
from teamvars.domain.teams import Right, Visibility
from teamvars.domain.workspaces import Workspace
from teamvars.storage.access_statements import level_of_team
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.pages import Reading, lasting
from teamvars.storage.projects import OF_ANY, OF_REACHED, PROJECT_OF, REACHED
from teamvars.storage.tables import from_column

G = TypeVar("G", Grant, ProjectGrant)

# $1: organizations, $2: those whose teams are all seen, $3: those whose workspaces are all read,
# $4: teams. What they may read is found once: asked of each row, it would be found as often as
# there are rows and teams.
_SEEN = f"""WHERE teams.organization_id IN {{each $1}}
    AND (
        teams.visibility = 'organization' OR grants.organization_id IN {{each $2}}
        OR grants.team_id IN {{each $4}}
    )
    AND grants.workspace_id IN (
        SELECT id FROM workspaces WHERE organization_id IN {{each $3}}
        UNION ALL {REACHED.replace("$n", "$4")}
    )"""
# $1: organizations, $2: those whose teams are all seen, $3: those whose projects are, $4: those
# whose workspaces are all read, $5: teams.
_SEEN_ON_PROJECTS = f"""WHERE teams.organization_id IN {{each $1}}
    AND (
        teams.visibility = 'organization' OR teams.organization_id IN {{each $2}}
        OR teams.id IN {{each $5}}
    )
    AND (
        projects.organization_id IN {{each $3}}
        OR projects.organization_id IN {{each $4}} AND {OF_ANY.replace("$n", "$5")}
        OR {OF_REACHED.replace("$n", "$5")}
    )"""
_LEVELS = {level.value: level for level in GRANT_LEVELS}
_LEVEL_OF_TEAM = level_of_team("project_grants.level")
# $2: the workspace.
_ITS_GRANTS = f"""LEFT JOIN grants ON grants.team_id = teams.id AND grants.workspace_id = $2
    LEFT JOIN project_grants ON project_grants.team_id = teams.id AND project_grants.project_id =
        (SELECT {PROJECT_OF} FROM workspaces WHERE workspaces.id = $2)"""
# $1: the organization, $2: the workspace. The teams that read it.
_READING_TEAMS = f"""
SELECT teams.id, teams.name,
    {_LEVEL_OF_TEAM} AS level
FROM teams {_ITS_GRANTS}
WHERE teams.organization_id = $1 AND {_LEVEL_OF_TEAM} >= {Level.READ:d}
"""
_USERS = f"""
SELECT users.id, users.username, teams.level, teams.name, memberships.status, users.disabled
FROM ({_READING_TEAMS}) AS teams
JOIN team_members ON team_members.team_id = teams.id
JOIN memberships ON memberships.id = team_members.membership_id
    AND memberships.organization_id = $1
JOIN users ON users.id = memberships.user_id
"""
_LIVE = lasting("tokens.expires_at", "$3")
_TEAM_TOKENS = f"""
SELECT tokens.id, teams.name, teams.level, teams.name
FROM ({_READING_TEAMS}) AS teams JOIN tokens ON tokens.team_id = teams.id WHERE {_LIVE}
"""
_ORGANIZATION_TOKENS = f"""
SELECT tokens.id FROM tokens
WHERE tokens.organization_id = $1
    AND {lasting("tokens.expires_at", "$2")}
"""
# Those who can use what they have, a row each. Member by member, which is why a page is cheap:
# by way of the teams, all their members would be put together for it. IS TRUE has PostgreSQL find
# these teams once, and OFFSET look for nobody who is no member: both would else become a join, for
# which it goes through all teams for each member as long as it has no statistics.
_PRINCIPALS = f"""(
SELECT 1 AS rank, 'user' AS kind, users.id AS id, users.username AS name, '' AS team_id, 0 AS level
FROM memberships JOIN users ON users.id = memberships.user_id
WHERE memberships.organization_id = $1 AND memberships.status = 'active' AND users.disabled = 0
    AND EXISTS (
        SELECT 1 FROM team_members
        WHERE team_members.membership_id = memberships.id
            AND (team_members.team_id IN (SELECT id FROM ({_READING_TEAMS}) AS teams)) IS TRUE
        LIMIT 1 OFFSET 0)
UNION ALL
SELECT 2, 'team-token', tokens.id, teams.name, teams.id, teams.level
FROM ({_READING_TEAMS}) AS teams JOIN tokens ON tokens.team_id = teams.id WHERE {_LIVE}
UNION ALL
SELECT 3, 'organization-token', tokens.id, organizations.name, '', 0
FROM organizations JOIN tokens ON tokens.organization_id = organizations.id
WHERE organizations.id = $1 AND {_LIVE}
) AS principals"""
# $3: users. CROSS JOIN has SQLite begin with them, and not look for each in every team.
_WAYS = f"""
SELECT memberships.user_id, teams.id, teams.name, teams.level
FROM memberships CROSS JOIN team_members CROSS JOIN ({_READING_TEAMS}) AS teams
WHERE memberships.organization_id = $1 AND memberships.user_id IN {{each $3}}
    AND team_members.membership_id = memberships.id AND teams.id = team_members.team_id
ORDER BY teams.level DESC, teams.name, teams.id
"""


class Grants(Generic[G]):
    """The rows of grants of one kind, alone and with the names of their teams and places."""

    def __init__(self, kind: type[G], table: str) -> None:
        self._kind: type[G] = kind
        self._table = table
        place = kind.terms.place
        names = ("id", "organization_id", "team_id", f"{place}_id", "access", "level", "custom")
        columns = ", ".join(f"{table}.{name}" for name in names)
        self._alone: Reading[G] = Reading(columns, table, self._grant)
        self._named: Reading[NamedGrant[G]] = Reading(
            f"{columns}, teams.name, teams.visibility, {place}s.name",
            f"{table} JOIN teams ON teams.id = {table}.team_id "
            f"JOIN {place}s ON {place}s.id = {table}.{place}_id",
            lambda row: NamedGrant(self._grant(row[:7]), row[7], Visibility(row[8]), row[9]),
        )

    def _grant(self, row: Row) -> G:
        id_, organization_id, team_id, place_id, word, level, stored = row
        terms, place = self._kind.terms, (organization_id, team_id, place_id)
        access: Any = terms.types(word)
        custom = from_column(terms.permissions, id_, stored)
        said = {} if access in terms.implied else custom
        return self._kind(id_, *place, access, _LEVELS[level], said)

    async def get(self, tx: Transaction, grant_id: str) -> G:
        """A grant by id. Refuses: not found."""
        return await self._alone.get(tx, "WHERE id = $1", grant_id)

    async def of_teams(self, tx: Transaction, team_ids: Iterable[str]) -> list[G]:
        """All that teams have."""
        return await self._alone.every(tx, "WHERE team_id IN {each $1}", each(team_ids))

    async def of_places(self, tx: Transaction, place_ids: Iterable[str]) -> list[G]:
        """All on some workspaces or projects, by id."""
        rest = f"WHERE {self._kind.terms.place}_id IN {{each $1}} ORDER BY id"
        return await self._alone.every(tx, rest, each(place_ids))

    async def named(
        self,
        tx: Transaction,
        seen: str,
        args: list[object],
        of: tuple[str | None, str | None],
        page: Page,
    ) -> Paged[NamedGrant[G]]:
        """A page of those that are seen, `of` one place or team, or of all."""
        table, place = self._table, self._kind.terms.place
        for column, id_ in zip((f"{place}_id", "team_id"), of, strict=True):
            if id_ is not None:
                args.append(id_)
                seen += f" AND {table}.{column} = ${len(args)}"
        return await self._named.paged(tx, seen, f"{place}s.name_folded, {table}.id", args, page)


ON_WORKSPACES, ON_PROJECTS = Grants(Grant, "grants"), Grants(ProjectGrant, "project_grants")


async def find_visible(
    tx: Transaction, seen: Sight, workspace_id: str | None, team_id: str | None, page: Page
) -> Paged[NamedGrant[Grant]]:
    """A page of the grants of teams that a caller sees, on workspaces that they may read, by the
    names of these: of one workspace or team, or of all.
    """
    secrets, spaces = map(seen.having, (Right.ACCESS_SECRET_TEAMS, Right.READ_WORKSPACES))
    args: list[object] = [each(ids) for ids in (seen.rights, secrets, spaces, seen.team_ids)]
    return await ON_WORKSPACES.named(tx, _SEEN, args, (workspace_id, team_id), page)


async def find_visible_on_projects(
    tx: Transaction, seen: Sight, project_id: str | None, team_id: str | None, page: Page
) -> Paged[NamedGrant[ProjectGrant]]:
    """A page of the grants of teams that a caller sees, on projects that they see, by the names of
    these: of one project or team, or of all.
    """
    rights = Right.ACCESS_SECRET_TEAMS, Right.READ_PROJECTS, Right.READ_WORKSPACES
    having = (each(seen.having(right)) for right in rights)
    args: list[object] = [each(seen.rights), *having, each(seen.team_ids)]
    return await ON_PROJECTS.named(tx, _SEEN_ON_PROJECTS, args, (project_id, team_id), page)


async def beyond(
    tx: Transaction, team_ids: Iterable[str], own: Iterable[str], everywhere: Level
) -> set[str]:
    """Those of the teams that may do more in some workspace than the teams `own` together, which
    have a level everywhere.
    """
    sql = f"""
SELECT its.team_id FROM grants AS its
WHERE its.team_id IN {{each $1}} AND its.level > $3 AND NOT EXISTS (
    SELECT 1 FROM grants AS own
    WHERE own.workspace_id = its.workspace_id AND own.level >= its.level
        AND own.team_id IN {{each $2}}
) AND NOT EXISTS (
    SELECT 1 FROM workspaces JOIN project_grants AS own ON own.project_id = {PROJECT_OF}
    WHERE workspaces.id = its.workspace_id AND own.level >= its.level
        AND own.team_id IN {{each $2}})
UNION
SELECT its.team_id FROM project_grants AS its
WHERE its.team_id IN {{each $1}} AND its.level > $3 AND NOT EXISTS (
    SELECT 1 FROM project_grants AS own
    WHERE own.project_id = its.project_id AND own.level >= its.level
        AND own.team_id IN {{each $2}})
"""
    return set(await tx.column(sql, each(team_ids), each(own), everywhere.value))


async def levels_of_sets(
    tx: Transaction, project_ids: Iterable[str], team_ids: Iterable[str]
) -> dict[str, Level]:
    """What members of these teams may do with the variable sets of some projects by their grants,
    by the ids of those on which they have any.
    """
    rows = await tx.fetch(
        "SELECT project_id, max(set_level) FROM project_grants "
        "WHERE project_id IN {each $1} AND team_id IN {each $2} GROUP BY project_id",
        each(project_ids),
        each(team_ids),
    )
    return {id_: Level(level) for id_, level in rows}


async def holders(tx: Transaction, workspace: Workspace, now: int) -> WorkspaceHolders:
    """All who may read the variables of a workspace."""
    place = workspace.organization_id, workspace.id
    found = [_holder(one) for one in await tx.fetch(_USERS, *place)]
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
    reading = Reading("kind, id, name, team_id, level", _PRINCIPALS, tuple)
    found = await reading.paged(tx, "", "rank, id", (*place, now), page)
    ways: defaultdict[str, list[Way]] = defaultdict(list)
    for kind, id_, name, team_id, level in found.items:
        if kind == "team-token":
            ways[id_].append(Way(team_id, name, Level(level)))
    users = each(id_ for kind, id_, *_ in found.items if kind == "user")
    for id_, *way in await tx.fetch(_WAYS, *place, users):
        ways[id_].append(Way(way[0], way[1], Level(way[2])))
    listed = [Principal(kind, id_, name, ways[id_]) for kind, id_, name, *_ in found.items]
    return Paged([one for one in listed if one.level >= Level.READ], found.total)


def _holder(row: Row) -> Holder:
    id_, name, level, team, status, disabled = row
    standing = Standing.DISABLED if disabled else Standing(status)
    return Holder("user", id_, name, Level(level), team, standing)
