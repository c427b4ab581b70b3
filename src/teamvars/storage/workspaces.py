"""Workspaces as rows."""

from collections.abc import Collection, Mapping

from teamvars.domain import organization_settings
from teamvars.domain.access import Level
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.tags import Tags
from teamvars.domain.workspace_settings import SETTINGS
from teamvars.domain.workspaces import (
    ExecutionMode,
    Workspace,
    WorkspaceDetails,
    WorkspaceRecord,
    WorkspaceSearch,
    WorkspaceSettings,
    default_mode,
)
from teamvars.storage import tags
from teamvars.storage.client_settings import from_column
from teamvars.storage.database import Transaction, each
from teamvars.storage.pages import Reading, containing, matching, where

# Of teams' ids comes the first parameter that is not a condition's. For who sees all comes then the
# level that they have everywhere.
_ALL_SEEN = """
SELECT workspaces.id, workspaces.name, workspaces.name_folded, coalesce((
        SELECT max(grants.level) FROM grants
        WHERE grants.workspace_id = workspaces.id AND grants.team_id IN {each $%(teams)d}
            AND grants.level > $%(level)d
    ), CAST($%(level)d AS BIGINT)) AS level
FROM workspaces
WHERE %(wanted)s
"""
_SEEN_BY_TEAMS = f"""
SELECT workspaces.id, workspaces.name, workspaces.name_folded, max(grants.level) AS level
FROM workspaces JOIN grants ON grants.workspace_id = workspaces.id
WHERE %(wanted)s
    AND grants.team_id IN {{each $%(teams)d}} AND grants.level >= {Level.READ.value}
GROUP BY workspaces.id, workspaces.name, workspaces.name_folded
"""


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
    row = await tx.fetch_one(
        "SELECT workspaces.id, workspaces.name, organizations.id, organizations.name "
        "FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id "
        "WHERE organizations.name_folded = $1 AND workspaces.name_folded = $2",
        fold(organization),
        fold(name),
    )
    return None if row is None else Workspace(*row)


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
    )
    text = _SEEN_BY_TEAMS if everywhere < Level.READ else _ALL_SEEN
    first = len(args) + 1
    visible = text % {"wanted": conditions, "teams": first, "level": first + 1}
    args += [each(team_ids), everywhere.value] if text is _ALL_SEEN else [each(team_ids)]
    owner = organization.id, organization.name
    order = "name_folded DESC" if wanted.is_reversed else "name_folded"
    listed = Reading(
        "id, name, level",
        f"({visible}) AS visible",
        lambda row: (Workspace(row[0], row[1], *owner), Level(row[2])),
    )
    return await listed.paged(tx, "", order, args, page)


async def find_records(
    tx: Transaction, organization_id: str, workspace_ids: Collection[str]
) -> list[WorkspaceRecord]:
    """Those workspaces of an organization that there are, by id."""
    rows = await tx.fetch(
        "SELECT workspaces.id, workspaces.name, organizations.id, organizations.name, "
        "workspaces.execution_mode, workspaces.terraform_version, workspaces.settings, "
        "organizations.settings, workspaces.locked_by "
        "FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id "
        "WHERE workspaces.organization_id = $1 AND workspaces.id IN {each $2} "
        "ORDER BY workspaces.id",
        organization_id,
        each(workspace_ids),
    )
    tagged = await tags.of_workspaces(tx, workspace_ids)
    return [
        WorkspaceRecord(
            Workspace(*row[:4]), _settings(row[0], *row[4:8]), row[8], tagged.get(row[0], Tags())
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
    """The details of workspaces by id."""
    ids = each(workspace_ids)
    variables: dict[str, list[str]] = {id_: [] for id_ in workspace_ids}
    for workspace_id, variable_id in await tx.fetch(
        "SELECT workspace_id, id FROM variables WHERE workspace_id IN {each $1} "
        "ORDER BY created_at DESC, id",
        ids,
    ):
        variables[workspace_id].append(variable_id)
    tagged = await tags.of_workspaces(tx, workspace_ids)
    rows = await tx.fetch(
        "SELECT workspaces.id, workspaces.execution_mode, workspaces.terraform_version, "
        "workspaces.settings, organizations.settings, workspaces.locked_by, "
        "workspaces.created_at, CAST(streams.variables AS BIGINT) "
        "FROM workspaces JOIN streams ON streams.id = workspaces.id "
        "JOIN organizations ON organizations.id = workspaces.organization_id "
        "WHERE workspaces.id IN {each $1}",
        ids,
    )
    return {
        id_: WorkspaceDetails(
            _settings(id_, mode, version, others, owners),
            locked_by,
            created_at,
            variables[id_],
            count,
            tagged.get(id_, Tags()),
        )
        for id_, mode, version, others, owners, locked_by, created_at, count in rows
    }


def _settings(id_: str, mode: str, version: str, others: str, owners: str) -> WorkspaceSettings:
    """What is stored of a workspace's settings, and of those of its organization."""
    values = from_column(SETTINGS, id_, others)
    whole = from_column(organization_settings.SETTINGS, f"organization of {id_}", owners)
    return WorkspaceSettings(ExecutionMode(mode), version, values, default_mode(whole))
