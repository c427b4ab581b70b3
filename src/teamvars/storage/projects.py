"""Projects as rows, and which workspaces are in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from teamvars.domain.access import Level, OrganizationAccess, ProjectAccess
from teamvars.domain.errors import not_found
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.projects import DEFAULT_NAME, SETTINGS, Project, ProjectSearch, default_project
from teamvars.domain.teams import Right
from teamvars.storage.database import Row, Statement, Transaction, each
from teamvars.storage.pages import Reading, containing, for_each, where
from teamvars.storage.tables import from_column

_DEFAULT_OF = "'prj-' || substr(organizations.id, 5)"
PROJECT_OF = (
    "CAST(coalesce(workspaces.project_id, 'prj-' || substr(workspaces.organization_id, 5)) AS TEXT)"
)
"""The project that a workspace is in, as the index has it."""
TARGETS_OF = f"(workspaces.id, workspaces.organization_id, {PROJECT_OF})"
"""What a set is attached to that reaches a workspace: that itself, or all that it is in."""

_COLUMNS = "id, organization_id, name, name_folded, settings, created_at"
# The default project of an organization that an older release has made, or is to get.
_MISSING = f"""
SELECT {_DEFAULT_OF} AS id, organizations.id AS organization_id, '{DEFAULT_NAME}' AS name,
    '{fold(DEFAULT_NAME)}' AS name_folded, '{{}}' AS settings, organizations.created_at
FROM organizations
WHERE NOT EXISTS (SELECT 1 FROM projects WHERE projects.id = {_DEFAULT_OF})"""
# Last what has columns of a table: on SQLite they say of which types all rows are.
_ALL = f"({_MISSING} UNION ALL SELECT {_COLUMNS} FROM projects) AS projects"


def reached(level: Level) -> str:
    """The workspaces in which teams may do that by a grant, on these or on their projects. CROSS
    JOIN fixes the order of the joins on SQLite.
    """
    return f"""SELECT grants.workspace_id FROM grants
        WHERE grants.team_id IN {{each $n}} AND grants.level >= {level:d}
        UNION ALL
        SELECT reached.id FROM project_grants CROSS JOIN workspaces AS reached
        WHERE project_grants.team_id IN {{each $n}} AND project_grants.level >= {level:d}
            AND {PROJECT_OF.replace("workspaces.", "reached.")} = project_grants.project_id"""


REACHED = reached(Level.READ)
"""The workspaces that teams read."""

# $n: teams. A project is seen by whoever sees a workspace in it, or has a grant on it.
_BY_GRANTS = "SELECT project_grants.project_id FROM project_grants WHERE team_id IN {each $n}"
OF_REACHED = f"""projects.id IN (
        SELECT {PROJECT_OF} FROM workspaces WHERE workspaces.id IN ({REACHED})
        UNION ALL {_BY_GRANTS})"""
OF_ANY = f"""(projects.id IN ({_BY_GRANTS}) OR EXISTS (
        SELECT 1 FROM workspaces
        WHERE workspaces.organization_id = projects.organization_id
            AND {PROJECT_OF} = projects.id))"""


def _project(row: Row) -> Project:
    id_, organization_id, name, _, settings, created_at = row
    return Project(id_, organization_id, name, created_at, from_column(SETTINGS, id_, settings))


_STORED = Reading(_COLUMNS, "projects", _project)
_PROJECTS = Reading(_COLUMNS, _ALL, _project)


def keeping_default(organization_id: str) -> Statement:
    """The statement that adds the default project where there is no row for it yet."""
    sql = f"INSERT INTO projects ({_COLUMNS}) {_MISSING} AND organizations.id = $1"
    return Statement(sql, (organization_id,))


def putting(project: Project, workspace_ids: Iterable[str]) -> Statement:
    """The statement that puts workspaces into a project."""
    sql = "UPDATE workspaces SET project_id = $1 WHERE id IN {each $2}"
    return Statement(sql, (None if project.is_default else project.id, each(workspace_ids)))


async def get(tx: Transaction, project_id: str) -> Project:
    """A project by id. Refuses: not found."""
    found = await _STORED.one(tx, "WHERE id = $1", project_id)
    if found is not None:
        return found
    owner_id = f"org-{project_id.removeprefix('prj-')}"
    row = await tx.fetch_one("SELECT created_at FROM organizations WHERE id = $1", owner_id)
    if row is None or not project_id.startswith("prj-"):
        raise not_found()
    return default_project(owner_id, row[0])


async def find_visible(
    tx: Transaction, granted: OrganizationAccess, wanted: ProjectSearch, page: Page
) -> Paged[Project]:
    """A page of the projects of an organization that a caller sees and wants, by name."""
    names, part, owner_id = wanted.names, wanted.part, granted.organization.id
    conditions, args = where(
        ("organization_id = $n", owner_id),
        ("name_folded IN {each $n}", None if names is None else each(map(fold, names))),
        ("name_folded LIKE $n ESCAPE '!'", None if part is None else containing(part)),
        _of_seen(granted),
        *bound(wanted.bindings, _tagged),
    )
    order = "name_folded DESC" if wanted.is_reversed else "name_folded"
    return await _PROJECTS.paged(tx, f"WHERE {conditions}", order, args, page)


async def find_by_ids(
    tx: Transaction, organization_id: str, project_ids: Iterable[str]
) -> list[Project]:
    """Those projects of an organization that there are, by id."""
    rest = "WHERE organization_id = $1 AND id IN {each $2} ORDER BY id"
    return await _PROJECTS.every(tx, rest, organization_id, each(project_ids))


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[Project]:
    """All projects of organizations, by id."""
    rest = "WHERE organization_id IN {each $1} ORDER BY id"
    return await _PROJECTS.every(tx, rest, each(organization_ids))


async def placed(tx: Transaction, organization_ids: Iterable[str]) -> Mapping[str, str]:
    """The projects of those workspaces of organizations that are not in the default one, by the
    workspaces' ids.
    """
    return await tx.pairs(
        "SELECT id, project_id FROM workspaces "
        "WHERE organization_id IN {each $1} AND project_id IS NOT NULL",
        each(organization_ids),
    )


async def count_workspaces(tx: Transaction, project_id: str) -> int:
    """How many workspaces are in a project."""
    return await tx.count(f"SELECT count(*) FROM workspaces WHERE {PROJECT_OF} = $1", project_id)


async def places(tx: Transaction, organization_id: str) -> Mapping[str, str]:
    """The project that each workspace of an organization is in, by id."""
    return await tx.pairs(
        f"SELECT id, {PROJECT_OF} FROM workspaces WHERE organization_id = $1", organization_id
    )


async def views(
    tx: Transaction, owner: OrganizationAccess, found: Sequence[Project]
) -> list[ProjectAccess]:
    """What a caller may do with projects of an organization that they see, and how many workspaces
    and teams they see of each.
    """
    ids, own = each(one.id for one in found), each(owner.team_ids)
    spaces, args = where(
        (f"{PROJECT_OF} IN {{each $n}}", ids),
        (f"workspaces.id IN ({REACHED})", None if owner.everywhere >= Level.READ else own),
    )
    secret = owner.sees_secret
    teams, more = where(
        ("project_id IN {each $n}", ids),
        (
            "(teams.visibility = 'organization' OR teams.id IN {each $n})",
            None if secret is None else each(secret),
        ),
    )
    inside = await tx.fetch(
        f"SELECT {PROJECT_OF}, count(*) FROM workspaces WHERE {spaces} GROUP BY 1", *args
    )
    having = await tx.fetch(
        f"SELECT project_id, count(*), max(CASE WHEN teams.id IN {{each ${len(more) + 1}}} "
        "THEN set_level ELSE 0 END) FROM project_grants "
        f"JOIN teams ON teams.id = project_grants.team_id WHERE {teams} GROUP BY 1",
        *more,
        own,
    )
    counts: dict[str, int] = dict(inside)  # type: ignore[arg-type]  # of two columns
    theirs = {id_: (count, Level(level)) for id_, count, level in having}
    no_team = 0, Level.NONE
    bound = await bindings(tx, [one.id for one in found])
    return [
        ProjectAccess(
            one,
            owner,
            counts.get(one.id, 0),
            theirs.get(one.id, no_team)[0],
            bound.get(one.id, {}),
            theirs.get(one.id, no_team)[1],
        )
        for one in found
    ]


async def bindings(tx: Transaction, project_ids: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """The tags of those projects that have some, by the projects' ids."""
    found: dict[str, dict[str, str]] = {}
    for project_id, key, value in await tx.fetch(
        "SELECT project_id, key, value FROM project_tags "
        "WHERE project_id IN {each $1} ORDER BY key",
        each(project_ids),
    ):
        found.setdefault(project_id, {})[key] = value
    return found


async def sees(tx: Transaction, owner: OrganizationAccess, project_id: str) -> bool:
    """Whether a caller sees a project of an organization."""
    its_owner = "organization_id = $n", owner.organization.id
    condition, args = where(its_owner, ("id = $n", project_id), _of_seen(owner))
    return await _PROJECTS.one(tx, f"WHERE {condition}", *args) is not None


async def seen_among(
    tx: Transaction, owner: OrganizationAccess, project_ids: Iterable[str]
) -> list[Project]:
    """Those of some projects of an organization that a caller sees, by id."""
    condition, args = where(
        ("organization_id = $n", owner.organization.id),
        ("id IN {each $n}", each(project_ids)),
        _of_seen(owner),
    )
    return await _PROJECTS.every(tx, f"WHERE {condition} ORDER BY id", *args)


def bound(
    bindings: Iterable[tuple[str, str | None]], tagged: Callable[[str], str]
) -> Iterator[tuple[str, object]]:
    """What makes something one that has all the bindings: a key, and unless that is None its value.
    `tagged` says whether it has one of which that is so.
    """
    every = set(bindings)
    keys = [key for key, value in every if value is None]
    yield for_each(lambda key: tagged(f"key = {key}"), keys)
    # Neither has a bar, so nothing else is written like both.
    both = [f"{key}|{value}" for key, value in every if value is not None]
    yield for_each(lambda text: tagged(f"key || '|' || value = {text}"), both)


def _tagged(condition: str) -> str:
    its = "SELECT 1 FROM project_tags WHERE project_tags.project_id = projects.id"
    return f"EXISTS ({its} AND {condition})"


def _of_seen(owner: OrganizationAccess) -> tuple[str, object]:
    """What makes a project one that a caller sees, unless they see all."""
    if Right.READ_PROJECTS in owner.rights:
        return "", None
    return OF_ANY if owner.everywhere >= Level.READ else OF_REACHED, each(owner.team_ids)
