"""`write_in_turns`: long transactions that others run beside, on both engines."""

import asyncio

import pytest

from teamvars.storage.database import Database, Taken, Transaction
from tests.storage.stores import adding, ids
from tests.support.turns import turns_of_others

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
    others = [database.write(adding("by write")), database.change("one", adding("by change"))]
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
    inside = asyncio.Event()

    async def body(tx: Transaction) -> None:
        inside.set()
        await asyncio.sleep(0.02)
        await tx.execute(ADD, "kept")

    writing = asyncio.create_task(database.write_in_turns(body))
    await inside.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await database.write(adding("after"))
    for _ in range(100):
        if len(await database.read(ids)) == 2:
            break
        await asyncio.sleep(0.01)
    assert await database.read(ids) == ["after", "kept"]


class Undone(Exception):
    """What the function raises."""


async def test_others_go_on_while_a_long_statement_runs(database: Database) -> None:
    many = (
        "INSERT INTO things (id, note) WITH RECURSIVE numbers (n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) "
        "SELECT CAST(n AS TEXT), '' FROM numbers"
    )

    async def body(tx: Transaction) -> int:
        _, turns = await turns_of_others(tx.execute_long(many, 50_000))
        await tx.execute("DELETE FROM things WHERE id <> '50000'")
        return turns

    assert await database.write_in_turns(body) > 10
    assert await database.read(ids) == ["50000"]


async def test_what_a_long_statement_breaks_is_told_and_undone(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        await tx.execute_long(ADD, "twice")
        await tx.execute_long(ADD, "twice")

    with pytest.raises(Taken):
        await database.write_in_turns(body)
    assert await database.read(ids) == []
