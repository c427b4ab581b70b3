"""Variables of workspaces and sets as rows, by one SQL: both have a table of their own, and these
differ in what their rows have beside the variable itself.

Values are stored sealed; a list does not even fetch sensitive ones.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from teamvars.domain.errors import not_found
from teamvars.domain.ids import prefix_of
from teamvars.domain.keys import Sealed
from teamvars.domain.variable_sets import PREFIX
from teamvars.domain.variables import MAX_LISTED_IDS, StoredVariable, Variable
from teamvars.kernel.variables import Category
from teamvars.storage.database import Lookup, Row, Statement, Transaction, each

_PAGE_ROWS = 200

# In the order of `listed` and `to_stored`, which read them, and of `inserting`.
COLUMNS = ("key", "description", "category", "hcl", "sensitive", "version_id", "created_at")
# The sealed values: of all, of those that are not sensitive, and of none.
SEALED = "{0}.sealed_value, {0}.key_version"
OPEN = """CASE WHEN {0}.sensitive = 0 THEN {0}.sealed_value END,
    CASE WHEN {0}.sensitive = 0 THEN {0}.key_version END"""
UNSEALED = "NULL, NULL"

# In the order of `_updated`.
_CHANGED = """description = $2, hcl = $3, sensitive = $4, version_id = $5, value_bytes = $6,
    sealed_value = COALESCE(CAST($7 AS {bytes}), sealed_value),
    key_version = COALESCE(CAST($8 AS BIGINT), key_version)"""

# Of an older release, which knows no place among the organization's variables.
_PLACE_SOME = """
UPDATE variables
SET organization_id = (SELECT organization_id FROM workspaces WHERE id = workspace_id),
    workspace_name = (SELECT name_folded FROM workspaces WHERE id = workspace_id)
WHERE id IN (
    SELECT its.id FROM variables AS its JOIN workspaces ON workspaces.id = its.workspace_id
    WHERE its.organization_id IS NULL AND its.key >= '' LIMIT 500
)
RETURNING id
"""

_KEPT = None, None
"""In the place of a sealed value where the one that is there stays."""

CATEGORIES = {category.value: category for category in Category}

OpenValue = Callable[[bytes, int, str], str]
"""Takes a sealed value, the generation of its key and the id of its variable; gives the value."""


class Statements(msgspec.Struct, frozen=True):
    """What is asked and written of the variables of one kind of owner.

    `list_` has a row without a variable where the stream is at that head and its owner has none.
    `prefetch` needs what `list_` needs, in one step: the maximum of a column reads all of it.
    `page` has rows without values.
    """

    get: Lookup
    list_: Lookup
    prefetch: str
    insert: str
    update: str
    rename: str
    give_name_up: str
    delete: str
    page: str
    sealed: str


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in COLUMNS)


def selected(table: str, owner: str, sealed: str = SEALED) -> str:
    """What is selected of a table of variables, as `to_stored` takes it."""
    return f"""{table}.id, {owner},
    {_columns(table)},
    {table}.value_bytes, {sealed.format(table)}"""


def _statements(table: str, owner: str, owners: str, places: Mapping[str, str]) -> Statements:
    """Those of a table, whose column `owner` names a row of `owners`; `places` are the columns that
    have the same as columns of that.
    """
    row, unsealed = (selected(table, f"{table}.{owner}", one) for one in (SEALED, UNSEALED))
    values = ", ".join(f"${n}" for n in range(3, 6 + len(COLUMNS)))
    return Statements(
        # $1: the id of the variable, $2: that of its owner.
        get=Lookup.joining(
            f"""
SELECT {row}
FROM {table}
WHERE {table}.id = $1 AND {table}.{owner} = $2
""",
            table,
            id="TEXT",
            owner="TEXT",
        ),
        list_=Lookup.joining(
            f"""
SELECT {table}.id,
    {_columns(table)},
    {OPEN.format(table)}
FROM streams
LEFT JOIN {table} ON {table}.{owner} = streams.id
WHERE streams.id = $1 AND CAST(streams.head AS {{bytes}}) = $2
ORDER BY key, category
""",
            "streams",
            id="TEXT",
            head="BYTEA",
        ),
        prefetch=f"""
SELECT max(description), max(CASE WHEN sensitive = 0 THEN sealed_value END)
FROM {table}
WHERE {owner} = $1
""",
        # LEFT JOIN: an owner that is missing is a reference to nothing then, and no row left out.
        insert=f"""
INSERT INTO {table} (id, {owner}, {", ".join(places)},
    {", ".join(COLUMNS)},
    value_bytes, sealed_value, key_version)
SELECT $1, its.{owner}, {", ".join(places.values())}, {values}
FROM (SELECT CAST($2 AS TEXT) AS {owner}) AS its
LEFT JOIN {owners} ON {owners}.id = its.{owner}
""",
        update=f"""
UPDATE {table}
SET {_CHANGED}
WHERE id = $1
""",
        # SQLite rewrites an index whenever a column of it is set, be it to the same value.
        rename=f"""
UPDATE {table}
SET {_CHANGED}, key = $9, category = $10
WHERE id = $1
""",
        # No key has that sign.
        give_name_up=f"UPDATE {table} SET key = '=' || id WHERE id = $1",
        delete=f"DELETE FROM {table} WHERE id = $1",
        page=f"""
SELECT {unsealed}
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


OF_WORKSPACES = _statements(
    "variables",
    "workspace_id",
    "workspaces",
    {"organization_id": "organization_id", "workspace_name": "name_folded"},
)
OF_SETS = _statements("set_variables", "set_id", "variable_sets", {"scope": "scope"})


async def find_all(
    tx: Transaction, owner_id: str, head: bytes, open_value: OpenValue, *, few: bool
) -> Iterator[Variable] | None:
    """An owner's variables by key (code points), then category, as they are at that head.

    Their values, but for sensitive ones, are opened one by one as they are asked for. None when
    the head is another by now, or the owner deleted. `few`: they are so few and small that lists
    that are asked for at the same time may come with one statement.
    """
    ask = _statements_of(owner_id)
    await tx.prefetch(ask.prefetch, owner_id)
    if few:
        rows = await tx.look_up_all(ask.list_, owner_id, head)
    else:
        rows = await tx.fetch(ask.list_.single, owner_id, head)
    return listed(rows, owner_id, open_value) if rows else None


def listed(rows: Iterable[Row], owner_id: str, open_value: OpenValue) -> Iterator[Variable]:
    """An owner's variables of the rows of a list, each opened as it is asked for.

    In one pass, by position and without a `StoredVariable`: lists are rendered all day.
    """
    for row in rows:
        id_, key, description, category, hcl, sensitive, version_id, created_at, sealed, by = row
        if id_ is not None:
            yield Variable(
                id_,
                owner_id,
                key,
                None if sensitive else open_value(sealed, by, id_),
                description,
                CATEGORIES[category],
                hcl == 1,
                sensitive == 1,
                version_id,
                created_at,
            )


async def workspace_of(tx: Transaction, variable_id: str) -> str:
    """The id of the workspace that has a variable, now and as long as there is one. Refuses: not
    found.
    """
    row = await tx.fetch_one("SELECT workspace_id FROM variables WHERE id = $1", variable_id)
    if row is None:
        raise not_found()
    return str(row[0])


async def places_of(tx: Transaction, variable_ids: Iterable[str]) -> dict[str, str]:
    """The ids of the workspaces and sets that have some variables, by the ids of these."""
    of_workspaces = "SELECT id, workspace_id FROM variables WHERE id IN {each $1}"
    of_sets = "SELECT id, set_id FROM set_variables WHERE id IN {each $1}"
    return await tx.pairs(f"{of_workspaces} UNION ALL {of_sets}", each(variable_ids))


async def ids_of_owners(
    tx: Transaction, table: str, column: str, counts: Mapping[str, int]
) -> Mapping[str, Sequence[str]]:
    """The ids of all variables of some owners, newest first, by the id of each, which is in that
    column; `counts` says how many each has. Of several that have too many together there are none.
    """
    if len(counts) > 1 and sum(counts.values()) > MAX_LISTED_IDS:
        return {}
    found: dict[str, list[str]] = {id_: [] for id_ in counts}
    of_these = f"SELECT {column}, id FROM {table} WHERE {column} IN {{each $1}}"
    for owner_id, id_ in await tx.fetch(f"{of_these} ORDER BY created_at DESC, id", each(counts)):
        found[owner_id].append(id_)
    return found


def getting(owner_id: str, variable_id: str) -> tuple[Lookup, tuple[object, ...]]:
    """What finds one variable of an owner, and its parameters."""
    return _statements_of(owner_id).get, (variable_id, owner_id)


def stored(row: Row | None) -> StoredVariable:
    """The variable of a row of `Statements.get`. Refuses: not found."""
    if row is None:
        raise not_found()
    return to_stored(row)


def inserting(stored: StoredVariable) -> Statement:
    """The statement that adds a variable to a locked owner. Raises Taken: its key is."""
    variable = stored.variable
    args = (
        variable.id,
        variable.owner_id,
        variable.key,
        variable.description,
        variable.category,
        int(variable.hcl),
        int(variable.sensitive),
        variable.version_id,
        variable.created_at,
        stored.value_bytes,
        *(stored.sealed or _KEPT),
    )
    return Statement(_statements_of(variable.owner_id).insert, args)


def updating(stored: StoredVariable, *, renames: bool) -> Statement:
    """The statement that updates a variable, whose value stays where `sealed` is None. Raises
    Taken: the key that it is to have is. Without `renames` it keeps its key and category.
    """
    variable = stored.variable
    write, args = _statements_of(variable.owner_id), _updated(stored)
    if renames:
        return Statement(write.rename, (*args, variable.key, variable.category))
    return Statement(write.update, args)


def deleting(owner_id: str, variable_id: str) -> Statement:
    """The statement that deletes a variable."""
    return Statement(_statements_of(owner_id).delete, (variable_id,))


async def pages(
    tx: Transaction, owner_id: str, head: bytes
) -> AsyncIterator[Sequence[StoredVariable]]:
    """All variables of an owner by key, then category, without their values, a page at a time.

    As they are at that head: once it is another, there are no further pages.
    """
    ask, after = _statements_of(owner_id), ("", "")
    while rows := await tx.fetch(ask.page, owner_id, head, *after):
        yield [to_stored(row) for row in rows]
        if len(rows) < _PAGE_ROWS:
            return
        after = rows[-1][2], rows[-1][4]


async def sealed_values(
    tx: Transaction, owner_id: str, head: bytes, variable_ids: Sequence[str]
) -> dict[str, Sealed]:
    """The sealed values of some variables of an owner by id, as they are at that head.

    None of them once it is another.
    """
    rows = await tx.fetch(_statements_of(owner_id).sealed, owner_id, head, json.dumps(variable_ids))
    return {id_: Sealed(sealed, version) for id_, sealed, version in rows}


def putting(verb: str, stored: StoredVariable) -> Statement:
    """The statement that creates, updates, renames or deletes a variable of a locked owner."""
    if verb == "delete":
        return deleting(stored.variable.owner_id, stored.variable.id)
    if verb == "create":
        return inserting(stored)
    return updating(stored, renames=verb == "rename")


def giving_name_up(owner_id: str, variable_id: str) -> Statement:
    """The statement that has a variable of a locked owner let others take its key and category,
    before it is given others itself.
    """
    return Statement(_statements_of(owner_id).give_name_up, (variable_id,))


async def place_some(tx: Transaction) -> int:
    """Has some variables found by searches that an older release has added; how many."""
    return len(await tx.fetch(_PLACE_SOME))


def _updated(stored: StoredVariable) -> tuple[object, ...]:
    """The parameters of `Statements.update`."""
    variable = stored.variable
    return (
        variable.id,
        variable.description,
        int(variable.hcl),
        int(variable.sensitive),
        variable.version_id,
        stored.value_bytes,
        *(stored.sealed or _KEPT),
    )


def to_stored(row: Row) -> StoredVariable:
    """The variable of a row: ids of its own and of its owner, `COLUMNS`, size, sealed value and the
    generation of its key.
    """
    (
        id_,
        owner_id,
        key,
        description,
        category,
        hcl,
        sensitive,
        version_id,
        created_at,
        value_bytes,
        content,
        key_version,
    ) = row
    variable = Variable(  # by position, which takes half as long
        id_,
        owner_id,
        key,
        None,
        description,
        CATEGORIES[category],
        hcl == 1,
        sensitive == 1,
        version_id,
        created_at,
    )
    sealed = None if content is None else Sealed(content, key_version)
    return StoredVariable(variable, sealed, value_bytes)


def _statements_of(owner_id: str) -> Statements:
    """Those of the workspace or set with that id."""
    return OF_SETS if prefix_of(owner_id) == PREFIX else OF_WORKSPACES
