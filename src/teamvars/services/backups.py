"""Backups of a SQLite store: what it has at one moment, and what is known of that."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from teamvars.domain.audit import Head
from teamvars.domain.backups import Manifest
from teamvars.services.archives import Content
from teamvars.storage import installation, streams
from teamvars.storage.database import Database, NotReady
from teamvars.storage.engines import schemas, sqlite_files

Known = tuple[Manifest, list[Head]]
"""What a backup says of itself, and where each of its streams stands."""


@contextmanager
def taken(source: Path, release: str) -> Iterator[tuple[Content, Callable[[], Known]]]:
    """What a SQLite store has now, to be read once, while what is known of it is looked up; that is
    there once somebody asks. Raises NotReady where there is no store, OSError.
    """
    with sqlite_files.taken(source) as snapshot, ThreadPoolExecutor(1) as thread:
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        number = max(snapshot.read(schemas.schema), default=0)
        if not number:
            raise NotReady("There is no store yet, and nothing to back up.")

        def look() -> Known:
            lineage = snapshot.read(installation.find_lineage)
            manifest = Manifest(made_at, release, number, lineage, snapshot.rows())
            return manifest, snapshot.read(streams.heads)

        known = thread.submit(look)
        try:
            yield Content(snapshot.size, snapshot.pieces()), known.result
        finally:
            snapshot.interrupt()


async def heads(database: Database) -> list[Head]:
    """Where each stream of a store stands now."""
    return await database.read(streams.heads)


def lines(heads: Iterable[Head]) -> bytes:
    """Heads as `audit head` prints them."""
    return "".join(f"{one.line}\n" for one in heads).encode()
