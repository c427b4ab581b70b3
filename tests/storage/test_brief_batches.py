"""Of a brief batch PostgreSQL is asked each look-up by itself, and all that is written at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from teamvars.domain.errors import Refusal
from teamvars.storage.database import Body, Database, Locked, Part, Row, Taken, Transaction
from teamvars.storage.engines import outages, postgres
from tests.storage.stores import adding, batched, ids, make_things, opened, words
from tests.storage.test_postgres import SLOW_COMMIT, until

INSERT = "INSERT INTO things (id, note) VALUES ($1, $2)"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Database]:
    async with opened(postgres_url) as database:
        await make_things(database)
        yield database


def writing(*parts: Part) -> Body[str]:
    """What writes these in the end."""

    async def body(tx: Transaction) -> str:
        assert tx.writes_once
        tx.write_if_unmoved(None, None, *parts)
        return "done"

    return body


async def brief(store: Database, body: Body[str]) -> str:
    return await store.batch(body, store.deadline(), waits=False, is_brief=True)


def thing(id_: str) -> Part:
    return INSERT, [(id_, "a note")]


async def test_all_that_is_written_is_a_statement_without_a_transaction_around_it(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as watched:
        watched.setattr(postgres, "_execute", None)  # with which transactions begin and end
        assert await brief(store, writing(thing("a"), thing("b"))) == "done"
    assert await store.read(ids) == ["a", "b"]


async def test_of_what_is_written_nothing_stays_where_a_part_fails(store: Database) -> None:
    await store.write(adding("b"))
    with pytest.raises(Taken):
        await brief(store, writing(thing("a"), thing("b")))
    assert await store.read(ids) == ["b"]


async def test_what_writes_nothing_asks_nothing_more(store: Database) -> None:
    async def body(tx: Transaction) -> str:
        return str(await ids(tx))

    assert await brief(store, body) == "[]"


async def test_a_connection_ended_while_the_statement_commits_leaves_the_outcome_unknown(
    store: Database, admin: Any
) -> None:
    await admin.execute(SLOW_COMMIT)
    going_on = asyncio.create_task(brief(store, writing(thing("slow"))))
    pid = await until(admin, "wait_event = 'PgSleep'")
    await admin.execute("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(Refusal) as refusal:
        await going_on
    assert words(refusal.value) == ["outcome_unknown"]
    assert await brief(store, writing(thing("after"))) == "done"


@pytest.mark.parametrize(
    "code",
    ["25006", "53100", "53200", "57014", "58030", "42501"],
    ids=["read-only", "disk full", "out of memory", "cancelled", "disk broken", "no privilege"],
)
async def test_what_the_server_refuses_before_it_commits_has_no_unknown_outcome(
    store: Database, admin: Any, code: str
) -> None:
    await admin.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"'BEGIN RAISE EXCEPTION USING ERRCODE = ''{code}''; END';"
        "CREATE TRIGGER refuse BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    with pytest.raises(Refusal) as refusal:
        await brief(store, writing(thing("a")))
    assert words(refusal.value) == ["storage_unavailable"]


async def test_where_the_database_is_set_to_read_only_all_changes_are_refused_alike(
    store: Database, admin: Any, postgres_url: str
) -> None:
    database = await admin.fetchval("SELECT quote_ident(current_database())")
    await admin.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    async with opened(postgres_url) as node:
        for work in (
            node.write(adding("a")),
            batched(node, adding("a")),
            brief(node, writing(thing("a"))),
        ):
            with pytest.raises(Refusal) as refusal:
                await work
            assert words(refusal.value) == ["storage_unavailable"]
            assert outages.begins_with(refusal.value)
        assert await node.read(ids) == []
        await admin.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
        assert await brief(node, writing(thing("a"))) == "done"
        assert await node.write(adding("b")) == "b"


async def waits(tx: Transaction) -> Sequence[Row]:
    """For how long a lock is waited for."""
    return await tx.fetch("SHOW lock_timeout")


async def test_a_lock_that_a_constraint_takes_is_not_waited_for(
    store: Database, admin: Any
) -> None:
    await admin.execute("CREATE TABLE owned (id TEXT PRIMARY KEY REFERENCES things)")
    await store.write(adding("a"))
    before = await store.read(waits)
    sql = "INSERT INTO owned (id) VALUES ($1)"
    async with admin.transaction():
        await admin.execute("UPDATE things SET id = 'b'")
        with pytest.raises(Locked):
            await brief(store, writing((sql, [("a",)])))
    assert await store.read(waits) == before  # whatever else has the connection
