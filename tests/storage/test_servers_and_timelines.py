"""After a failover the primary that was replaced is used no more, however alive it looks."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
from asyncpg import exceptions as pg

from teamvars.domain.errors import Refusal
from teamvars.storage.database import Transaction
from teamvars.storage.engines.outages import reason
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.storage.engines.servers import NotThePrimary, Standing, Timelines
from tests.support.patience import HANGS, until
from tests.support.postgres import LocalPostgres

FROZEN_SECONDS = 1.0
"""After how long a statement on a server that does nothing is given up."""


@pytest.fixture
def pair() -> Iterator[tuple[LocalPostgres, LocalPostgres]]:
    """A primary, and a standby that commits do not wait for."""
    standby = LocalPostgres()
    try:
        with LocalPostgres() as primary:
            primary.create_database("store")
            standby.follow(primary)
            primary.wait_for_nobody()
            yield primary, standby
    finally:
        standby.stop()


def url_of(*servers: LocalPostgres) -> str:
    hosts = ",".join(urlsplit(server.admin_url).netloc for server in servers)
    return f"postgresql://postgres@{hosts.replace('postgres@', '')}/store"


async def port(tx: Transaction) -> int:
    row = await tx.fetch_one("SELECT CAST(current_setting('port') AS INT)")
    assert row is not None
    return int(row[0])


def port_of(server: LocalPostgres) -> int | None:
    return urlsplit(server.admin_url).port


async def refused(database: PostgresDatabase) -> str:
    """Why it can be used for nothing."""
    with pytest.raises(Refusal) as caught:
        await database.read(port)
    assert caught.value.__cause__ is not None
    return reason(caught.value.__cause__)


async def test_a_primary_that_was_replaced_while_it_was_frozen_is_used_no_more(
    pair: tuple[LocalPostgres, LocalPostgres],
) -> None:
    primary, standby = pair
    database = PostgresDatabase(url_of(primary, standby), FROZEN_SECONDS)

    # On a busy host anything may take longer than a statement may here, and is refused for that.
    async def is_served_by(server: LocalPostgres) -> bool:
        try:
            return await database.write(port) == port_of(server)
        except Refusal:
            return False

    async def says_why() -> bool:
        return "another server has taken its place: its timeline is 1" in await refused(database)

    await database.open()
    try:
        await until(partial(is_served_by, primary))
        with primary.stopped():
            standby.promote()
            await until(partial(is_served_by, standby))
        standby.kill()
        await until(says_why)
    finally:
        await database.close()


async def test_what_still_runs_on_a_primary_that_was_replaced_is_given_up_and_run_again(
    pair: tuple[LocalPostgres, LocalPostgres],
) -> None:
    primary, standby = pair
    database = PostgresDatabase(url_of(primary, standby), HANGS)
    served_by: list[int] = []

    async def stay(tx: Transaction) -> None:
        served_by.append(await port(tx))
        if len(served_by) == 1:
            standby.promote()
            # So that the next connection is to the other one.
            primary.execute("ALTER DATABASE store ALLOW_CONNECTIONS false")
            assert await database.write(port) == port_of(standby)
            await tx.execute("SELECT CAST(pg_sleep(3600) AS TEXT)")

    await database.open()
    try:
        await database.read(stay)
        assert served_by == [port_of(primary), port_of(standby)]
    finally:
        await database.close()


async def test_a_standby_is_not_served_from_and_commands_may_read_it(
    pair: tuple[LocalPostgres, LocalPostgres],
) -> None:
    primary, standby = pair
    serving, command = PostgresDatabase(url_of(standby), HANGS), PostgresDatabase(url_of(standby))
    any_of_them = PostgresDatabase(url_of(standby, primary), HANGS)
    try:
        assert await command.read(port) == port_of(standby)
        assert await any_of_them.read(port) == port_of(primary)
        assert await refused(serving) == "NotThePrimary: it is a standby"
        standby.promote()
        assert await serving.read(port) == port_of(standby)
    finally:
        for database in (serving, command, any_of_them):
            await database.close()


async def test_a_newer_server_that_is_lost_again_at_once_was_seen_all_the_same(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(postgres_url, HANGS)
    timelines = database._connections._servers.timelines
    really, looked = timelines.look, 0

    async def look(connection: Any) -> Standing | None:
        nonlocal looked
        looked += 1
        if looked == 2:
            standing = await really(connection)
            assert standing is not None
            assert standing.timeline is not None
            await really(Server(standing.system, standing.timeline + 1))
            raise ConnectionResetError
        return await really(connection)

    async def stay(tx: Transaction) -> None:
        with pytest.raises(Refusal):
            await database.write(port)
        with pytest.raises(ConnectionResetError):
            await port(tx)
        raise Given

    monkeypatch.setattr(timelines, "look", look)
    await database.open()
    try:
        with pytest.raises(Given):
            await database.read(stay)
    finally:
        await database.close()


class Given(Exception):
    """What the test waits for has come."""


class Server:
    """What a connection is told of how its server stands."""

    def __init__(self, system: str | None, timeline: int | None) -> None:
        self.told = system, timeline

    async def fetchrow(self, _: str) -> Any:
        if self.told[0] is None:
            raise pg.InsufficientPrivilegeError("permission denied for function")
        return self.told


@pytest.mark.parametrize(
    ("seen", "then", "is_used"),
    [
        (("a", 1), ("a", 1), True),
        (("a", 1), ("a", 2), True),
        (("a", 2), ("a", 1), False),
        (("a", 2), ("b", 1), True),
        (("a", 2), (None, None), True),
        (("a", 2), ("a", None), False),
    ],
)
async def test_a_timeline_that_is_older_than_one_of_the_same_store_is_refused(
    seen: tuple[str, int], then: tuple[str | None, int | None], is_used: bool
) -> None:
    timelines = Timelines(standbys=False)
    first = await timelines.look(Server(*seen))
    assert first == Standing(*seen)
    try:
        await timelines.look(Server(*then))
    except NotThePrimary:
        assert not is_used
        assert timelines.admits(first)
    else:
        assert is_used
        assert timelines.admits(first) is (then != ("a", 2))


async def test_commands_that_read_a_standby_learn_nothing_of_timelines_there() -> None:
    timelines = Timelines(standbys=True)
    assert await timelines.look(Server("a", None)) == Standing("a", None)
    assert timelines.admits(Standing("a", 1))
