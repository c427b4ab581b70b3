"""The statements of a search of an organization's variables; see `variable_search`."""

from typing import NamedTuple

from teamvars.domain.access import Level
from teamvars.storage.projects import PROJECT_OF
from teamvars.storage.variables import UNSEALED, selected


def _columns(variables: str, owners: str) -> str:
    """What is selected of tables of variables and of their owners, as the search reads it."""
    row = selected(variables, f"{owners}.id AS owner_id", UNSEALED)
    return f"{row}, {owners}.name, {owners}.name_folded"


class OfFew(NamedTuple):
    """What is asked of a few owners. Where a part of a key is wanted, `keys` is asked first, and
    `page_of_keys` takes those that match as $10.
    """

    page: str
    page_of_keys: str
    keys: str


def _of_few(variables: str, owner: str, owners: str) -> OfFew:
    """Of these tables; `owner` is the column that says whose a variable is."""
    names = variables, owner, owners
    among = f"{variables}.key IN {{each $10}}"
    keys = f"""{_few_and_frontier(*names, until="$3", offset="$4")}
SELECT DISTINCT {variables}.key FROM few CROSS JOIN {variables}
WHERE {variables}.{owner} = few.id AND {variables}.key >= $2 AND {variables}.key < $3
    AND {variables}.key <= coalesce((SELECT key FROM frontier), $3)
"""
    return OfFew(_page_of_few(*names), _page_of_few(*names, among), keys)


def _few_and_frontier(variables: str, owner: str, owners: str, *, until: str, offset: str) -> str:
    """$1: owners, $2: the first key, `until`: the end of the keys, `offset`: how many rows of each
    owner come before its own frontier.
    """
    return f"""
WITH few AS (
    SELECT id, name, name_folded FROM {owners} WHERE id IN {{each $1}}
), frontier AS (
    SELECT min((
        SELECT key FROM {variables}
        WHERE {owner} = few.id AND key >= $2 AND key < {until}
        ORDER BY key, category LIMIT 1 OFFSET {offset}
    )) AS key FROM few
)"""


def _page_of_few(variables: str, owner: str, owners: str, only: str = "") -> str:
    """$1: owners, $2 to $4: the place after which the page begins, $5: the end of the keys,
    $6: how many rows of each owner come before its own frontier, $7 and $8: what is wanted, $9:
    how many; `only`: those that may be on it. CROSS JOIN fixes the order of the joins on SQLite.
    """
    return f"""{_few_and_frontier(variables, owner, owners, until="$5", offset="$6")}
SELECT frontier.key AS frontier, page.*
FROM frontier LEFT JOIN (
    SELECT {_columns(variables, owners)}
    FROM few AS {owners} CROSS JOIN {variables}
    WHERE {variables}.{owner} = {owners}.id
        AND {variables}.key >= $2 AND {variables}.key < $5
        AND {variables}.key <= coalesce((SELECT key FROM frontier), $5)
        AND ({variables}.key, {owners}.name_folded, {variables}.category) > ($2, $3, $4)
        AND {only and f"{only} AND "}(CAST($7 AS TEXT) IS NULL OR {variables}.category = $7)
        AND (CAST($8 AS BIGINT) IS NULL OR {variables}.sensitive = $8)
    ORDER BY {variables}.key, {owners}.name_folded, {variables}.category
    LIMIT $9
) AS page ON TRUE
ORDER BY page.key, page.name_folded, page.category
"""


OF_WORKSPACES = _of_few("variables", "workspace_id", "workspaces")
OF_SETS = _of_few("set_variables", "set_id", "variable_sets")


def _page(looked_at: str, only: str = "", middle: str = "") -> str:
    """As of a few, but $1: the organization. What is wanted of some entries of its index is joined
    with its rows when no more is left of it than a page: with the choice, PostgreSQL would go
    through another index. `only`: the entries that may be on it; `middle`: a place among them, told
    behind the frontier.
    """
    return f"""
WITH looked_at AS MATERIALIZED ({looked_at}), found AS MATERIALIZED (
    SELECT key, workspace_name, category, workspace_id FROM looked_at
    WHERE {only and f"{only} AND "}(CAST($7 AS TEXT) IS NULL OR category = $7)
        AND (CAST($8 AS BIGINT) IS NULL OR (
            SELECT variables.sensitive FROM variables
            WHERE variables.workspace_id = looked_at.workspace_id
                AND variables.key = looked_at.key AND variables.category = looked_at.category
        ) = $8)
    ORDER BY key, workspace_name, category LIMIT $9
){middle and f", middle AS ({middle})"}, frontier AS (
    SELECT key, workspace_name, category, (SELECT count(*) FROM looked_at) AS looked_at
    FROM looked_at ORDER BY key DESC, workspace_name DESC, category DESC LIMIT 1
)
SELECT frontier.*,{middle and " middle.*,"} page.*
FROM frontier{middle and " LEFT JOIN middle ON TRUE"} LEFT JOIN (
    SELECT {_columns("variables", "workspaces")}
    FROM found CROSS JOIN variables CROSS JOIN workspaces
    WHERE variables.workspace_id = found.workspace_id AND variables.key = found.key
        AND variables.category = found.category AND workspaces.id = found.workspace_id
) AS page ON TRUE
ORDER BY page.key, page.name_folded, page.category
"""


# `key >= ''` is the condition of the organization's index.
_BEHIND = """FROM variables
    WHERE organization_id = $1 AND (key, workspace_name, category) > ($2, $3, $4) AND key < $5
        AND key >= ''
    ORDER BY key, workspace_name, category"""

# $6: how many entries.
_LOOKED_AT = f"""
    SELECT key, workspace_name, category, workspace_id {_BEHIND} LIMIT $6
"""

PAGE_OF_ALL = _page(_LOOKED_AT)

# Of some keys instead: all of $5, and the first $6 of $10, which comes behind them.
PAGE_OF_KEYS = _page("""
    SELECT key, workspace_name, category, workspace_id FROM variables
    WHERE organization_id = $1 AND key IN {each $5}
        AND (key, workspace_name, category) > ($2, $3, $4) AND key >= ''
    UNION ALL SELECT its.* FROM (
        SELECT key, workspace_name, category, workspace_id FROM variables
        WHERE organization_id = $1 AND key = $10
            AND (key, workspace_name, category) > ($2, $3, $4) AND key >= ''
        ORDER BY key, workspace_name, category LIMIT $6
    ) AS its
""")

# The next $4 keys of an organization $1, from $2 on and before $3: one step in the index for each.
KEYS_OF_ALL = """
WITH RECURSIVE walk (key, number) AS (
    SELECT (
        SELECT min(key) FROM variables
        WHERE organization_id = $1 AND key >= $2 AND key < $3 AND key >= ''
    ), 1
    UNION ALL
    SELECT (
        SELECT min(variables.key) FROM variables
        WHERE organization_id = $1 AND variables.key > walk.key AND variables.key < $3
            AND variables.key >= ''
    ), number + 1
    FROM walk WHERE walk.key IS NOT NULL AND number < $4
)
SELECT key FROM walk WHERE key IS NOT NULL ORDER BY key
"""

# How many variables behind a place there are of each key of $6; $5 stands for more.
COUNTED = """
SELECT its.value, (
    SELECT count(*) FROM (
        SELECT 1 FROM variables
        WHERE organization_id = $1 AND key = its.value
            AND (key, workspace_name, category) > ($2, $3, $4) AND key >= ''
        LIMIT $5
    ) AS behind
) FROM {texts $6} AS its
"""


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

# $10: the caller's teams.
_MAY_BE_READ = _is_read("$10", "looked_at.workspace_id", _ITS_PROJECT)
# In the middle of what is looked at, and found in the index: nothing is sorted for it.
_MIDDLE = f"""
    SELECT key, workspace_name, category {_BEHIND} LIMIT 1 OFFSET $6 / 2
"""

PAGE_OF_GRANTED = _page(_LOOKED_AT, _MAY_BE_READ, _MIDDLE)

# $11: the keys that match. The right is looked up whether or not one of them is there, since else
# the time would tell of keys that are not to be seen.
PAGE_OF_GRANTED_KEYS = _page(
    _LOOKED_AT, f"CASE WHEN {_MAY_BE_READ} THEN looked_at.key IN {{each $11}} END", _MIDDLE
)
KEYS_LOOKED_AT = f"SELECT DISTINCT key FROM ({_LOOKED_AT}) AS looked_at"

# Which sets reach workspaces that teams $4 read, of some of an organization $1, and behind which
# name the next ones come, if there are more. Some are those behind the name $2, each with the sets
# that are attached to it, in $3 rows. The last of them may have more sets than are among these: it
# is left to the next.
SEEN_BY_MANY = f"""
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

SEALED = """
SELECT id, sealed_value, key_version FROM variables WHERE id IN {each $1}
UNION ALL SELECT id, sealed_value, key_version FROM set_variables WHERE id IN {each $1}
"""
