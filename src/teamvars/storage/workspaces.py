"""Workspaces as rows."""

from collections.abc import Collection, Mapping

from teamvars.domain.access import Level, OrganizationAccess
from teamvars.domain.names import fold
from teamvars.domain.organizations import SETTINGS as OF_ORGANIZATION
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.projects import SETTINGS as OF_PROJECT
from teamvars.domain.tags import Tags
from teamvars.domain.workspaces import (
    SETTINGS,
    ExecutionMode,
    Workspace,
    WorkspaceDetails,
    WorkspaceRecord,
    WorkspaceSearch,
    WorkspaceSettings,
    default_mode,
)
from teamvars.storage import projects, tags, variables
from teamvars.storage.database import Transaction, each
from teamvars.storage.pages import Reading, containing, matching, where
from teamvars.storage.projects import PROJECT_OF, REACHED
from teamvars.storage.tables import from_column

# Of a page alone: in one statement with it they are found of all workspaces before it as well.
_LEVELS = f"""
SELECT workspaces.id, coalesce((
        SELECT max(its_grants.level) FROM (
            SELECT grants.level FROM grants
            WHERE grants.workspace_id = workspaces.id AND grants.team_id IN {{each $2}}
            UNION ALL
            SELECT project_grants.level FROM project_grants
            WHERE project_grants.project_id = {PROJECT_OF}
                AND project_grants.team_id IN {{each $2}}
        ) AS its_grants WHERE its_grants.level > $3
    ), CAST($3 AS BIGINT)) AS level
FROM workspaces
WHERE workspaces.id IN {{each $1}}
"""
_SETTINGS = (
    "workspaces.execution_mode, workspaces.terraform_version, workspaces.settings, "
    "organizations.settings, coalesce(projects.settings, '{}')"
)
_WITH_DEFAULTS = f"""JOIN organizations ON organizations.id = workspaces.organization_id
    LEFT JOIN projects ON projects.id = {PROJECT_OF}"""


async def of_organizations(
    tx: Transaction, organization_ids: Collection[str]
) -> list[tuple[Workspace, int]]:
    """The workspaces of organizations by id, and how many variables each has."""
    rows = await tx.fetch(
        "SELECT workspaces.id, workspaces.name, organizations.id, organizations.name, "
        "CAST(streams.variables AS BIGINT) "
        "FROM workspaces JOIN streams ON streams.id = workspaces.id "
        "JOIN organizations ON organizations.id = workspaces.organization_id "
        "WHERE workspaces.organization_id IN {each $1} ORDER BY workspaces.id",
        each(organization_ids),
    )
    return [(Workspace(*row[:4]), row[4]) for row in rows]


async def find_named(tx: Transaction, organization: str, name: str) -> Workspace | None:
    """A workspace by its own name and that of its organization."""
    return await tx.first(
        Workspace,
        "SELECT workspaces.id, workspaces.name, organizations.id, organizations.name "
        "FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id "
        "WHERE organizations.name_folded = $1 AND workspaces.name_folded = $2",
        fold(organization),
        fold(name),
    )


async def find_visible(
    tx: Transaction,
    organization: Organization,
    seen: tuple[Level, Collection[str]],
    wanted: WorkspaceSearch,
    page: Page,
) -> Paged[tuple[Workspace, Level]]:
    """A page of the workspaces that a caller may see, by name.

    `seen`: the level that they have in every workspace, and the teams whose grants they have.
    """
    everywhere, team_ids = seen
    conditions, args = where(
        ("workspaces.organization_id = $n", organization.id),
        ("workspaces.name_folded LIKE $n ESCAPE '!'", containing(wanted.part)),
        ("workspaces.name_folded LIKE $n ESCAPE '!'", matching(wanted.wildcard)),
        *tags.conditions(wanted),
        (f"{PROJECT_OF} = $n", wanted.project_id),
        (f"workspaces.id IN ({REACHED})", each(team_ids) if everywhere < Level.READ else None),
    )
    owner = organization.id, organization.name
    order = "name_folded DESC" if wanted.is_reversed else "name_folded"
    listed = Reading("id, name", "workspaces", lambda row: Workspace(row[0], row[1], *owner))
    found = await listed.paged(tx, f"WHERE {conditions}", order, args, page)
    ids = each(one.id for one in found.items)
    levels = await tx.pairs(_LEVELS, ids, each(team_ids), everywhere.value)
    shown = [(one, Level(levels.get(one.id, everywhere))) for one in found.items]
    return Paged(shown, found.total)


async def seen_among(
    tx: Transaction, owner: OrganizationAccess, workspace_ids: Collection[str]
) -> set[str]:
    """The ids of those of some workspaces of an organization that a caller sees."""
    own = None if owner.everywhere >= Level.READ else each(owner.team_ids)
    condition, args = where(
        ("organization_id = $n", owner.organization.id),
        ("id IN {each $n}", each(workspace_ids)),
        (f"id IN ({REACHED})", own),
    )
    return set(await tx.column(f"SELECT id FROM workspaces WHERE {condition}", *args))


async def find_records(
    tx: Transaction, organization_id: str, workspace_ids: Collection[str]
) -> list[WorkspaceRecord]:
    """Those workspaces of an organization that there are, by id."""
    rows = await tx.fetch(
        "SELECT workspaces.id, workspaces.name, organizations.id, organizations.name, "
        f"{_SETTINGS}, workspaces.locked_by, workspaces.project_id "
        f"FROM workspaces {_WITH_DEFAULTS} "
        "WHERE workspaces.organization_id = $1 AND workspaces.id IN {each $2} "
        "ORDER BY workspaces.id",
        organization_id,
        each(workspace_ids),
    )
    tagged = await tags.of_workspaces(tx, workspace_ids)
    return [
        WorkspaceRecord(
            Workspace(*row[:4]),
            _settings(row[0], *row[4:9]),
            row[9],
            tagged.get(row[0], Tags()),
            row[10],
        )
        for row in rows
    ]


async def tagged(
    tx: Transaction, organization_id: str, tag_ids: Collection[str]
) -> list[WorkspaceRecord]:
    """The workspaces of an organization that have some of these tags, by id."""
    return await find_records(tx, organization_id, await tags.workspaces_with(tx, tag_ids))


async def find_details(
    tx: Transaction, workspace_ids: Collection[str]
) -> Mapping[str, WorkspaceDetails]:
    """The details of workspaces by id; one that has gone, or whose id was altered, has none."""
    ids = each(workspace_ids)
    tagged = await tags.of_workspaces(tx, workspace_ids)
    rows = await tx.fetch(
        f"SELECT workspaces.id, {PROJECT_OF}, {_SETTINGS}, "
        "workspaces.locked_by, workspaces.created_at, "
        "CAST(streams.variables AS BIGINT), workspaces.project_id "
        f"FROM workspaces JOIN streams ON streams.id = workspaces.id {_WITH_DEFAULTS} "
        "WHERE workspaces.id IN {each $1}",
        ids,
    )
    inherited = await projects.bindings(tx, {row[1] for row in rows})
    counts = {id_: count for id_, *_, count, _ in rows}
    its_variables = await variables.ids_of_owners(tx, "variables", "workspace_id", counts)
    return {
        id_: WorkspaceDetails(
            _settings(id_, *said),
            locked_by,
            created_at,
            its_variables.get(id_),
            count,
            tagged.get(id_, Tags()),
            project_id,
            inherited.get(home, {}),
        )
        for id_, home, *said, locked_by, created_at, count, project_id in rows
    }


def _settings(id_: str, *said: str) -> WorkspaceSettings:
    """What is stored of a workspace's settings, and of those of its organization and project."""
    mode, version, others, owners, its_project = said
    default = default_mode(
        from_column(OF_ORGANIZATION, f"organization of {id_}", owners),
        from_column(OF_PROJECT, f"project of {id_}", its_project),
    )
    values = from_column(SETTINGS, id_, others)
    return WorkspaceSettings(ExecutionMode(mode), version, values, default)
