"""The pages of a search of an organization's variables. Whoever asks, few rows are looked at.

There are two ways. Of a few workspaces each has its own index, in the order of keys, and so has
each set. Of all other workspaces the organization's index has the whole order, and a right is
looked up for each row. Both look at a bounded number of rows, up to the *frontier*: where the page
ends if it is not full by then.

Variables of sets come first. Which sets somebody sees depends on which workspaces they read. Of
those with many grants some workspaces of the organization are looked at for a page, and it has what
is in the sets that are found by these and have not been listed before.

Whoever may not read everything could learn of other keys from where a page ends: with a variable of
their own that they rename until it is right behind. For them the frontier is a place that no
variable need have, and how far it is varies by chance.
"""

import secrets
from collections.abc import Sequence

from teamvars.domain.access import Level
from teamvars.domain.ids import prefix_of
from teamvars.domain.pages import CursorPaged
from teamvars.domain.sealed import Sealed
from teamvars.domain.variable_search import (
    MAX_PAGE_VALUE_BYTES,
    FoundVariable,
    Place,
    SearchAccess,
    SetPlace,
    SetWalk,
    VariableSearch,
)
from teamvars.domain.variable_sets import PREFIX, VariableSet
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.storage import variable_sets
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.projects import PROJECT_OF

MAX_LOOKED_AT = 2000
"""Entries of an index that a page may look at."""
_MAX_ROWS = 500
"""The same where the row of each has to be looked at as well."""
_MAX_RIGHTS = 8000
"""Grants that a page may look up: one for each row and team of the caller."""
_OF_ONE_KEY = 2
"""Variables of one key that a workspace or a set may have, one a category."""


def _columns(variables: str, owners: str) -> str:
    return f"""{variables}.key, {owners}.name_folded, {variables}.category, {variables}.id,
    {owners}.id AS owner_id, {owners}.name AS owner_name, description, hcl, sensitive,
    version_id, {variables}.created_at, value_bytes"""


def _page_of_few(variables: str, owner: str, owners: str) -> str:
    """$1: owners, $2 to $4: the place after which the page begins, $5: the end of the keys,
    $6: how many rows of each owner come before its own frontier, $7 and $8: what is wanted, $9:
    how many. CROSS JOIN fixes the order of the joins on SQLite.
    """
    return f"""
WITH few AS (
    SELECT id, name, name_folded FROM {owners} WHERE id IN {{each $1}}
), frontier AS (
    SELECT min((
        SELECT key FROM {variables}
        WHERE {owner} = few.id AND key >= $2 AND key < $5
        ORDER BY key, category LIMIT 1 OFFSET $6
    )) AS key FROM few
)
SELECT frontier.key AS frontier, page.*
FROM frontier LEFT JOIN (
    SELECT {_columns(variables, owners)}
    FROM few AS {owners} CROSS JOIN {variables}
    WHERE {variables}.{owner} = {owners}.id
        AND {variables}.key >= $2 AND {variables}.key < $5
        AND {variables}.key <= coalesce((SELECT key FROM frontier), $5)
        AND ({variables}.key, {owners}.name_folded, {variables}.category) > ($2, $3, $4)
        AND (CAST($7 AS TEXT) IS NULL OR {variables}.category = $7)
        AND (CAST($8 AS BIGINT) IS NULL OR {variables}.sensitive = $8)
    ORDER BY {variables}.key, {owners}.name_folded, {variables}.category
    LIMIT $9
) AS page ON TRUE
ORDER BY page.key, page.name_folded, page.category
"""


_PAGE_OF_FEW = _page_of_few("variables", "workspace_id", "workspaces")
_PAGE_OF_SETS = _page_of_few("set_variables", "set_id", "variable_sets")

# As the other, but $1: the organization, $6: how many entries of its index are looked at. What is
# found among them is joined with its rows when no more is left of it than a page: with the choice,
# PostgreSQL would go through another index. `key >= ''` is the condition of the organization's.
_PAGE_OF_ALL = """
WITH looked_at AS MATERIALIZED (
    SELECT key, workspace_name, category, workspace_id FROM variables
    WHERE organization_id = $1 AND (key, workspace_name, category) > ($2, $3, $4) AND key < $5
        AND key >= ''
    ORDER BY key, workspace_name, category LIMIT $6
), found AS MATERIALIZED (
    SELECT key, workspace_name, category, workspace_id FROM looked_at
    WHERE (CAST($7 AS TEXT) IS NULL OR category = $7)
        AND (CAST($8 AS BIGINT) IS NULL OR (
            SELECT variables.sensitive FROM variables
            WHERE variables.workspace_id = looked_at.workspace_id
                AND variables.key = looked_at.key AND variables.category = looked_at.category
        ) = $8)
    ORDER BY key, workspace_name, category LIMIT $9
), frontier AS (
    SELECT key, workspace_name, category, (SELECT count(*) FROM looked_at) AS looked_at
    FROM looked_at ORDER BY key DESC, workspace_name DESC, category DESC LIMIT 1
)
SELECT frontier.*, page.*
FROM frontier LEFT JOIN (
    SELECT {columns}
    FROM found CROSS JOIN variables CROSS JOIN workspaces
    WHERE variables.workspace_id = found.workspace_id AND variables.key = found.key
        AND variables.category = found.category AND workspaces.id = found.workspace_id
) AS page ON TRUE
ORDER BY page.key, page.name_folded, page.category
""".replace("{columns}", _columns("variables", "workspaces"))


def _is_read(teams: str, workspace: str, project: str) -> str:
    """Whether teams read a workspace. Not EXISTS, of which PostgreSQL would make a join with all
    their grants.
    """
    return f"""coalesce((
            SELECT 1 FROM grants
            WHERE grants.team_id IN {{each {teams}}} AND grants.workspace_id = {workspace}
                AND grants.level >= {Level.READ.value}
            LIMIT 1
        ), (
            SELECT 1 FROM project_grants
            WHERE project_grants.team_id IN {{each {teams}}}
                AND project_grants.project_id = {project}
                AND project_grants.level >= {Level.READ.value}
            LIMIT 1
        )) = 1"""


_ITS_PROJECT = f"""(
                    SELECT {PROJECT_OF} FROM workspaces
                    WHERE workspaces.id = looked_at.workspace_id)"""

# $10: the caller's teams. `middle` is in the middle of what is looked at, and found in the index:
# nothing is sorted for it.
_PAGE_OF_GRANTED = (
    _PAGE_OF_ALL.replace(
        "WHERE (CAST($7",
        f"""WHERE {_is_read("$10", "looked_at.workspace_id", _ITS_PROJECT)}
        AND (CAST($7""",
    )
    .replace(
        "), frontier AS (",
        """), middle AS (
    SELECT key, workspace_name, category FROM variables
    WHERE organization_id = $1 AND (key, workspace_name, category) > ($2, $3, $4) AND key < $5
        AND key >= ''
    ORDER BY key, workspace_name, category LIMIT 1 OFFSET $6 / 2
), frontier AS (""",
    )
    .replace("frontier.*, page.*", "frontier.*, middle.*, page.*")
    .replace("FROM frontier LEFT JOIN", "FROM frontier LEFT JOIN middle ON TRUE LEFT JOIN")
)

# Which sets reach workspaces that teams $4 read, of some of an organization $1, and behind which
# name the next ones come, if there are more. Some are those behind the name $2, each with the sets
# that are attached to it, in $3 rows. The last of them may have more sets than are among these: it
# is left to the next.
_SEEN_BY_MANY = f"""
WITH looked_at AS MATERIALIZED (
    SELECT workspaces.id, workspaces.name_folded, {PROJECT_OF} AS project_id, set_targets.set_id
    FROM workspaces LEFT JOIN set_targets ON set_targets.target_id = workspaces.id
    WHERE workspaces.organization_id = $1 AND workspaces.name_folded > $2
    ORDER BY workspaces.name_folded LIMIT $3
), more AS (
    SELECT max(name_folded) AS name_folded FROM looked_at
    WHERE (SELECT count(*) FROM looked_at) = $3
), its AS MATERIALIZED (
    SELECT looked_at.* FROM looked_at CROSS JOIN more
    WHERE (more.name_folded IS NULL OR looked_at.name_folded < more.name_folded)
        AND {_is_read("$4", "looked_at.id", "looked_at.project_id")}
)
SELECT (
    SELECT max(looked_at.name_folded) FROM looked_at
    WHERE looked_at.name_folded < more.name_folded
) AS behind, found.set_id
FROM more LEFT JOIN (
    SELECT its.set_id FROM its WHERE its.set_id IS NOT NULL
    UNION
    SELECT set_targets.set_id FROM (
        SELECT DISTINCT its.project_id AS id FROM its
        UNION ALL SELECT CAST($1 AS TEXT) WHERE (SELECT count(*) FROM its) > 0
    ) AS targets CROSS JOIN set_targets
    WHERE set_targets.target_id = targets.id
) AS found ON TRUE
"""

_SEALED = """
SELECT id, sealed_value, key_version FROM variables WHERE id IN {each $1}
UNION ALL SELECT id, sealed_value, key_version FROM set_variables WHERE id IN {each $1}
"""


async def find_page(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> CursorPaged[FoundVariable, Place | SetPlace]:
    """The page of what is wanted and may be read. No value is among it, but with their values the
    variables are no more than those of `MAX_PAGE_VALUE_BYTES`, or one.
    """
    end: Place | SetPlace | None
    rows, end = await _of_sets(tx, granted, wanted)
    if end is None and len(rows) <= wanted.size:
        own, end = await _of_workspaces(tx, granted, wanted.behind_sets())
        rows = [*rows, *own]
    most = _most(rows, wanted)
    following = _position(rows[most - 1], wanted) if len(rows) > most else end
    return CursorPaged([_found(row, granted) for row in rows[:most]], following)


async def sealed_values(tx: Transaction, variable_ids: Sequence[str]) -> dict[str, Sealed]:
    """The sealed values of variables by id, as this transaction has found them."""
    rows = await tx.fetch(_SEALED, each(variable_ids))
    return {id_: Sealed(sealed, version) for id_, sealed, version in rows}


async def _of_sets(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Sequence[Row], SetPlace | None]:
    """As of a few workspaces: an organization has no more sets than its operator lets it have."""
    if wanted.workspace is not None or wanted.walk is None:
        return (), None
    set_ids, further = await _sets_seen(tx, granted, wanted.walk)
    end, rows = await _of_few(tx, _PAGE_OF_SETS, set_ids, wanted)
    if end is not None:
        return rows, SetPlace(end, wanted.walk)
    return rows, further and SetPlace(Place.before(wanted.keys.first), further)


async def _sets_seen(
    tx: Transaction, granted: SearchAccess, walk: SetWalk
) -> tuple[Sequence[str], SetWalk | None]:
    """The sets that the caller sees by id. If many grants say so, those of them that come next on
    the walk, and how it goes on, if it does.
    """
    if granted.workspace_ids is not None or granted.reads_all:
        everywhere = Level.READ if granted.reads_all else Level.NONE
        seen = None if granted.changes_sets else (everywhere, granted.team_ids, False)
        return await variable_sets.ids_visible(tx, granted.organization_id, seen), None
    every, own = await variable_sets.ids_for(tx, granted.organization_id, granted.team_ids)
    listed = walk.listed_of(every)
    found, behind = {*own} - listed, None
    if not listed.union(own).issuperset(every):
        # Enough for a workspace to which all sets are attached, and one more.
        most = max(_rights(granted), len(every) + 1)
        args = granted.organization_id, walk.behind, most, each(granted.team_ids)
        rows = await tx.fetch(_SEEN_BY_MANY, *args)
        behind = rows[0][0]
        found |= {id_ for _, id_ in rows if id_ is not None} - listed
    if behind is None or len(listed | found) == len(every):
        return sorted(found), None
    return sorted(found), SetWalk.on(behind, every, listed | found)


async def _of_workspaces(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Sequence[Row], Place | None]:
    if granted.workspace_ids is not None:
        end, rows = await _of_few(tx, _PAGE_OF_FEW, granted.workspace_ids, wanted)
    elif granted.reads_all:
        end, rows = await _of_all(tx, granted, wanted)
    else:
        end, rows = await _of_granted(tx, granted, wanted)
    return [row for row in rows if end is None or _place(row) <= end], end


async def _of_few(
    tx: Transaction, sql: str, owner_ids: Sequence[str], wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    """Up to its frontier each owner has a share of the rows that may be looked at. What comes
    before the first of the frontiers is complete.
    """
    if not owner_ids:
        return None, []
    # At least one key more than that of `start`, of which all may be before it: pages go on.
    share = max(_look_at(wanted) // len(owner_ids), _OF_ONE_KEY + 1)
    if wanted.wants_all:
        share = min(share, wanted.size + _OF_ONE_KEY + 1)
    rows = await tx.fetch(sql, each(owner_ids), *_asked(wanted, share - 1))
    frontier = rows[0][0]
    return None if frontier is None else Place.behind(frontier), _without(1, rows)


async def _of_granted(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    most = _by_chance(min(_look_at(wanted), _rights(granted)))
    args = granted.organization_id, *_asked(wanted, most), each(granted.team_ids)
    rows = await tx.fetch(_PAGE_OF_GRANTED, *args)
    if not rows:
        return None, []
    found = _without(7, rows)
    *last, looked_at = rows[0][:4]
    if looked_at < most:
        return None, found
    frontier = Place.between(Place(*rows[0][4:7]), Place(*last))
    return frontier, found


async def _of_all(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    most = wanted.size + 1 if wanted.wants_all else _look_at(wanted)
    rows = await tx.fetch(_PAGE_OF_ALL, granted.organization_id, *_asked(wanted, most))
    if not rows:
        return None, []
    *frontier, looked_at = rows[0][:4]
    return Place(*frontier) if looked_at == most else None, _without(4, rows)


def _rights(granted: SearchAccess) -> int:
    """Of how many workspaces the right is looked up."""
    return min(MAX_LOOKED_AT, _MAX_RIGHTS // len(granted.team_ids))


def _by_chance(most: int) -> int:
    """A number up to `most` and at least about half of it, of which those between are likelier."""
    quarter = most // 4 + 1
    return max(most - secrets.randbelow(quarter) - secrets.randbelow(quarter), 1)


def _look_at(wanted: VariableSearch) -> int:
    return MAX_LOOKED_AT if wanted.sensitive is None else _MAX_ROWS


def _asked(wanted: VariableSearch, look_at: int) -> tuple[object, ...]:
    """The parameters $2 to $9."""
    sensitive = None if wanted.sensitive is None else int(wanted.sensitive)
    return (
        *wanted.start,
        wanted.keys.end,
        look_at,
        wanted.category,
        sensitive,
        wanted.size + 1,
    )


def _without(columns: int, rows: Sequence[Row]) -> list[Row]:
    """The rows without the first columns; where nothing was found one has the frontier alone."""
    return [row[columns:] for row in rows if row[columns] is not None]


def _most(rows: Sequence[Row], wanted: VariableSearch) -> int:
    """How many of the rows are on the page."""
    if not wanted.values:
        return wanted.size
    room = MAX_PAGE_VALUE_BYTES
    for number, row in enumerate(rows[: wanted.size]):
        *_, sensitive, _, _, value_bytes = row
        room -= 0 if sensitive else value_bytes
        if room < 0:
            return max(number, 1)
    return wanted.size


def _found(row: Row, granted: SearchAccess) -> FoundVariable:
    *most, sensitive, version_id, at, value_bytes = row
    key, _, category, id_, owner_id, name, description, hcl = most
    kind = VariableSet if prefix_of(owner_id) == PREFIX else Workspace
    owner = kind(owner_id, name, granted.organization_id, granted.organization_name)
    variable = Variable(
        id=id_,
        owner_id=owner_id,
        key=key,
        value=None,
        description=description,
        category=Category(category),
        hcl=bool(hcl),
        sensitive=bool(sensitive),
        version_id=version_id,
        created_at=at,
    )
    return FoundVariable(variable, owner, 0 if sensitive else value_bytes)


def _place(row: Row) -> Place:
    return Place(*row[:3])


def _position(row: Row, wanted: VariableSearch) -> Place | SetPlace:
    """Behind the variable of a row."""
    if wanted.walk is not None and prefix_of(row[4]) == PREFIX:
        return SetPlace(_place(row), wanted.walk)
    return _place(row)
