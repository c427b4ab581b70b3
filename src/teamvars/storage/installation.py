"""Which store this is, and what must open with its keyring: check values, the data keys of
organizations, and sealed values, sensitive ones too.

An organization without the key that it seals with has one here that opens nowhere.
"""

from operator import itemgetter

from teamvars.domain.access import WrappedKey
from teamvars.domain.keys import Sealed
from teamvars.kernel import Discreet
from teamvars.storage.access_statements import IN_USE, KEY
from teamvars.storage.database import MissingTable, Row, Transaction

_KEY_COLUMNS = """coalesce(organizations.id, data_keys.organization_id),
    coalesce(data_keys.version, organizations.data_key_version),
    data_keys.master_key_id, data_keys.wrapped"""
_EVERY_KEY = f"""
SELECT {_KEY_COLUMNS} FROM organizations FULL JOIN data_keys ON {IN_USE} ORDER BY 1, 2
"""
_NEXT_KEYS = f"""
SELECT {_KEY_COLUMNS} FROM organizations LEFT JOIN data_keys ON {IN_USE}
WHERE organizations.id > $1 ORDER BY organizations.id LIMIT $2
"""
_PAGE_ROWS = 50
"""Of values that may each be as large as a value can be."""


def _sealed_values(table: str, owner: str, owners: str) -> str:
    """The sealed values of a table, whose rows have an owner in a table of their own."""
    return f"""
SELECT {table}.id, {table}.{owner}, {table}.sensitive, {table}.sealed_value, {table}.key_version,
    organizations.name, {owners}.name, {table}.key, {table}.category,
    {KEY}
FROM organizations
JOIN data_keys ON {IN_USE}
JOIN {owners} ON {owners}.organization_id = organizations.id
JOIN {table} ON {table}.{owner} = {owners}.id
"""


_OF_WORKSPACES = _sealed_values("variables", "workspace_id", "workspaces")
_OF_SETS = _sealed_values("set_variables", "set_id", "variable_sets")
_ONE_OF_EACH = (
    f"""{_OF_WORKSPACES}
WHERE variables.id = (
    SELECT id FROM variables AS its
    WHERE its.organization_id = organizations.id AND its.key >= '' LIMIT 1
)
""",
    f"""{_OF_SETS}
WHERE set_variables.id = (
    SELECT its.id FROM set_variables AS its
    JOIN variable_sets AS its_set ON its_set.id = its.set_id
    WHERE its_set.organization_id = organizations.id LIMIT 1
)
""",
)
_PAGE_OF_VALUES = tuple(
    f"{sealed}WHERE {table}.id > $1 ORDER BY {table}.id LIMIT $2\n"
    for sealed, table in ((_OF_WORKSPACES, "variables"), (_OF_SETS, "set_variables"))
)


async def find_lineage(tx: Transaction) -> str | None:
    """Which store this is, wherever its data is taken; None before it is initialised."""
    try:
        row = await tx.fetch_one("SELECT id FROM lineage")
    except MissingTable:
        return None
    return None if row is None else row[0]


async def begin_lineage(tx: Transaction, id_: str) -> None:
    """Gives the store the id unless it has one."""
    await tx.execute("INSERT INTO lineage (id) VALUES ($1) ON CONFLICT DO NOTHING", id_)


async def knows_keys(tx: Transaction) -> bool:
    """Whether the store has a keyring, in the schema of whatever release."""
    return await tx.fetch_one("SELECT 1 FROM keyring_keys LIMIT 1") is not None


async def data_keys(tx: Transaction) -> list[WrappedKey]:
    """All data keys, those that are no longer in use included."""
    return [_key(row) for row in await tx.fetch(_EVERY_KEY)]


async def next_keys(tx: Transaction, after: str, most: int) -> list[WrappedKey]:
    """The keys in use of the organizations whose ids come next, each once: from the first again
    after the last.
    """
    found = [*await tx.fetch(_NEXT_KEYS, after, most), *await tx.fetch(_NEXT_KEYS, "", most)]
    return list({key.organization_id: key for key in map(_key, found)}.values())[:most]


def _key(row: Row) -> WrappedKey:
    organization_id, version, master_key_id, wrapped = row
    return WrappedKey(organization_id, version, master_key_id or "", wrapped or b"")


class SealedValue(Discreet, frozen=True):
    """A value as it is stored, its variable in words, and the data keys it should open with."""

    variable_id: str
    owner_id: str
    sensitive: bool
    sealed: Sealed
    title: str
    key: WrappedKey


async def one_value_of_each_key(tx: Transaction) -> list[SealedValue]:
    """A value of each data key in use that has any, by workspaces and by sets."""
    return [_sealed(row) for sql in _ONE_OF_EACH for row in await tx.fetch(sql)]


async def sealed_page(tx: Transaction, after: str) -> list[SealedValue]:
    """Some values by the ids of their variables; of all those after that id, the first."""
    rows = [row for sql in _PAGE_OF_VALUES for row in await tx.fetch(sql, after, _PAGE_ROWS)]
    return [_sealed(row) for row in sorted(rows, key=itemgetter(0))[:_PAGE_ROWS]]


def _sealed(row: Row) -> SealedValue:
    id_, owner_id, sensitive, content, by, organization, owner, key, category, *data_key = row
    return SealedValue(
        id_,
        owner_id,
        bool(sensitive),
        Sealed(content, by),
        f"{key} ({category}) of {organization}/{owner}, {id_}",
        WrappedKey(*data_key),
    )
