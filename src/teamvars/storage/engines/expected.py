"""What a look-up is going to find, by what it has found and this node has written since.

Whoever makes one change after another would look up what is known already: each time the rights,
the names and the key are as they were, and the stream stands where the change before has left it.
So the statement that writes looks itself, and has no effect where it finds anything else. What is
expected grants nothing.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

from teamvars.domain.audit import MOVED, Stream
from teamvars.storage.database import Lookup, Row
from teamvars.storage.engines.combined import Finding, type_of

MOST_EXPECTED = 1024
"""Rows, of some 1.5 KB each."""

_Key = tuple[object, ...]
_MOVED = attrgetter(*MOVED)


class Expected(msgspec.Struct, frozen=True):
    """That a look-up for these parameters finds that row."""

    lookup: Lookup
    args: tuple[object, ...]
    row: Row

    @property
    def key(self) -> _Key:
        """What it is kept by: $2 is the time."""
        return self.lookup, self.args[0], *self.args[2:]

    @property
    def finding(self) -> Finding:
        """How that is looked up."""
        types = tuple(None if value is None else type_of([value]) for value in self.row)
        return Finding(self.lookup.single, len(self.args), types)

    @property
    def values(self) -> Sequence[object]:
        """The parameters of that."""
        return *self.args, *(value for value in self.row if value is not None)

    def is_of(self, stream: Stream) -> bool:
        """Whether the row is of what has that stream."""
        place = self.lookup.place
        return place is not None and self.row[place - 1] == stream.id

    def left_at(self, after: Stream) -> Row:
        """The row once the stream stands there."""
        place, moved = self.lookup.place, _MOVED(after)
        assert place is not None
        return *self.row[:place], *moved, *self.row[place + len(moved) :]


class Expectations:
    """Rows that are expected. The least recently used go first."""

    def __init__(self) -> None:
        self._left: OrderedDict[_Key, tuple[Row, bool]] = OrderedDict()
        """As this node has left them, and whether they were found like that once."""

    def of(self, lookup: Lookup, args: tuple[object, ...]) -> Expected | None:
        """What is expected of a look-up: nothing before it has found a row as this node has left
        it, since other nodes may be changing the same.
        """
        key = Expected(lookup, args, ()).key
        row, is_sure = self._left.get(key, ((), False))
        return Expected(lookup, args, row) if is_sure else None

    def note(self, found: Expected, after: Stream) -> None:
        """That a row was found, and its stream left there."""
        row, _ = self._left.pop(found.key, ((), False))
        self._left[found.key] = found.left_at(after), row == found.row
        if len(self._left) > MOST_EXPECTED:
            self._left.popitem(last=False)

    def forget(self, expected: Iterable[Expected]) -> None:
        """That something else was found."""
        for one in expected:
            self._left.pop(one.key, None)
