"""A change that is sent again until it is answered happens once, whatever breaks meanwhile.

Two nodes on one store are killed by turns; clients hang up; the connections to PostgreSQL break at
its answer to a COMMIT, and on SQLite the disk of one node fails to sync. The check sends some
hundred requests again, `python3 dev.py faults --only repeats` 10,000 on each engine.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.faults.brittle import BrittleHost
from tests.faults.repeaters import CLIENTS, Change, Repeaters, broken, directory
from tests.storage.proxy import Way, way_to
from tests.support.commands import Host
from tests.support.postgres import LocalPostgres
from tests.support.server import Server

# Of clients that hang up while they connect: see `Repeaters.work_until`.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

LONG = pytest.param(10_000, id="10000 retries", marks=pytest.mark.long)
TWICE = "was made 2 times"


@dataclass(frozen=True)
class Site:
    """A store, two nodes on it, and the way of one of them to the database."""

    host: Host
    nodes: list[Server]
    way: Way | None

    def repeaters(self, *, keys: bool) -> Repeaters:
        """The clients, each with a team of its own."""
        applied = self.host.succeed("directory", "apply", "directory.yaml", "--json").json
        teams = applied["organizations"]["acme"]["teams"]
        paths = [f"/teams/{teams[f'team-client-{n}']}" for n in range(CLIENTS)]
        tokens = [
            self.host.succeed("token", "create", "--user", f"client-{n}").out.strip()
            for n in range(CLIENTS)
        ]
        return Repeaters([node.url for node in self.nodes], paths, tokens, keys=keys)

    def broken(self, changes: list[Change]) -> list[str]:
        """What was made twice or is lost."""
        exported = self.host.succeed("audit", "export").out
        assert self.host.run("audit", "verify").code == 0
        return broken(changes, map(json.loads, exported.splitlines()))


@asynccontextmanager
async def site(engine: str, folder: Path, durable: LocalPostgres | None) -> AsyncIterator[Site]:
    """Two nodes, started."""
    if durable is None:
        host = Host(folder)
        prepare(host)
        with ExitStack() as stack:
            nodes = [Server(host), Server(BrittleHost(folder))]
            for node in nodes:
                stack.enter_context(node)
            yield Site(host, nodes, None)
        return
    name = f"repeats-{uuid4()}"
    durable.create_database(name)
    host = Host(folder, {"DATABASE_URL": durable.url(name)})
    prepare(host)
    async with way_to(durable.url(name)) as way:
        with ExitStack() as stack:
            nodes = [Server(host), Server(host.having(database_url=way.url))]
            for node in nodes:
                await asyncio.to_thread(stack.enter_context, node)
            yield Site(host, nodes, way)


def prepare(host: Host) -> None:
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(directory())


async def break_things(at: Site) -> None:
    """Kills the nodes by turns and starts them again, and cuts connections, until cancelled."""
    while True:
        for node in at.nodes:
            for _ in range(10):
                await asyncio.sleep(random.uniform(0, 0.2))
                if at.way is not None:
                    at.way.cut = random.choice(("before", "after"))
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)


async def run(at: Site, clients: Repeaters, retries: int) -> None:
    """Lets the clients work while things break."""
    breaking = asyncio.create_task(break_things(at))
    try:
        await clients.work_until(retries)
    finally:
        breaking.cancel()
        await asyncio.gather(breaking, return_exceptions=True)


@pytest.mark.parametrize("retries", [100, LONG])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_what_is_sent_again_under_its_key_happens_once(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, retries: int
) -> None:
    durable = None if engine == "sqlite" else request.getfixturevalue("durable")
    async with site(engine, tmp_path, durable) as at:
        clients = at.repeaters(keys=True)
        await run(at, clients, retries)
        print(clients.retries, "retries of", len(clients.changes), "changes:", clients.told)  # noqa: T201
        assert at.broken(clients.changes) == []
        assert clients.told["already_made"] > 0


async def test_what_is_sent_again_without_a_key_happens_twice(tmp_path: Path) -> None:
    async with site("sqlite", tmp_path, None) as at:
        clients = at.repeaters(keys=False)
        await run(at, clients, 60)
        assert any(TWICE in found for found in at.broken(clients.changes))
