"""The pages of a search of an organization's variables. Whoever asks, few rows are looked at.

There are two ways. Of a few workspaces each has its own index, in the order of keys, and so has
each set. Of all other workspaces the organization's index has the whole order, and a right is
looked up for each row. Both look at a bounded number of rows, up to the *frontier*: where the page
ends if it is not full by then.

Whoever may not read everything could learn of other keys from where a page ends: with a variable of
their own that they rename until it is right behind. For them the frontier is a place that no
variable need have, and how far it is varies by chance.
"""

import json
import secrets
from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.ids import prefix_of
from teamvars.domain.pages import CursorPaged
from teamvars.domain.sealed import Sealed
from teamvars.domain.variable_search import (
    MAX_PAGE_VALUE_BYTES,
    SET_MARK,
    FoundVariable,
    Place,
    SearchAccess,
    VariableSearch,
)
from teamvars.domain.variable_sets import PREFIX, VariableSet
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.storage import variable_sets
from teamvars.storage.database import Row, Transaction
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


def _page_of_few(variables: str, owner: str, owners: str, name: str = "name_folded") -> str:
    """$1: owners, $2 to $4: the place after which the page begins, $5: the end of the keys,
    $6: how many rows of each owner come before its own frontier, $7 and $8: what is wanted, $9:
    how many. CROSS JOIN fixes the order of the joins on SQLite.
    """
    return f"""
WITH few AS (
    SELECT id, name, {name} AS name_folded FROM {owners} WHERE id IN {{each $1}}
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
_PAGE_OF_SETS = _page_of_few(
    "set_variables", "set_id", "variable_sets", f"'{SET_MARK}' || name_folded"
)

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

# $10: the caller's teams. Not EXISTS, of which PostgreSQL would make a join with all their grants.
# `middle` is in the middle of what is looked at, and found in the index: nothing is sorted for it.
_PAGE_OF_GRANTED = (
    _PAGE_OF_ALL.replace(
        "WHERE (CAST($7",
        f"""WHERE coalesce((
            SELECT 1 FROM grants
            WHERE grants.team_id IN {{each $10}} AND grants.workspace_id = looked_at.workspace_id
                AND grants.level >= {Level.READ.value}
            LIMIT 1
        ), (
            SELECT 1 FROM project_grants
            WHERE project_grants.team_id IN {{each $10}} AND project_grants.project_id = (
                    SELECT {PROJECT_OF} FROM workspaces
                    WHERE workspaces.id = looked_at.workspace_id)
                AND project_grants.level >= {Level.READ.value}
            LIMIT 1
        )) = 1
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

_SEALED = """
SELECT id, sealed_value, key_version FROM variables WHERE id IN {each $1}
UNION ALL SELECT id, sealed_value, key_version FROM set_variables WHERE id IN {each $1}
"""


async def find_page(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> CursorPaged[FoundVariable, Place]:
    """The page of what is wanted and may be read. No value is among it, but with their values the
    variables are no more than those of `MAX_PAGE_VALUE_BYTES`, or one.
    """
    last, own = await _of_workspaces(tx, granted, wanted)
    # Of sets nothing is wanted that would be behind the page.
    up_to = wanted if last is None else replace(wanted, keys=wanted.keys.up_to(last.key))
    frontier, shared = await _of_sets(tx, granted, up_to)
    end = min((place for place in (last, frontier) if place is not None), default=None)
    rows = sorted((*own, *shared), key=_place)
    if end is not None:
        rows = [row for row in rows if _place(row) <= end]
    most = _most(rows, wanted)
    following = _place(rows[most - 1]) if len(rows) > most else end
    return CursorPaged([_found(row, granted) for row in rows[:most]], following)


async def sealed_values(tx: Transaction, variable_ids: Sequence[str]) -> dict[str, Sealed]:
    """The sealed values of variables by id, as this transaction has found them."""
    rows = await tx.fetch(_SEALED, json.dumps(variable_ids))
    return {id_: Sealed(sealed, version) for id_, sealed, version in rows}


async def _of_workspaces(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    if granted.workspace_ids is None:
        return await _of_many(tx, granted, wanted)
    return await _of_few(tx, _PAGE_OF_FEW, granted.workspace_ids, wanted)


async def _of_sets(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    """As of a few workspaces: an organization has no more sets than its operator lets it have."""
    if wanted.workspace is not None:
        return None, []
    everywhere = Level.READ if granted.reads_all else Level.NONE
    seen = None if granted.changes_sets else (everywhere, granted.team_ids, False)
    set_ids = await variable_sets.ids_visible(tx, granted.organization_id, seen)
    return await _of_few(tx, _PAGE_OF_SETS, set_ids, wanted)


async def _of_few(
    tx: Transaction, sql: str, owner_ids: Sequence[str], wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    """Up to its frontier each owner has a share of the rows that may be looked at. What comes
    before the first of the frontiers is complete.
    """
    if not owner_ids:
        return None, []
    # At least one key more than that of `start`, of which all may be before it: pages go on.
    each = max(_look_at(wanted) // len(owner_ids), _OF_ONE_KEY + 1)
    if wanted.wants_all:
        each = min(each, wanted.size + _OF_ONE_KEY + 1)
    ids = json.dumps(owner_ids)
    rows = await tx.fetch(sql, ids, *_asked(wanted, each - 1))
    frontier = rows[0][0]
    return None if frontier is None else Place.behind(frontier), _without(1, rows)


async def _of_many(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    if granted.reads_all:
        return await _of_all(tx, granted, wanted)
    most = _by_chance(min(_look_at(wanted), _MAX_RIGHTS // len(granted.team_ids)))
    args = granted.organization_id, *_asked(wanted, most), json.dumps(granted.team_ids)
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
