"""PgBouncer in front of PostgreSQL, in each mode, and what is said where that is another."""

import asyncio
from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import asyncpg
import pytest

from teamvars.domain.diagnosis import Pooler, Severity, engine_findings
from teamvars.domain.errors import Kind, Refusal
from teamvars.storage.database import Database, StorageMisconfigured, Transaction
from teamvars.storage.engines import database_for, poolers
from teamvars.storage.engines import postgres as engine
from teamvars.storage.engines.connections import ServerClock
from teamvars.storage.engines.postgres import PostgresDatabase
from tests.storage.stores import adding, batched, ids, make_things, opened
from tests.support.patience import HANGS, until
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import Postgres

NONE, SESSION, TRANSACTION = Pooler
PASSAGE = poolers.Passage(SESSION, is_serving=True)
IGNORES = f"ignore_startup_parameters = {', '.join(PASSAGE.settings)}"


@pytest.fixture(scope="module")
def bouncers(postgres: Postgres) -> Iterator[dict[str, PgBouncer]]:
    with (
        PgBouncer(postgres, SESSION, IGNORES) as session,
        PgBouncer(postgres, TRANSACTION, IGNORES) as transaction,
        PgBouncer(postgres, SESSION) as strict,
    ):
        yield {"session": session, "transaction": transaction, "strict": strict}


@pytest.fixture
def fresh(postgres: Postgres) -> Iterator[str]:
    """The name of an empty database, which any pooler may lead to."""
    name = f"pooled-{uuid4()}"
    postgres.create_database(name)
    yield name
    postgres.drop_database(name)


@pytest.fixture(params=["session", "transaction"])
def bouncer(request: pytest.FixtureRequest, bouncers: dict[str, PgBouncer]) -> PgBouncer:
    return bouncers[request.param]


async def settings_of(tx: Transaction) -> dict[str, str]:
    rows = await tx.fetch(
        "SELECT name, current_setting(name) FROM unnest(CAST($1 AS TEXT[])) AS asked (name)",
        list(PASSAGE.settings),
    )
    return {str(name): str(value) for name, value in rows}


def serving(url: str) -> Database:
    return database_for(url, statement_seconds=60.0)


async def test_through_a_pooler_everything_runs_with_the_settings_that_it_was_planned_for(
    bouncer: PgBouncer, fresh: str
) -> None:
    url = bouncer.url(fresh)
    async with opened(url) as database:
        await make_things(database)
        done = await database.settle_account()
        assert len(done) == (len(PASSAGE.settings) if bouncer.mode is TRANSACTION else 0)
        assert await database.settle_account() == []
    await bouncer.tell("RECONNECT")
    async with serving(url) as database:
        assert await database.write(adding("a")) == "a"
        assert await batched(database, adding("b")) == "b"
        for way in (database.query, database.read, database.write):
            assert await way(settings_of) == PASSAGE.settings
        assert await database.query(ids) == ["a", "b"]
    async with opened(url) as commands:
        found = await commands.read(settings_of)
        assert found == {**PASSAGE.settings, "enable_seqscan": "on", "enable_bitmapscan": "on"}


async def test_what_one_sets_another_does_not_get(bouncer: PgBouncer, fresh: str) -> None:
    async with opened(bouncer.url(fresh)) as database:
        await make_things(database)
        await database.write(adding("a"))
    async with opened(bouncer.url(fresh)) as database:
        assert await database.query(ids) == ["a"]
    plain = await asyncpg.connect(bouncer.plain_url(fresh))
    assert await plain.fetchval("SHOW lock_timeout") == "0"
    await plain.close()


async def test_an_account_that_was_not_told_is_a_problem_that_says_what_to_run(
    bouncers: dict[str, PgBouncer], fresh: str
) -> None:
    bouncer = bouncers["transaction"]
    async with opened(bouncer.url(fresh)) as database:
        found = engine_findings(await database.engine(), 0)[-1]
        assert (found.severity, found.subject) == (Severity.PROBLEM, "pooler")
        assert "jit = off" in found.text
        assert "teamvars migrate up" in found.text
        await database.settle_account()
        assert (await database.engine()).unset, "sessions keep what they began with"
        await bouncer.tell("RECONNECT")
        assert not (await database.engine()).unset


@pytest.mark.parametrize(
    ("said", "there", "told"),
    [
        (NONE, "session", "leaves out"),
        (NONE, "transaction", "is none, and a pooler in transaction mode"),
        (SESSION, "transaction", "is session, and a pooler in transaction mode"),
        (NONE, "strict", "unsupported startup parameter"),
    ],
)
async def test_a_pooler_of_another_mode_than_was_said_is_refused_with_what_to_say(
    bouncers: dict[str, PgBouncer], fresh: str, said: Pooler, there: str, told: str
) -> None:
    with pytest.raises(StorageMisconfigured) as refused:
        async with opened(f"{bouncers[there].plain_url(fresh)}?pooler={said}"):
            pass
    assert told in str(refused.value)
    assert "TEAMVARS_DATABASE_POOLER" in str(refused.value)


async def test_a_statement_that_another_session_has_tells_of_a_pooler_as_well(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def measure(*_: object) -> None:
        raise asyncpg.InvalidSQLStatementNameError('prepared statement "x" does not exist')

    monkeypatch.setattr(ServerClock, "measure", measure)
    with pytest.raises(StorageMisconfigured, match="is none, and a pooler in transaction mode"):
        async with opened(postgres_url):
            pass


class Session:
    """A connection, and the processes that serve it in turn, the last one from then on."""

    def __init__(self, *processes: int) -> None:
        self.processes = list(processes)

    async def fetchval(self, _: str) -> int:
        return self.processes.pop(0) if len(self.processes) > 1 else self.processes[0]

    async def fetch(self, *_: object) -> list[tuple[str]]:
        return []


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        (Session(1), Session(2), True),
        (Session(1), Session(1), False),
        (Session(1, 2), Session(3), False),
        (Session(1), Session(2, 1), False),
        (Session(1, 1, 1, 1, 1, 2), Session(3), False),
        (Session(1), Session(2, 2, 2, 2, 2, 3), False),
    ],
)
async def test_a_pooler_that_others_keep_busy_is_not_taken_for_one_in_session_mode(
    one: Session, other: Session, fits: bool
) -> None:
    try:
        await PASSAGE.require_fit(one, other)
    except StorageMisconfigured:
        assert not fits
    else:
        assert fits


@pytest.mark.parametrize("error", poolers.NOT_PREPARED_HERE)
@pytest.mark.parametrize("mode", Pooler)
async def test_a_pooler_whose_mode_is_changed_meanwhile_is_told_and_nothing_was_changed(
    postgres_url: str, mode: Pooler, error: type[Exception]
) -> None:
    async def run(_: Transaction) -> None:
        raise error('prepared statement "x" does not exist')

    async with opened(f"{postgres_url}?pooler={mode}") as database:
        await make_things(database)
        for way in (database.read, database.write, partial(batched, database)):
            with pytest.raises(Refusal) as refused:
                await way(run)
            assert refused.value.kind is Kind.UNAVAILABLE
            cause = refused.value.__cause__
            assert isinstance(cause, error if mode is TRANSACTION else StorageMisconfigured)


async def test_of_a_statement_that_commits_and_is_not_known_there_the_outcome_is_known(
    postgres_url: str,
) -> None:
    connection = await asyncpg.connect(postgres_url)
    statement = await connection.prepare("SELECT 1")
    await connection.execute("DEALLOCATE ALL")
    with pytest.raises(asyncpg.InvalidSQLStatementNameError):
        await engine._confirmed(connection, statement.fetch)
    await connection.execute("PREPARE known AS SELECT 1")
    prepare = partial(connection.prepare, "SELECT 1", name="known")
    with pytest.raises(asyncpg.DuplicatePreparedStatementError):
        await engine._confirmed(connection, prepare)
    await connection.close()


async def test_a_store_that_was_away_is_opened_once_its_pooler_is_the_one_that_was_said(
    postgres: Postgres, fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bouncer = PgBouncer(postgres, TRANSACTION)
    database = PostgresDatabase(f"{bouncer.plain_url(fresh)}?pooler={SESSION}", HANGS)
    monkeypatch.setattr(engine, "_OPEN_AGAIN_SECONDS", 0.01)
    with pytest.raises(Refusal):
        await database.open()
    opening = database._opening
    assert opening is not None
    try:

        async def has_tried_twice() -> bool:
            return opening.done() or bouncer.logins() > 2  # two connections for each try

        with bouncer:
            await until(has_tried_twice)
            assert not opening.done()
        bouncer.mode = SESSION
        with bouncer:
            await asyncio.wait_for(opening, HANGS)
            assert database.now() > 0
    finally:
        await database.close()


async def test_what_the_url_asks_for_and_no_pooler_takes_is_named(
    bouncers: dict[str, PgBouncer], fresh: str
) -> None:
    url = f"{bouncers['strict'].url(fresh)}&search_path=public"
    with pytest.raises(StorageMisconfigured, match=r"search_path.*TEAMVARS_DATABASE_URL"):
        async with opened(url):
            pass


@pytest.mark.parametrize("mode", Pooler)
async def test_without_a_pooler_each_mode_works(postgres_url: str, mode: Pooler) -> None:
    async with opened(f"{postgres_url}?pooler={mode}") as database:
        await make_things(database)
        assert await database.write(adding("a")) == "a"
        assert await database.query(ids) == ["a"]


async def test_where_the_server_has_a_statement_by_the_name_it_was_given_no_pooler_keeps_any(
    postgres_url: str,
) -> None:
    connection = await asyncpg.connect(postgres_url, statement_cache_size=0)
    assert not await poolers.keeps_statements(connection)
    assert (
        await connection.fetch("SELECT FROM pg_prepared_statements WHERE name LIKE 'team%'") == []
    )
    await connection.close()
