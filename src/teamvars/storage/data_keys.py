"""Generations of data keys: which there are, the wrapped keys of organizations, and what is sealed
under which.

A generation has a data key in every organization, which wraps those it needs together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.keys import FIRST_GENERATION, Generation, active_of
from teamvars.storage import keys
from teamvars.storage.database import Transaction
from teamvars.storage.keys import Use
from teamvars.storage.pages import as_stored
from teamvars.storage.tables import reading

_PAGE_ROWS = 50
_PAGE_ENTRIES = 500
"""Of which only the index is read."""
_GENERATIONS = reading(Generation)
ORGANIZATIONS = "organizations"
"""What needs the generation that it seals under."""


USES = {
    ORGANIZATIONS: Use("data_keys", "organization_id", "version", "wrapped"),
    "variables": Use("variables", "id", "key_version", "id"),
    "variables of sets": Use("set_variables", "id", "key_version", "id"),
    "links of invitations": Use("invitations", "membership_id", "key_version", "sealed_secret"),
}
"""What needs generations, in words."""

_PAGE = f"""
SELECT organization_id, version, master_key_id, wrapped FROM data_keys
WHERE organization_id > $1 ORDER BY organization_id LIMIT {_PAGE_ROWS}
"""
# Whoever found the keys has them changed only while they are as they were.
_REPLACE = """
UPDATE data_keys SET version = $3, master_key_id = $4, wrapped = $5
WHERE organization_id = $1 AND wrapped = $2
"""
_USE = """
UPDATE organizations SET data_key_version = (
    SELECT version FROM data_keys WHERE data_keys.organization_id = organizations.id
)
WHERE id = $1 AND EXISTS (
    SELECT 1 FROM data_keys WHERE data_keys.organization_id = $1
        AND data_keys.version <> organizations.data_key_version
)
"""


async def generations(tx: Transaction) -> list[Generation]:
    """All generations that there ever were, in order; what is none has no number of one."""
    found = await _GENERATIONS.every(tx, "ORDER BY version")
    return [one for one in found if one.version > 0] or [FIRST_GENERATION]


async def active_generation(tx: Transaction) -> int:
    """The generation that was activated last, of which new organizations have their data key."""
    return active_of(await generations(tx)).version


async def needed(tx: Transaction) -> Mapping[int, Mapping[str, int]]:
    """How much needs each generation that anything needs, by what it is in words."""
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for what, use in USES.items():
        for version, count in (await keys.counted(tx, use)).items():
            found[version][what] = count
    return found


async def page(tx: Transaction, after: str) -> Sequence[WrappedKey]:
    """The data keys of some organizations, of those after that id the first by id."""
    return [WrappedKey(*row) for row in await tx.fetch(_PAGE, after)]


async def replace_each(tx: Transaction, changed: Iterable[tuple[WrappedKey, WrappedKey]]) -> None:
    """Puts data keys in the place of those that were found, unless these are others by now."""
    pairs = list(changed)
    rows = [
        (before.organization_id, before.wrapped, after.version, after.master_key_id, after.wrapped)
        for before, after in pairs
    ]
    await tx.execute_many(_REPLACE, rows)
    await tx.execute_many(_USE, [(before.organization_id,) for before, _ in pairs])


class Census(msgspec.Struct, frozen=True):
    """How many entries the organization has that has most of them, and its id."""

    organization_id: str
    entries: int


async def busiest(tx: Transaction, since: int) -> Census | None:
    """The organization with the most entries since then, in µs; None: there are none.

    Each seal of a value leaves an entry, but for those of a job that seals what is there anew.
    """
    return await tx.first(
        Census,
        "SELECT organization_id, count(*) FROM audit_entries "
        "WHERE at >= $1 AND organization_id IS NOT NULL AND organization_id <> '' "
        "GROUP BY organization_id ORDER BY 2 DESC, 1 LIMIT 1",
        since,
    )


Entry = tuple[str, int, str, int]
"""The organization of an entry, when it was made in µs, its stream, and its number in that."""
FIRST: Entry = "", 2**62, "", 0
"""What comes before the entries of all organizations, and is after those of none."""


async def page_of_entries(tx: Transaction, after: Entry, since: int) -> tuple[int, Entry | None]:
    """How many entries of the same organization come next, a page of them at most, and which is the
    last. 0: it has no more, and those of the next organization that were made since then, in µs,
    are after the entry that is returned; None: there is no other organization.
    """
    organization_id = after[0]
    rows = await tx.fetch(
        f"SELECT organization_id, {as_stored('at')}, stream_id, {as_stored('sequence')} "
        "FROM audit_entries "
        "WHERE organization_id = $1 AND (at, stream_id, sequence) > ($2, $3, $4) "
        f"ORDER BY at, stream_id, sequence LIMIT {_PAGE_ENTRIES}",
        *after,
    )
    if rows:
        return len(rows), tuple(rows[-1])
    row = await tx.fetch_one(
        "SELECT id FROM organizations WHERE id > $1 ORDER BY id LIMIT 1", organization_id
    )
    return 0, None if row is None else (row[0], since, "", 0)
