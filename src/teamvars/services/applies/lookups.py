"""Lookups: the variables of a workspace at one head of its stream, and their values.

Whoever finds the workspace at that head still, once it is locked, need not look again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from teamvars.domain.access import WorkspaceAccess
from teamvars.domain.applies import Name
from teamvars.domain.variables import StoredVariable
from teamvars.pace import Pace
from teamvars.pace import in_batches as batched
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.storage import streams, variables
from teamvars.storage.database import Transaction

_BATCH_BYTES = 256 * 1024
_ROW_BYTES = 2560
"""What a variable counts beside its value, so that a batch has at most a hundred."""
T = TypeVar("T")


class Moved(Exception):
    """The workspace has another head by now than when the lookup began."""


def is_unchanged(seen: WorkspaceAccess, now: WorkspaceAccess) -> bool:
    """Whether a plan that was made under one access still holds under another."""
    # With the level: a plan may contain what only owners may do, and becoming one moves no head.
    return (seen.stream.head, seen.key, seen.level) == (now.stream.head, now.key, now.level)


async def by_name(
    tx: Transaction, granted: WorkspaceAccess, pace: Pace
) -> Mapping[Name, StoredVariable]:
    """The variables of a workspace by key, then category, without their values. Raises Moved."""
    found: dict[Name, StoredVariable] = {}
    async for page in variables.pages(tx, granted.workspace.id, granted.stream.head):
        for stored in page:
            found[stored.variable.key, stored.variable.category] = stored
        await pace.keep()
    if len(found) != granted.stream.usage.variables:
        # No page comes after the workspace has moved. Else rows were lost, which 'doctor' tells.
        stream = await streams.find(tx, granted.workspace.id)
        if stream is None or stream.head != granted.stream.head:
            raise Moved
    return found


async def opened(
    tx: Transaction, granted: WorkspaceAccess, key: DataKey, wanted: Sequence[StoredVariable]
) -> Mapping[str, str]:
    """The values of some variables of a workspace, by id, but for damaged ones. Raises Moved."""
    if not wanted:
        return {}
    by_id = {each.variable.id: each.variable for each in wanted}
    place = granted.workspace.id, granted.stream.head
    sealed = await variables.sealed_values(tx, *place, list(by_id))
    if sealed.keys() != by_id.keys():
        raise Moved
    values = {}
    for id_, variable in by_id.items():
        with suppress(SealBroken):
            values[id_] = key.open(sealed[id_], variable)
    return values


def in_batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in batches, each with about as many rows and bytes of values as may be fetched,
    opened or written in one go.
    """
    return batched(items, lambda item: _ROW_BYTES + size(item), _BATCH_BYTES)
