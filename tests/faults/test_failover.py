"""Two nodes behind haproxy on a cluster of PostgreSQL whose primary dies, stalls or is cut off.

Only `python3 dev.py faults --only failover` runs this: a lock of the leader that nobody renews is
kept for twenty seconds. The check has the same in small, with one standby that the test promotes
(test_backups.py, tests/storage/test_servers_and_timelines.py).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.faults.cluster import SECONDS_TO_LIVE, Cluster
from tests.faults.machines import Machine, can_be_made
from tests.faults.next_release import NextHost
from tests.faults.server_under_load import ServerUnderLoad, server_under_load
from tests.faults.test_upgrades import FILL
from tests.faults.writers import Writers
from tests.support.commands import Host
from tests.support.haproxy import Balancer
from tests.support.patience import HANGS, PAUSE, until
from tests.support.processes import children
from tests.support.server import Server
from tests.support.tenant import JSON_API, variable_document

TIMES = 4
LONG = pytest.mark.long
TWO_WORKSPACES = """\
users: [{username: alice}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network, watched]
    teams: [{name: owners, members: [alice]}]
"""

ROWS = 5_000
# Of the rows that were there before an upgrade, those which the next release has not filled in.
LEFT = """
SELECT count(*) FROM variables WHERE version_id = '' AND key_length IS DISTINCT FROM length(key)
"""

pytestmark = [
    LONG,
    pytest.mark.skipif(not can_be_made(), reason="needs root and network namespaces"),
]


class PatientWriters(Writers):
    """Who leave the processor to PostgreSQL while nothing can be written."""

    pause = 0.2


@dataclass
class Watch:
    """Writes one variable again and again, and after each acknowledgement reads it on each node."""

    token: str
    path: str
    through: str
    nodes: Sequence[Server]
    reads: int = 0
    stale: int = 0

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """While this lasts."""
        self._goes_on = True
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": JSON_API}
        async with httpx.AsyncClient(headers=headers, timeout=HANGS) as client:
            watching = asyncio.create_task(self._watch(client))
            try:
                yield
            finally:
                self._goes_on = False
                await watching

    async def _watch(self, client: httpx.AsyncClient) -> None:
        made = await client.post(f"{self.through}{self.path}", json=variable_document(key="it"))
        id_, number = made.json()["data"]["id"], 0
        while self._goes_on:
            number += 1
            attributes = {"value": str(number)}
            document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
            answer = await client.patch(f"{self.through}{self.path}/{id_}", json=document)
            if not answer.is_success:
                await asyncio.sleep(PatientWriters.pause)
                continue
            for node in self.nodes:
                listed = await client.get(f"{node.url}{self.path}")
                if listed.is_success:
                    (variable,) = listed.json()["data"]
                    self.reads += 1
                    self.stale += int(variable["attributes"]["value"]) < number
        await client.delete(f"{self.through}{self.path}/{id_}")


@dataclass
class Service:
    """Two nodes on a database of the cluster, and whoever uses them through a balancer."""

    cluster: Cluster
    hit: ServerUnderLoad
    nodes: Sequence[Server]
    watch: Watch
    away: list[float] = field(default_factory=list)
    """Of each fault the seconds until a standby was promoted."""
    back_after: list[float] = field(default_factory=list)
    """The seconds from then on until a write was acknowledged."""
    bare_after: list[float] = field(default_factory=list)
    """The same of a client of PostgreSQL that is connected to that standby, and only commits."""

    async def through(self, fault: Callable[[Machine], None]) -> Machine:
        """Has it happen to the primary; returns that once another one takes writes."""
        writers, primary = self.hit.writers, self.cluster.primary()
        await writers.until_more(50)
        async with promoted(self.cluster.others(primary)) as is_promoted:
            begun = time.monotonic()
            happening = asyncio.create_task(asyncio.to_thread(fault, primary))
            standby = await is_promoted
            then = time.monotonic()
            committing = asyncio.create_task(committed(standby))
            await writers.until_more(1)
            self.away.append(then - begun)
            self.back_after.append(time.monotonic() - then)
            self.bare_after.append(await committing - then)
        await happening
        await writers.until_more(50)
        return primary

    async def whole(self) -> None:
        """Returns once all three are in the cluster again, and the nodes still are the same."""
        await asyncio.to_thread(self.cluster.wait_until_whole)

    def told(self, what: str) -> str:
        """One row of what came of it."""
        back, bare, away = (
            " ".join(f"{seconds:.1f}" for seconds in some)
            for some in (self.back_after, self.bare_after, self.away)
        )
        writers, watch = self.hit.writers, self.watch
        unknown = sum(write.status is None for write in writers.writes)
        promotions = f"promoted after {away} s, writes back {back} s later, " if away else ""
        promotions += f"of a bare client {bare}; " if bare else ""
        return (
            f"{what}: {writers.acknowledged} writes acknowledged, {writers.refused} refused, "
            f"{unknown} unknown; {promotions}{watch.stale} of {watch.reads} reads stale"
        )


@asynccontextmanager
async def promoted(
    machines: Sequence[Machine],
) -> AsyncIterator[asyncio.Task[asyncpg.Connection]]:
    """The moment in which one of some standbys is one no more, and a connection to that one."""
    asking = [
        await asyncpg.connect(f"postgresql://postgres@{machine.address}/postgres")
        for machine in machines
    ]

    async def first() -> asyncpg.Connection:
        async with asyncio.timeout(HANGS):
            while True:
                for one in asking:
                    if not await one.fetchval("SELECT pg_is_in_recovery()"):
                        return one
                await asyncio.sleep(PAUSE)

    looking = asyncio.create_task(first())
    try:
        yield looking
        await looking
    finally:
        for one in asking:
            one.terminate()


async def committed(connection: asyncpg.Connection) -> float:
    """When something is committed there that is asked for now."""
    await connection.execute("SELECT pg_logical_emit_message(true, 'bare', 'something')")
    return time.monotonic()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One whose commits wait for a standby, whatever happens."""
    with Cluster(synchronous=True) as cluster:
        yield cluster


@asynccontextmanager
async def service(cluster: Cluster, folder: Path, name: str) -> AsyncIterator[Service]:
    """Two nodes on a new database, each of two workers, none of which may end meanwhile."""
    admin = await asyncpg.connect(cluster.url)
    await admin.execute(f'CREATE DATABASE "{name}"')
    await admin.close()
    host = Host(folder, {"DATABASE_URL": cluster.url.replace("/postgres?", f"/{name}?")})
    hit = server_under_load(host, workers=2)
    other = Server(hit.server.host, workers=2)
    with hit.server, other, Balancer(folder, (hit.server, other)) as balancer:
        (folder / "directory.yaml").write_text(TWO_WORKSPACES)
        applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
        watched = applied["organizations"]["acme"]["workspaces"]["watched"]
        writers = PatientWriters(balancer.url, hit.path, hit.token)
        nodes = (hit.server, other)
        watch = Watch(hit.token, f"/api/v2/workspaces/{watched}/vars", balancer.url, nodes)
        workers = [children(node.pid, "") for node in nodes]
        yield Service(cluster, replace(hit, writers=writers), nodes, watch)
        assert [children(node.pid, "") for node in nodes] == workers


FAULTS: dict[str, tuple[Callable[[Machine], None], Callable[[Cluster, Machine], None]]] = {
    "killed": (Machine.kill, Cluster.start),
    "frozen": (Machine.freeze, lambda _, primary: primary.thaw()),
    "cut off": (Machine.cut_off, lambda _, primary: primary.reconnect()),
}


@pytest.mark.parametrize("what", [*FAULTS, "switched over"])
async def test_nothing_acknowledged_is_lost_with_the_primary(
    cluster: Cluster, tmp_path: Path, what: str, failovers: list[str]
) -> None:
    fault, repair = FAULTS.get(what, (cluster.switch_over, lambda *_: None))
    async with service(cluster, tmp_path, what) as served:
        for _ in range(TIMES):
            async with served.hit.writers.at_work(), served.watch.at_work():
                primary = await served.through(fault)
                await asyncio.to_thread(repair, cluster, primary)
                await served.hit.writers.until_more(50)
            await served.whole()
        failovers.append(served.told(what))
        assert served.hit.broken_promises() == []


@pytest.mark.parametrize("lost", [1, 2], ids=["one etcd of three", "most etcd"])
async def test_writes_go_on_without_etcd(
    cluster: Cluster, tmp_path: Path, failovers: list[str], lost: int
) -> None:
    name = f"without {lost} etcd of three"
    async with service(cluster, tmp_path, name) as served:
        primary = cluster.primary()
        for _ in range(TIMES):
            async with served.hit.writers.at_work(), served.watch.at_work():
                await served.hit.writers.until_more(50)
                for machine in cluster.etcds[:lost]:
                    machine.kill()
                await asyncio.sleep(SECONDS_TO_LIVE + 5)
                await served.hit.writers.until_more(50)
                await asyncio.to_thread(cluster.start_etcd, cluster.etcds[:lost])
                await served.hit.writers.until_more(50)
            await served.whole()
            assert cluster.primary() is primary
        failovers.append(served.told(name))
        assert served.hit.broken_promises() == []


async def test_an_upgrade_that_loses_its_primary_is_gone_on_with(
    cluster: Cluster, tmp_path: Path, failovers: list[str]
) -> None:
    async with service(cluster, tmp_path, "upgraded") as served:
        host, loop = served.hit.server.host, asyncio.get_running_loop()
        later = NextHost(host.folder, host.settings)
        asking = partial(asyncpg.connect, host.settings["DATABASE_URL"])
        admin, ended = await asking(), []
        await admin.execute(FILL.format(rows=ROWS, workspace="watched"))

        async def is_under_way() -> bool:
            with suppress(asyncpg.UndefinedColumnError):
                return bool(await admin.fetchval(LEFT) < ROWS)
            return False

        async def kill_in_the_middle(primary: Machine) -> None:
            await until(is_under_way)
            await asyncio.to_thread(primary.kill)

        def upgrade(primary: Machine) -> None:
            killing = asyncio.run_coroutine_threadsafe(kill_in_the_middle(primary), loop)
            ended.append(later.command("migrate", "up").returncode)
            killing.result()

        async with served.hit.writers.at_work():
            primary = await served.through(upgrade)
            admin = await asking()
            left = await admin.fetchval(LEFT)
            again = await asyncio.to_thread(later.command, "migrate", "up")
            assert again.returncode == 0, again.stderr
            await asyncio.to_thread(cluster.start, primary)
            await served.hit.writers.until_more(50)
        assert await admin.fetchval(LEFT) == 0
        await admin.close()
        await served.whole()
        failovers.append(
            f"{served.told('upgraded')}; 'migrate up' ended with {ended[0]}, {left} rows were left"
        )
        assert served.hit.broken_promises() == []


async def test_a_cluster_whose_commits_wait_for_nobody_is_found_to_lose(
    tmp_path: Path, failovers: list[str]
) -> None:
    with Cluster(synchronous=False) as hasty:
        async with service(hasty, tmp_path, "asynchronous") as served:

            def lose_ahead_of_standbys(primary: Machine) -> None:
                for machine in hasty.others(primary):
                    machine.cut_off()
                asyncio.run_coroutine_threadsafe(served.hit.writers.until_more(50), loop).result()
                # Whole: else its kernel would still send what the killed programs had written.
                primary.cut_off()
                primary.kill()
                for machine in hasty.others(primary):
                    machine.reconnect()

            loop = asyncio.get_running_loop()
            async with served.hit.writers.at_work():
                primary = await served.through(lose_ahead_of_standbys)
                primary.reconnect()
                hasty.start(primary)
            await served.whole()
            lost = [one for one in served.hit.broken_promises() if "and is lost" in one]
            failovers.append(f"{served.told('asynchronous')}; {len(lost)} lost")
            assert lost
