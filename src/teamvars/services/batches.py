"""Batches: as much at once as others may wait for."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in batches, each of which ends with the item that makes its size `most` or more.

    An item is asked for when its batch is.
    """
    batch: list[T] = []
    room = most
    for item in items:
        batch.append(item)
        room -= size(item)
        if room <= 0:
            yield batch
            batch, room = [], most
    if batch:
        yield batch
