"""Variables as rows. Values are stored sealed; a list does not even fetch sensitive ones."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from teamvars.domain.errors import not_found
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.kernel.variables import Category
from teamvars.storage.database import Lookup, Row, Statement, Transaction

_PAGE_ROWS = 200

# In the order of `_listed` and `_stored`.
_COLUMNS = "key, description, category, hcl, sensitive, version_id, created_at"

# $1: the id of the variable, $2: that of its workspace.
GET = Lookup(
    single=f"""
SELECT id, workspace_id,
    {_COLUMNS},
    value_bytes, sealed_value
FROM variables
WHERE id = $1 AND workspace_id = $2
""",
    batched=f"""
SELECT lookup.number, variables.id, variables.workspace_id,
    {_COLUMNS},
    value_bytes, sealed_value
FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]))
    WITH ORDINALITY AS lookup (id, workspace_id, number)
JOIN variables ON variables.id = lookup.id AND variables.workspace_id = lookup.workspace_id
""",
)

# A row without a variable says that the stream is at that head and the workspace empty.
_LIST = Lookup(
    single=f"""
SELECT variables.id,
    {_COLUMNS},
    CASE WHEN sensitive = 0 THEN sealed_value END
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id
WHERE streams.id = $1 AND CAST(streams.head AS {{bytes}}) = $2
ORDER BY key, category
""",
    batched=f"""
SELECT lookup.number, variables.id,
    {_COLUMNS},
    CASE WHEN sensitive = 0 THEN sealed_value END
FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS {{bytes}}[]))
    WITH ORDINALITY AS lookup (id, head, number)
JOIN streams ON streams.id = lookup.id AND streams.head = lookup.head
LEFT JOIN variables ON variables.workspace_id = streams.id
ORDER BY number, key, category
""",
)

# Needs what `_LIST` needs, in one step: the maximum of a column reads all of it.
_PREFETCH = """
SELECT max(description), max(CASE WHEN sensitive = 0 THEN sealed_value END)
FROM variables
WHERE workspace_id = $1
"""

# LEFT JOIN, so that a workspace that is missing is a reference to nothing, and no row left out.
_INSERT = """
INSERT INTO variables (id, workspace_id, organization_id, workspace_name, key, description,
    category, hcl, sensitive, version_id, created_at, value_bytes, sealed_value)
SELECT $1, its.workspace_id, organization_id, name_folded, $3, $4, $5, $6, $7, $8, $9, $10, $11
FROM (SELECT CAST($2 AS TEXT) AS workspace_id) AS its
LEFT JOIN workspaces ON workspaces.id = its.workspace_id
"""

# In the order of `_updated`.
_CHANGED = "description = $2, hcl = $3, sensitive = $4, version_id = $5, value_bytes = $6"

_UPDATE = f"""
UPDATE variables
SET {_CHANGED},
    sealed_value = $7
WHERE id = $1
"""

# SQLite rewrites an index whenever a column of it is set, be it to the same value.
_UPDATE_WITH_KEY = f"""
UPDATE variables
SET {_CHANGED},
    sealed_value = $7, key = $8, category = $9
WHERE id = $1
"""

_DELETE = "DELETE FROM variables WHERE id = $1"

# A page of `_stored` rows whose values are not fetched.
_PAGE = f"""
SELECT id, workspace_id,
    {_COLUMNS},
    value_bytes, NULL
FROM variables
WHERE workspace_id = $1 AND (key, category) > ($3, $4)
    AND EXISTS (SELECT 1 FROM streams WHERE id = $1 AND CAST(head AS {{bytes}}) = $2)
ORDER BY key, category
LIMIT {_PAGE_ROWS}
"""

_SEALED = """
SELECT id, sealed_value
FROM variables
WHERE workspace_id = $1 AND id IN {each $3}
    AND EXISTS (SELECT 1 FROM streams WHERE id = $1 AND CAST(head AS {bytes}) = $2)
"""

# One statement, so that the head is that of the values.
_ALL_SEALED = f"""
SELECT streams.head, variables.id, workspace_id,
    {_COLUMNS},
    variables.value_bytes, sealed_value
FROM streams
LEFT JOIN variables ON workspace_id = streams.id
WHERE streams.id = $1
ORDER BY key, category
"""

# The same for whoever has the token of a job, $2 its hash, at the time $3.
_SEALED_FOR_JOB = _ALL_SEALED.replace(
    "WHERE streams.id = $1",
    """WHERE streams.id = $1 AND streams.id = (
    SELECT workspace_id FROM runner_tokens WHERE hash = $2 AND expires_at > $3
)""",
)

_UPDATE_UNLESS_KEPT = f"""
UPDATE variables
SET {_CHANGED},
    sealed_value = COALESCE(CAST($7 AS {{bytes}}), sealed_value)
WHERE id = $1
"""

# Of an older release, which knows no place among the organization's variables.
_PLACE_SOME = """
UPDATE variables
SET organization_id = (SELECT organization_id FROM workspaces WHERE id = workspace_id),
    workspace_name = (SELECT name_folded FROM workspaces WHERE id = workspace_id)
WHERE id IN (SELECT id FROM variables WHERE organization_id IS NULL AND key >= '' LIMIT 500)
RETURNING id
"""

_CATEGORIES = {category.value: category for category in Category}

OpenValue = Callable[[bytes, str], str]
"""Takes a sealed value and the id of its variable, and gives the value."""


async def find_all(
    tx: Transaction, workspace_id: str, head: bytes, open_value: OpenValue, *, few: bool
) -> Iterator[Variable] | None:
    """A workspace's variables by key (code points), then category, as they are at that head.

    Their values, but for sensitive ones, are opened one by one as they are asked for. None when
    the head is another by now, or the workspace deleted. `few`: they are so few and small that
    lists that are asked for at the same time may come with one statement.
    """
    await tx.prefetch(_PREFETCH, workspace_id)
    if few:
        rows = await tx.look_up_all(_LIST, workspace_id, head)
    else:
        rows = await tx.fetch(_LIST.single, workspace_id, head)
    return _listed(rows, workspace_id, open_value) if rows else None


async def get(tx: Transaction, workspace_id: str, variable_id: str) -> StoredVariable:
    """One variable of a workspace, with its sealed value. Refuses: not found."""
    return stored(await tx.look_up(GET, variable_id, workspace_id))


def stored(row: Row | None) -> StoredVariable:
    """The variable of a row of `GET`. Refuses: not found."""
    if row is None:
        raise not_found()
    return _stored(row)


def inserting(stored: StoredVariable) -> Statement:
    """The statement that adds a variable to a locked workspace. Raises Taken: its key is."""
    variable = stored.variable
    args = (
        variable.id,
        variable.workspace_id,
        variable.key,
        variable.description,
        variable.category,
        int(variable.hcl),
        int(variable.sensitive),
        variable.version_id,
        variable.created_at,
        stored.value_bytes,
        stored.sealed,
    )
    return Statement(_INSERT, args)


def updating(before: Variable, stored: StoredVariable) -> Statement:
    """The statement that updates a variable. Raises Taken: the key that it is to have is."""
    variable, args = stored.variable, _updated(stored)
    if (variable.key, variable.category) == (before.key, before.category):
        return Statement(_UPDATE, args)
    return Statement(_UPDATE_WITH_KEY, (*args, variable.key, variable.category))


def deleting(variable_id: str) -> Statement:
    """The statement that deletes a variable."""
    return Statement(_DELETE, (variable_id,))


async def pages(
    tx: Transaction, workspace_id: str, head: bytes
) -> AsyncIterator[Sequence[StoredVariable]]:
    """All variables of a workspace by key, then category, without their values, a page at a time.

    As they are at that head: once it is another, there are no further pages.
    """
    after = "", ""
    while rows := await tx.fetch(_PAGE, workspace_id, head, *after):
        yield [_stored(row) for row in rows]
        if len(rows) < _PAGE_ROWS:
            return
        after = rows[-1][2], rows[-1][4]


async def sealed_of_workspace(
    tx: Transaction, workspace_id: str
) -> tuple[bytes, list[StoredVariable]]:
    """All variables of a workspace by key, then category, with their sealed values, sensitive ones
    too; and the head of the workspace's stream when they were so.
    """
    return _all(await tx.fetch(_ALL_SEALED, workspace_id))


async def sealed_for_job(
    tx: Transaction, workspace_id: str, token_hash: bytes, now: int
) -> tuple[bytes, list[StoredVariable]] | None:
    """As `sealed_of_workspace`, if a token of a job with that hash is for the workspace, and has
    not expired. Whether it is good is not asked: nothing is opened here.
    """
    rows = await tx.fetch(_SEALED_FOR_JOB, workspace_id, token_hash, now)
    return _all(rows) if rows else None


async def sealed_values(
    tx: Transaction, workspace_id: str, head: bytes, variable_ids: Sequence[str]
) -> dict[str, bytes]:
    """The sealed values of some variables of a workspace by id, as they are at that head.

    None of them once it is another.
    """
    rows = await tx.fetch(_SEALED, workspace_id, head, json.dumps(variable_ids))
    return dict(rows)  # type: ignore[arg-type]  # of two columns


def putting(verb: str, stored: StoredVariable) -> Statement:
    """The statement that creates, updates or deletes a variable of a locked workspace.

    An updated one keeps its key and category, and its value where `sealed` is None.
    """
    if verb == "delete":
        return deleting(stored.variable.id)
    if verb == "create":
        return inserting(stored)
    return Statement(_UPDATE_UNLESS_KEPT, _updated(stored))


async def place_some(tx: Transaction) -> int:
    """Has some variables found by searches that an older release has added; how many."""
    return len(await tx.fetch(_PLACE_SOME))


def _updated(stored: StoredVariable) -> tuple[object, ...]:
    """The parameters of `_UPDATE`."""
    variable = stored.variable
    return (
        variable.id,
        variable.description,
        int(variable.hcl),
        int(variable.sensitive),
        variable.version_id,
        stored.value_bytes,
        stored.sealed,
    )


def _listed(rows: Sequence[Row], workspace_id: str, open_value: OpenValue) -> Iterator[Variable]:
    """In one pass, by position and without a `StoredVariable`: lists are rendered all day."""
    for id_, key, description, category, hcl, sensitive, version_id, created_at, sealed in rows:
        if id_ is not None:
            yield Variable(
                id_,
                workspace_id,
                key,
                None if sensitive else open_value(sealed, id_),
                description,
                _CATEGORIES[category],
                hcl == 1,
                sensitive == 1,
                version_id,
                created_at,
            )


def _all(rows: Sequence[Row]) -> tuple[bytes, list[StoredVariable]]:
    return rows[0][0], [_stored(row[1:]) for row in rows if row[1] is not None]


def _stored(row: Row) -> StoredVariable:
    (
        id_,
        workspace_id,
        key,
        description,
        category,
        hcl,
        sensitive,
        version_id,
        created_at,
        value_bytes,
        sealed,
    ) = row
    variable = Variable(
        id=id_,
        workspace_id=workspace_id,
        key=key,
        value=None,
        description=description,
        category=_CATEGORIES[category],
        hcl=bool(hcl),
        sensitive=bool(sensitive),
        version_id=version_id,
        created_at=created_at,
    )
    return StoredVariable(variable, sealed, value_bytes)
