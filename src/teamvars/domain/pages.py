"""Pages of lists."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
Position = TypeVar("Position", bound=tuple[Any, ...])


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


def paged(whole: Sequence[T], page: Page | None) -> Paged[T]:
    """A page of a list that is there as a whole; None: all of it."""
    some = whole if page is None else whole[page.offset : page.offset + page.size]
    return Paged(some, len(whole))


class CursorPaged(msgspec.Struct, Generic[T, Position], frozen=True):
    """The items of one page by cursor, in order, and the position after which the next begins.

    None where the list ends. A page of a search may have less items than it could, or none, and
    one after it.
    """

    items: Sequence[T]
    following: Position | None
