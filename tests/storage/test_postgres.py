"""PostgreSQL: what is run again, what is refused, and when nobody knows what happened."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from teamvars.domain.errors import Refusal, not_found
from teamvars.storage.database import (
    Body,
    Database,
    Lookup,
    StorageMisconfigured,
    Taken,
    Transaction,
)
from teamvars.storage.engines import connections, poolers, postgres, servers
from teamvars.storage.engines.connections import CONNECTIONS, Lane
from teamvars.storage.engines.postgres import PostgresDatabase
from tests.storage.proxy import way_to
from tests.storage.stores import adding, batched, bring_up, ids, make_things, opened, words
from tests.support import patience
from tests.support.postgres import LocalPostgres

SLOW_COMMIT = """
CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(20); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.id = 'slow') EXECUTE FUNCTION dawdle();
"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Database]:
    async with opened(postgres_url) as database:
        await make_things(database)
        yield database


@asynccontextmanager
async def row_locked_by_another(admin: Any, id_: str) -> AsyncIterator[None]:
    transaction = admin.transaction()
    await transaction.start()
    await admin.execute("SELECT id FROM things WHERE id = $1 FOR UPDATE", id_)
    try:
        yield
    finally:
        await transaction.rollback()


def idle_connection(store: Any) -> Any:
    """One that is not in use."""
    return store._connections._idle[-1]


def failing(times: int, sqlstate: str, runs: list[int]) -> Any:
    """What adds a thing, but makes the server report that error so many times first."""

    async def body(tx: Transaction) -> str:
        runs.append(len(runs))
        if len(runs) <= times:
            await tx.execute(f"DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''{sqlstate}''; END'")
        return await adding("a")(tx)

    return body


async def until(admin: Any, condition: str) -> Any:
    """Waits for a server process of which the condition holds; its id."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
    await patience.until(lambda: admin.fetchval(query + condition))
    return await admin.fetchval(query + condition)


# Running again


async def test_two_writes_in_a_deadlock_both_succeed(store: Database) -> None:
    both_began = asyncio.Barrier(2)
    runs: list[str] = []

    def appending(first: str, second: str) -> Any:
        async def body(tx: Transaction) -> None:
            runs.append(first)
            append = "UPDATE things SET note = note || $2 WHERE id = $1"
            await tx.execute(append, first, first)
            if len(runs) <= 2:
                await both_began.wait()
            await tx.execute(append, second, first)

        return body

    async def notes(tx: Transaction) -> list[str]:
        return [row[0] for row in await tx.fetch("SELECT note FROM things ORDER BY id")]

    await store.write(adding("a"))
    await store.write(adding("b"))
    await asyncio.gather(store.write(appending("a", "b")), store.write(appending("b", "a")))
    assert len(runs) == 3
    assert await store.read(notes) in (["ab", "ab"], ["ba", "ba"])


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "25006"])
async def test_what_a_deadlock_or_a_failover_ended_is_run_again(
    store: Database, sqlstate: str
) -> None:
    runs: list[int] = []
    assert await store.write(failing(4, sqlstate, runs)) == "a"
    assert len(runs) == 5
    assert await store.read(ids) == ["a"]


@pytest.mark.parametrize("sqlstate", ["40001", "25006"])
async def test_after_five_runs_a_write_is_refused(store: Database, sqlstate: str) -> None:
    runs: list[int] = []
    with pytest.raises(Refusal) as refusal:
        await store.write(failing(99, sqlstate, runs))
    assert words(refusal.value) == ["storage_unavailable"]
    assert len(runs) == 5
    assert await store.read(ids) == []


async def test_a_broken_constraint_is_not_run_again(store: Database) -> None:
    runs: list[int] = []
    await store.write(adding("a"))
    with pytest.raises(Taken):
        await store.write(failing(0, "", runs))
    assert len(runs) == 1


async def test_a_statement_prepared_before_a_migration_works_after_it(
    store: Database, admin: Any
) -> None:
    await store.write(adding("1"))

    async def numbers(tx: Transaction) -> list[object]:
        return [row[0] for row in await tx.fetch("SELECT id FROM things")]

    assert await store.read(numbers) == ["1"]
    await admin.execute("ALTER TABLE things ALTER id TYPE BIGINT USING CAST(id AS BIGINT)")
    assert await store.read(numbers) == [1]


# Losing the connection


def terminated_in_between(admin: Any, runs: list[int]) -> Body[None]:
    """What adds two things; before the second, the first run's connection is ended."""

    async def body(tx: Transaction) -> None:
        runs.append(0)
        await adding("a")(tx)
        if len(runs) == 1:
            row = await tx.fetch_one("SELECT pg_backend_pid()")
            assert row is not None
            await admin.execute("SELECT pg_terminate_backend($1, 5000)", row[0])
            await asyncio.sleep(0.05)  # what the server says arrives
        await adding("b")(tx)

    return body


async def test_a_connection_lost_before_the_commit_is_no_loss(store: Database, admin: Any) -> None:
    runs: list[int] = []
    await store.write(terminated_in_between(admin, runs))
    assert len(runs) == 2
    assert await store.read(ids) == ["a", "b"]


async def test_who_is_refused_hears_why_though_the_connection_is_lost_by_then(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, runs = postgres._execute, []

    async def lost(connection: Any, sql: str) -> str:
        if sql == "ROLLBACK":
            connection.terminate()
        return await execute(connection, sql)

    async def body(_: Transaction) -> None:
        runs.append(1)
        raise Refusal(*not_found().faults)

    monkeypatch.setattr(postgres, "_execute", lost)
    for use in (store.read, store.write):
        with pytest.raises(Refusal) as refusal:
            await use(body)
        assert words(refusal.value) == ["not_found"]
    assert len(runs) == 2


async def test_neither_is_one_whose_end_was_announced_and_has_not_come_yet(
    store: Database, postgres_url: str, admin: Any
) -> None:
    async with way_to(postgres_url) as way, opened(way.url) as database:
        way.half_open = True
        runs: list[int] = []
        await database.write(terminated_in_between(admin, runs))
        assert len(runs) == 2
    assert await store.read(ids) == ["a", "b"]


async def test_idle_connections_that_were_lost_are_no_loss(store: Database, admin: Any) -> None:
    await asyncio.gather(*(store.write(adding(f"{n}")) for n in range(5)))
    await admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    answers = await asyncio.gather(*(store.read(ids) for _ in range(5)), store.write(adding("5")))
    for answer in answers[:5]:  # a read may begin after the write
        assert answer in (["0", "1", "2", "3", "4"], ["0", "1", "2", "3", "4", "5"])
    assert await store.read(ids) == ["0", "1", "2", "3", "4", "5"]


async def test_a_connection_ended_while_it_commits_leaves_the_outcome_unknown(
    store: Database, admin: Any
) -> None:
    await admin.execute(SLOW_COMMIT)
    writing = asyncio.create_task(store.write(adding("slow")))
    pid = await until(admin, "query = 'COMMIT' AND wait_event = 'PgSleep'")
    await admin.execute("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(Refusal) as refusal:
        await writing
    assert words(refusal.value) == ["outcome_unknown"]
    assert await store.write(adding("after")) == "after"


async def test_a_commit_whose_answer_is_lost_has_an_unknown_outcome_and_is_not_repeated(
    store: Database, postgres_url: str
) -> None:
    async with way_to(postgres_url) as way, opened(way.url) as database:
        way.cut = "before"
        runs: list[int] = []
        with pytest.raises(Refusal) as refusal:
            await database.write(failing(0, "", runs))
        assert words(refusal.value) == ["outcome_unknown"]
        assert len(runs) == 1
    assert await store.read(ids) == ["a"]


async def test_a_connection_lost_right_after_the_commit_was_acknowledged_changes_nothing(
    store: Database, postgres_url: str
) -> None:
    async with way_to(postgres_url) as way, opened(way.url) as database:
        way.cut = "after"
        runs: list[int] = []
        assert await database.write(failing(0, "", runs)) == "a"
        assert len(runs) == 1
        assert await database.read(ids) == ["a"]


async def test_a_client_that_goes_away_does_not_stop_its_write(postgres_url: str) -> None:
    async def slowly(tx: Transaction) -> None:
        await tx.execute("SELECT CAST(pg_sleep(0.3) AS TEXT)")
        await adding("of the gone")(tx)

    async with opened(postgres_url) as database:
        await make_things(database)
        gone = asyncio.create_task(database.write(slowly))
        await asyncio.sleep(0.05)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
    async with opened(postgres_url) as database:
        assert await database.read(ids) == ["of the gone"]


async def test_a_reader_that_goes_away_leaves_its_connection_usable(store: Database) -> None:
    async def slowly(tx: Transaction) -> None:
        await tx.execute("SELECT CAST(pg_sleep(20) AS TEXT)")

    gone = [asyncio.create_task(store.read(slowly)) for _ in range(CONNECTIONS[Lane.READS])]
    await asyncio.sleep(0.2)
    for task in gone:
        task.cancel()
    outcomes = await asyncio.gather(*gone, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
    assert await asyncio.gather(*(store.read(ids) for _ in gone)) == [[]] * len(gone)


async def test_after_a_crash_of_the_server_all_that_was_acknowledged_is_there() -> None:
    with LocalPostgres(durable=True) as server:
        async with opened(server.admin_url) as database:
            await make_things(database)
            await asyncio.gather(*(database.write(adding(f"{n}")) for n in range(8)))
            server.kill()
            outcomes = await asyncio.gather(
                database.write(adding("lost")), database.read(ids), return_exceptions=True
            )
            assert words(*outcomes) == ["storage_unavailable"] * 2
            await asyncio.to_thread(server.start)
            assert await database.read(ids) == [f"{n}" for n in range(8)]
            assert await database.write(adding("after")) == "after"


async def test_the_kernel_is_told_to_give_up_a_server_that_falls_silent(store: Database) -> None:
    connected = idle_connection(store)._transport.get_extra_info("socket")
    assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 5
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 2
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000


# Servers that cannot be used


class Silent:
    """A server that takes connections, counts them, and says nothing."""

    def __init__(self) -> None:
        self.connections = 0
        self.address = ""

    async def serve(self) -> asyncio.Server:
        """Begins to listen."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.read()
        writer.close()


@pytest.fixture
async def silent(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Silent]:
    monkeypatch.setattr(servers, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(servers, "HEAD_START_SECONDS", patience.HANGS)
    silent = Silent()
    async with await silent.serve():
        yield silent


async def test_a_silent_server_does_not_hide_the_others(
    postgres_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = postgres_url.replace("@", f"@{silent.address},") + "?target_session_attrs=read-write"
    async with opened(both) as database:
        asked = silent.connections
        # On a busy host it would be asked as well, beside one that has yet to accept.
        monkeypatch.setattr(servers, "HEAD_START_SECONDS", patience.HANGS)
        await make_things(database)
        bodies = [adding(f"thing-{n}") for n in range(30)]
        await asyncio.gather(*(database.write(body) for body in bodies))
        assert len(await database.read(ids)) == 30
    assert silent.connections == asked


async def test_whoever_has_waited_for_a_silent_server_does_not_wait_for_it_again(
    postgres_url: str, silent: Silent
) -> None:
    neither = postgres_url.replace("@", f"@{silent.address},") + "?target_session_attrs=standby"
    database = PostgresDatabase(neither)
    with pytest.raises(Refusal):
        await database.open()
    tried = silent.connections
    with pytest.raises(Refusal) as refusal:
        await database.read(ids)
    assert words(refusal.value) == ["storage_unavailable"]
    assert silent.connections - tried == 1
    await database.close()


async def test_all_who_wait_for_a_silent_server_are_refused_with_the_first(
    silent: Silent,
) -> None:
    database = PostgresDatabase(f"postgresql://postgres@{silent.address}/postgres")
    with pytest.raises(Refusal):
        await database.open()
    tried = silent.connections
    lookup = Lookup("SELECT $1", "SELECT * FROM unnest($1) WITH ORDINALITY")

    async def ask(tx: Transaction) -> object:
        return await tx.look_up(lookup, "a")

    waiting = [database.query(ask) for _ in range(300)]
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert words(*outcomes) == ["storage_unavailable"] * 300
    assert silent.connections - tried == 1
    await database.close()


async def test_a_server_that_is_not_there_is_refused_long_before_one_that_is_silent() -> None:
    silent = Silent()
    async with await silent.serve():
        nowhere, in_vain = (
            asyncio.ensure_future(PostgresDatabase(f"postgresql://postgres@{where}/d").open())
            for where in ("127.0.0.1:1", silent.address)
        )
        await asyncio.wait([nowhere, in_vain], return_when=asyncio.FIRST_COMPLETED)
        assert not in_vain.done()
        in_vain.cancel()
        with pytest.raises(Refusal) as refusal:
            await nowhere
        assert words(refusal.value) == ["storage_unavailable"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/own-", "/own-of-nobody-"),
        ("postgres@", "nobody-we-know@"),
        ("/own-", "/own-"),
    ],
    ids=["no such database", "no such user", "not a standby"],
)
async def test_a_server_that_is_not_the_one_wanted_is_refused(
    postgres_url: str, old: str, new: str
) -> None:
    query = "?target_session_attrs=standby" if old == new else ""
    with pytest.raises(Refusal) as refusal:
        await PostgresDatabase(postgres_url.replace(old, new) + query).open()
    assert words(refusal.value) == ["storage_unavailable"]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("connect_timeout=10", 'unrecognized configuration parameter "connect_timeout"'),
        ("statement_timeout=soon", 'invalid value for parameter "statement_timeout": "soon"'),
        ("max_connections=1", 'parameter "max_connections" cannot be changed'),
        ("options=hunter2", "invalid command-line argument for server process: hunter2"),
    ],
)
async def test_what_the_url_asks_for_and_the_server_does_not_know_is_named(
    postgres_url: str, query: str, told: str
) -> None:
    with pytest.raises(StorageMisconfigured, match=f"^TEAMVARS_DATABASE_URL: {told}"):
        await PostgresDatabase(f"{postgres_url}?{query}").open()


async def test_a_database_that_does_not_let_us_in_is_refused(postgres_url: str, admin: Any) -> None:
    name = f"nobody_{uuid4().hex}"
    await admin.execute(f"CREATE ROLE {name} LOGIN")
    await admin.execute(
        f'REVOKE CONNECT ON DATABASE "{urlsplit(postgres_url).path[1:]}" FROM public'
    )
    with pytest.raises(Refusal) as refusal:
        await PostgresDatabase(postgres_url.replace("postgres@", f"{name}@")).open()
    assert words(refusal.value) == ["storage_unavailable"]
    await admin.execute(f"DROP ROLE {name}")


async def test_a_row_that_another_does_not_let_go_of_is_refused(
    store: Database, admin: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def update(tx: Transaction) -> None:
        await tx.execute("UPDATE things SET note = 'changed' WHERE id = 'a'")

    await store.write(adding("a"))
    monkeypatch.setitem(poolers.ALWAYS, "lock_timeout", "200ms")
    async with opened(postgres_url) as database, row_locked_by_another(admin, "a"):
        with pytest.raises(Refusal) as refusal:
            await database.write(update)
        assert words(refusal.value) == ["storage_unavailable"]
        assert await database.write(adding("b")) == "b"


@pytest.mark.parametrize(
    "code", ["XX001", "XX002", "58P01"], ids=["page", "index", "file that is gone"]
)
async def test_what_needs_a_damaged_part_is_refused_and_nothing_was_changed(
    store: Database, admin: Any, code: str
) -> None:
    await admin.execute(
        "CREATE FUNCTION damaged() RETURNS TEXT LANGUAGE plpgsql AS "
        f"'BEGIN RAISE EXCEPTION ''invalid page'' USING ERRCODE = ''{code}''; END'"
    )

    async def needs_it(tx: Transaction) -> None:
        await tx.execute("INSERT INTO things (id, note) VALUES ('a', '')")
        await tx.execute("SELECT damaged()")

    async def reads_it(tx: Transaction) -> object:
        return await tx.fetch("SELECT damaged()")

    asked = (store.read(reads_it), store.query(reads_it), store.write(needs_it))
    for work in (*asked, batched(store, needs_it)):
        with pytest.raises(Refusal) as refusal:
            await work
        assert words(refusal.value) == ["storage_unavailable"]
        assert "invalid page" in str(refusal.value.__cause__)
    assert await store.read(ids) == []


async def test_when_all_connections_are_busy_one_more_is_refused_and_disturbs_nobody(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    def busy(id_: str) -> Any:
        async def body(tx: Transaction) -> None:
            await adding(id_)(tx)
            await go_on.wait()

        return body

    monkeypatch.setattr(connections, "_ACQUIRE_SECONDS", 0.3)
    numbers = range(CONNECTIONS[Lane.WRITES])
    writing = [asyncio.create_task(store.write(busy(f"{n}"))) for n in numbers]
    await asyncio.sleep(0.2)
    with pytest.raises(Refusal) as refusal:
        await store.write(adding("one more"))
    assert words(refusal.value) == ["storage_unavailable"]
    assert not any(task.done() for task in writing)
    go_on.set()
    await asyncio.gather(*writing)
    assert await store.read(ids) == sorted(f"{n}" for n in numbers)


async def test_writers_who_wait_for_locks_keep_no_reader_waiting(
    store: Database, admin: Any, postgres_url: str
) -> None:
    async def update(tx: Transaction) -> None:
        await tx.execute("UPDATE things SET note = 'changed' WHERE id = 'a'")

    await store.write(adding("a"))
    async with opened(postgres_url) as one_lane, row_locked_by_another(admin, "a"):
        lanes: Any = one_lane
        free = lanes._connections._free
        free[Lane.READS] = free[Lane.WRITES]
        waiting = [
            asyncio.ensure_future(database.write(update))
            for database in (store, one_lane)
            for _ in range(30)
        ]
        await until(admin, "wait_event_type = 'Lock'")
        assert await asyncio.gather(*(store.read(ids) for _ in range(30))) == [["a"]] * 30
        control = asyncio.ensure_future(one_lane.read(ids))
        assert await store.read(ids) == ["a"]
        assert not control.done(), "without a lane of its own a reader waits for writers"
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting, control)


# Snapshots, poolers, columns


async def test_a_read_sees_one_state_whatever_others_write_meanwhile(store: Database) -> None:
    async def reading(tx: Transaction) -> tuple[list[str], list[str]]:
        before = await ids(tx)
        await store.write(adding("new"))
        return before, await ids(tx)

    assert await store.read(reading) == ([], [])
    assert await store.read(ids) == ["new"]


async def test_a_read_cannot_change_anything(store: Database) -> None:
    with pytest.raises(Refusal):
        await store.read(adding("a"))
    assert await store.read(ids) == []


async def test_behind_a_transaction_pooler_nothing_outlives_a_transaction(
    store: Database, postgres_url: str
) -> None:
    settings = ("application_name", "lock_timeout", "idle_in_transaction_session_timeout")

    async def look(tx: Transaction) -> tuple[int, list[str]]:
        await ids(tx)
        row = await tx.fetch_one("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''")
        assert row is not None
        found = [await tx.fetch_one("SELECT current_setting($1)", name) for name in settings]
        return row[0], [one[0] for one in found if one]

    wanted = ["teamvars", *(poolers.ALWAYS[name] for name in poolers.TIMEOUTS)]
    async with opened(postgres_url + "?pooler=transaction") as database:
        assert await database.write(adding("a")) == "a"
        assert await database.read(look) == (0, wanted)
        assert await database.write(look) == (0, wanted)
        assert await idle_connection(database).fetchval("SHOW lock_timeout") == "0"
    assert await store.read(ids) == ["a"]


async def test_every_text_column_sorts_by_code_points(postgres_url: str, admin: Any) -> None:
    async with opened(postgres_url) as database:
        await bring_up(database)
    columns = await admin.fetch(
        "SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'public'"
    )
    assert {column["data_type"] for column in columns} == {"text", "bigint", "bytea"}
    texts = [column for column in columns if column["data_type"] == "text"]
    assert texts
    assert {column["collation_name"] for column in texts} == {"C"}
