"""Variable sets as rows, and what they are attached to."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from teamvars.domain.access import Level
from teamvars.domain.applies import Name
from teamvars.domain.pages import Page, Paged
from teamvars.domain.set_effects import Contest, Held, Layout, Standing
from teamvars.domain.variable_sets import Attached, SetDetails, SetSearch, VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.pace import in_batches
from teamvars.storage import projects, variables
from teamvars.storage.access import set_of
from teamvars.storage.access_statements import REACHES_SOME, SET_COLUMNS
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.pages import Reading, containing, where
from teamvars.storage.projects import (
    OF_ANY,
    OF_REACHED,
    PROJECT_OF,
    REACHED,
    TARGETS_OF,
    reached,
)

_NAME = "variable_sets.name_folded"
# What teams read says which sets they see: asked of each set, it would be found for all of them.
_READ_BY_TEAMS = f"""variable_sets.id IN (
        WITH its AS MATERIALIZED (
            SELECT workspaces.id, workspaces.organization_id, {PROJECT_OF} AS project_id
            FROM workspaces WHERE workspaces.id IN ({REACHED})
        )
        SELECT set_targets.set_id FROM (
            SELECT id FROM its UNION ALL SELECT DISTINCT project_id FROM its
            UNION ALL SELECT DISTINCT organization_id FROM its
        ) AS targets CROSS JOIN set_targets WHERE set_targets.target_id = targets.id)"""
# $n: a workspace. Sets of other projects than its own never reach it.
_REACHES_NOT = f"""EXISTS (
        SELECT 1 FROM workspaces
        WHERE workspaces.id = $n AND coalesce(variable_sets.project_id, {PROJECT_OF}) = {PROJECT_OF}
            AND NOT EXISTS (
                SELECT 1 FROM set_targets WHERE set_targets.set_id = variable_sets.id
                    AND set_targets.target_id
                        IN {TARGETS_OF}))"""

_KEYS_AT_ONCE = 20
# $1: organizations, $2: keys.
_IN_SETS = """
SELECT others.set_id, others.key, others.category FROM variable_sets
JOIN set_variables AS others ON others.set_id = variable_sets.id
WHERE variable_sets.organization_id IN {each $1} AND others.key IN {each $2}
"""
_IN_WORKSPACES = """
SELECT variables.workspace_id, variables.key, variables.category FROM variables
WHERE variables.organization_id IN {each $1} AND variables.key IN {each $2}
    AND variables.key >= ''
"""

# $1: the organization.
_OF_PROJECT = """(variable_sets.project_id = $n OR variable_sets.id IN (
        SELECT set_targets.set_id FROM set_targets WHERE set_targets.target_id IN ($n, $1)))"""
# $n: the same.
_OF_NO_PROJECT = "coalesce(variable_sets.project_id, $n) = $n"


def _of_projects(level: Level) -> str:
    """The sets of those projects with whose sets teams may do that."""
    return f"""variable_sets.project_id IN (
        SELECT project_grants.project_id FROM project_grants
        WHERE project_grants.team_id IN {{each $n}} AND project_grants.set_level >= {level:d})"""


Seen = tuple[Level, Collection[str], bool] | None
"""The level that somebody has in every workspace, the teams whose grants they have, and whether
they see all projects; None: they change all sets, and so see all.
"""


async def find_visible(
    tx: Transaction,
    owner: tuple[str, str],
    seen: Seen,
    wanted: SetSearch,
    page: Page,
) -> Paged[VariableSet]:
    """A page of the sets of an organization, by its id and name, that are wanted, and reach a
    workspace which the caller reads or are of a project whose sets they see, by name.
    """
    scope = f"variable_sets.scope {'=' if wanted.is_global else '<>'} $n"
    conditions, args = where(
        *_visible(owner[0], seen, wanted.part),
        (_OF_PROJECT, wanted.project_id),
        (scope, None if wanted.is_global is None else owner[0]),
        (_OF_NO_PROJECT, owner[0] if wanted.is_owned else None),
    )
    return await _sets_of(*owner).paged(tx, f"WHERE {conditions}", _NAME, args, page)


async def ids_visible(tx: Transaction, organization_id: str, seen: Seen) -> list[str]:
    """The ids of all sets of an organization that somebody sees."""
    conditions, args = where(*_visible(organization_id, seen))
    return await tx.column(f"SELECT variable_sets.id FROM variable_sets WHERE {conditions}", *args)


async def ids_for(
    tx: Transaction, organization_id: str, team_ids: Collection[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """The ids of all sets of an organization, in order, and of those of projects with whose sets
    teams may do something.
    """
    rows = await tx.fetch(
        f"SELECT id, CASE WHEN {_of_projects(Level.READ).replace('$n', '$2')} THEN 1 END "
        "FROM variable_sets WHERE organization_id = $1 ORDER BY id",
        organization_id,
        each(team_ids),
    )
    return [row[0] for row in rows], [row[0] for row in rows if row[1]]


async def find_applicable(
    tx: Transaction, workspace: Workspace, seen: Seen, part: str, page: Page
) -> Paged[VariableSet]:
    """As `find_visible`, without those sets that reach a workspace."""
    owner = workspace.organization_id, workspace.organization_name
    conditions, args = where(*_visible(owner[0], seen, part), (_REACHES_NOT, workspace.id))
    return await _sets_of(*owner).paged(tx, f"WHERE {conditions}", _NAME, args, page)


async def of_workspace(
    tx: Transaction, workspace: Workspace, part: str, page: Page
) -> Paged[VariableSet]:
    """A page of the sets that reach a workspace, by name."""
    rest = (
        "WHERE variable_sets.id IN (SELECT set_id FROM workspaces JOIN set_targets "
        f"ON target_id IN {TARGETS_OF} "
        f"WHERE workspaces.id = $1) AND {_NAME} LIKE $2 ESCAPE '!'"
    )
    owner = workspace.organization_id, workspace.organization_name
    args = workspace.id, containing(part)
    return await _sets_of(*owner).paged(tx, rest, _NAME, args, page)


async def of_organization(tx: Transaction, organization_id: str) -> list[tuple[str, int]]:
    """The ids of all sets of an organization, in order, and how many variables each has."""
    rows = await tx.fetch(
        "SELECT variable_sets.id, CAST(streams.variables AS BIGINT) FROM variable_sets "
        "JOIN streams ON streams.id = variable_sets.id "
        "WHERE variable_sets.organization_id = $1 ORDER BY variable_sets.id",
        organization_id,
    )
    return [(id_, count) for id_, count in rows]


async def of_organizations(
    tx: Transaction, organization_ids: Collection[str]
) -> list[tuple[VariableSet, int]]:
    """All sets of organizations by id, and how many variables each has."""
    rows = await tx.fetch(
        f"SELECT {SET_COLUMNS}, organizations.id, organizations.name, "
        "CAST(streams.variables AS BIGINT) FROM variable_sets "
        "JOIN streams ON streams.id = variable_sets.id "
        "JOIN organizations ON organizations.id = variable_sets.organization_id "
        "WHERE variable_sets.organization_id IN {each $1} ORDER BY variable_sets.id",
        each(organization_ids),
    )
    return [(set_of(row[:-3], row[-3], row[-2]), row[-1]) for row in rows]


async def all_attached(
    tx: Transaction, organization_ids: Collection[str]
) -> Mapping[str, frozenset[str]]:
    """The ids of the workspaces and projects that sets of organizations are attached to, by the
    sets' ids.
    """
    found: dict[str, set[str]] = {}
    for set_id, target_id in await tx.fetch(
        "SELECT set_targets.set_id, set_targets.target_id FROM set_targets "
        "JOIN variable_sets ON variable_sets.id = set_targets.set_id "
        "WHERE variable_sets.organization_id IN {each $1} "
        "AND set_targets.target_id <> variable_sets.organization_id",
        each(organization_ids),
    ):
        found.setdefault(set_id, set()).add(target_id)
    return {set_id: frozenset(ids) for set_id, ids in found.items()}


async def find_details(
    tx: Transaction, set_ids: Collection[str], seen: Seen
) -> Mapping[str, SetDetails]:
    """The details of sets by id, with those workspaces and projects that the caller sees. Who
    changes a set sees all that it is attached to.
    """
    ids = each(set_ids)
    reads_all = seen is not None and seen[0] >= Level.READ
    workspaces = await _attached(
        tx, "workspaces", ids, f"workspaces.id IN ({REACHED})", None if reads_all else seen
    )
    by_teams = None if seen is None or seen[2] else seen
    projects = await _attached(tx, "projects", ids, OF_ANY if reads_all else OF_REACHED, by_teams)
    rows = await tx.fetch(
        "SELECT variable_sets.id, coalesce(audit_entries.at, variable_sets.created_at), "
        "CAST(coalesce(streams.variables, 0) AS BIGINT) "
        "FROM variable_sets LEFT JOIN streams ON streams.id = variable_sets.id "
        "LEFT JOIN audit_entries ON audit_entries.stream_id = streams.id "
        "AND audit_entries.sequence = streams.sequence "
        "WHERE variable_sets.id IN {each $1}",
        ids,
    )
    counts = {id_: count for id_, _, count in rows}
    its_variables = await variables.ids_of_owners(tx, "set_variables", "set_id", counts)
    return {
        id_: SetDetails(
            workspaces.get(id_, {}), projects.get(id_, {}), its_variables.get(id_), at, count
        )
        for id_, at, count in rows
    }


async def _attached(
    tx: Transaction, table: str, ids: object, is_seen: str, seen: Seen
) -> Mapping[str, Mapping[str, str]]:
    """What sets are attached to of one kind, by the sets' ids: the names by id."""
    by_teams = f"({is_seen} OR {_of_projects(Level.WRITE)})"
    conditions, args = where(
        ("set_targets.set_id IN {each $n}", ids),
        (by_teams, None if seen is None else each(seen[1])),
    )
    found: dict[str, dict[str, str]] = {}
    for set_id, id_, name in await tx.fetch(
        f"SELECT set_targets.set_id, {table}.id, {table}.name FROM set_targets "
        "JOIN variable_sets ON variable_sets.id = set_targets.set_id "
        f"JOIN {table} ON {table}.id = set_targets.{table.removesuffix('s')}_id "
        f"WHERE {conditions} ORDER BY {table}.id",
        *args,
    ):
        found.setdefault(set_id, {})[id_] = name
    return found


async def attached(tx: Transaction, set_id: str) -> Attached:
    """What a set is attached to."""
    return (await _targets_of(tx, [set_id])).get(set_id, Attached())


async def _targets_of(tx: Transaction, set_ids: Collection[str]) -> Mapping[str, Attached]:
    """What those of the sets are attached to that are to anything, by id."""
    spaces: dict[str, set[str]] = {}
    projects: dict[str, set[str]] = {}
    for set_id, workspace_id, project_id in await tx.fetch(
        "SELECT set_id, workspace_id, project_id FROM set_targets WHERE set_id IN {each $1}",
        each(set_ids),
    ):
        for id_, found in ((workspace_id, spaces), (project_id, projects)):
            if id_ is not None:
                found.setdefault(set_id, set()).add(id_)
    return {
        id_: Attached(frozenset(spaces.get(id_, ())), frozenset(projects.get(id_, ())))
        for id_ in {*spaces, *projects}
    }


async def of_projects(
    tx: Transaction, organization: tuple[str, str], project_ids: Collection[str]
) -> list[tuple[Standing, bool]]:
    """The sets of an organization, by its id and name, that are of some projects or attached to
    them, by id; of each whether it has a sensitive variable.
    """
    sets = await _sets_of(*organization).every(
        tx,
        "WHERE variable_sets.organization_id = $1 AND (variable_sets.project_id IN {each $2} "
        "OR variable_sets.id IN (SELECT set_id FROM set_targets WHERE target_id IN {each $2})) "
        "ORDER BY variable_sets.id",
        organization[0],
        each(project_ids),
    )
    ids = [one.id for one in sets]
    targets, sensitive = await _targets_of(tx, ids), await _having_sensitive(tx, ids)
    return [(Standing(one, targets.get(one.id, Attached())), one.id in sensitive) for one in sets]


async def attached_to(
    tx: Transaction, organization: tuple[str, str], target_id: str
) -> list[VariableSet]:
    """The sets of an organization, by its id and name, that are attached to a workspace or to a
    project, by id.
    """
    return await _sets_of(*organization).every(
        tx,
        "WHERE id IN (SELECT set_id FROM set_targets WHERE target_id = $1) ORDER BY id",
        target_id,
    )


async def count_of_project(tx: Transaction, project_id: str) -> int:
    """How many sets are of a project."""
    return await tx.count("SELECT count(*) FROM variable_sets WHERE project_id = $1", project_id)


async def count_at(tx: Transaction, target_ids: Collection[str]) -> Mapping[str, int]:
    """How many sets are attached to each of these workspaces and projects, or being global to an
    organization, by id.
    """
    return await tx.pairs(
        "SELECT target_id, count(*) FROM set_targets "
        "WHERE target_id IN {each $1} GROUP BY target_id",
        each(target_ids),
    )


async def in_which(
    tx: Transaction, workspace_ids: Collection[str], team_ids: Collection[str], least: Level
) -> frozenset[str]:
    """Those of these workspaces in which teams may do that by a grant."""
    conditions, args = where(
        ("workspaces.id IN {each $n}", each(workspace_ids)),
        (f"workspaces.id IN ({reached(least)})", each(team_ids)),
    )
    return frozenset(
        await tx.column(f"SELECT workspaces.id FROM workspaces WHERE {conditions}", *args)
    )


async def has_sensitive(tx: Transaction, set_id: str) -> bool:
    """Whether a set has a sensitive variable."""
    return set_id in await _having_sensitive(tx, [set_id])


async def _having_sensitive(tx: Transaction, set_ids: Collection[str]) -> frozenset[str]:
    """Those of the sets that have a sensitive variable."""
    return frozenset(
        await tx.column(
            "SELECT DISTINCT set_id FROM set_variables WHERE set_id IN {each $1} AND sensitive = 1",
            each(set_ids),
        )
    )


async def rivals(tx: Transaction, set_id: str, organization_id: str) -> list[tuple[str, str]]:
    """What variables of a set have in common with those of sets that are global: keys and
    categories, in order.
    """
    rows = await tx.fetch(
        "SELECT mine.key, mine.category FROM set_variables AS mine "
        "JOIN set_variables AS others ON others.scope = $2 AND others.key = mine.key "
        "AND others.category = mine.category AND others.set_id <> mine.set_id "
        "WHERE mine.set_id = $1 ORDER BY mine.key, mine.category LIMIT 10",
        set_id,
        organization_id,
    )
    return [(key, category) for key, category in rows]


async def names_in_others(tx: Transaction, one: VariableSet, keys: Collection[str]) -> list[Name]:
    """Which of these keys other sets have in the scope of one, with their categories."""
    rows = await tx.fetch(
        "SELECT key, category FROM set_variables "
        "WHERE scope = $1 AND key IN {each $2} AND set_id <> $3 ORDER BY key, category",
        one.scope,
        each(keys),
        one.id,
    )
    return [(key, Category(category)) for key, category in rows]


async def shared_keys(
    tx: Transaction, set_ids: Collection[str], among: Collection[str]
) -> list[tuple[str, str]]:
    """Some keys of these sets that another set has as well, in the same category, of those that
    they are `among`: each with the set.
    """
    rows = await tx.fetch(
        "SELECT DISTINCT mine.set_id, mine.key FROM set_variables AS mine "
        "JOIN set_variables AS others ON others.key = mine.key "
        "AND others.category = mine.category AND others.set_id <> mine.set_id "
        "WHERE mine.set_id IN {each $1} AND others.set_id IN {each $2} "
        "ORDER BY mine.set_id, mine.key LIMIT 100",
        each(set_ids),
        each(among),
    )
    return [(set_id, key) for set_id, key in rows]


async def keys_of(tx: Transaction, set_ids: Collection[str]) -> frozenset[str]:
    """The keys that these sets have."""
    sql = "SELECT DISTINCT key FROM set_variables WHERE set_id IN {each $1}"
    return frozenset(await tx.column(sql, each(set_ids)))


async def held(
    tx: Transaction, organization_ids: Collection[str], keys: Collection[str]
) -> tuple[Held, Held]:
    """Which of these keys the sets of organizations have, and their workspaces themselves. Some
    keys at a time, since all sets may have them all.
    """
    of_sets: dict[str, set[Name]] = {}
    of_workspaces: dict[str, set[Name]] = {}
    for some in in_batches(sorted(keys), lambda _: 1, _KEYS_AT_ONCE):
        args = each(organization_ids), each(some)
        _add(of_sets, await tx.fetch(_IN_SETS, *args))
        _add(of_workspaces, await tx.fetch(_IN_WORKSPACES, *args))
    return _frozen(of_sets), _frozen(of_workspaces)


def _add(found: dict[str, set[Name]], rows: Iterable[Row]) -> None:
    for owner_id, *name in rows:
        found.setdefault(owner_id, set()).add(_name(*name))


def _frozen(found: Mapping[str, set[Name]]) -> Held:
    return {id_: frozenset(names) for id_, names in found.items()}


async def contested(
    tx: Transaction, set_id: str, organization_id: str, some: Sequence[Name] | None
) -> Contest:
    """The keys and categories of a set, in order, or others that it may have; the other sets of its
    organization that have one of them, with what they are attached to; and the workspaces that do.
    """
    names = await _names_of(tx, set_id) if some is None else some
    wanted = frozenset(names)
    of_sets, own = (
        {id_: its & wanted for id_, its in found.items() if id_ != set_id and its & wanted}
        for found in await held(tx, [organization_id], {key for key, _ in names})
    )
    sets = [one for one, _ in await of_organizations(tx, [organization_id]) if one.id in of_sets]
    targets = await _targets_of(tx, of_sets)
    attached = {id_: its.workspaces | its.projects for id_, its in targets.items()}
    places = await projects.places(tx, organization_id)
    others = Layout({one.id: one for one in sets}, attached, places, of_sets)
    return Contest(names, others, own)


async def _names_of(tx: Transaction, set_id: str) -> list[Name]:
    rows = await tx.fetch(
        "SELECT key, category FROM set_variables WHERE set_id = $1 ORDER BY key, category", set_id
    )
    return [_name(key, category) for key, category in rows]


def _name(key: str, category: str) -> Name:
    return key, Category(category)


def _sets_of(organization_id: str, organization: str) -> Reading[VariableSet]:
    return Reading(
        SET_COLUMNS, "variable_sets", lambda row: set_of(row, organization_id, organization)
    )


def _visible(organization_id: str, seen: Seen, part: str | None = None) -> list[tuple[str, object]]:
    """The conditions of the sets of an organization that somebody sees."""
    reaching = REACHES_SOME if seen is not None and seen[0] >= Level.READ else _READ_BY_TEAMS
    return [
        ("variable_sets.organization_id = $n", organization_id),
        (f"{_NAME} LIKE $n ESCAPE '!'", None if part is None else containing(part)),
        (f"({reaching} OR {_of_projects(Level.READ)})", None if seen is None else each(seen[1])),
    ]
