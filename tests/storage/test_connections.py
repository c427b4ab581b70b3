"""The connections to PostgreSQL: which of them are kept, and for how long."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from teamvars.domain.errors import Refusal
from teamvars.metrics import Gauge
from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import connections, postgres
from teamvars.storage.engines.connections import CONNECTIONS, IN_USE, WAITING, Lane, ServerClock
from teamvars.storage.engines.poolers import is_through_one
from teamvars.storage.engines.servers import Timelines
from tests.storage.stores import make_things, opened, words
from tests.support.patience import HANGS, until

ALL = sum(CONNECTIONS.values())


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Database]:
    async with opened(postgres_url) as database:
        await make_things(database)
        yield database


async def served_by(tx: Transaction) -> int:
    """The server's process that runs it."""
    row = await tx.fetch_one("SELECT pg_backend_pid()")
    assert row is not None
    return int(row[0])


async def slowly(tx: Transaction) -> int:
    await tx.execute("SELECT CAST(pg_sleep(0.3) AS TEXT)")
    return await served_by(tx)


async def endlessly(tx: Transaction) -> None:
    await tx.execute("SELECT CAST(pg_sleep(3600) AS TEXT)")


async def open_on(admin: Any) -> set[int]:
    """The processes of all connections but the one that asks."""
    rows = await admin.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return {row["pid"] for row in rows}


async def until_open(admin: Any, number: int) -> set[int]:
    found = set[int]()

    async def are_open() -> bool:
        nonlocal found
        found = await open_on(admin)
        return len(found) == number

    await until(are_open)
    return found


async def test_what_runs_in_turn_runs_on_one_connection(store: Database, admin: Any) -> None:
    served = {await run(served_by) for run in (store.read, store.write, store.query) * 3}
    assert await open_on(admin) == served
    assert len(served) == 1


async def test_of_each_lane_it_is_seen_what_is_in_use_and_who_waits(store: Database) -> None:
    def seen(gauge: Gauge) -> dict[str, float]:
        found = {one.labels[0]: one.see() for one in store.looks if one.gauge is gauge}
        return {lane: many for lane, many in found.items() if many}

    reads = [asyncio.ensure_future(store.read(endlessly)) for _ in range(5)]
    most = CONNECTIONS[Lane.READS]
    lane = Lane.READS.value

    async def are_all_there() -> bool:
        return seen(IN_USE) == {lane: most} and seen(WAITING) == {lane: 5 - most}

    await until(are_all_there)
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)
    assert seen(IN_USE) == seen(WAITING) == {}


async def test_no_more_connect_than_all_lanes_have(store: Database, admin: Any) -> None:
    running = [run(slowly) for run in (store.read, store.write, store.query) for _ in range(8)]
    served = set(await asyncio.gather(*running))
    made = await open_on(admin)
    assert served <= made
    # A batch and a probe have lanes as well.
    assert len(made) <= ALL - CONNECTIONS[Lane.BATCH] - CONNECTIONS[Lane.PROBES]


async def test_connections_that_nobody_needs_are_given_up_and_made_again(
    store: Any, admin: Any
) -> None:
    needed = CONNECTIONS[Lane.READS]
    await asyncio.gather(*(store.read(slowly) for _ in range(needed)))
    store._connections._sweep()
    assert len(await open_on(admin)) == needed
    # One is needed again, and stays.
    used = {await store.read(served_by) for _ in range(4)}
    store._connections._sweep()
    assert await until_open(admin, 1) == used
    store._connections._sweep()
    await until_open(admin, 0)
    assert await store.read(served_by) not in used


async def test_they_are_looked_at_every_so_often(
    postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_IDLE_SECONDS", 0.05)
    async with opened(postgres_url):
        await until_open(admin, 0)


async def test_old_connections_are_replaced(
    postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_LIFETIME_SECONDS", 0.0)
    async with opened(postgres_url) as database:
        made = await open_on(admin)
        first = await database.read(served_by)
        assert made == {first}  # it is replaced once it is released
        second = await database.read(served_by)
        assert second != first
        await until_open(admin, 0)


async def test_nobody_notices_that_an_idle_connection_was_closed(
    store: Database, admin: Any
) -> None:
    await asyncio.gather(*(store.read(slowly) for _ in range(CONNECTIONS[Lane.READS])))
    for pid in await open_on(admin):
        await admin.fetchval("SELECT pg_terminate_backend($1)", pid)
    await until_open(admin, 0)
    await asyncio.sleep(0.05)  # for the word of it to arrive
    assert await store.read(served_by) in await open_on(admin)


async def test_a_reader_that_is_cancelled_takes_its_connection_along(
    store: Database, admin: Any
) -> None:
    for run in (store.read, store.query):
        task = asyncio.ensure_future(run(endlessly))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await run(served_by) in await until_open(admin, 1)


async def test_a_connection_in_a_transaction_is_for_nobody_else(store: Any, admin: Any) -> None:
    async def beginning(connection: Any) -> int:
        await connection.execute("BEGIN")
        return int(await connection.fetchval("SELECT pg_backend_pid()"))

    began = await store._connections.attempt(Lane.READS, beginning, store.deadline())
    assert await store.query(served_by) != began
    assert began not in await until_open(admin, 1)


async def test_after_a_lost_server_new_connections_are_kept(store: Any, admin: Any) -> None:
    store._connections._sweep()  # from here on one has not been needed
    store._connections._expire()
    used = await store.read(served_by)
    store._connections._sweep()
    assert await until_open(admin, 1) == {used}


async def closed(admin: Any, connection: Any) -> None:
    """Has its server end the connection, and waits until its driver knows."""
    await admin.execute("SELECT pg_terminate_backend($1)", connection.get_server_pid())

    async def is_closed() -> bool:
        return bool(connection.is_closed())

    await until(is_closed)


async def test_a_first_connection_that_is_closed_while_it_is_looked_at_is_made_again(
    postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def once_it_is_closed(connection: Any) -> bool:
        monkeypatch.setattr(connections, "is_through_one", is_through_one)
        await closed(admin, connection)
        return await is_through_one(connection)

    monkeypatch.setattr(connections, "is_through_one", once_it_is_closed)
    monkeypatch.setattr(postgres, "_OPEN_AGAIN_SECONDS", 0.01)
    database = postgres.PostgresDatabase(postgres_url, HANGS)
    try:
        with pytest.raises(Refusal) as refusal:
            await database.open()
        assert words(refusal.value) == ["storage_unavailable"]
        assert database._opening is not None
        await asyncio.wait_for(database._opening, HANGS)
        assert await database.query(served_by)
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("asker", "question"), [(Timelines, "look"), (ServerClock, "measure")], ids=["new", "measured"]
)
async def test_nobody_notices_that_a_connection_was_closed_before_its_own_questions(
    store: Any, admin: Any, monkeypatch: pytest.MonkeyPatch, asker: type, question: str
) -> None:
    ask = getattr(asker, question)

    async def once_it_is_closed(self: object, connection: Any) -> Any:
        monkeypatch.setattr(asker, question, ask)
        await closed(admin, connection)
        return await ask(self, connection)

    async def asks() -> int:
        found: int = await store.query(served_by)
        return found

    if asker is Timelines:
        store._connections._expire()
    else:
        monkeypatch.setattr(store._connections.clock, "_ahead", None)
    monkeypatch.setattr(asker, question, once_it_is_closed)
    assert await asks() == await asks()
    assert getattr(asker, question) is ask


async def test_nobody_notices_that_a_connection_was_closed_before_its_commit(
    store: Any, admin: Any
) -> None:
    pids: list[int] = []

    async def ends_once(tx: Any) -> None:
        pids.append(await served_by(tx))
        await tx.execute("INSERT INTO things (id, note) VALUES ('one', '')")
        if len(pids) == 1:
            await closed(admin, tx.connection)

    await store.write(ends_once)
    assert len(set(pids)) == 2


async def test_whoever_finds_no_connection_in_time_is_refused(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_read, go_on = asyncio.Barrier(CONNECTIONS[Lane.READS] + 1), asyncio.Event()

    async def holding(_: Transaction) -> None:
        await all_read.wait()
        await go_on.wait()

    going = [asyncio.ensure_future(store.read(holding)) for _ in range(CONNECTIONS[Lane.READS])]
    await all_read.wait()
    with monkeypatch.context() as hasty:
        hasty.setattr(connections, "_ACQUIRE_SECONDS", 0.1)
        with pytest.raises(Refusal) as refusal:
            await store.read(served_by)
    assert words(refusal.value) == ["storage_unavailable"]
    go_on.set()
    await asyncio.gather(*going)
    assert await store.read(served_by)


async def test_closing_waits_for_what_is_running_and_leaves_nothing_open(
    postgres_url: str, admin: Any
) -> None:
    async with opened(postgres_url) as database:
        going = asyncio.gather(*(database.read(slowly) for _ in range(2)))
        await asyncio.sleep(0.1)
    assert len(set(await going)) == 2
    assert await until_open(admin, 0) == set()
