"""`write_in_turns`: long transactions that others run beside, on both engines."""

import asyncio
import threading
from pathlib import Path

import pytest

from teamvars.storage.database import Database, Taken, Transaction
from teamvars.storage.engines.sqlite import SqliteDatabase
from tests.storage.stores import adding, batched, fresh_sqlite, ids, make_things, opened
from tests.support.patience import HANGS, until

ADD = "INSERT INTO things (id, note) VALUES ($1, '')"


async def test_it_commits_what_it_did_between_its_waits(database: Database) -> None:
    async def body(tx: Transaction) -> str:
        for number in range(5):
            await tx.execute(ADD, str(number))
            await asyncio.sleep(0.001)
        return "done"

    assert await database.write_in_turns(body) == "done"
    assert await database.read(ids) == ["0", "1", "2", "3", "4"]


async def test_others_read_meanwhile_and_see_nothing_of_it(database: Database) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def body(tx: Transaction) -> None:
        await tx.execute(ADD, "mine")
        inside.set()
        await go_on.wait()

    writing = asyncio.create_task(database.write_in_turns(body))
    await inside.wait()
    assert await database.read(ids) == []
    go_on.set()
    await writing
    assert await database.read(ids) == ["mine"]


async def test_other_writes_come_before_or_after_it_and_never_inside(database: Database) -> None:
    inside = asyncio.Event()

    async def body(tx: Transaction) -> None:
        inside.set()
        await tx.execute(ADD, "first")
        await asyncio.sleep(0.02)
        raise Undone

    writing = asyncio.create_task(database.write_in_turns(body))
    await inside.wait()
    others = [database.write(adding("by write")), batched(database, adding("by change"))]
    await asyncio.gather(*others)
    with pytest.raises(Undone):
        await writing
    assert await database.read(ids) == ["by change", "by write"]


async def test_what_fails_undoes_all_of_it_and_the_next_goes_on(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        await tx.execute(ADD, "twice")
        await asyncio.sleep(0)
        await tx.execute(ADD, "twice")

    with pytest.raises(Taken):
        await database.write_in_turns(body)
    await database.write_in_turns(adding("next"))
    assert await database.read(ids) == ["next"]


async def test_a_caller_that_is_cancelled_does_not_interrupt_it(database: Database) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def body(tx: Transaction) -> None:
        inside.set()
        await go_on.wait()
        await tx.execute(ADD, "kept")

    async def both_are_there() -> bool:
        return await database.read(ids) == ["after", "kept"]

    writing = asyncio.create_task(database.write_in_turns(body))
    await inside.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    go_on.set()
    await database.write(adding("after"))
    await until(both_are_there)


class Undone(Exception):
    """What the function raises."""


async def test_others_go_on_while_a_long_statement_runs(tmp_path: Path) -> None:
    went_on = threading.Event()

    def others_went_on(*_: object) -> str:
        return str(went_on.wait(HANGS))

    async def body(tx: Transaction) -> None:
        asyncio.get_running_loop().call_soon(went_on.set)
        await tx.execute_long("INSERT INTO things (id, note) SELECT 'long', others_went_on()")

    async with opened(fresh_sqlite(tmp_path)) as store:
        assert isinstance(store, SqliteDatabase)
        await make_things(store)
        writer = store._writer.connection()
        writer.create_scalar_function("others_went_on", others_went_on, 0)
        await store.write_in_turns(body)
        rows = await store.read(lambda tx: tx.fetch("SELECT note FROM things"))
    assert [note for (note,) in rows] == ["True"]


async def test_what_a_long_statement_breaks_is_told_and_undone(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        await tx.execute_long(ADD, "twice")
        await tx.execute_long(ADD, "twice")

    with pytest.raises(Taken):
        await database.write_in_turns(body)
    assert await database.read(ids) == []
