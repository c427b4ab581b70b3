"""SQLite on a disk whose log fails: what was answered stays true, after a kill and a power cut."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest
from structlog.testing import capture_logs

from teamvars.domain.errors import Refusal
from teamvars.storage.database import Database
from teamvars.storage.engines import sqlite_settlement
from teamvars.storage.engines.sqlite import SqliteDatabase
from tests.faults.forgetful import ForgetfulDatabase
from tests.storage.failing_disk import FailingDisk, Fault, failing_disk
from tests.storage.stores import adding, ids, make_things, words
from tests.support.patience import HANGS

FIRST, ALL = range(1, 2), range(1, 1_000_000)
LOST = Fault("sync", apsw.IOError, FIRST)
BROKEN = Fault("sync", apsw.IOError, ALL)


def nth(call: str, error: type[apsw.Error], most: int, is_done: bool = False) -> list[Fault]:
    """Faults of which each is one call's."""
    return [Fault(call, error, range(n, n + 1), is_done) for n in range(1, most + 1)]


# A commit into a new log writes its header, and each frame in two parts, and syncs twice.
FAULTS = [
    *nth("sync", apsw.IOError, 3),
    *nth("sync", apsw.IOError, 3, is_done=True),
    *nth("write", apsw.IOError, 6),
    *nth("write", apsw.IOError, 6, is_done=True),
    *nth("write", apsw.FullError, 6),
]


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    with failing_disk() as disk:
        yield disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "teamvars.db"


@pytest.fixture
async def store(path: Path, disk: FailingDisk) -> AsyncIterator[Database]:
    store = SqliteDatabase(path, create=True)
    await fill(store)
    yield store
    disk.mend()
    await store.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers wait for a moment only for their commit to be settled."""
    monkeypatch.setattr(sqlite_settlement, "WAIT_SECONDS", 0.05)


async def fill(store: Database) -> None:
    """Opens the store and adds one thing."""
    await store.open()
    await make_things(store)
    await store.write(adding("before"))


async def add(store: Database, *wanted: str, note: str = "") -> dict[str, str]:
    """What those who add these things at the same time are told."""
    outcomes = await asyncio.gather(
        *(store.write(adding(id_, note)) for id_ in wanted), return_exceptions=True
    )
    return dict(zip(wanted, words(*outcomes), strict=True))


def lies(answered: dict[str, str], there: list[str]) -> list[str]:
    """What was answered and is not so. No answer but an unknown outcome leaves a choice."""
    assert set(answered.values()) <= {"done", "storage_unavailable", "outcome_unknown"}
    found = [f"{id_}: {word}" for id_, word in answered.items() if word != "outcome_unknown"
             and (word == "done") != (id_ in there)]  # fmt: skip
    return found if "before" in there else ["what was there before is gone", *found]


async def until_read(store: Database) -> list[str]:
    """The ids of all things, as soon as reads are answered."""
    async with asyncio.timeout(HANGS):
        while True:
            try:
                return await store.read(ids)
            except Refusal:
                await asyncio.sleep(0.01)


async def until_refused(store: Database) -> None:
    """Returns as soon as reads are refused."""
    async with asyncio.timeout(HANGS):
        while True:
            try:
                await store.read(ids)
            except Refusal:
                return
            await asyncio.sleep(0)


def begin_log_anew(path: Path) -> None:
    """The next commit is the first in the log."""
    other = apsw.Connection(str(path))
    busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert busy[0] == 0
    other.close()


@pytest.mark.parametrize("wanted", ["a", "abc"])
@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("is_first", [False, True], ids=["behind others", "first in the log"])
async def test_what_was_answered_is_true_after_a_kill_or_a_power_cut_whatever_call_failed(
    store: Database, disk: FailingDisk, path: Path, is_first: bool, fault: Fault, wanted: str
) -> None:
    if is_first:
        begin_log_anew(path)
    disk.fail(fault)
    answered = await add(store, *wanted)
    assert "outcome_unknown" not in answered.values()
    read = await until_read(store)
    for there in (read, disk.after_kill(path), disk.after_power_cut(path)):
        assert lies(answered, there) == []
    disk.mend()
    assert await store.write(adding("next")) == "next"
    wanted_now = sorted([*read, "next"])
    assert await store.read(ids) == wanted_now
    assert disk.after_kill(path) == disk.after_power_cut(path) == wanted_now


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_what_a_write_in_turns_answered_is_true_as_well(
    store: Database, disk: FailingDisk, path: Path, fault: Fault
) -> None:
    disk.fail(fault)
    (outcome,) = await asyncio.gather(store.write_in_turns(adding("a")), return_exceptions=True)
    answered = dict(zip("a", words(outcome), strict=True))
    assert "outcome_unknown" not in answered.values()
    for there in (await until_read(store), disk.after_kill(path), disk.after_power_cut(path)):
        assert lies(answered, there) == []
    disk.mend()
    assert await store.write_in_turns(adding("next")) == "next"


async def test_a_commit_larger_than_memory_does_not_come_back_either(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    disk.fail(LOST)
    answered = await add(store, "a", "b", note="x" * 12 * 1024 * 1024)
    assert set(answered.values()) == {"storage_unavailable"}
    assert disk.after_kill(path) == disk.after_power_cut(path) == ["before"]


async def test_who_comes_while_a_commit_is_being_settled_waits_and_is_served(
    store: Database, disk: FailingDisk
) -> None:
    disk.fail(Fault("sync", apsw.IOError, range(1, 4)))
    lost = asyncio.create_task(add(store, "a"))
    await until_refused(store)
    assert await add(store, "b") == {"b": "done"}
    assert await lost == {"a": "storage_unavailable"}
    assert await store.read(ids) == ["b", "before"]


@pytest.mark.usefixtures("impatient")
async def test_as_long_as_a_commit_is_not_settled_its_writers_do_not_know_and_nobody_is_served(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    disk.fail(BROKEN)
    with capture_logs() as lines:
        assert set((await add(store, *"abc")).values()) == {"outcome_unknown"}
        reads = store.read(ids), store.survey(ids), store.query(ids)
        outcomes = await asyncio.gather(*reads, store.write(adding("d")), return_exceptions=True)
        assert words(*outcomes) == ["storage_unavailable"] * 4
        assert [line["event"] for line in lines] == [
            "a commit may be in the log and not on the disk"
        ]
        disk.mend()
        assert await until_read(store) == ["before"]
    assert lines[1:] == [{
        "event": "the log is settled",
        "log_level": "warning",
        "seconds": lines[1]["seconds"],
        "undone": True,
    }]  # fmt: skip
    assert disk.after_kill(path) == disk.after_power_cut(path) == ["before"]
    assert await add(store, "next") == {"next": "done"}


async def test_a_full_disk_refuses_writes_and_goes_on_answering_reads(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    disk.fail(Fault("write", apsw.FullError, ALL))
    for _ in range(3):
        assert await add(store, "a") == {"a": "storage_unavailable"}
        assert await store.read(ids) == ["before"]
    assert disk.after_kill(path) == ["before"]


@pytest.mark.usefixtures("impatient")
async def test_another_process_that_commits_meanwhile_loses_nothing(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    other = SqliteDatabase(path)
    await other.open()
    disk.fail(BROKEN)
    assert await add(store, "a") == {"a": "outcome_unknown"}
    disk.mend()
    assert await add(other, "b") == {"b": "done"}
    assert await until_read(store) == await other.read(ids) == ["b", "before"]
    assert disk.after_kill(path) == disk.after_power_cut(path) == ["b", "before"]
    await other.close()


async def test_when_another_process_was_faster_the_outcome_is_unknown(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    disk.fail(BROKEN)
    lost = asyncio.create_task(add(store, "a"))
    await until_refused(store)
    other = apsw.Connection(str(path))
    other.set_busy_timeout(5000)
    other.execute("BEGIN IMMEDIATE")
    disk.mend()
    other.execute("INSERT INTO things (id, note) VALUES ('b', '')")
    other.execute("COMMIT")
    assert await lost == {"a": "outcome_unknown"}
    assert await until_read(store) == ["b", "before"]
    other.close()


@pytest.mark.usefixtures("impatient")
async def test_a_store_can_be_closed_and_opened_again_before_a_commit_is_settled(
    store: Database, disk: FailingDisk, path: Path
) -> None:
    disk.fail(BROKEN)
    assert await add(store, "a", "b") == {"a": "outcome_unknown", "b": "outcome_unknown"}
    disk.mend()
    async with asyncio.timeout(HANGS):
        await store.close()
    again = SqliteDatabase(path)
    await again.open()
    assert await again.read(ids) in (["before"], ["a", "b", "before"])
    await again.close()


async def left_by_a_killed_process(disk: FailingDisk, path: Path) -> Path:
    """A store whose log has a commit that is in the kernel's memory and not on the disk."""
    store = ForgetfulDatabase(path, create=True)
    await fill(store)
    disk.fail(LOST)
    await add(store, "a")
    copied = disk.copy(path)
    await store.close()
    return copied


async def test_what_a_restarted_process_finds_in_the_log_is_on_the_disk_before_it_is_shown(
    disk: FailingDisk, path: Path
) -> None:
    found = await left_by_a_killed_process(disk, path)
    store = SqliteDatabase(found)
    await store.open()
    assert await store.read(ids) == disk.after_power_cut(found) == ["a", "before"]
    assert await add(store, "next") == {"next": "done"}
    assert disk.after_power_cut(found) == ["a", "before", "next"]
    await store.close()


async def test_a_process_that_does_not_see_to_the_log_when_it_opens_the_store_is_found_out(
    disk: FailingDisk, path: Path
) -> None:
    found = await left_by_a_killed_process(disk, path)
    never_opened = SqliteDatabase(found)
    assert await add(never_opened, "next") == {"next": "done"}
    assert lies({"next": "done"}, disk.after_power_cut(found)) == ["next: done"]
    await never_opened.close()


async def test_a_store_that_forgets_failed_commits_is_found_out(
    disk: FailingDisk, path: Path
) -> None:
    store = ForgetfulDatabase(path, create=True)
    await fill(store)
    disk.fail(LOST)
    answered = await add(store, *"abc")
    there = disk.after_kill(path)
    await store.close()
    assert lies(answered, there) == [f"{id_}: storage_unavailable" for id_ in "abc"]


async def test_a_settlement_that_writes_nothing_is_found_out(
    store: Database, disk: FailingDisk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_settlement, "_overwrite", sqlite_settlement._version)
    disk.fail(LOST)
    answered = await add(store, "a")
    assert lies(answered, disk.after_kill(path)) == ["a: storage_unavailable"]
