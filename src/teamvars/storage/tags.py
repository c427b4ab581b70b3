"""Tags as rows of their workspaces, and what workspaces are found by."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from teamvars.domain.errors import not_found
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.tags import Tag, Tags, TagSearch
from teamvars.domain.workspaces import WorkspaceSearch
from teamvars.storage.database import Statement, Transaction, each
from teamvars.storage.pages import Reading, containing, for_each, where
from teamvars.storage.projects import PROJECT_OF, REACHED, bound

_OF_WORKSPACE = "workspace_tags WHERE workspace_tags.workspace_id = workspaces.id"
_OF_ITS_PROJECT = f"project_tags WHERE project_tags.project_id = {PROJECT_OF}"
_NOT_ITS_OWN = f"""NOT EXISTS (SELECT 1 FROM {_OF_WORKSPACE}
    AND workspace_tags.value IS NOT NULL AND workspace_tags.key = project_tags.key)"""
_SEEN = f"workspaces.id IN ({REACHED})"
# Something has few tags, and may be asked for a hundred words: no engine is to look for each of
# these in an index, and PostgreSQL is to hash them once.
_AMONG = "(key_folded IN (SELECT its.value FROM {texts $n} AS its)) IS TRUE"


async def of_workspaces(tx: Transaction, workspace_ids: Collection[str]) -> Mapping[str, Tags]:
    """The tags of those workspaces that have some, by the workspaces' ids."""
    names: dict[str, list[str]] = {}
    bindings: dict[str, dict[str, str]] = {}
    for workspace_id, key, value in await tx.fetch(
        "SELECT workspace_id, key, value FROM workspace_tags "
        "WHERE workspace_id IN {each $1} ORDER BY key",
        each(workspace_ids),
    ):
        if value is None:
            names.setdefault(workspace_id, []).append(key)
        else:
            bindings.setdefault(workspace_id, {})[key] = value
    return {
        id_: Tags(tuple(names.get(id_, ())), bindings.get(id_, {})) for id_ in {*names, *bindings}
    }


def conditions(wanted: WorkspaceSearch) -> Iterator[tuple[str, object]]:
    """What makes a workspace one with the wanted tags, each with the value of its `$n`."""
    yield for_each(lambda word: _either(f"key_folded = {word}"), {*map(fold, wanted.tags)})
    yield f"NOT {_either(_AMONG)}", each(map(fold, wanted.without)) if wanted.without else None
    yield from bound(wanted.bindings, _either)


def _either(condition: str) -> str:
    """Whether a workspace has such a tag, or from its project such a binding."""
    return (
        f"(EXISTS (SELECT 1 FROM {_OF_WORKSPACE} AND {condition}) OR EXISTS (SELECT 1 FROM "
        f"{_OF_ITS_PROJECT} AND {condition} AND {_NOT_ITS_OWN}))"
    )


async def names_of(
    tx: Transaction, organization_id: str, tag_ids: Collection[str]
) -> Mapping[str, str]:
    """The names, by id, of those tags that workspaces of the organization have."""
    return await tx.pairs(
        "SELECT DISTINCT workspace_tags.tag_id, workspace_tags.key FROM workspace_tags "
        "JOIN workspaces ON workspaces.id = workspace_tags.workspace_id "
        "WHERE workspaces.organization_id = $1 AND workspace_tags.tag_id IN {each $2}",
        organization_id,
        each(tag_ids),
    )


async def workspaces_with(tx: Transaction, tag_ids: Collection[str]) -> list[str]:
    """The ids of the workspaces that have some of these tags."""
    sql = "SELECT DISTINCT workspace_id FROM workspace_tags WHERE tag_id IN {each $1}"
    return await tx.column(sql, each(tag_ids))


def taking(tag_ids: Iterable[str], workspace_ids: Iterable[str]) -> Statement:
    """The statement that takes tags from workspaces."""
    sql = "DELETE FROM workspace_tags WHERE tag_id IN {each $1} AND workspace_id IN {each $2}"
    return Statement(sql, (each(tag_ids), each(workspace_ids)), is_long=True)


async def find(tx: Transaction, tag_id: str) -> tuple[str, str]:
    """The organization and the name of a tag. Refuses: not found."""
    row = await tx.fetch_one(
        "SELECT workspaces.organization_id, workspace_tags.key FROM workspace_tags "
        "JOIN workspaces ON workspaces.id = workspace_tags.workspace_id "
        "WHERE workspace_tags.tag_id = $1 LIMIT 1",
        tag_id,
    )
    if row is None:
        raise not_found()
    return row[0], row[1]


async def find_visible(
    tx: Transaction,
    organization: Organization,
    team_ids: Collection[str] | None,
    wanted: TagSearch,
    page: Page,
) -> Paged[Tag]:
    """A page of the tags of those workspaces that the teams may see, by name, with how many of
    these have each. Without `team_ids` all workspaces are seen.
    """
    seen, args = where(
        ("workspaces.organization_id = $n", organization.id), (_SEEN, each(team_ids))
    )
    of_seen = f"workspace_tags JOIN workspaces ON workspaces.id = workspace_id WHERE {seen}"
    narrowed = f"{of_seen} AND tag_id IS NOT NULL AND key LIKE ${len(args) + 1} ESCAPE '!'"
    args.append(containing(wanted.part))
    if wanted.not_of is not None:
        of_one = f"SELECT tag_id FROM {of_seen} AND tag_id IS NOT NULL"
        args.append(wanted.not_of)
        narrowed += f" AND tag_id NOT IN ({of_one} AND workspace_id = ${len(args)})"
    counted = f"SELECT tag_id, key, count(*) AS instances FROM {narrowed} GROUP BY tag_id, key"
    tags = Reading(
        "tag_id, key, instances",
        f"({counted}) AS tags",
        lambda row: Tag(row[0], row[1], organization.name, row[2]),
    )
    return await tags.paged(tx, "", "key", args, page)
