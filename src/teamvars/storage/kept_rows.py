"""Rows of sets in memory, for lists: many workspaces have the same sets."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from teamvars.domain.effective import Level, Name, Supply
from teamvars.recent import Recent
from teamvars.storage.database import Row

Held = Mapping[Name, Row]
"""Rows of a source by key, then category."""
ReadThen = tuple[bytes, Held]
"""The rows of a source, and its head as they were read."""

_ROW_BYTES = 1024
"""What a row takes beside its value, with Python's own need; and a set beside its rows."""


class _Kept(NamedTuple):
    """The rows of a set, under the data keys that it was read for: a value that is sealed anew
    moves no head, and its former seal opens only as long as there is the key.
    """

    read: ReadThen
    keys: bytes


class KeptRows:
    """The readable rows of sets as they were at their heads, with their values as they are sealed
    in the store.
    """

    def __init__(self, max_bytes: int) -> None:
        self._sets: Recent[_Kept] = Recent(max_bytes)

    def find(self, every: Iterable[Supply], keys: bytes) -> dict[str, ReadThen]:
        """Those that there are of some sources where these stand, by their ids; `keys` are the data
        keys that are to open them.
        """
        found: dict[str, ReadThen] = {}
        for one in every:
            kept = self._sets.find(one.source.id)
            if kept is not None and kept.read[0] == one.head and kept.keys == keys:
                found[one.source.id] = kept.read
        return found

    def keep(self, some: Iterable[Supply], keys: bytes, read: Mapping[str, ReadThen]) -> None:
        """Keeps those of the sets among some sources."""
        for one in some:
            if one.source.level is not Level.WORKSPACE:
                size = _ROW_BYTES * (1 + one.usage.variables) + one.usage.value_bytes
                self._sets.keep(one.source.id, _Kept(read[one.source.id], keys), size)
