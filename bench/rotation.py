"""Every key changes under load: `python -m bench.rotation [--organizations N] [--values N]`.

It fills a PostgreSQL of its own with so many values of so many organizations, and has two nodes
serve them behind a balancer to clients that make and list variables all the while. Then each kind
of key is replaced and the former one retired, as docs/keys.md says, and each run of `keys rewrap`
is killed after a few seconds until one comes to its end first. It prints what failed, and how long
the slowest hundredth of answers took, while nothing changed and while keys did. In the end
everything is opened and verified with the keys that are left.
"""

import argparse
import asyncio
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired

import httpx

from bench.dataset import copy
from bench.resealing import CALLER
from bench.transfer import Bulk
from teamvars import settings, wiring
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for
from tests.faults.test_rotation import Keys
from tests.faults.test_upgrades import CLIENTS, DIRECTORY, Load
from tests.support.commands import Host
from tests.support.haproxy import Balancer
from tests.support.patience import wait_until
from tests.support.postgres import LocalPostgres
from tests.support.server import Server

PURPOSES = ("master", "data", "audit", "server")
BUSY = 6
"""The exit code of a job while the place of one that was killed is not free yet."""


@dataclass
class TimedLoad(Load):
    """Clients that note how long each answer took."""

    seconds: list[float] = field(default_factory=list)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Prints how long answers took meanwhile."""
        first, begun = len(self.seconds), time.monotonic()
        yield
        took = self.seconds[first:]
        parts = statistics.quantiles(took, n=100)
        print(
            f"{what:8} {time.monotonic() - begun:6.0f} s, {len(took):7,} requests, in ms: median "
            f"{parts[49] * 1000:.1f}, p99 {parts[98] * 1000:.1f}, most {max(took) * 1000:.0f}",
            flush=True,
        )

    def _ask_for(
        self, client: httpx.Client, method: str, path: str, document: object = None
    ) -> bool:
        begun = time.monotonic()
        is_good = super()._ask_for(client, method, path, document)
        self.seconds.append(time.monotonic() - begun)
        return is_good


@dataclass(frozen=True)
class Rotation:
    """An operator who replaces keys, and whoever kills what the operator runs."""

    host: Host
    rate: int
    patience: float
    """For how many seconds a job is left alone."""

    def replace(self, purpose: str) -> None:
        """Has another key in use, everything under it, and the former one retired."""
        keys = Keys(self.host, self.rate)
        former = keys.active(purpose)
        added = self.host.succeed("keys", "add", purpose).out.strip()
        wait_until(lambda: self.host.run("keys", "activate", added).code == 0)
        early = self.host.run("keys", "retire", former) if purpose != "server" else None
        assert early is None or early.code == 1, "retired too early"
        kills = self._rewrap()
        wait_until(lambda: self.host.run("keys", "retire", former).code == 0)
        self.host.succeed("audit", "verify")
        print(f"{purpose}: {former} gave way to {added}, {kills} jobs were killed", flush=True)

    def _rewrap(self) -> int:
        """Runs the job until it comes to its end; returns how often it was killed."""
        kills = 0
        with (self.host.folder / "rewrap.log").open("a") as log:
            while True:
                job = self.host.start("keys", "rewrap", "--rate", self.rate, out=log, err=log)
                try:
                    code = job.wait(self.patience)
                except TimeoutExpired:
                    with suppress(ProcessLookupError):
                        os.killpg(job.pid, signal.SIGKILL)
                    kills, code = kills + 1, job.wait()
                if code == 0:
                    return kills
                assert code in (BUSY, -signal.SIGKILL), code
                time.sleep(1)


def main() -> None:
    """Fills, rotates and proves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--organizations", type=int, default=1000)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--kill-after", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--quiet", type=float, default=60.0, metavar="SECONDS")
    wanted = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="teamvars-bench-")))
        postgres = stack.enter_context(LocalPostgres(durable=True))
        host = Host(folder, {"MAX_VARIABLES": "0"})
        ids = asyncio.run(_fill(host, wanted.organizations, wanted.values))
        host = asyncio.run(copy(host, postgres, "rotation"))
        print(f"{wanted.values:,} values of {wanted.organizations:,} organizations", flush=True)
        load = _rotate(stack, Rotation(host, wanted.rate, wanted.kill_after), ids, wanted.quiet)
        made = sum(map(len, load.made))
        print(f"{len(load.failed)} of {sum(load.asked):,} requests failed: {load.failed[:3]}")
        print(f"{wanted.values + made:,} values there should be")
        print(host.run("doctor", "--all").out)
        print(host.run("audit", "verify").out[-200:])


def _rotate(stack: ExitStack, rotation: Rotation, ids: list[str], quiet: float) -> TimedLoad:
    host = rotation.host
    nodes = stack.enter_context(Server(host)), stack.enter_context(Server(host))
    balancer = stack.enter_context(Balancer(host.folder, nodes))
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    load = TimedLoad(balancer.url, token, [f"/workspaces/{id_}/vars" for id_ in ids])
    with load.running():
        load.goes_on()
        with load.timed("quiet"):
            time.sleep(quiet)
        for purpose in PURPOSES:
            with load.timed(purpose):
                rotation.replace(purpose)
        with load.timed("quiet"):
            time.sleep(quiet)
    return load


async def _fill(host: Host, organizations: int, values: int) -> list[str]:
    """Makes the store; returns the ids of the workspaces that the clients use."""
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    made = host.succeed("directory", "apply", "directory.yaml", "--json").json
    workspaces = made["organizations"]["acme"]["workspaces"]
    config = settings.load(data_dir=host.data)
    keys = keyring.load(config.keyring_path)
    async with database_for(config.url) as database:
        services = wiring.services(database, keys, config.quota)
        entries = [OrganizationEntry(f"org-{n}", workspaces=("all",)) for n in range(organizations)]
        applied = await services.directory.apply(CALLER, Directory((), tuple(entries)), Options())
        for one in applied.organizations.values():
            counts = {one.workspaces["all"]: values // organizations}
            await database.write(partial(_add, keys=keys, counts=counts))
    return [workspaces[f"client-{n}"] for n in range(CLIENTS)]


async def _add(tx: Transaction, keys: Keyring, counts: dict[str, int]) -> None:
    await Bulk(tx, keys, CALLER).add_variables(counts)


if __name__ == "__main__":
    main()
