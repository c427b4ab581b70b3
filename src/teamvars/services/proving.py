"""Proving of a backup that it is what it was, and of any store that it is whole."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from teamvars.domain.audit import Break, Head
from teamvars.domain.backups import NEWER, Manifest, beyond, reading_findings
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.security.sealing import Sealer
from teamvars.services import backups
from teamvars.services.audit import Audit
from teamvars.services.audit_verification import Place
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage import streams
from teamvars.storage.database import Database
from teamvars.storage.engines import sqlite_files


async def altered(store: Path, manifest: Manifest) -> list[Finding]:
    """How a copy differs from what its manifest says, as long as its schema is as it was."""
    return manifest.altered(await sqlite_files.count(store))


async def moved(database: Database, said: bytes) -> list[Finding]:
    """Whether the streams of a copy stand elsewhere than the heads beside it say."""
    if backups.lines(await backups.heads(database)) == said:
        return []
    return [Finding(Severity.PROBLEM, "audit", "the streams stand elsewhere than heads.jsonl says")]


async def damage(database: Database) -> list[Finding]:
    """What of a store cannot be read; none where all can."""
    inspection = await database.inspect()
    return reading_findings(inspection) if inspection.damage else []


async def examine(
    database: Database,
    sealer: Sealer,
    audit: Audit,
    kept: Sequence[Head] = (),
    passed: Collection[Place] = (),
) -> list[Finding]:
    """Reads everything, opens every value, compares counters with rows and goes through every
    stream, on the way to heads that were kept elsewhere. What of those the store does not have is
    told apart, as `NEWER`.
    """

    async def gone_through() -> list[Finding]:
        diagnosis = Diagnosis(database, database.now)
        last = await database.read(streams.last_entries)
        missing = [Finding(Severity.ADVICE, NEWER, text) for text in beyond(kept, last)]
        within = [head for head in kept if head.sequence <= last.get(head.stream_id, 0)]
        found = await diagnosis.of_losses(sealer)
        found += await diagnosis.of_values(sealer, every=True)
        checked, breaks = await audit.verify(within, passed)
        return [*found, *_of_trail(checked, breaks), *missing]

    inspection, found = await asyncio.gather(database.inspect(), gone_through())
    return [*reading_findings(inspection), *found]


def _of_trail(checked: int, breaks: Sequence[Break]) -> list[Finding]:
    if not breaks:
        return [Finding(Severity.OK, "audit", f"{checked} streams verify")]
    return [
        Finding(Severity.PROBLEM, "audit", f"{one.stream_id} entry {one.sequence}: {one.reason}")
        for one in breaks
    ]
