"""Every key changes under load: `python -m bench.rotation [--organizations N] [--values N]`.

It fills a PostgreSQL of its own with so many values of so many organizations, and has two nodes
serve them behind a balancer to clients that make, list and delete variables all the while; with
`--sqlite` it is a file, which one node serves. Then each kind of key is replaced and the former one
retired, as docs/keys.md says, and each run of `keys rewrap` is killed some seconds after it has
begun to seal, until one comes to its end first. It prints what failed, and how long the slowest
hundredth of answers took, in turns: while nothing changed and while keys did, and in the end the
one beside the other for each kind of key: a busy host is so for both, and of few hundred requests
that hundredth is chance: more `--rounds` have more to compare. At last everything is opened and
verified with the keys that are left. It exits with 1 if anything is not as it should be.
"""

import argparse
import asyncio
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO

import httpx

from bench.dataset import copy
from bench.promises import missed
from bench.resealing import CALLER, fill
from teamvars import settings, wiring
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.keys import AUDIT, DATA, MASTER, SERVER
from teamvars.security import keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage.engines import database_for
from tests.faults.test_rotation import Keys
from tests.faults.test_upgrades import CLIENTS, DIRECTORY, PAUSE, Load
from tests.support.commands import Host
from tests.support.forked import Started
from tests.support.haproxy import Balancer
from tests.support.patience import wait_until
from tests.support.postgres import LocalPostgres
from tests.support.server import Server
from tests.support.tenant import variable_document

PURPOSES = (MASTER, DATA, AUDIT, SERVER)
QUIET = "quiet"
ALL = "all"
"""While any kind of key changed."""
COMMAND = "status"
"""While commands run that change nothing: that alone takes a core from others for a while."""
MOST = 1.2
"""How many times as long the slowest hundredth may take while keys change."""
BUSY = 6
"""The exit code of a job while the place of one that was killed is not free yet."""
COMMANDS = 3
"""About as many as it takes to change a key."""
KEPT = 20
"""Variables that each client has at a time."""
SAYS_HOW_FAR = " values, "
"""In what a job says every few seconds."""


@dataclass
class TimedLoad(Load):
    """Clients that note how long each answer took, and what was done meanwhile. What they make they
    delete again after some turns: a list that grew would take longer at the end than at the start.
    """

    seconds: list[float] = field(default_factory=list)
    during: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Prints how long answers took meanwhile, and notes it."""
        first, begun = len(self.seconds), time.monotonic()
        yield
        took = self.seconds[first:]
        self.during[what] += took
        print(
            f"{what:8} {time.monotonic() - begun:6.0f} s, {len(took):7,} requests, in ms: median "
            f"{_part(took, 50) * 1000:.1f}, p99 {_part(took, 99) * 1000:.1f}, "
            f"most {max(took) * 1000:.0f}",
            flush=True,
        )

    def are_kept_waiting(self) -> bool:
        """Prints how long answers took while keys changed, beside while nothing did; whether the
        slowest hundredth of the whole rotation took too long.
        """
        quiet = self.during.pop(QUIET)
        changes = [took for what, took in self.during.items() if what != COMMAND]
        self.during[ALL] = list(chain.from_iterable(changes))
        for what, took in self.during.items():
            median, slow = (_part(took, n) / _part(quiet, n) for n in (50, 99))
            print(f"{what:8} {len(took):7,} requests, / quiet: median {median:.2f}, p99 {slow:.2f}")
        slowest = _part(self.during[ALL], 99) / _part(quiet, 99)
        return missed("p99 of the whole rotation / quiet", slowest, at_most=MOST)

    def _ask(self, number: int) -> None:
        path, made, ids = self.paths[number], self.made[number], dict[str, str]()
        with self.client() as client:
            while not self._end.wait(PAUSE):
                self.asked[number] += 1
                key = f"key-{self.asked[number]}"
                if answer := self._ask_for(client, "POST", path, variable_document(key=key)):
                    made.add(key)
                    ids[key] = answer.json()["data"]["id"]
                self._ask_for(client, "GET", path)
                if len(ids) > KEPT:
                    oldest = next(iter(ids))
                    if self._ask_for(client, "DELETE", f"{path}/{ids.pop(oldest)}"):
                        made.remove(oldest)

    def _ask_for(
        self, client: httpx.Client, method: str, path: str, document: object = None
    ) -> httpx.Response | None:
        begun = time.monotonic()
        answer = super()._ask_for(client, method, path, document)
        self.seconds.append(time.monotonic() - begun)
        return answer


@dataclass(frozen=True)
class Rotation:
    """An operator who replaces keys, and whoever kills what the operator runs."""

    host: Host
    rate: int | None
    patience: float
    """For how many seconds at most a job is left alone once it has sealed for some, and says so."""

    def replace(self, purpose: str, load: TimedLoad) -> None:
        """Has another key in use, everything under it, and the former one retired, beside that
        load. One that is retired too early is refused: of the server's, which nothing is under,
        before another is in use.
        """
        keys = Keys(self.host, self.rate)
        former = keys.active(purpose)
        with load.timed(purpose):
            added = self.host.succeed("keys", "add", purpose).out.strip()
            if purpose == SERVER:
                self._refused(former, "is in use")
            wait_until(lambda: self.host.run("keys", "activate", added).code == 0)
        if purpose != SERVER:
            self._refused(former, "is not retired")
        self.host.succeed("audit", "verify")
        with load.timed(purpose):
            kills = self._rewrap(keys)
            wait_until(lambda: self.host.run("keys", "retire", former).code == 0)
        self.host.succeed("audit", "verify")
        assert purpose == AUDIT or former not in (self.host.data / "keyring.json").read_text()
        print(f"{purpose}: {former} gave way to {added}; jobs killed: {kills}", flush=True)

    def _refused(self, key_id: str, reason: str) -> None:
        early = self.host.run("keys", "retire", key_id)
        assert (early.code, reason in early.err) == (1, True), early.err

    def _rewrap(self, keys: Keys) -> int:
        """Runs the job until it comes to its end; returns how often it was killed."""
        kills = 0
        while True:
            with (self.host.folder / "rewrap.log").open("w+") as log:
                job = self.host.start(*keys.job, out=log, err=log)
                code = self._left_alone(job, log)
            if code == 0:
                return kills
            assert code in (BUSY, -signal.SIGKILL), code
            kills += code == -signal.SIGKILL

    def _left_alone(self, job: Started, log: IO[str]) -> int:
        """How the job ends. It gets somewhere, however slow the host is, before it is killed."""
        wait_until(lambda: job.poll() is not None or SAYS_HOW_FAR in _read(log))
        try:
            return job.wait(random.uniform(0, self.patience))
        except TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
        return job.wait()


def main() -> None:
    """Fills, rotates and proves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--organizations", type=int, default=1000)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, help="of the job, else as it goes unasked")
    parser.add_argument("--rounds", type=int, default=1, help="of changes of every kind of key")
    parser.add_argument("--kill-after", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--quiet", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--sqlite", action="store_true")
    wanted = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="teamvars-bench-")))
        host = Host(folder, {"MAX_VARIABLES": "0"})
        begun = time.monotonic()
        ids = asyncio.run(_fill(host, wanted.organizations, wanted.values))
        if not wanted.sqlite:
            postgres = stack.enter_context(LocalPostgres(durable=True))
            host = asyncio.run(copy(host, postgres, "rotation"))
        _say(begun, f"{wanted.values:,} values of {wanted.organizations:,} organizations are made")
        rotation = Rotation(host, wanted.rate, wanted.kill_after)
        load = _rotate(rotation, ids, wanted.rounds, wanted.quiet)
        _say(begun, f"{len(load.failed)} of {sum(load.asked):,} requests failed: {load.failed[:3]}")
        is_whole = _proves(host, wanted.values + sum(map(len, load.made)))
        _say(begun, "the end")
    sys.exit(1 if load.are_kept_waiting() or load.failed or not is_whole else 0)


def _rotate(rotation: Rotation, ids: list[str], rounds: int, quiet: float) -> TimedLoad:
    host = rotation.host
    with ExitStack() as stack:
        if "DATABASE_URL" in host.settings:
            nodes = stack.enter_context(Server(host)), stack.enter_context(Server(host))
            url = stack.enter_context(Balancer(host.folder, nodes)).url
        else:
            url = stack.enter_context(Server(host)).url
        token = host.succeed("token", "create", "--user", "alice").out.strip()
        load = TimedLoad(url, token, [f"/workspaces/{id_}/vars" for id_ in ids])
        with load.running():
            load.goes_on()
            for purpose in PURPOSES * rounds:
                with load.timed(QUIET):
                    time.sleep(quiet)
                with load.timed(COMMAND):
                    for _ in range(COMMANDS):
                        rotation.host.succeed("keys", "status")
                rotation.replace(purpose, load)
            with load.timed(QUIET):
                time.sleep(quiet)
    return load


def _proves(host: Host, values: int) -> bool:
    """Whether so many values open with the keys that are left, and the trail verifies."""
    doctor, audit = host.run("doctor", "--all"), host.run("audit", "verify")
    print(*(line for line in doctor.out.splitlines() if "open" in line), audit.err[-200:], sep="\n")
    return f"{values} open: every value" in doctor.out and audit.code == 0


def _part(took: Sequence[float], n: int) -> float:
    """What so many of a hundred took no longer than."""
    return statistics.quantiles(took, n=100)[n - 1]


def _say(begun: float, text: str) -> None:
    print(f"{time.monotonic() - begun:5.0f} s  {text}", flush=True)


def _read(log: IO[str]) -> str:
    log.seek(0)
    return log.read()


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
            await database.write(partial(fill, keys=keys, counts=counts))
    return [workspaces[f"client-{n}"] for n in range(CLIENTS)]


if __name__ == "__main__":
    main()
