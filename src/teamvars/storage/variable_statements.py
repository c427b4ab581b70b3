"""The SQL of variables, one text for workspaces and for sets: both have a table of their own, which
differ in what their rows have beside the variable itself.
"""

import msgspec

from teamvars.storage.database import Lookup

_PAGE_ROWS = 200

# In the order of `listed` and `stored`, which read them.
COLUMNS = "key, description, category, hcl, sensitive, version_id, created_at"

# In the order of `updated`.
_CHANGED = "description = $2, hcl = $3, sensitive = $4, version_id = $5, value_bytes = $6"
_UNLESS_KEPT = """sealed_value = COALESCE(CAST($7 AS {bytes}), sealed_value),
    key_version = COALESCE(CAST($8 AS BIGINT), key_version)"""


class Statements(msgspec.Struct, frozen=True):
    """What is asked and written of the variables of one kind of owner; rows are of a `table`.

    `list_` has a row without a variable where the stream is at that head and its owner has none.
    `prefetch` needs what `list_` needs, in one step: the maximum of a column reads all of it.
    `page` has `page_rows` rows at most, without values.
    """

    table: str
    owner: str
    get: Lookup
    list_: Lookup
    prefetch: str
    insert: str
    update: str
    update_with_key: str
    update_unless_kept: str
    rename_unless_kept: str
    give_name_up: str
    delete: str
    page: str
    sealed: str
    page_rows: int = _PAGE_ROWS


def _statements(table: str, owner: str, insert: str) -> Statements:
    """Those of a table, in which a column names the owner."""
    return Statements(
        table=table,
        owner=owner,
        # $1: the id of the variable, $2: that of its owner.
        get=Lookup(
            single=f"""
SELECT id, {owner},
    {COLUMNS},
    value_bytes, sealed_value, key_version
FROM {table}
WHERE id = $1 AND {owner} = $2
""",
            batched=f"""
SELECT lookup.number, {table}.id, {table}.{owner},
    {COLUMNS},
    value_bytes, sealed_value, key_version
FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]))
    WITH ORDINALITY AS lookup (id, {owner}, number)
JOIN {table} ON {table}.id = lookup.id AND {table}.{owner} = lookup.{owner}
""",
        ),
        list_=Lookup(
            single=f"""
SELECT {table}.id,
    {COLUMNS},
    CASE WHEN sensitive = 0 THEN sealed_value END,
    CASE WHEN sensitive = 0 THEN key_version END
FROM streams
LEFT JOIN {table} ON {table}.{owner} = streams.id
WHERE streams.id = $1 AND CAST(streams.head AS {{bytes}}) = $2
ORDER BY key, category
""",
            batched=f"""
SELECT lookup.number, {table}.id,
    {COLUMNS},
    CASE WHEN sensitive = 0 THEN sealed_value END,
    CASE WHEN sensitive = 0 THEN key_version END
FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS {{bytes}}[]))
    WITH ORDINALITY AS lookup (id, head, number)
JOIN streams ON streams.id = lookup.id AND streams.head = lookup.head
LEFT JOIN {table} ON {table}.{owner} = streams.id
ORDER BY number, key, category
""",
        ),
        prefetch=f"""
SELECT max(description), max(CASE WHEN sensitive = 0 THEN sealed_value END)
FROM {table}
WHERE {owner} = $1
""",
        insert=insert,
        update=f"""
UPDATE {table}
SET {_CHANGED},
    sealed_value = $7, key_version = $8
WHERE id = $1
""",
        # SQLite rewrites an index whenever a column of it is set, be it to the same value.
        update_with_key=f"""
UPDATE {table}
SET {_CHANGED},
    sealed_value = $7, key_version = $8, key = $9, category = $10
WHERE id = $1
""",
        update_unless_kept=f"""
UPDATE {table}
SET {_CHANGED},
    {_UNLESS_KEPT}
WHERE id = $1
""",
        rename_unless_kept=f"""
UPDATE {table}
SET {_CHANGED},
    {_UNLESS_KEPT}, key = $9, category = $10
WHERE id = $1
""",
        # No key has that sign.
        give_name_up=f"UPDATE {table} SET key = '=' || id WHERE id = $1",
        delete=f"DELETE FROM {table} WHERE id = $1",
        page=f"""
SELECT id, {owner},
    {COLUMNS},
    value_bytes, NULL, NULL
FROM {table}
WHERE {owner} = $1 AND (key, category) > ($3, $4)
    AND EXISTS (SELECT 1 FROM streams WHERE id = $1 AND CAST(head AS {{bytes}}) = $2)
ORDER BY key, category
LIMIT {_PAGE_ROWS}
""",
        sealed=f"""
SELECT id, sealed_value, key_version
FROM {table}
WHERE {owner} = $1 AND id IN {{each $3}}
    AND EXISTS (SELECT 1 FROM streams WHERE id = $1 AND CAST(head AS {{bytes}}) = $2)
""",
    )


# LEFT JOIN, so that an owner that is missing is a reference to nothing, and no row left out.
OF_WORKSPACES = _statements(
    "variables",
    "workspace_id",
    """
INSERT INTO variables (id, workspace_id, organization_id, workspace_name, key, description,
    category, hcl, sensitive, version_id, created_at, value_bytes, sealed_value,
    key_version)
SELECT $1, its.workspace_id, organization_id, name_folded, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
FROM (SELECT CAST($2 AS TEXT) AS workspace_id) AS its
LEFT JOIN workspaces ON workspaces.id = its.workspace_id
""",
)
OF_SETS = _statements(
    "set_variables",
    "set_id",
    """
INSERT INTO set_variables (id, set_id, scope, key, description,
    category, hcl, sensitive, version_id, created_at, value_bytes, sealed_value,
    key_version)
SELECT $1, its.set_id, scope, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
FROM (SELECT CAST($2 AS TEXT) AS set_id) AS its
LEFT JOIN variable_sets ON variable_sets.id = its.set_id
""",
)
