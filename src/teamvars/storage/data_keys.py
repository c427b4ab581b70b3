"""The wrapped data keys of organizations, for whoever asks whether they open.

An organization without the key that it seals with has one here that opens nowhere.
"""

from teamvars.domain.access import WrappedKey
from teamvars.storage.database import Row, Transaction

_COLUMNS = """coalesce(organizations.id, data_keys.organization_id),
    coalesce(data_keys.version, organizations.data_key_version),
    data_keys.master_key_id, data_keys.wrapped"""
_IN_USE = """data_keys.organization_id = organizations.id
    AND data_keys.version = organizations.data_key_version"""
_EVERY = f"""
SELECT {_COLUMNS} FROM organizations FULL JOIN data_keys ON {_IN_USE} ORDER BY 1, 2
"""
_NEXT = f"""
SELECT {_COLUMNS} FROM organizations LEFT JOIN data_keys ON {_IN_USE}
WHERE organizations.id > $1 ORDER BY organizations.id LIMIT 1
"""


async def every(tx: Transaction) -> list[WrappedKey]:
    """All data keys, those that are no longer in use included."""
    return [_key(row) for row in await tx.fetch(_EVERY)]


async def find_next(tx: Transaction, after: str) -> WrappedKey | None:
    """The key in use of the organization whose id comes next; None: there is no other."""
    row = await tx.fetch_one(_NEXT, after)
    return None if row is None else _key(row)


async def uses(tx: Transaction) -> dict[str, int]:
    """How many data keys each master key wraps."""
    rows = await tx.fetch(
        "SELECT master_key_id, count(*) FROM data_keys GROUP BY master_key_id ORDER BY 1"
    )
    return {row[0]: row[1] for row in rows}


def _key(row: Row) -> WrappedKey:
    organization_id, version, master_key_id, wrapped = row
    return WrappedKey(organization_id, version, master_key_id or "", bytes(wrapped or b""))
