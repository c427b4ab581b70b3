"""SQLite: writes that share a commit, another process's lock, and files that go wrong."""

# ruff: noqa: ASYNC240 - what a test does to files is quick

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import apsw
import pytest

from teamvars.domain.errors import Refusal, not_found
from teamvars.storage.database import (
    STRICT,
    Database,
    MissingTable,
    Statement,
    T,
    Taken,
    Transaction,
)
from teamvars.storage.engines import sqlite
from teamvars.storage.engines.outages import begins_with
from teamvars.storage.engines.sqlite_settlement import has_wal
from tests.storage.stores import adding, batched, fresh_sqlite, ids, make_things, opened, words
from tests.support.patience import HANGS

MEGABYTE = 1024 * 1024

# Holds the write lock until its standard input ends.
HOLDER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "teamvars.db"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(fresh_sqlite(tmp_path)) as database:
        await make_things(database)
        yield database


async def denied(tx: Transaction) -> None:
    await tx.fetch("SELECT id FROM things")
    raise not_found()


async def refused(tx: Transaction) -> None:
    await tx.execute("INSERT INTO things (id, note) VALUES ('of the refused', '')")
    raise not_found()


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Lets no file of this process grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == b"locked\n"
        yield holder
        holder.stdin.close()


@contextmanager
def powerless() -> Iterator[None]:
    """Takes root's right to write everywhere away for a while; others have none to lose."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


# Writes that share a commit


async def test_between_long_reads_others_have_the_event_loop(store: Database) -> None:
    counting = (
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers "
        "WHERE n < 20000) SELECT max(n) FROM numbers"
    )
    order: list[str] = []

    async def long(tx: Transaction) -> None:
        await tx.fetch(counting)
        order.append("read")

    async def others() -> None:
        while order.count("read") < 8:
            order.append("others")
            await asyncio.sleep(0)

    await asyncio.gather(others(), *(store.read(long) for _ in range(8)))
    assert ("read", "read") not in pairwise(order)


async def test_writes_at_the_same_time_are_all_done_each_with_its_own_answer(
    store: Database,
) -> None:
    wanted = [f"thing {n:03}" for n in range(200)]
    answers = await asyncio.gather(*(store.write(adding(id_)) for id_ in wanted))
    assert answers == wanted
    assert await store.read(ids) == wanted


async def test_a_broken_constraint_undoes_its_own_statements_and_nobody_elses(
    store: Database,
) -> None:
    async def twice(tx: Transaction) -> None:
        await tx.execute("INSERT INTO things (id, note) VALUES ('b', '')")
        await tx.execute("INSERT INTO things (id, note) VALUES ('a', '')")

    first, second, third = await asyncio.gather(
        store.write(adding("a")),
        store.write(twice),
        store.write(adding("c")),
        return_exceptions=True,
    )
    assert (first, third) == ("a", "c")
    assert isinstance(second, Taken)
    assert await store.read(ids) == ["a", "c"]


async def test_a_refusal_undoes_its_own_statements_and_nobody_elses(store: Database) -> None:
    outcomes = await asyncio.gather(
        store.write(adding("a")),
        store.write(refused),
        store.write(adding("b")),
        return_exceptions=True,
    )
    assert words(*outcomes) == ["done", "not_found", "done"]
    assert await store.read(ids) == ["a", "b"]


async def test_tables_that_a_failed_migration_made_are_gone_and_nobody_elses_rows(
    store: Database,
) -> None:
    async def broken(tx: Transaction) -> None:
        await tx.script("CREATE TABLE more_things (id {text} PRIMARY KEY)")
        raise not_found()

    outcomes = await asyncio.gather(
        store.write(adding("a")),
        store.migrate(broken),
        store.write(adding("b")),
        return_exceptions=True,
    )
    assert words(*outcomes) == ["done", "not_found", "done"]
    assert await store.read(ids) == ["a", "b"]
    with pytest.raises(MissingTable):
        await store.read(lambda tx: tx.fetch("SELECT id FROM more_things"))


async def test_nobody_runs_again_for_a_change_that_is_refused_before_it_has_changed_anything(
    store: Database,
) -> None:
    runs = []

    async def counted(tx: Transaction) -> None:
        runs.append(await ids(tx))

    async def taken(tx: Transaction) -> None:
        await tx.execute("INSERT INTO things (id, note) VALUES ('b', ''), ('a', '')")

    outcomes = await asyncio.gather(
        batched(store, counted),
        batched(store, adding("a")),
        batched(store, denied),
        batched(store, taken),
        batched(store, counted),
        return_exceptions=True,
    )
    assert words(*outcomes) == ["done", "done", "not_found", "Taken()", "done"]
    assert runs == [[], ["a"]]


async def test_a_change_that_is_refused_after_it_has_changed_something_is_undone_alone(
    store: Database,
) -> None:
    outcomes = await asyncio.gather(
        batched(store, adding("a")),
        batched(store, refused),
        store.write(adding("b")),
        batched(store, refused),
        batched(store, adding("c")),
        return_exceptions=True,
    )
    assert words(*outcomes) == ["done", "not_found", "done", "not_found", "done"]
    assert await store.read(ids) == ["a", "b", "c"]


async def test_nobody_is_told_of_success_when_sqlite_has_ended_the_transaction_in_secret(
    store: Database,
) -> None:
    async def hides_it(tx: Transaction) -> str:
        await tx.execute("INSERT INTO things (id, note) VALUES ('hidden', '')")
        with suppress(Taken):
            await tx.execute("INSERT OR ROLLBACK INTO things (id, note) VALUES ('hidden', '')")
        return "success"

    outcomes = await asyncio.gather(
        store.write(adding("a")),
        store.write(hides_it),
        store.write(adding("b")),
        batched(store, hides_it),
        return_exceptions=True,
    )
    assert words(*outcomes) == ["storage_unavailable"] * 4
    assert await store.read(ids) == []
    assert await store.write(adding("after")) == "after"


async def test_when_no_thread_can_be_had_for_the_commit_the_next_write_finds_the_store_as_it_was(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(*_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "submit", no_thread)
        outcomes = await asyncio.gather(
            store.write(adding("a")), batched(store, adding("b")), return_exceptions=True
        )
    assert all(isinstance(outcome, RuntimeError) for outcome in outcomes)
    assert await store.read(ids) == []
    assert await store.write(adding("after")) == "after"


async def test_a_write_sees_what_the_writes_before_it_in_the_commit_did(store: Database) -> None:
    _, seen = await asyncio.gather(store.write(adding("a")), store.write(ids))
    assert seen == ["a"]


async def test_a_write_that_awaits_something_else_fails_and_nobody_else(store: Database) -> None:
    async def waits(tx: Transaction) -> None:
        await tx.execute("INSERT INTO things (id, note) VALUES ('of the waiting', '')")
        await asyncio.sleep(0)

    first, second, third = await asyncio.gather(
        store.write(adding("a")),
        store.write(waits),
        store.write(adding("b")),
        return_exceptions=True,
    )
    assert (first, third) == ("a", "b")
    assert isinstance(second, RuntimeError)
    assert await store.read(ids) == ["a", "b"]


async def test_a_read_that_awaits_something_else_fails_and_the_next_works(store: Database) -> None:
    async def waits(_: Transaction) -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError):
        await store.read(waits)
    assert await store.read(ids) == []


async def test_a_client_that_goes_away_stops_neither_its_write_nor_the_others(
    store: Database,
) -> None:
    gone = asyncio.create_task(store.write(adding("of the gone")))
    refused_and_gone = asyncio.create_task(store.write(refused))
    staying = asyncio.create_task(store.write(adding("of the staying")))
    await asyncio.sleep(0)
    gone.cancel()
    refused_and_gone.cancel()
    assert await staying == "of the staying"
    assert await store.write(adding("of the next")) == "of the next"
    assert await store.read(ids) == ["of the gone", "of the next", "of the staying"]


async def test_closing_waits_for_the_writes_under_way(tmp_path: Path) -> None:
    async with opened(fresh_sqlite(tmp_path)) as first:
        await make_things(first)
        writing = asyncio.create_task(first.write(adding("a")))
        await asyncio.sleep(0)
    assert await writing == "a"
    async with opened(fresh_sqlite(tmp_path)) as second:
        assert await second.read(ids) == ["a"]


# A disk that is full


async def test_when_the_commit_fails_all_of_it_is_refused_even_what_was_refused_before(
    store: Database,
) -> None:
    await store.write(adding("before"))
    with full_disk(MEGABYTE // 2):
        outcomes = await asyncio.gather(
            store.write(adding("small")),
            store.write(refused),
            store.write(adding("large", "x" * MEGABYTE)),
            return_exceptions=True,
        )
    assert words(*outcomes) == ["storage_unavailable"] * 3
    assert await store.read(ids) == ["before"]
    await store.write(adding("after"))
    assert await store.read(ids) == ["after", "before"]


async def test_when_sqlite_ends_the_transaction_itself_all_of_it_is_refused(
    store: Database,
) -> None:
    await store.write(adding("before"))
    huge = "x" * 20 * MEGABYTE  # more than SQLite keeps in memory until the commit
    with full_disk(MEGABYTE // 2):
        outcomes = await asyncio.gather(
            store.write(adding("first")),
            store.write(adding("huge", huge)),
            store.write(adding("last")),
            return_exceptions=True,
        )
        answered = {
            id_
            for id_, word in zip(("first", "huge", "last"), words(*outcomes), strict=True)
            if word == "done"
        }
        assert "huge" not in answered
        assert set(await store.read(ids)) == {"before", *answered}
    await store.write(adding("after"))
    assert set(await store.read(ids)) == {"before", "after", *answered}


# Another process


async def test_a_write_waits_for_another_processs_lock_and_nothing_else_waits_for_it(
    store: Database, path: Path
) -> None:
    with locked_by_another_process(path) as holder:
        writing = asyncio.create_task(store.write(adding("a")))
        for _ in range(50):  # were the loop to wait for it, the write would have failed by then
            await asyncio.sleep(0.01)
            assert not writing.done()
        assert await store.read(ids) == []
        assert not writing.done()
        assert holder.stdin
        holder.stdin.close()
        assert await writing == "a"
    assert await store.read(ids) == ["a"]


async def test_a_write_is_refused_when_another_process_does_not_let_go(
    store: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOCK_WAIT_SECONDS", 0.2)
    with locked_by_another_process(path):
        outcomes = await asyncio.gather(
            store.write(adding("a")), store.write(refused), return_exceptions=True
        )
        assert words(*outcomes) == ["storage_unavailable"] * 2
    assert await store.write(adding("b")) == "b"
    assert await store.read(ids) == ["b"]


async def test_a_new_file_that_another_process_has_locked_is_waited_for(path: Path) -> None:
    path.touch()
    with locked_by_another_process(path) as holder:
        database = sqlite.SqliteDatabase(path)
        opening = asyncio.create_task(database.open())
        await asyncio.sleep(0.1)
        assert not opening.done()
        assert holder.stdin
        holder.stdin.close()
        await opening
    await make_things(database)
    await database.close()


async def test_two_workers_add_to_one_number_and_lose_nothing(
    store: Database, tmp_path: Path
) -> None:
    async def increment(tx: Transaction) -> None:
        row = await tx.fetch_one("SELECT note FROM things WHERE id = 'number'")
        assert row is not None
        await tx.execute("UPDATE things SET note = $1 WHERE id = 'number'", str(int(row[0]) + 1))

    async def number(tx: Transaction) -> int:
        row = await tx.fetch_one("SELECT note FROM things WHERE id = 'number'")
        assert row is not None
        return int(row[0])

    async def many(database: Database) -> None:
        for _ in range(20):
            await asyncio.gather(*(database.write(increment) for _ in range(5)))

    await store.write(adding("number", "0"))
    async with opened(fresh_sqlite(tmp_path)) as other:
        await asyncio.gather(many(store), many(other))
        assert await store.read(number) == await other.read(number) == 200


async def test_a_read_sees_one_state_whatever_others_write_meanwhile(
    store: Database, path: Path
) -> None:
    other = apsw.Connection(str(path))

    async def reading(tx: Transaction) -> tuple[list[str], list[str]]:
        before = await ids(tx)
        other.execute("INSERT INTO things (id, note) VALUES ('new', '')")
        return before, await ids(tx)

    assert await store.read(reading) == ([], [])
    assert await store.read(ids) == ["new"]
    other.close()


async def test_while_a_survey_looks_at_one_state_others_read_and_write(store: Database) -> None:
    loop = asyncio.get_running_loop()
    looks, may_end = asyncio.Event(), threading.Event()

    async def looking(tx: Transaction) -> tuple[list[str], list[str]]:
        before = await ids(tx)
        loop.call_soon_threadsafe(looks.set)
        assert may_end.wait(HANGS)
        return before, await ids(tx)

    survey = asyncio.create_task(store.survey(looking))
    await looks.wait()
    await store.write(adding("new"))
    assert await store.query(ids) == await store.read(ids) == ["new"]
    may_end.set()
    assert await survey == ([], [])
    assert await store.survey(ids) == ["new"]


async def test_a_read_changes_nothing(store: Database) -> None:
    await store.read(adding("a"))
    await store.survey(adding("b"))
    assert await store.read(ids) == []


# The file


# Queries, whose statements run together


async def test_a_query_sees_what_was_committed_before_it_was_asked(store: Database) -> None:
    asked = asyncio.create_task(store.query(ids))
    await store.write(adding("a"))
    late = asyncio.create_task(store.query(ids))
    assert await late == ["a"]
    assert await asked in ([], ["a"])


async def test_a_query_that_fails_takes_no_other_along(store: Database) -> None:
    async def wrong(tx: Transaction) -> None:
        await tx.fetch("SELECT nothing FROM things")

    async def nowhere(tx: Transaction) -> None:
        await tx.fetch("SELECT id FROM nowhere")

    await store.write(adding("a"))
    *good, missing, bug = await asyncio.gather(
        store.query(ids), store.query(ids), store.query(nowhere), store.query(wrong),
        return_exceptions=True,
    )  # fmt: skip
    assert good == [["a"], ["a"]]
    assert words(missing) == ["storage_unavailable"]
    assert isinstance(bug, apsw.SQLError)


async def test_one_who_gives_up_a_query_takes_no_other_along(store: Database) -> None:
    await store.write(adding("a"))
    gone, there = (asyncio.create_task(store.query(ids)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert await there == ["a"]
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_queries_are_refused_while_the_file_is_away_and_answered_when_it_is_back(
    store: Database, path: Path
) -> None:
    await store.write(adding("a"))
    away = path.with_name("away")
    path.rename(away)
    outcomes = await asyncio.gather(*(store.query(ids) for _ in range(3)), return_exceptions=True)
    assert words(*outcomes) == ["storage_unavailable"] * 3
    away.rename(path)
    assert await store.query(ids) == ["a"]


async def test_the_protection_that_was_asked_of_sqlite_is_on(store: Database) -> None:
    wanted = {
        "journal_mode": "wal",
        "journal_size_limit": 16 * MEGABYTE,
        "synchronous": 2,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "secure_delete": 1,
    }

    async def pragmas(tx: Transaction) -> dict[str, object]:
        return {name: (await tx.fetch(f"PRAGMA {name}"))[0][0] for name in wanted}

    assert await store.write(pragmas) == wanted
    assert await store.read(pragmas) == wanted


async def test_nobody_but_the_owner_can_read_the_files(store: Database, path: Path) -> None:
    await store.write(adding("a"))
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(
        ("teamvars.db", "teamvars.db-shm", "teamvars.db-wal"),
        0o600,
    )


async def test_a_missing_file_is_not_made_by_accident(path: Path) -> None:
    database = sqlite.SqliteDatabase(path)
    with pytest.raises(Refusal) as refusal:
        await database.open()
    assert words(refusal.value) == ["storage_unavailable"]
    assert not path.exists()
    await database.close()


async def test_nothing_is_written_to_a_file_that_was_taken_away_and_all_is_well_when_it_is_back(
    store: Database, path: Path
) -> None:
    await store.write(adding("before"))
    away = path.with_name("away")
    path.rename(away)
    outcomes = await asyncio.gather(
        store.write(adding("lost")), store.read(ids), return_exceptions=True
    )
    assert words(*outcomes) == ["storage_unavailable"] * 2
    away.rename(path)
    await store.write(adding("after"))
    assert await store.read(ids) == ["after", "before"]


async def test_nothing_is_committed_to_a_log_that_was_taken_away_and_all_that_was_is_kept(
    store: Database, path: Path, tmp_path: Path
) -> None:
    log = path.with_name(f"{path.name}-wal")
    await store.write(adding("before"))
    async with opened(fresh_sqlite(tmp_path)) as other:
        await other.write(adding("of the other"))
        log.unlink()
        # Whoever comes first begins no other log beside the one that the second still has.
        outcomes = [await answer(one.write(adding("lost"))) for one in (store, store, other)]
        assert words(*outcomes) == ["storage_unavailable"] * 3
        causes = [str(one.__cause__) for one in outcomes if isinstance(one, Refusal)]
        assert str(log) in causes[0] == causes[2]
        assert "another process" in causes[1]
        await store.write(adding("after"))
        await other.write(adding("of the other, after"))
        # As a crash leaves it.
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for file in (path, log):
            shutil.copy(file, crashed)
    async with opened(fresh_sqlite(crashed)) as found:
        assert await found.read(ids) == [
            "after",
            "before",
            "of the other",
            "of the other, after",
        ]


@pytest.mark.parametrize("all_is_in_the_file", [False, True])
async def test_a_file_whose_log_was_taken_away_is_opened_with_no_other_beside_those_that_read(
    tmp_path: Path, path: Path, all_is_in_the_file: bool
) -> None:
    """As when somebody makes room on a full disk, for which the connection that writes is closed
    each time.
    """
    async with opened(fresh_sqlite(tmp_path)) as database:
        assert isinstance(database, sqlite.SqliteDatabase)
        await make_things(database)
        await database.write(adding("before"))
        assert await database.survey(ids) == ["before"]
        if all_is_in_the_file:
            database._writer.connection().wal_checkpoint()
        database._writer.close()
        path.with_name(f"{path.name}-wal").unlink()
        refused = await answer(database.write(adding("lost")))
        assert words(refused) == ["storage_unavailable"]
        assert isinstance(refused, Refusal)
        assert begins_with(refused)
        assert await database.read(ids) == ["before"]
        await database.write(adding("after"))
        assert await database.read(ids) == await database.survey(ids) == ["after", "before"]
    async with opened(fresh_sqlite(tmp_path)) as again:
        assert await again.read(ids) == ["after", "before"]


async def test_who_opens_the_file_later_begins_no_log_in_the_place_of_one_that_was_taken_away(
    store: Database, path: Path
) -> None:
    """Also where what they share was taken away with it: writes were refused until a restart."""
    await store.write(adding("before"))
    for name in ("wal", "shm"):
        path.with_name(f"{path.name}-{name}").unlink()
    outcomes = [await answer(store.survey(ids)), await answer(store.write(adding("lost")))]
    assert words(*outcomes) == ["storage_unavailable"] * 2
    await store.write(adding("after"))
    assert await store.survey(ids) == await store.read(ids) == ["after", "before"]


async def test_a_log_that_was_taken_away_is_put_into_the_file_once_nobody_reads_what_was_before(
    store: Database, path: Path
) -> None:
    await store.write(adding("before"))
    with closing(apsw.Connection(str(path))) as reading:
        reading.execute("BEGIN; SELECT id FROM things").fetchall()
        await store.write(adding("since"))
        path.with_name(f"{path.name}-wal").unlink()
        outcomes = [await answer(store.write(adding("lost"))) for _ in range(2)]
        assert await store.read(ids) == ["before", "since"]
    outcomes.append(await answer(store.write(adding("lost"))))
    assert words(*outcomes) == ["storage_unavailable"] * 3
    assert all(begins_with(one) for one in outcomes if isinstance(one, Refusal))
    await store.write(adding("after"))
    assert await store.read(ids) == ["after", "before", "since"]


async def test_nothing_is_committed_beside_a_log_that_took_the_place_of_the_opened_one(
    store: Database, path: Path
) -> None:
    log = path.with_name(f"{path.name}-wal")
    away = path.with_name("away")
    await store.write(adding("before"))
    # So that a connection that opened the other one would find nothing wrong with it.
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("SELECT id FROM things").fetchall()  # which opens the log
        frames, copied = connection.wal_checkpoint()
    assert frames == copied > 0
    log.rename(away)
    log.touch()
    outcomes = [await answer(store.write(adding("lost"))) for _ in range(3)]
    assert words(*outcomes) == ["storage_unavailable"] * 3
    assert all(begins_with(one) for one in outcomes if isinstance(one, Refusal))
    assert await store.read(ids) == ["before"]
    away.replace(log)
    await store.write(adding("after"))
    assert await store.read(ids) == ["after", "before"]


async def test_a_log_that_has_grown_while_somebody_read_is_cut_once_it_begins_anew(
    store: Database, path: Path
) -> None:
    log = path.with_name("teamvars.db-wal")
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN")
        other.execute(
            "SELECT id FROM things"
        ).fetchall()  # as a backup does, for as long as it takes
        for n in range(20):
            await store.write(adding(f"{n:02}", "x" * MEGABYTE))
        assert log.stat().st_size > 20 * MEGABYTE
    for id_ in ("next", "one more"):
        await store.write(adding(id_))
    assert log.stat().st_size <= 16 * MEGABYTE
    assert await store.read(ids) == [*(f"{n:02}" for n in range(20)), "next", "one more"]


async def test_the_log_of_a_linked_file_is_found(store: Database, path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    await store.write(adding("a"))
    assert has_wal(link)


async def answer(work: Awaitable[T]) -> T | Refusal:
    """What comes of it."""
    try:
        return await work
    except Refusal as refusal:
        return refusal


async def test_a_file_in_the_place_of_the_opened_one_is_neither_read_nor_written(
    store: Database, path: Path
) -> None:
    """What the log beside it has of the first would be put into it, whatever it holds."""
    await store.write(adding("of the old file"))
    old, new = path.with_name("old.db"), path.with_name("new.db")
    async with opened(f"sqlite:///{new}") as restored:
        await make_things(restored)
        await restored.write(adding("restored"))
    path.rename(old)
    before = new.replace(path).read_bytes()
    asked = store.write(adding("lost")), store.read(ids), store.query(ids)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert words(*outcomes) == ["storage_unavailable"] * 3
    cause = outcomes[0].__cause__ if isinstance(outcomes[0], Refusal) else None
    assert "restart to serve this one" in str(cause)
    assert path.read_bytes() == before
    old.replace(path)
    await store.write(adding("written after"))
    assert await store.read(ids) == ["of the old file", "written after"]


@pytest.mark.parametrize("strictly", ["", STRICT])
async def test_text_that_cannot_be_decoded_keeps_nobody_from_what_is_committed_later(
    store: Database, path: Path, strictly: str
) -> None:
    async def notes(tx: Transaction) -> list[str]:
        asked = f"SELECT {strictly} note FROM things ORDER BY id"  # noqa: S608
        return [row[0] for row in await tx.fetch(asked)]

    await store.write(adding("first"))
    other = apsw.Connection(str(path))
    other.execute("UPDATE things SET note = CAST(x'ff41' AS TEXT)")
    refused = []
    for ask in (store.query, store.read, store.query):
        if not strictly:
            assert await ask(notes) == ["\U0010ffffA"]
            continue
        with pytest.raises(UnicodeDecodeError) as error:
            await ask(notes)
        refused.append(error)  # whose frames hold what they held
    other.execute("UPDATE things SET note = 'mended'")
    other.close()
    assert await store.query(notes) == await store.read(notes) == ["mended"]


async def test_rows_beside_text_that_cannot_be_decoded_come_as_they_are_and_in_their_order(
    store: Database, path: Path
) -> None:
    for id_ in ("1", "2", "3"):
        await store.write(adding(id_, "note"))
    other = apsw.Connection(str(path))
    other.execute("UPDATE things SET note = CAST(x'c3a9ff80' AS TEXT) WHERE id = '2'")
    other.close()
    shown = "\u00e9\U0010ffff\U0010ff80"

    async def rows(tx: Transaction) -> list[tuple[object, ...]]:
        asked = "SELECT note, id, 7, x'ff', NULL FROM things WHERE id <> $1 ORDER BY id DESC -- all"
        return [tuple(row) for row in await tx.fetch(asked, "\u00e9")]

    wanted = [(text, id_, 7, b"\xff", None) for text, id_ in (("note", "3"), (shown, "2"))]
    assert (await store.read(rows))[:2] == (await store.query(rows))[:2] == wanted


async def ids_page_by_page(tx: Transaction) -> list[str]:
    """The ids of all things, each found behind the one before it."""
    found = [""]
    while rows := await tx.fetch(
        "SELECT id FROM things WHERE id > $1 ORDER BY id LIMIT 1", found[-1]
    ):
        found.append(rows[0][0])
    return found[1:]


async def test_what_was_read_of_text_that_cannot_be_decoded_can_be_asked_for(
    store: Database, path: Path
) -> None:
    """So pages end, wherever it sorts; and nothing is written twice for it."""
    for id_ in ("a", "b", "c"):
        await store.write(adding(id_))
    other = apsw.Connection(str(path))
    other.execute("UPDATE things SET id = CAST(x'62ff' AS TEXT) WHERE id = 'b'")
    other.close()

    async def counting(tx: Transaction) -> object:
        return await tx.fetch("UPDATE things SET note = note || '!' RETURNING id")

    async def notes(tx: Transaction) -> set[str]:
        return {row[0] for row in await tx.fetch("SELECT note FROM things")}

    assert await store.read(ids_page_by_page) == ["a", "b\U0010ffff", "c"]
    with pytest.raises(UnicodeDecodeError):
        await store.write(counting)
    assert await store.read(notes) == {""}


async def test_a_value_of_another_type_than_its_column_is_read_as_one_that_means_nothing(
    store: Database, path: Path
) -> None:
    async def made(tx: Transaction) -> None:
        await tx.script("CREATE TABLE odd (id {text} PRIMARY KEY, number BIGINT, hash {bytes})")
        await tx.execute("INSERT INTO odd VALUES ('a', 1, $1)", b"hash")
        await tx.execute("INSERT INTO odd VALUES ('b', NULL, NULL)")

    async def rows(tx: Transaction) -> list[tuple[object, ...]]:
        asked = "SELECT id, number, hash, coalesce(hash, 7), (SELECT max(number) FROM odd) FROM odd"
        return [tuple(row) for row in await tx.fetch(asked)]

    async def noted(tx: Transaction) -> list[tuple[object, ...]]:
        found = await tx.fetch("UPDATE odd SET hash = hash RETURNING id, number, hash")
        return [tuple(row) for row in found]

    await store.write(made)
    sound = [("a", 1, b"hash", b"hash", 1), ("b", None, None, 7, 1)]
    assert await store.read(rows) == await store.query(rows) == sound
    other, its = apsw.Connection(str(path)), "WHERE number IS NOT NULL"
    altered = ("\U0010ff00a\U0010ffff", 0, b"hash")
    for number in ("'soon'", "1.5", "x'31'"):
        other.execute(f"UPDATE odd SET id = x'61ff', number = {number}, hash = 'hash' {its}")  # noqa: S608
        for ask in (store.read, store.query):
            assert {row[:3] for row in await ask(rows)} == {("b", None, None), altered}
    assert set(await store.write(noted)) == {altered, ("b", None, None)}
    other.execute("DELETE FROM odd WHERE id = 'b'")
    other.execute("UPDATE odd SET id = 'a', number = 1, hash = x'68617368'")
    other.close()
    assert await store.read(rows) == sound[:1]


async def test_what_was_read_of_bytes_in_the_place_of_a_text_can_be_asked_for(
    store: Database, path: Path
) -> None:
    """So pages end, and no two rows have one id."""
    for id_ in ("a", "b", "c"):
        await store.write(adding(id_))
    other = apsw.Connection(str(path))
    other.execute("UPDATE things SET id = x'61' WHERE id = 'b'")
    other.close()

    assert await store.read(ids_page_by_page) == ["a", "c", "\U0010ff00a"]


@pytest.mark.parametrize("content", [b"", b"this is no database " * 1000])
async def test_a_file_that_holds_no_schema_or_no_database_is_refused_until_it_does(
    store: Database, path: Path, content: bytes
) -> None:
    await store.write(adding("before"))
    away = path.with_name("away")
    await store.close()
    path.rename(away)
    path.write_bytes(content)
    damaged = sqlite.SqliteDatabase(path)
    outcomes = await asyncio.gather(
        damaged.write(adding("lost")), damaged.read(ids), return_exceptions=True
    )
    assert words(*outcomes) == ["storage_unavailable"] * 2
    away.replace(path)
    if not content:  # which SQLite takes for a database: it was opened
        await damaged.close()
        damaged = sqlite.SqliteDatabase(path)
    assert await damaged.read(ids) == ["before"]
    assert await damaged.write(adding("after")) == "after"
    await damaged.close()


async def test_a_damaged_page_that_each_change_reads_refuses_changes_and_no_reads(
    store: Database, path: Path
) -> None:
    await store.write(adding("a"))
    await store.close()
    with closing(apsw.Connection(str(path))) as other:
        asked = "SELECT rootpage FROM sqlite_schema WHERE name = 'schema_migrations'"
        ((number,),), size = other.execute(asked).fetchall(), other.pragma("page_size")
        assert isinstance(number, int)
        assert isinstance(size, int)
    with path.open("r+b") as file:
        file.seek((number - 1) * size)
        file.write(b"\xff" * size)
    async with opened(f"sqlite:///{path}") as damaged:
        changes = damaged.write(adding("b")), batched(damaged, adding("c"))
        outcomes = await asyncio.gather(*changes, return_exceptions=True)
        assert words(*outcomes) == ["storage_unavailable"] * 2
        assert await damaged.read(ids) == ["a"]


async def test_a_file_that_may_only_be_read_refuses_writes_and_answers_reads() -> None:
    # Not pytest's folder: nobody but its owner gets into that one.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with opened(fresh_sqlite(folder)) as database:
            await make_things(database)
            await database.write(adding("a"))
            for file in (folder, *folder.iterdir()):
                file.chmod(0o555 if file == folder else 0o444)
            with powerless():
                limited = sqlite.SqliteDatabase(folder / "teamvars.db")
                outcomes = await asyncio.gather(
                    limited.write(adding("b")), limited.read(ids), return_exceptions=True
                )
                assert words(outcomes[0]) == ["storage_unavailable"]
                assert outcomes[1] == ["a"]
                await limited.close()
            assert await database.read(ids) == ["a"]
            folder.chmod(0o700)


async def test_a_file_that_could_only_be_read_at_first_takes_writes_once_it_can() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, copy = Path(name), Path(name) / "copy"
        async with opened(fresh_sqlite(folder)) as database:
            await make_things(database)
            await database.write(adding("a"))
            # With what a server leaves that is killed.
            shutil.copytree(folder, copy, ignore=lambda *_: ["copy"])
        folder.chmod(0o755)
        for file in (*copy.iterdir(), copy):
            file.chmod(0o555 if file == copy else 0o444)
        limited = sqlite.SqliteDatabase(copy / "teamvars.db")
        looked_at = Statement("SELECT id FROM things", ())
        with powerless():
            await limited.open()
            await limited._prefetcher.run(looked_at)  # as where the disk is slow
            for _ in range(2):
                assert await limited.read(ids) == ["a"]
                with pytest.raises(Refusal) as refusal:
                    await limited.write(adding("b"))
                assert words(refusal.value) == ["storage_unavailable"]
        for file in (copy, *copy.iterdir()):
            file.chmod(0o777)
        with powerless():
            await limited._prefetcher.run(looked_at)  # once its thread has let go
            assert await limited.read(ids) == ["a"]
            assert await limited.write(adding("c")) == "c"
            assert await limited.read(ids) == ["a", "c"]
            await limited.close()
