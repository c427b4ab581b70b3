"""Changes that share a transaction on PostgreSQL: each has its own outcome, whatever others do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from string import ascii_letters
from typing import Any

import asyncpg
import pytest

from teamvars.domain.errors import not_found
from teamvars.storage import postgres
from teamvars.storage.coalescing import BATCH_LIMIT
from teamvars.storage.database import Body, Database, Lookup, Statement, Taken, Transaction
from teamvars.storage.group_commit import LOCK_WAITERS, RETRY_SECONDS, SUBJECT_LIMIT
from tests.storage.proxy import way_to
from tests.storage.stores import adding, ids, make_things, opened, words
from tests.support.patience import HANGS

SUBJECTS = [f"s{number}" for number in range(8)]
LETTERS = "abcdefgh"
LOCK = Lookup(
    single="SELECT note, CAST(pg_current_xact_id() AS TEXT) FROM things "
    "WHERE id = $1 {lock things}",
    batched="SELECT lookup.number, things.note, CAST(pg_current_xact_id() AS TEXT) "
    "FROM unnest(CAST($1 AS TEXT[])) WITH ORDINALITY AS lookup (id, number) "
    "JOIN things ON things.id = lookup.id {lock things} SKIP LOCKED",
)
LOOK = Lookup(
    single="SELECT note FROM things WHERE id = $1",
    batched="SELECT lookup.number, things.note "
    "FROM unnest(CAST($1 AS TEXT[])) WITH ORDINALITY AS lookup (id, number) "
    "JOIN things ON things.id = lookup.id",
)
THOSE_OF = Lookup.of("SELECT id FROM things WHERE id LIKE $1 || '%'", "TEXT")
APPEND = "UPDATE things SET note = note || $2 WHERE id = $1"
ADD = "INSERT INTO things (id, note) VALUES ($1, $2)"


@asynccontextmanager
async def with_subjects(url: str) -> AsyncIterator[Database]:
    """A store that has them."""
    async with opened(url) as database:
        await make_things(database)
        for subject in SUBJECTS:
            await database.write(adding(subject))
        yield database


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Database]:
    async with with_subjects(postgres_url) as database:
        yield database


@asynccontextmanager
async def first_locked(admin: Any) -> AsyncIterator[None]:
    """While this lasts another has the first subject's row; then it has written to it."""
    async with admin.transaction():
        await admin.execute("UPDATE things SET note = 'first ' WHERE id = 's0'")
        yield


def appending(subject: str, text: str = "x", new: str | None = None) -> Body[str]:
    """What appends to a thing and adds another; its answer is the transaction."""

    async def body(tx: Transaction) -> str:
        while (row := await tx.look_up(LOCK, subject)) is None:
            if await tx.look_up(LOOK, subject) is None:
                raise not_found()
        transaction: str = row[1]
        added = Statement(ADD, (new or f"of {subject}", ""))
        await tx.execute_all(Statement(APPEND, (subject, text)), added)
        return transaction

    return body


def changes(database: Database, subjects: list[str]) -> "list[asyncio.Task[str]]":
    """One under way for each subject."""
    return [asyncio.create_task(database.change(each, appending(each))) for each in subjects]


def writing(database: Database, letters: str) -> "list[asyncio.Task[str]]":
    """One under way for each letter: it appends it to the first subject, and adds a thing of it."""
    return [
        asyncio.create_task(database.change("s0", appending("s0", letter, new=letter)))
        for letter in letters
    ]


async def notes(tx: Transaction) -> dict[str, str]:
    """The notes of the subjects."""
    rows = await tx.fetch("SELECT id, note FROM things WHERE id LIKE 's%'")
    return {id_: note for id_, note in rows if note}


async def test_those_that_wait_at_the_same_time_share_a_transaction(store: Database) -> None:
    transactions = await asyncio.gather(*changes(store, SUBJECTS))
    assert len(set(transactions)) == 1
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")


async def test_no_batch_is_larger_than_it_may_be(store: Database) -> None:
    many = [f"s-{number}" for number in range(BATCH_LIMIT + 1)]
    for subject in many:
        await store.write(adding(subject))
    transactions = await asyncio.gather(*changes(store, many))
    assert len(set(transactions)) == 2


async def test_those_about_one_subject_come_one_after_the_other_and_share_too(
    store: Database,
) -> None:
    transactions = await asyncio.gather(*writing(store, LETTERS), *changes(store, ["s1"]))
    assert len(set(transactions)) == 1
    assert await store.read(notes) == {"s0": LETTERS, "s1": "x"}


async def test_of_one_subject_no_more_than_a_few_are_in_a_batch(store: Database) -> None:
    letters = ascii_letters[: SUBJECT_LIMIT + 1]
    *first, last = await asyncio.gather(*writing(store, letters))
    assert len(set(first)) == 1
    assert last not in first
    assert await store.read(notes) == {"s0": letters}


async def test_a_batch_is_planned_once_however_many_share_it(store: Any) -> None:
    for number in range(2, len(SUBJECTS) + 1):
        bodies = {each: appending(each, new=f"{each}-{number}") for each in SUBJECTS[:number]}
        await asyncio.gather(*(store.change(each, body) for each, body in bodies.items()))
    plans = await store._connections._idle[-1].fetch(
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE $1",
        "%FROM unnest%",
    )
    assert [tuple(each) for each in plans] == [(len(SUBJECTS) - 1, 0)] * 2


class Kind(StrEnum):
    ODD = "odd"


async def test_what_is_written_together_keeps_its_own_values(store: Database) -> None:
    async def make(tx: Transaction) -> None:
        columns = "id {text}, kind {text}, at BIGINT NOT NULL, seal {bytes} NOT NULL"
        await tx.script(f"CREATE TABLE kinds ({columns})")

    def writing_row(row: tuple[str, object, int, bytes]) -> Body[str]:
        async def body(tx: Transaction) -> str:
            locked = await tx.look_up(LOCK, row[0])
            assert locked is not None
            insert = "INSERT INTO kinds (id, kind, at, seal) VALUES ($1, $2, $3, $4)"
            delete = Statement("DELETE FROM things WHERE id = $1", (f"gone with {row[0]}",))
            await tx.execute_all(Statement(insert, row), delete)
            return str(locked[1])

        return body

    async def rows(tx: Transaction) -> list[tuple[object, ...]]:
        return [tuple(row) for row in await tx.fetch("SELECT * FROM kinds ORDER BY id")]

    await store.migrate(make)
    for subject in SUBJECTS[1:]:
        await store.write(adding(f"gone with {subject}"))
    given = [
        (subject, Kind.ODD if number % 2 else None, 2**62 + number, bytes([number]))
        for number, subject in enumerate(SUBJECTS)
    ]
    transactions = await asyncio.gather(*(store.change(row[0], writing_row(row)) for row in given))
    assert len(set(transactions)) == 1
    assert await store.read(rows) == given
    assert await store.read(ids) == SUBJECTS


async def test_a_taken_id_is_refused_to_one_and_the_others_are_done_once(store: Database) -> None:
    await store.write(adding("taken"))
    *others, taken = await asyncio.gather(
        *changes(store, SUBJECTS[1:]),
        store.change("s0", appending("s0", new="taken")),
        return_exceptions=True,
    )
    assert isinstance(taken, Taken)
    assert words(*others) == ["done"] * 7
    assert await store.read(notes) == dict.fromkeys(SUBJECTS[1:], "x")


async def test_a_statement_that_is_wrong_is_one_functions_own(store: Database) -> None:
    async def wrong(tx: Transaction) -> None:
        await tx.look_up(LOCK, "s0")
        await tx.execute_all(Statement("UPDATE things SET note = 1 / 0", ()))

    *others, bug = await asyncio.gather(
        *changes(store, SUBJECTS[1:]), store.change("s0", wrong), return_exceptions=True
    )
    assert isinstance(bug, asyncpg.DivisionByZeroError)
    assert words(*others) == ["done"] * 7
    assert await store.read(notes) == dict.fromkeys(SUBJECTS[1:], "x")


@pytest.mark.parametrize("after_writing", [False, True])
async def test_a_refusal_is_one_functions_own_and_nothing_of_it_stays(
    store: Database, after_writing: bool
) -> None:
    async def refused(tx: Transaction) -> None:
        await tx.look_up(LOCK, "s0")
        if after_writing:
            await tx.execute_all(Statement(APPEND, ("s0", "of the refused")))
        raise not_found()

    *others, refusal = await asyncio.gather(
        *changes(store, SUBJECTS[1:]), store.change("s0", refused), return_exceptions=True
    )
    assert words(refusal) == ["not_found"]
    assert words(*others) == ["done"] * 7
    assert await store.read(notes) == dict.fromkeys(SUBJECTS[1:], "x")


async def test_each_gets_all_rows_that_are_its_own(store: Database) -> None:
    for id_ in ("s0-b", "s0-a", "s1-a"):
        await store.write(adding(id_))

    def counting(subject: str) -> Body[tuple[int, str]]:
        async def body(tx: Transaction) -> tuple[int, str]:
            row = await tx.look_up(LOCK, subject)
            assert row is not None
            rows = await tx.look_up_all(THOSE_OF, f"{subject}-")
            await tx.execute_all(Statement(APPEND, (subject, "".join(sorted(r[0] for r in rows)))))
            return len(rows), row[1]

        return body

    found = await asyncio.gather(*(store.change(each, counting(each)) for each in SUBJECTS[:3]))
    assert [number for number, _ in found] == [2, 1, 0]
    assert len({transaction for _, transaction in found}) == 1
    assert await store.read(notes) == {"s0": "s0-as0-b", "s1": "s1-a"}


async def test_what_cannot_be_shared_is_done_alone(store: Database) -> None:
    async def counting(tx: Transaction) -> int:
        rows = await tx.fetch("SELECT id FROM things WHERE id LIKE 's%'")
        await tx.execute(APPEND, "s0", "counted")
        return len(rows)

    async def asking_twice(tx: Transaction) -> str:
        await tx.look_up(LOCK, "s1")
        await tx.execute_all(Statement(APPEND, ("s1", "written")))
        row = await tx.look_up(LOCK, "s1")
        assert row is not None
        note: str = row[0]
        return note

    async def sleeping(tx: Transaction) -> None:
        await tx.look_up(LOCK, "s2")
        await asyncio.sleep(0.01)
        await tx.execute_all(Statement(APPEND, ("s2", "slept")))

    *others, counted, seen, _ = await asyncio.gather(
        *changes(store, SUBJECTS[3:]),
        store.change("s0", counting),
        store.change("s1", asking_twice),
        store.change("s2", sleeping),
    )
    assert (counted, seen) == (8, "written")
    assert len(others) == 5
    expected = {"s0": "counted", "s1": "written", "s2": "slept"}
    assert await store.read(notes) == {**dict.fromkeys(SUBJECTS[3:], "x"), **expected}


async def test_a_row_that_another_has_locked_keeps_nobody_else_waiting(
    store: Database, admin: Any
) -> None:
    async with first_locked(admin):
        waiting, *others = changes(store, SUBJECTS)
        await asyncio.gather(*others)
        later = changes(store, ["s1"])  # fails for the id it adds, and does not wait
        assert words(*await asyncio.gather(*later, return_exceptions=True)) != ["done"]
        assert not waiting.done()
    await waiting
    assert (await store.read(notes))["s0"] == "first x"


async def test_those_who_wait_for_one_locked_row_go_on_together(
    store: Database, admin: Any
) -> None:
    async with first_locked(admin):
        begun = writing(store, LETTERS[:3])
        await asyncio.gather(*changes(store, SUBJECTS[1:]))
        later = writing(store, LETTERS[3:])
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in [*begun, *later])
    assert len(set(await asyncio.gather(*begun))) == 1
    assert len(set(await asyncio.gather(*later))) == 1
    assert (await store.read(notes))["s0"] == f"first {LETTERS}"


async def test_nobody_overtakes_who_waits_for_the_same_row(store: Database, admin: Any) -> None:
    async def slow(tx: Transaction) -> None:
        await tx.look_up(LOCK, "s1")
        asleep = "UPDATE things SET note = $2 FROM pg_sleep(0.3) WHERE id = $1"
        await tx.execute_all(Statement(asleep, ("s1", "x")))

    # The row is free again before the second of them would ask for it.
    async with first_locked(admin):
        outcomes = asyncio.gather(*writing(store, LETTERS), store.change("s1", slow))
        await asyncio.sleep(0.15)
    await outcomes
    assert await store.read(notes) == {"s0": f"first {LETTERS}", "s1": "x"}


async def test_who_asks_for_what_is_not_there_is_told_so(store: Database) -> None:
    missing = [store.change("missing", appending("missing", new=letter)) for letter in LETTERS]
    outcomes = await asyncio.gather(*missing, *changes(store, SUBJECTS), return_exceptions=True)
    assert words(*outcomes) == ["not_found"] * 8 + ["done"] * 8
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")


async def test_of_those_about_one_subject_who_is_refused_is_so_alone(store: Database) -> None:
    await store.write(adding("d"))
    *before, taken = writing(store, LETTERS[:4])
    after = writing(store, LETTERS[4:])
    await asyncio.gather(*before, *after, *changes(store, SUBJECTS[1:]))
    with pytest.raises(Taken):
        await taken
    assert (await store.read(notes))["s0"] == LETTERS.replace("d", "")


async def waiting_for_locks(admin: Any) -> int:
    """How many connections to this database wait for somebody's lock."""
    number: int = await admin.fetchval(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return number


async def test_of_many_locked_subjects_a_few_have_connections_and_all_go_on_in_the_end(
    store: Database, admin: Any
) -> None:
    locked = SUBJECTS[1:]
    async with admin.transaction():
        await admin.execute("UPDATE things SET note = 'first ' WHERE id <> 's0'")
        waiting = changes(store, locked)
        await asyncio.gather(*changes(store, ["s0"]))
        await asyncio.sleep(3 * RETRY_SECONDS)
        assert await waiting_for_locks(admin) == LOCK_WAITERS
        await store.change("s0", appending("s0", new="another"))
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    assert await store.read(notes) == {"s0": "xx", **dict.fromkeys(locked, "first x")}


async def test_who_is_not_to_lock_is_answered_while_another_has_the_row_locked(
    store: Database, admin: Any
) -> None:
    async with first_locked(admin):
        refused = [store.change("s0", appending("missing")) for _ in range(20)]
        outcomes = await asyncio.gather(*refused, *changes(store, ["s1"]), return_exceptions=True)
        assert words(*outcomes) == ["not_found"] * 20 + ["done"]
        assert await waiting_for_locks(admin) == 0


@pytest.mark.parametrize("shared", [True, False])
async def test_whose_row_stays_locked_is_refused_with_all_who_wait_for_it_and_nobody_else(
    postgres_url: str, admin: Any, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    async def unshared(tx: Transaction) -> None:
        await tx.execute(APPEND, "s0", "x")

    def begin(database: Database, letters: str) -> "list[asyncio.Task[Any]]":
        if shared:
            return [*writing(database, letters)]
        return [asyncio.create_task(database.change("s0", unshared)) for _ in letters]

    monkeypatch.setitem(postgres._SERVER_SETTINGS, "lock_timeout", "1s")
    async with with_subjects(postgres_url) as store:
        async with first_locked(admin):
            begun = begin(store, LETTERS[:6])
            await asyncio.sleep(0.1)
            outcomes = asyncio.gather(*begun, *begin(store, LETTERS[6:]), return_exceptions=True)
            others = await asyncio.gather(*changes(store, SUBJECTS[1:]))
            assert words(*await asyncio.wait_for(outcomes, HANGS)) == ["storage_unavailable"] * 8
        assert words(*others) == ["done"] * 7
        assert await store.read(notes) == {"s0": "first ", **dict.fromkeys(SUBJECTS[1:], "x")}
        await store.change("s0", appending("s0"))
        assert (await store.read(notes))["s0"] == "first x"


async def test_a_client_that_goes_away_takes_nobody_along(store: Database) -> None:
    gone, *others = changes(store, SUBJECTS)
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(*others)
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")


async def test_a_connection_lost_before_the_commit_is_no_loss_to_anyone(store: Database) -> None:
    runs: list[int] = []

    async def cutting(tx: Transaction) -> None:
        runs.append(0)
        await tx.look_up(LOCK, "s0")
        cut = "SELECT CAST(pg_terminate_backend(pg_backend_pid()) AS TEXT) WHERE $1 <> $2"
        await tx.execute_all(Statement(cut if len(runs) == 1 else APPEND, ("s0", "x")))

    await asyncio.gather(store.change("s0", cutting), *changes(store, SUBJECTS[1:]))
    assert len(runs) == 2
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")


async def test_a_commit_whose_answer_is_lost_has_an_unknown_outcome_for_all_in_it(
    store: Database, postgres_url: str
) -> None:
    async with way_to(postgres_url) as way, opened(way.url) as database:
        await database.change("s0", appending("s0"))
        way.cut = "before"
        outcomes = await asyncio.gather(*changes(database, SUBJECTS[1:]), return_exceptions=True)
        assert words(*outcomes) == ["outcome_unknown"] * 7
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")


async def test_closing_waits_for_the_changes_under_way(store: Database, postgres_url: str) -> None:
    async with opened(postgres_url) as other:
        under_way = changes(other, SUBJECTS)
        await asyncio.sleep(0)
    assert all(task.done() for task in under_way)
    assert await store.read(notes) == dict.fromkeys(SUBJECTS, "x")
    assert len(await store.read(ids)) == 16
