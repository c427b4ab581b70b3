"""An outage of writes is a state of its own: told once, and ended by the node's own tries."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from structlog.testing import capture_logs

from teamvars.domain.errors import OUTCOME_UNKNOWN, Code, Refusal, not_found, storage_unavailable
from teamvars.storage import deadlines
from teamvars.storage.database import Database
from teamvars.storage.engines import outages, poolers
from teamvars.storage.engines.outages import WatchedDatabase, WriteOutages, begins_with
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.storage.engines.sqlite import SqliteDatabase
from tests.storage.failing_disk import FailingDisk, Fault, failing_disk
from tests.storage.stores import adding, ids, make_things
from tests.support.patience import HANGS
from tests.support.postgres import LocalPostgres

PAIR = ["writes are unavailable", "writes are available again"]
TABLE = "CREATE TABLE write_probes (one BIGINT PRIMARY KEY, filler {bytes} NOT NULL)"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.01)


async def make(database: Database) -> None:
    """A table of things, and that of the probes."""
    await make_things(database)
    await database.migrate(lambda tx: tx.script(TABLE))


async def refused(work: Awaitable[object]) -> Code:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value.faults[0].code


async def until(condition: Callable[[], object]) -> None:
    """Returns once it holds."""
    async with asyncio.timeout(HANGS):
        while not condition():  # noqa: ASYNC110 - of whatever it is
            await asyncio.sleep(0.005)


async def first_refused(database: Database) -> tuple[str, Code]:
    """The thing that cannot be added, and why: the server takes up its settings when it can."""
    for number in count():
        try:
            await database.write(adding(f"{number}"))
        except Refusal as refusal:
            return f"{number}", refusal.faults[0].code
    raise AssertionError


@pytest.mark.parametrize(
    ("refusal", "does"),
    [
        (storage_unavailable(apsw.FullError("full")), True),
        (storage_unavailable(apsw.ReadOnlyError("read-only")), True),
        (storage_unavailable(asyncpg.DiskFullError("no space")), True),
        (storage_unavailable(asyncpg.ReadOnlySQLTransactionError("standby")), True),
        (storage_unavailable(ConnectionRefusedError()), False),
        (storage_unavailable(TimeoutError()), False),
        (storage_unavailable(), False),
        (Refusal(OUTCOME_UNKNOWN), False),
        (not_found(), False),
    ],
)
def test_it_begins_with_what_refuses_writes_alone(refusal: Refusal, does: bool) -> None:
    assert begins_with(refusal) is does


def test_it_begins_with_a_commit_that_was_not_confirmed() -> None:
    refusal = Refusal(OUTCOME_UNKNOWN)
    refusal.__cause__ = ConnectionResetError()
    assert begins_with(refusal)


async def test_two_tries_that_succeed_one_after_another_end_it() -> None:
    results = iter([False, True, False, True, True])
    tried: list[bool] = []

    async def probe() -> None:
        tried.append(next(results))
        if not tried[-1]:
            raise storage_unavailable()

    found = WriteOutages(probe)
    with capture_logs() as lines:
        found.begin("FullError: disk full")
        found.begin("FullError: disk full")
        assert found.is_on
        await until(lambda: not found.is_on)
    assert tried == [False, True, False, True, True]
    assert [line["event"] for line in lines] == PAIR
    assert lines[0]["reason"] == "FullError: disk full"


async def add_little(database: Database, disk: FailingDisk, id_: str) -> None:
    """Adds a thing where there is room for a little, and not for what the node tries.

    Such a try may use the room up before: then it is there once more.
    """
    while True:
        disk.fail(Fault("write", apsw.FullError, range(12, 1_000_000)))
        with suppress(Refusal):
            await database.write(adding(id_))
            return


async def test_on_a_full_disk_small_writes_that_succeed_do_not_end_it(tmp_path: Path) -> None:
    with failing_disk() as disk, capture_logs() as lines:
        database = WatchedDatabase(SqliteDatabase(tmp_path / "teamvars.db", create=True))
        async with database:
            await make(database)
            for number in range(5):
                disk.fail(Fault("write", apsw.FullError, range(1, 2)))
                assert await refused(database.write(adding("a"))) is Code.STORAGE_UNAVAILABLE
                assert not database.takes_writes
                await add_little(database, disk, f"b{number}")
            assert not database.takes_writes
            disk.mend()
            await until(lambda: database.takes_writes)
            assert await database.read(ids) == ["b0", "b1", "b2", "b3", "b4"]
    assert [line["event"] for line in lines] == PAIR


@pytest.fixture
async def alone(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalPostgres]:
    """A PostgreSQL of this test's own, durable."""
    monkeypatch.setattr(deadlines, "COMMIT_SECONDS", 0.0)
    with LocalPostgres(durable=True) as server:
        yield server


async def waiting_commits(admin: Any) -> int:
    """How many wait for a standby."""
    found = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    return int(await admin.fetchval(found))


async def test_where_a_standby_is_gone_one_probe_waits_in_its_commit_and_is_never_cancelled(
    alone: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(poolers.ALWAYS, "lock_timeout", "100ms")
    admin = await asyncpg.connect(alone.admin_url)
    inner = PostgresDatabase(alone.admin_url, 3.0)
    with capture_logs() as lines:
        async with (database := WatchedDatabase(inner)):
            await make(database)
            await admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            await admin.execute("SELECT pg_reload_conf()")
            stuck, code = await first_refused(database)
            assert code is Code.OUTCOME_UNKNOWN
            assert not database.takes_writes
            # Whoever waits for a row that this commit holds meets the same outage, not another.
            assert await refused(database.write(adding(stuck))) is Code.STORAGE_UNAVAILABLE
            # The one that was given up, and the probe.
            while await waiting_commits(admin) < 2:  # noqa: ASYNC110 - of a server
                await asyncio.sleep(0.01)
            # Longer than any deadline: reads go on, and nothing else waits.
            for _ in range(40):
                await database.read(ids)
                await asyncio.sleep(0.1)
                assert await waiting_commits(admin) == 2
            assert not database.takes_writes
            assert (await database.engine()).missing_standbys == 1
            await admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
            await admin.execute("SELECT pg_reload_conf()")
            await until(lambda: database.takes_writes)
            assert (await database.engine()).missing_standbys == 0
            await database.write(adding("b"))
    await admin.close()
    assert [line["event"] for line in lines] == PAIR


@pytest.mark.parametrize(
    ("names", "commit", "missing"),
    [
        ("", "on", 0),
        ("first_one, another", "on", 1),
        ("*", "remote_apply", 1),
        ("2 (a, b, c)", "on", 2),
        ("FIRST 3 (a, b, c)", "remote_write", 3),
        ("any 2 (a, b)", "on", 2),
        ("2", "on", 1),
        ("a", "local", 0),
    ],
)
async def test_standbys_that_commits_wait_for_in_vain_are_counted(
    alone: LocalPostgres, names: str, commit: str, missing: int
) -> None:
    admin = await asyncpg.connect(alone.admin_url)
    await admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    await admin.execute("SELECT pg_reload_conf()")
    await admin.close()
    async with PostgresDatabase(f"{alone.admin_url}?options=-csynchronous_commit%3D{commit}") as it:
        assert (await it.engine()).missing_standbys == missing
