"""Two releases on one store: whom a migration admits, and what it does while nodes go on."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from teamvars.domain.errors import Refusal, Unfinished, storage_unavailable
from teamvars.domain.keys import AUDIT, noted_key
from teamvars.services import installation
from teamvars.services.installation import Filled, upgrade
from teamvars.storage import keys, migrations
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.storage.engines import schemas
from teamvars.storage.engines.schemas import Begun, SchemaMismatch
from tests.storage.later import CONTRACT, EXPAND, later, released
from tests.storage.stores import adding, batched, bring_up, ids, opened, words

THINGS = 250
RAISING = "-- expand, admits {expand}: who does not know it would do harm.\nSELECT 1;\n"


@pytest.fixture
async def old(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A node of this release, whose store has things. Pages of a backfill are short."""
    monkeypatch.setattr(installation, "_paced", lambda *_: 100)
    monkeypatch.setattr(installation, "_FIRST_ROWS", 100)

    async def make(tx: Transaction) -> None:
        await tx.script("CREATE TABLE things (id {text} PRIMARY KEY, note {text} NOT NULL)")
        rows = [(f"{n:04}", "x" * (n % 7)) for n in range(THINGS)]
        await tx.execute_many("INSERT INTO things (id, note) VALUES ($1, $2)", rows)
        await keys.insert(tx, noted_key("ak-1", AUDIT, b"", 0))

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.migrate(make)
        yield database


@pytest.fixture
async def new(
    old: Database, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Database]:
    """A node of the next release on the same store; from here on the migrations are that one's."""
    released(monkeypatch, later(EXPAND, CONTRACT))
    async with opened(empty_url) as database:
        yield database


async def wrong(tx: Transaction) -> int:
    """How many things have another size than they should, or none."""
    row = await tx.fetch_one(
        "SELECT count(*) FROM things WHERE size IS NULL OR size <> length(note)"
    )
    assert row is not None
    return int(row[0])


async def begun(database: Database, step: int) -> Begun | None:
    """How far the migration has come that is so many beyond this release's."""
    there = await database.read(schemas.schema)
    return there.get(migrations.number() - 2 + step)


async def each_change(database: Database, id_: str) -> list[str]:
    """What becomes of a change in each of the ways there are."""
    ways: list[Any] = [
        database.write(adding(f"{id_}-1")),
        database.write_in_turns(adding(f"{id_}-2")),
        batched(database, adding(f"{id_}-3")),
    ]
    return words(*await asyncio.gather(*ways, return_exceptions=True))


async def advance(database: Database, *, contract: bool = False) -> schemas.Progress | None:
    """One transaction of an upgrade."""
    return await database.migrate(partial(schemas.advance, contract=contract, most=100))


async def test_a_node_goes_on_while_the_next_release_migrates_and_both_serve(
    old: Database, new: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    expand, contract = migrations.known()[-2:]
    assert schemas.missing(await new.read(schemas.schema)) == [expand]
    transactions = 0
    while await advance(new):
        transactions += 1
        assert await each_change(old, f"y{transactions}") == ["done"] * 3
        assert await each_change(new, f"z{transactions}") == ["done"] * 3
    assert transactions == 4  # a script and three pages
    there = await new.read(schemas.schema)
    assert not schemas.missing(there)
    assert not schemas.unfinished(there)
    assert schemas.contracts(there) == [contract]
    monkeypatch.undo()
    schemas.check(there)
    assert not schemas.missing(there)
    assert await bring_up(old) == []


async def test_who_is_not_admitted_any_more_changes_nothing_and_reads_on(
    old: Database, new: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bring_up(new)
    assert await each_change(old, "before") == ["done"] * 3
    there = await old.read(ids)
    assert await advance(new, contract=True)
    assert await each_change(old, "after") == ["release_too_old"] * 3
    assert await old.read(ids) == there
    assert await each_change(new, "after") == ["done"] * 3
    monkeypatch.undo()
    with pytest.raises(SchemaMismatch, match="admits no release that knows fewer than"):
        await bring_up(old)
    with pytest.raises(SchemaMismatch, match="Run the release that migrated it"):
        schemas.check(await old.read(schemas.schema))


async def test_what_older_nodes_wrote_behind_a_backfill_is_found_before_the_contract_ends(
    old: Database, new: Database
) -> None:
    await bring_up(new)
    assert await new.read(wrong) == 0
    assert await each_change(old, "0000-older") == ["done"] * 3
    assert await new.read(wrong) == 3
    assert [one.is_contract for one in await bring_up(new, contract=True)] == [True]
    assert await new.read(wrong) == 0
    assert not schemas.contracts(await new.read(schemas.schema))


async def test_a_backfill_goes_on_where_it_was_whatever_ended_it(new: Database) -> None:
    def end(_: Filled) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await upgrade(new, end, contract=False)
    stopped = await begun(new, 1)
    assert stopped is not None
    assert (stopped.remaining, stopped.position) == (1, ("0099",))
    assert schemas.unfinished(await new.read(schemas.schema)) == [migrations.known()[-2]]
    told: list[Filled] = []
    await upgrade(new, told.append, contract=False)
    assert [(filled.rows, filled.all_rows) for filled in told] == [(100, 150), (150, 150)]
    assert await new.read(wrong) == 0


async def test_who_is_refused_on_the_way_is_told_that_a_part_is_done(
    new: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate = new.migrate

    async def refused(body: Body[T]) -> T:
        raise storage_unavailable(OSError("canceled"))

    def refuse(_: Filled) -> None:
        monkeypatch.setattr(new, "migrate", refused)

    with pytest.raises(Unfinished, match=r"refused \(OSError: canceled\)\. A part .* is done"):
        await upgrade(new, refuse, contract=False)
    with pytest.raises(Refusal):  # who has done nothing yet
        await bring_up(new)
    monkeypatch.setattr(new, "migrate", migrate)
    await bring_up(new)
    assert await new.read(wrong) == 0


async def test_in_a_store_that_nobody_has_served_nothing_waits_whatever_ended_the_work(
    empty_url: str,
) -> None:
    async with opened(empty_url) as database:
        await advance(database)
        await bring_up(database)
        assert schemas.contracts(await database.read(schemas.schema)) == []


async def test_of_several_at_once_each_does_a_part_and_together_they_do_it_once(
    new: Database, empty_url: str
) -> None:
    told: list[list[Filled]] = [[], []]
    async with opened(empty_url) as other:
        ended = await asyncio.gather(
            upgrade(new, told[0].append, contract=True),
            upgrade(other, told[1].append, contract=True),
        )
    assert sorted(one.number for each in ended for one in each) == [
        one.number for one in migrations.known()[-2:]
    ]
    assert await new.read(wrong) == 0
    for migration in migrations.known()[-2:]:
        runs = [[one.rows for one in each if one.migration == migration] for each in told]
        assert sum(max(rows, default=0) for rows in runs) == THINGS


async def test_each_step_is_a_transaction_and_what_fails_undoes_no_other(
    old: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "-- expand, admits {before}: nothing.\nCREATE TABLE more (id BIGINT);\nNONSENSE;\n"
    released(monkeypatch, later(EXPAND, broken))
    with pytest.raises(Exception, match="NONSENSE"):
        await bring_up(old)
    done, failed = await begun(old, 1), await begun(old, 2)
    assert done is not None
    assert done.remaining == 0
    assert failed is None
    assert await old.read(wrong) == 0


async def test_what_is_needed_can_end_the_work_of_older_nodes_as_well(
    old: Database, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released(monkeypatch, later(RAISING))
    async with opened(empty_url) as new:
        await bring_up(new)
        assert await each_change(old, "old") == ["release_too_old"] * 3
        assert await each_change(new, "new") == ["done"] * 3


async def test_a_change_that_was_admitted_ends_before_its_node_is_not_any_more(
    old: Database, new: Database, empty_url: str
) -> None:
    await bring_up(new)
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> None:
        has_begun.set()
        await may_end.wait()
        await tx.execute("INSERT INTO things (id, note) VALUES ('slow', '')")

    async def waiting(tx: Transaction) -> int:
        row = await tx.fetch_one("SELECT count(*) FROM pg_locks WHERE NOT granted")
        assert row is not None
        return int(row[0])

    writing = asyncio.create_task(old.write_in_turns(slow))
    await has_begun.wait()
    raising = asyncio.create_task(advance(new, contract=True))
    while empty_url.startswith("postgresql") and not raising.done():
        if await new.read(waiting):
            break
        await asyncio.sleep(0.01)
    assert not raising.done()
    may_end.set()
    await writing
    assert await raising
    assert "slow" in await new.read(ids)
    assert await each_change(old, "late") == ["release_too_old"] * 3


async def test_what_is_not_in_the_schema_any_more_is_unavailable_and_no_bug(old: Database) -> None:
    async def gone(tx: Transaction) -> None:
        await tx.fetch("SELECT gone FROM things")

    asked = await asyncio.gather(old.read(gone), old.write(gone), return_exceptions=True)
    assert words(*asked) == ["storage_unavailable"] * 2


def test_a_page_is_as_long_as_writers_can_wait_for() -> None:
    assert installation._paced(1000, 0.1) == 500
    assert installation._paced(1000, 60.0) == 50
    assert installation._paced(1000, 0.0) == 10_000
