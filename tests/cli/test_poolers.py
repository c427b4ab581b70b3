"""Commands of the host through a PgBouncer."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from teamvars.domain.diagnosis import Pooler
from tests.support.commands import Host
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import Postgres
from tests.support.server import Server


@pytest.fixture(params=[Pooler.SESSION, Pooler.TRANSACTION])
def bouncer(request: pytest.FixtureRequest, postgres_server: Postgres) -> Iterator[PgBouncer]:
    with PgBouncer(postgres_server, request.param) as bouncer:
        yield bouncer


@pytest.fixture
def through_it(bouncer: PgBouncer, tmp_path: Path) -> Iterator[Host]:
    """A host whose store is empty, and behind the pooler."""
    name = f"behind-{uuid4()}"
    bouncer.create_database(name)
    yield Host(tmp_path).having(
        database_url=bouncer.plain_url(name), database_pooler=bouncer.mode, log_format="json"
    )
    bouncer.drop_database(name)


def test_an_installation_is_made_diagnosed_and_served_through_a_pooler(
    bouncer: PgBouncer, through_it: Host
) -> None:
    is_told = bouncer.mode is Pooler.TRANSACTION
    assert ("ALTER ROLE CURRENT_USER" in through_it.succeed("init").err) is is_told
    assert ("RECONNECT" in through_it.run("doctor").out) is is_told
    asyncio.run(bouncer.tell("RECONNECT"))
    assert "ALTER ROLE" not in through_it.succeed("migrate", "up").err
    assert f"ok       pooler: in {bouncer.mode} mode" in through_it.run("doctor").out
    with Server(through_it) as server:
        assert httpx.get(f"{server.url}/readyz").status_code == 200


def test_a_pooler_that_nobody_has_named_is_told_by_each_command(through_it: Host) -> None:
    unaware = through_it.having(database_pooler=Pooler.NONE)
    for command in ("init", "serve", "doctor"):
        done = unaware.run(command)
        assert done.code == 1
        assert "Set TEAMVARS_DATABASE_POOLER to its mode" in done.out + done.err
