"""Grants on projects as rows."""

from collections.abc import Iterable

from teamvars.domain.access import Level, Sight
from teamvars.domain.pages import Page, Paged
from teamvars.domain.project_grants import (
    PERMISSIONS,
    PERMISSIONS_OF,
    ProjectAccessType,
    ProjectGrant,
)
from teamvars.domain.team_access import GRANT_LEVELS, NamedGrant
from teamvars.domain.teams import Right, Visibility
from teamvars.storage.client_settings import from_column
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.pages import Reading
from teamvars.storage.projects import OF_ANY, OF_REACHED

_LEVELS = {level.value: level for level in GRANT_LEVELS}
_COLUMNS = ", ".join(
    f"project_grants.{name}"
    for name in ("id", "organization_id", "team_id", "project_id", "access", "level", "custom")
)
_TABLES = (
    "project_grants JOIN teams ON teams.id = project_grants.team_id "
    "JOIN projects ON projects.id = project_grants.project_id"
)
# $1: organizations, $2: those whose teams are all seen, $3: those whose projects are, $4: those
# whose workspaces are all read, $5: teams.
_SEEN = f"""WHERE teams.organization_id IN {{each $1}}
    AND (
        teams.visibility = 'organization' OR teams.organization_id IN {{each $2}}
        OR teams.id IN {{each $5}}
    )
    AND (
        projects.organization_id IN {{each $3}}
        OR projects.organization_id IN {{each $4}} AND {OF_ANY.replace("$n", "$5")}
        OR {OF_REACHED.replace("$n", "$5")}
    )"""


def _grant(row: Row) -> ProjectGrant:
    id_, organization_id, team_id, project_id, word, level, stored = row
    access, custom = ProjectAccessType(word), from_column(PERMISSIONS, id_, stored)
    said = {} if access in PERMISSIONS_OF else custom
    return ProjectGrant(id_, organization_id, team_id, project_id, access, _LEVELS[level], said)


_GRANTS = Reading(_COLUMNS, "project_grants", _grant)
_NAMED = Reading(
    f"{_COLUMNS}, teams.name, teams.visibility, projects.name",
    _TABLES,
    lambda row: NamedGrant(_grant(row[:7]), row[7], Visibility(row[8]), row[9]),
)


async def get(tx: Transaction, grant_id: str) -> ProjectGrant:
    """A grant on a project by id. Refuses: not found."""
    return await _GRANTS.get(tx, "WHERE id = $1", grant_id)


async def find_visible(
    tx: Transaction, seen: Sight, project_id: str | None, team_id: str | None, page: Page
) -> Paged[NamedGrant[ProjectGrant]]:
    """A page of the grants of teams that a caller sees, on projects that they see, by the names of
    these: of one project or team, or of all.
    """
    rights = Right.ACCESS_SECRET_TEAMS, Right.READ_PROJECTS, Right.READ_WORKSPACES
    having = (each(seen.having(right)) for right in rights)
    args: list[object] = [each(seen.rights), *having, each(seen.team_ids)]
    wanted = _SEEN
    for column, id_ in (("project_id", project_id), ("team_id", team_id)):
        if id_ is not None:
            args.append(id_)
            wanted += f" AND project_grants.{column} = ${len(args)}"
    return await _NAMED.paged(tx, wanted, "projects.name_folded, project_grants.id", args, page)


async def of_teams(tx: Transaction, team_ids: Iterable[str]) -> list[ProjectGrant]:
    """All grants of teams on projects."""
    return await _GRANTS.every(tx, "WHERE team_id IN {each $1}", each(team_ids))


async def of_projects(tx: Transaction, project_ids: Iterable[str]) -> list[ProjectGrant]:
    """All grants on projects, by id."""
    rest = "WHERE project_id IN {each $1} ORDER BY id"
    return await _GRANTS.every(tx, rest, each(project_ids))


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
