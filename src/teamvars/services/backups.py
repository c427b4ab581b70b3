"""Backups of a SQLite store, and proving of any store that it is whole."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from teamvars.domain.audit import Break, Head
from teamvars.domain.backups import NEWER, Manifest, beyond, reading_findings
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.security.sealing import Sealer
from teamvars.services.audit import Audit
from teamvars.services.audit_verification import Place
from teamvars.services.diagnosis import Diagnosis
from teamvars.services.installation import NotReady
from teamvars.storage import installation, streams
from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import schemas, sqlite_copies
from teamvars.storage.engines.sqlite import SqliteDatabase

Known = tuple[Manifest, list[Head]]
"""What a backup says of itself, and where each of its streams stands."""


async def copied(source: Path, target: Path, release: str) -> Known:
    """Copies a SQLite store to a new file, and says what the copy is. Raises NotReady where there
    is no store, OSError.
    """
    rows = await asyncio.to_thread(sqlite_copies.snapshot, source, target)

    async def body(tx: Transaction) -> tuple[int, str | None, list[Head]]:
        number = max(await schemas.schema(tx), default=0)
        if not number:
            raise NotReady("There is no store yet, and nothing to back up.")
        return number, await installation.find_lineage(tx), await streams.heads(tx)

    async with SqliteDatabase(target) as database:
        number, lineage, heads = await database.read(body)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(made_at, release, number, lineage, rows), heads


async def heads(database: Database) -> list[Head]:
    """Where each stream of a store stands now."""
    return await database.read(streams.heads)


def lines(heads: Iterable[Head]) -> bytes:
    """Heads as `audit head` prints them."""
    return "".join(f"{one.line}\n" for one in heads).encode()


async def altered(store: Path, manifest: Manifest) -> list[Finding]:
    """How a copy differs from what its manifest says, as long as its schema is as it was."""
    return manifest.altered(await asyncio.to_thread(sqlite_copies.count, store))


async def moved(database: Database, said: bytes) -> list[Finding]:
    """Whether the streams of a copy stand elsewhere than the heads beside it say."""
    if lines(await heads(database)) == said:
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
