"""Pages of lists; and lists of ids that a request names, all or none of which a change concerns."""

from collections.abc import Collection, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from teamvars.domain.errors import Fault

T = TypeVar("T")
Position = TypeVar("Position", bound=tuple[Any, ...])

MAX_ITEMS = 1000
"""Of a document that names several resources."""


class Page(msgspec.Struct, frozen=True):
    """Which page of a list: numbered from 1, of at most `size` items."""

    number: int = 1
    size: int = 20

    @property
    def offset(self) -> int:
        """How many items come before it."""
        return (self.number - 1) * self.size


class Paged(msgspec.Struct, Generic[T], frozen=True):
    """The items of one page, in the order of the list, and how many the whole list has."""

    items: Sequence[T]
    total: int


class CursorPaged(msgspec.Struct, Generic[T, Position], frozen=True):
    """The items of one page by cursor, in order, and the position after which the next begins.

    None where the list ends. A page of a search may have less items than it could, or none, and
    one after it.
    """

    items: Sequence[T]
    following: Position | None


class IdsDraft(msgspec.Struct, frozen=True):
    """Resources of one type that a request names by id; an empty one is at fault itself."""

    ids: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Each id once."""
        return tuple(dict.fromkeys(filter(None, self.ids)))

    def all_faults(self, known: Collection[str], unknown: Fault) -> list[Fault]:
        """Those of the document, and one for each id that is not known."""
        named = enumerate(self.ids)
        lacking = [unknown.at(f"/data/{n}/id") for n, id_ in named if id_ and id_ not in known]
        return [*self.faults, *lacking]
