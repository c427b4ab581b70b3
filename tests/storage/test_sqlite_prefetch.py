"""A SQLite file that is not in memory: the event loop does not stand still for its disk."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import sqlite_prefetch
from tests.storage.stores import fresh_sqlite, make_things, opened, words
from tests.support.patience import HANGS

PAGES = 5
NOTE = "n" * 4096 * PAGES


class SlowDisk(apsw.VFS):
    """SQLite's default file system while it is registered.

    A read of the event loop's thread takes `seconds`; one of a prefetch waits for `go`.
    """

    def __init__(self) -> None:
        super().__init__("slow", "unix", makedefault=True)
        self.seconds = 0.0
        self.fails = False
        self.go = threading.Event()
        self.slow_reads = self.reads_of_prefetches = 0

    def xOpen(self, name: Any, flags: list[int]) -> "_File":  # noqa: N802 - the driver's name
        return _File(self, name, flags)

    def wait(self) -> None:
        """Lets one read take its time."""
        if threading.current_thread() is threading.main_thread():
            self.slow_reads += self.seconds > 0
            time.sleep(self.seconds)
            if self.fails:
                self.fails = False
                raise apsw.IOError
        elif threading.current_thread().name.startswith("sqlite-prefetch"):
            self.reads_of_prefetches += 1
            assert self.go.wait(HANGS)


class _File(apsw.VFSFile):
    def __init__(self, disk: SlowDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if amount >= 1024:  # a page, of the file or of its log
            self._disk.wait()
        return super().xRead(amount, offset)


@pytest.fixture
async def disk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlowDisk]:
    disk = SlowDisk()
    monkeypatch.setattr(sqlite_prefetch, "_blocks_read", lambda: disk.slow_reads)
    for name in ("_AGAIN_SECONDS", "_WANTED_SECONDS"):
        monkeypatch.setattr(sqlite_prefetch, name, HANGS)
    yield disk
    disk.unregister()


@pytest.fixture
async def store(tmp_path: Path, disk: SlowDisk) -> AsyncIterator[Database]:
    """A store of ten long notes."""

    async def fill(tx: Transaction) -> None:
        for number in range(10):
            await tx.execute("INSERT INTO things (id, note) VALUES ($1, $2)", str(number), NOTE)

    async with opened(fresh_sqlite(tmp_path)) as database:
        await make_things(database)
        await database.write(fill)
        yield database
        disk.go.set()


async def note(database: Database, id_: str) -> str:
    async def body(tx: Transaction) -> str:
        await tx.prefetch("SELECT max(note) FROM things WHERE id = $1", id_)
        row = await tx.fetch_one("SELECT note FROM things WHERE id = $1", id_)
        assert row is not None
        return str(row[0])

    return await database.query(body)


async def test_after_statements_have_waited_for_the_disk_the_next_is_read_in_a_thread(
    store: Database, disk: SlowDisk
) -> None:
    disk.seconds = 0.002
    for id_ in ("1", "2"):
        assert await note(store, id_) == NOTE
    reading = asyncio.create_task(note(store, "3"))
    while not disk.reads_of_prefetches and not reading.done():  # noqa: ASYNC110 - of a thread
        await asyncio.sleep(0.001)
    rows = await store.query(lambda tx: tx.fetch("SELECT id FROM things WHERE id = '1'"))
    assert [tuple(row) for row in rows] == [("1",)], "answered while the disk is read"
    assert not reading.done()
    disk.go.set()
    assert await reading == NOTE


async def test_a_store_that_is_in_memory_is_read_without_a_thread(
    store: Database, disk: SlowDisk
) -> None:
    for number in range(10):
        assert await note(store, str(number)) == NOTE
    assert disk.reads_of_prefetches == 0


async def test_what_a_prefetch_meets_with_is_no_ones(store: Database, disk: SlowDisk) -> None:
    async def body(tx: Transaction) -> int:
        await tx.prefetch("SELECT nothing FROM nowhere")
        return len(await tx.fetch("SELECT id FROM things"))

    disk.seconds = 0.002
    disk.go.set()
    for id_ in ("1", "2"):
        await note(store, id_)
    assert await store.query(body) == 10


async def test_what_cannot_be_read_beforehand_takes_no_other_along(
    store: Database, disk: SlowDisk
) -> None:
    async def broken(tx: Transaction) -> None:
        await tx.execute("UPDATE things SET note = CAST(x'ff' AS TEXT) WHERE id = '4'")

    disk.seconds = 0.002
    disk.go.set()
    await store.write(broken)
    for id_ in ("1", "2"):
        await note(store, id_)
    found = await asyncio.gather(note(store, "3"), note(store, "5"), note(store, "4"))
    assert list(found) == [NOTE, NOTE, "\U0010ffff"]


async def test_a_disk_that_fails_one_read_fails_no_other(store: Database, disk: SlowDisk) -> None:
    disk.fails = True
    first, *others = await asyncio.gather(
        *(note(store, str(number)) for number in range(5)), return_exceptions=True
    )
    assert words(first) == ["storage_unavailable"]
    assert others == [NOTE] * 4


async def test_between_slow_statements_others_have_the_loop(
    store: Database, disk: SlowDisk
) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def read(number: int) -> None:
        sql = "SELECT note FROM things WHERE id = $1"
        await store.query(lambda tx: tx.fetch(sql, str(number)))

    disk.seconds = 0.002
    counting = asyncio.create_task(count())
    await asyncio.gather(*map(read, range(10)))
    counting.cancel()
    assert turns >= 10
