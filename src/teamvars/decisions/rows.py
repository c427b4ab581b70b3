"""Changes of rows that say by themselves what is written, and decisions that are made of others."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from teamvars.decisions import Decision, Write

T = TypeVar("T")


class Insert(Write, frozen=True):
    """A row that is new: a record of a kind that `storage.tables` knows."""

    row: msgspec.Struct


class Update(Write, frozen=True):
    """A row becomes another; what is the same in both is not written."""

    before: msgspec.Struct
    after: msgspec.Struct


class Delete(Write, frozen=True):
    """Rows of a kind go, by their keys, and all that belongs to them."""

    kind: type[msgspec.Struct]
    keys: tuple[str, ...]


def together(answer: T, *parts: Decision[Any]) -> Decision[T]:
    """All that the parts write and record, in their order, with one answer.

    A name that is another's already is that of the first part that can have one.
    """
    return Decision(
        answer,
        writes=tuple(write for part in parts for write in part.writes),
        notes=tuple(note for part in parts for note in part.notes),
        opens={id_: whose for part in parts for id_, whose in part.opens.items()},
        taken=next((part.taken for part in parts if part.taken is not None), None),
    )


def others(
    before: Mapping[str, object], after: Mapping[str, object], more: Iterable[str] = ()
) -> dict[str, object]:
    """What an entry says of something that is there already: how it is now, and what of it is
    another than before, with the names of `more` that is.
    """
    changed = [name for name in after if after[name] != before[name]]
    return {**after, "changed": [*changed, *more]}


def closes(*stream_ids: str) -> dict[str, object]:
    """What the entry above says of streams that end."""
    return {"closes": list(stream_ids)}


def opens(stream_id: str) -> dict[str, object]:
    """What the entry above says of a stream that begins."""
    return {"opens": [stream_id]}
