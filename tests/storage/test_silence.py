"""A PostgreSQL server that takes connections and says nothing: everybody is answered in time."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import pytest

from teamvars.domain.errors import Refusal
from teamvars.storage import deadlines
from teamvars.storage.database import Lookup, Statement, Transaction
from teamvars.storage.engines.connections import CONNECTIONS, Connections, Lane
from teamvars.storage.engines.outages import reason
from teamvars.storage.engines.postgres import PostgresDatabase
from tests.storage.proxy import Way, way_to
from tests.storage.stores import adding, batched, ids, make_things, opened, words
from tests.support.patience import HANGS, until

T = TypeVar("T")

SECONDS = 0.8
UNHURRIED = 3.0
"""Seconds in which a busy host answers as well: who is refused later was kept waiting."""
FOUND = Lookup(
    single="SELECT id FROM things WHERE id = $1",
    batched="SELECT lookup.number, things.id "
    "FROM unnest(CAST($1 AS TEXT[])) WITH ORDINALITY AS lookup (id, number) "
    "JOIN things ON things.id = lookup.id",
)
LOCKED = Lookup(
    single=FOUND.single + " {lock things}", batched=FOUND.batched + " {lock things} SKIP LOCKED"
)


@pytest.fixture
async def way(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Way]:
    """A way to a server with an empty table of things and one of them."""
    monkeypatch.setattr(deadlines, "COMMIT_SECONDS", SECONDS)
    async with opened(postgres_url) as database:
        await make_things(database)
        await database.write(adding("a"))
    async with way_to(postgres_url) as way:
        yield way


@asynccontextmanager
async def serving(url: str, seconds: float | None = SECONDS) -> AsyncIterator[PostgresDatabase]:
    """A store as a worker has it, with connections of every kind."""
    async with PostgresDatabase(url, seconds) as database:
        yield database


async def find(tx: Transaction) -> object:
    return await tx.look_up(FOUND, "a")


def appending(id_: str) -> Callable[[Transaction], Coroutine[Any, Any, None]]:
    """What adds a thing, in a batch if there is one."""

    async def body(tx: Transaction) -> None:
        await tx.look_up(LOCKED, "a")
        await tx.write_each(
            Statement("INSERT INTO things (id, note) VALUES ($1, $2)", (id_, "")).part
        )

    return body


async def until_answered(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The answer of a server that talks: on a busy host not always in time."""
    async with asyncio.timeout(HANGS):
        while True:
            with suppress(Refusal):
                return await ask()


def everything(database: PostgresDatabase) -> "list[asyncio.Task[Any]]":
    """One under way of each thing that is done with a store."""
    return [
        asyncio.ensure_future(each)
        for each in (
            database.query(find),
            database.read(ids),
            database.write(adding("b")),
            batched(database, appending("c")),
        )
    ]


def reasons(*outcomes: object) -> list[str]:
    """What the log says of each."""
    causes = [each.__cause__ for each in outcomes if isinstance(each, Refusal)]
    return [reason(cause) for cause in causes if cause is not None]


@pytest.mark.parametrize("connected", [True, False])
async def test_who_asks_a_server_that_falls_silent_is_refused_in_time(
    way: Way, connected: bool
) -> None:
    async with serving(way.url) as database, serving(way.url, None) as patient:
        if connected:
            for ask in (lambda: database.query(find), lambda: database.read(ids)):
                await until_answered(ask)
            await patient.read(ids)
        way.freeze()
        asked, in_vain = everything(database), everything(patient)
        outcomes = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), HANGS)
        assert words(*outcomes) == ["storage_unavailable"] * 4
        assert all("in time" in said for said in reasons(*outcomes)), reasons(*outcomes)
        assert not any(task.done() for task in in_vain[:2] if connected), "the control waits"
        way.thaw()
        await asyncio.gather(*in_vain, return_exceptions=True)
        assert await until_answered(lambda: database.query(find)) is not None


async def test_a_commit_that_is_not_answered_in_time_has_an_unknown_outcome(way: Way) -> None:
    async with serving(way.url, UNHURRIED) as database:
        await asyncio.gather(database.write(adding("b")), database.read(ids))
        way.freezes_at_commit = True
        with pytest.raises(Refusal) as refusal:
            await asyncio.wait_for(database.write(adding("c")), HANGS)
        assert words(refusal.value) == ["outcome_unknown"]
        assert "no answer came in time" in reasons(refusal.value)[0]
        assert len(database._connections._idle) == 1, "others may be as good as before"
        way.freezes_at_commit = False
        way.thaw()
        assert await until_answered(lambda: database.read(ids)) == ["a", "b", "c"]


async def test_a_statement_is_ended_without_asking_the_server_to_cancel_it(way: Way) -> None:
    async def slowly(tx: Transaction) -> None:
        await tx.execute("SELECT CAST(pg_sleep(600) AS TEXT)")

    async with serving(way.url) as database:
        await until_answered(lambda: database.read(ids))
        before = way.connections
        with pytest.raises(Refusal) as refusal:
            await database.read(slowly)
        assert words(refusal.value) == ["storage_unavailable"]
        assert way.connections == before
    async with serving(way.url, None) as patient:  # the control: as the driver does it
        await patient.read(ids)
        before = way.connections
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(patient.read(slowly), SECONDS)
        await until(lambda: is_met(way, before + 1))


async def test_statements_that_were_given_up_do_not_go_on_in_the_server(
    way: Way, admin: Any
) -> None:
    async def endlessly(tx: Transaction) -> None:
        await tx.execute("SELECT CAST(pg_sleep(3600) AS TEXT)")

    async def none_goes_on() -> bool:
        sql = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND state = 'active'"
        )
        return bool(await admin.fetchval(sql) == 0)

    async with serving(way.url) as database:
        for ask in (database.read, database.query, database.write):
            with pytest.raises(Refusal):
                await ask(endlessly)
        await until(none_goes_on)


async def is_met(way: Way, connections: int) -> bool:
    return way.connections == connections


async def test_one_stopped_back_end_keeps_nobody_else_waiting(way: Way) -> None:
    async def back_end(tx: Transaction) -> int:
        row = await tx.fetch_one("SELECT pg_backend_pid()")
        assert row is not None
        pid: int = row[0]
        return pid

    async with serving(way.url, UNHURRIED) as database:
        pid = await database.write(back_end)
        os.kill(pid, signal.SIGSTOP)
        try:
            stuck = asyncio.ensure_future(database.write(adding("b")))
            await asyncio.sleep(0.05)  # it has taken that connection, which was used last
            assert await database.read(ids) == ["a"]
            assert await database.write(adding("c")) == "c"
            assert not stuck.done()
            outcomes = await asyncio.gather(stuck, return_exceptions=True)
            assert words(*outcomes) == ["storage_unavailable"]
        finally:
            os.kill(pid, signal.SIGCONT)
        assert await database.read(ids) == ["a", "c"]


async def test_a_connection_that_does_not_close_keeps_nobody_waiting(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = 0
    release = Connections._release

    def released(pool: Connections, *used: Any) -> None:
        nonlocal releases
        releases += 1
        if releases == 1:  # another request has lost its connection to a server that falls silent
            pool._expire()
            way.freeze()
        release(pool, *used)

    async with serving(way.url) as database:
        monkeypatch.setattr(Connections, "_release", released)
        asked = [asyncio.ensure_future(database.query(find))]
        await asyncio.sleep(0.2)
        asked += [asyncio.ensure_future(database.query(find)) for _ in range(3)]
        outcomes = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), HANGS)
        assert words(*outcomes) == ["done", *["storage_unavailable"] * 3]
        monkeypatch.undo()
        way.thaw()


async def test_who_waits_for_a_connection_is_refused_in_time(way: Way) -> None:
    async def slowly(tx: Transaction) -> None:
        await tx.execute("SELECT CAST(pg_sleep(0.3) AS TEXT)")

    async with serving(way.url) as database:
        many = [database.read(slowly) for _ in range(5 * CONNECTIONS[Lane.READS])]
        outcomes = await asyncio.wait_for(asyncio.gather(*many, return_exceptions=True), HANGS)
        assert set(words(*outcomes)) == {"done", "storage_unavailable"}
        assert all("in time" in said for said in reasons(*outcomes)), reasons(*outcomes)


async def test_all_that_one_request_asks_has_one_time_limit_together(way: Way) -> None:
    is_frozen, refused = asyncio.Event(), list[str]()

    async def ask(database: PostgresDatabase, name: str) -> None:
        await is_frozen.wait()
        with pytest.raises(Refusal):
            await database.read(ids)
        refused.append(name)

    async with serving(way.url) as database:
        by_itself = asyncio.create_task(ask(database, "by itself"))
        with database.in_request():
            await asyncio.sleep(SECONDS / 2)
            way.freeze()
            is_frozen.set()
            await asyncio.sleep(0)  # it asks before the request does
            await ask(database, "in a request")
        await by_itself
        assert refused == ["in a request", "by itself"]
        way.thaw()


async def test_a_request_whose_time_is_nearly_over_begins_nothing_with_others(way: Way) -> None:
    async with serving(way.url) as database:
        with database.in_request():
            await asyncio.sleep(SECONDS * 0.95)
            outcomes = await asyncio.gather(*everything(database), return_exceptions=True)
        assert words(*outcomes) == ["storage_unavailable"] * 4
        assert await until_answered(lambda: database.query(find))
