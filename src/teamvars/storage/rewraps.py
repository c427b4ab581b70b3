"""The job that has everything under the keys in use: who is at it, and what it goes through.

Nobody waits for it: what it finds is read without a lock, and written where it still is as it was.
"""

from collections.abc import Iterable, Sequence

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.keys import Rewrap, Sealed
from teamvars.kernel import Discreet
from teamvars.storage.access_statements import KEY
from teamvars.storage.database import Row, Transaction

_PAGE_BYTES = 256 * 1024
"""Of values that are read at once, but for a larger one."""


class SealedRow(Discreet, frozen=True):
    """Something sealed, the id and what else of its row it is sealed to, and its data keys."""

    id: str
    owner_id: str
    sensitive: bool
    link_hash: bytes
    sealed: Sealed
    key: WrappedKey


class Part(msgspec.Struct, frozen=True):
    """Rows that have something sealed: `sizes` finds those of older generations than $2 behind the
    id $1 with their sizes, `rows` those up to the id $2 of older ones than $3.
    """

    name: str
    sizes: str
    rows: str
    update: str


def _of_values(table: str, owner: str, owners: str) -> Part:
    return Part(
        table,
        sizes=f"""
SELECT id, value_bytes FROM {table}
WHERE id > $1 AND key_version < $2 ORDER BY id LIMIT $3
""",
        rows=f"""
SELECT {table}.id, {table}.{owner}, {table}.sensitive, NULL,
    {table}.sealed_value, {table}.key_version, {KEY}
FROM {table}
JOIN {owners} ON {owners}.id = {table}.{owner}
JOIN data_keys ON data_keys.organization_id = {owners}.organization_id
WHERE {table}.id > $1 AND {table}.id <= $2 AND {table}.key_version < $3
ORDER BY {table}.id
""",
        update=f"""
UPDATE {table} SET sealed_value = $3, key_version = $4 WHERE id = $1 AND sealed_value = $2
""",
    )


PARTS = (
    _of_values("variables", "workspace_id", "workspaces"),
    _of_values("set_variables", "set_id", "variable_sets"),
    Part(
        "invitations",
        sizes="""
SELECT membership_id, CAST(0 AS BIGINT) FROM invitations
WHERE membership_id > $1 AND key_version < $2 AND sealed_secret IS NOT NULL
ORDER BY membership_id LIMIT $3
""",
        rows=f"""
SELECT invitations.membership_id, '', 0, invitations.link_hash,
    invitations.sealed_secret, invitations.key_version, {KEY}
FROM invitations
JOIN memberships ON memberships.id = invitations.membership_id
JOIN data_keys ON data_keys.organization_id = memberships.organization_id
WHERE invitations.membership_id > $1 AND invitations.membership_id <= $2
    AND invitations.key_version < $3 AND invitations.sealed_secret IS NOT NULL
ORDER BY invitations.membership_id
""",
        update="""
UPDATE invitations SET sealed_secret = $3, key_version = $4
WHERE membership_id = $1 AND sealed_secret = $2
""",
    ),
)

# A time that SQLite has no number of is one that has passed, and by which the job is taken.
_FIND = "SELECT holder, held_until + 0, generation, part, after, done FROM rewraps"
_TAKE = """
UPDATE rewraps SET holder = $3, held_until = $4, generation = $5, part = $6, after = $7, done = $8
WHERE holder = $1 AND held_until + 0 = $2
RETURNING id
"""


async def find(tx: Transaction) -> Rewrap | None:
    """The job that is under way, if there is one."""
    return await tx.first(Rewrap, _FIND)


async def replace(tx: Transaction, before: Rewrap, job: Rewrap) -> bool:
    """The job becomes another; False: it is not what it was before."""
    args = before.holder, before.held_until, *msgspec.structs.astuple(job)
    return await tx.fetch_one(_TAKE, *args) is not None


async def page(
    tx: Transaction, part: Part, after: str, generation: int, most: int
) -> tuple[str | None, Sequence[SealedRow]]:
    """Some of the rows of a part behind that id which are of an older generation, and the id up
    to which these are all; None: there are no more.
    """
    last, size = None, 0
    for id_, value_bytes in await tx.fetch(part.sizes, after, generation, most):
        size += value_bytes
        if last is not None and size > _PAGE_BYTES:
            break
        last = id_
    if last is None:
        return None, ()
    return last, [_sealed(row) for row in await tx.fetch(part.rows, after, last, generation)]


async def put(tx: Transaction, part: Part, sealed: Iterable[tuple[SealedRow, Sealed]]) -> None:
    """Puts what is sealed anew in the place of what was found, unless that is another by now."""
    rows = [(row.id, row.sealed.content, *new) for row, new in sealed]
    await tx.write_each((part.update, rows))


def _sealed(row: Row) -> SealedRow:
    id_, owner_id, sensitive, link_hash, content, by, *data_key = row
    return SealedRow(
        id_,
        owner_id,
        bool(sensitive),
        bytes(link_hash or b""),
        Sealed(content, by),
        WrappedKey(*data_key),
    )
