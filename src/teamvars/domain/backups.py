"""What a backup says of itself, and what it lacks of what is known elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from teamvars.domain.audit import Head
from teamvars.domain.diagnosis import Finding, Severity

NEWER = "newer"
"""The subject of findings of what a store does not have."""


class Inspection(msgspec.Struct, frozen=True):
    """What reading everything in a store has shown: the rows of each table, and what is damaged."""

    rows: Mapping[str, int]
    damage: Sequence[str] = ()


class Manifest(msgspec.Struct, frozen=True, rename="kebab"):
    """What a backup is of: `schema` is the number of the last migration there, `made_at` a time of
    ISO 8601, `rows` those of each table.
    """

    made_at: str
    release: str
    schema: int
    lineage: str | None
    rows: Mapping[str, int]

    @property
    def title(self) -> str:
        """The backup in words."""
        store = self.lineage or "a store without an id"
        return f"backup of {store} at {self.made_at}, by release {self.release}"

    def altered(self, inspection: Inspection) -> list[Finding]:
        """What is wrong with a copy, before its schema is changed: damage, or other rows than were
        counted when it was made.
        """
        if inspection.damage:
            return reading_findings(inspection)
        then, now = self.rows, inspection.rows
        return [
            Finding(Severity.PROBLEM, "rows", f"{name} had {then.get(name, 0)}, has {rows}")
            for name in sorted({*then, *now})
            if (rows := now.get(name, 0)) != then.get(name, 0)
        ]


def beyond(kept: Iterable[Head], last: Mapping[str, int]) -> Iterator[str]:
    """Which entries heads that were kept elsewhere know of, and a store does not have: `last` is
    the number of the last one that it has of each stream.
    """
    for head in kept:
        there = last.get(head.stream_id, 0)
        if head.sequence > there:
            entries = f"{there + 1} to {head.sequence}"
            yield f"stream {head.stream_id} lacks entries that were kept elsewhere: {entries}"


def reading_findings(inspection: Inspection) -> list[Finding]:
    """What reading everything is worth."""
    if inspection.damage:
        return [Finding(Severity.PROBLEM, "reading", text) for text in inspection.damage]
    rows = sum(inspection.rows.values())
    text = f"all {rows} rows of {len(inspection.rows)} tables can be read"
    return [Finding(Severity.OK, "reading", text)]
