"""The figures of the core, each beside its bar: `python3 dev.py figures`.

Statements are all that a request sends, `BEGIN` and `COMMIT` not counted; authentication is among
them. What only reads needs no transaction; a change asks before its own whether the caller may,
without a lock. Ends with 1 when a figure misses its bar. `--quick` starts once and sends little:
its start and its memory have no bar.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil
import structlog
import uvloop

from bench import dataset, lists
from bench.dataset import Size
from teamvars.domain.audit import Stream
from teamvars.security import keyring
from teamvars.security.chain import Chain
from teamvars.storage.database import Body, Database, T, Transaction
from tests.support.commands import Host, InstalledHost
from tests.support.deployment import open_deployment
from tests.support.directory_files import ONE_WORKSPACE
from tests.support.observed_transaction import ObservedTransaction
from tests.support.postgres import LocalPostgres
from tests.support.server import Server, free_port
from tests.support.tenant import JSON_API, Tenant, build_tenant, variable_document

POSTGRES_URL = "TEAMVARS_TEST_POSTGRES_URL"


@dataclass(frozen=True)
class Effort:
    """How often it starts a server and how many requests it sends; quick ones prove no bar."""

    starts: int
    requests: int
    bars: bool


THOROUGH, QUICK = Effort(5, 1000, bars=True), Effort(1, 20, bars=False)


@dataclass(frozen=True)
class Figure:
    """What was measured; `bar` is what it must not pass, None where there is none."""

    what: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it keeps to its bar."""
        return self.bar is None or self.value <= self.bar

    def __str__(self) -> str:
        bar = "" if self.bar is None else f"at most {self.bar:g}"
        verdict = "" if self.holds else "MISSED"
        return f"{self.what:<42}{self.value:8g} {self.unit:<28}{bar:<13}{verdict}".rstrip()


def main() -> int:
    """Measures everything and prints it."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    parser = argparse.ArgumentParser(prog="dev.py figures", description="Measure the core.")
    parser.add_argument("--quick", action="store_true", help="one start, few requests, fewer bars")
    effort = QUICK if parser.parse_args().quick else THOROUGH
    figures: list[Figure] = []
    for figure in measured(effort):
        print(figure, flush=True)
        figures.append(figure)
    return 0 if all(figure.holds for figure in figures) else 1


def measured(effort: Effort) -> Iterator[Figure]:
    """One figure after the other."""
    with tempfile.TemporaryDirectory() as folder, postgres_url() as url:
        stores = {"SQLite": f"sqlite:///{folder}/statements.db", "PostgreSQL": url}
        for engine, store in stores.items():
            for figure in asyncio.run(statements(store)):
                yield replace(figure, what=f"{engine}: {figure.what}")
        yield from rendering(Path(folder) / "lists", effort)
        check, seconds, megabytes = (4, 1.5, 120) if effort.bars else (None, None, None)
        checked = check_microseconds(effort.requests)
        yield Figure("to check a locked stream", checked, "µs of the processor", check)
        host = prepared(Path(folder))
        started = start_seconds(host, effort.starts)
        yield Figure("serve: from start to the first answer", started, "s", seconds)
        size = worker_mebibytes(host, effort.requests)
        yield Figure(f"one worker, after {effort.requests} requests", size, "MiB", megabytes)


@contextmanager
def postgres_url() -> Iterator[str]:
    """A PostgreSQL to measure on: the one that tests are given, or one of our own."""
    if given := os.environ.get(POSTGRES_URL):
        yield given
        return
    with LocalPostgres() as server:
        yield server.admin_url


# Statements


class Counter:
    """Counts the transactions and statements of a database, whose methods it takes the place of."""

    def __init__(self) -> None:
        self.transactions = self.statements = 0

    def watch(self, database: Database) -> None:
        """Counts from now on, and for whoever is given the database after this."""
        for name in ("read", "query", "write", "batch"):
            setattr(database, name, self._counted(getattr(database, name), name != "query"))

    def _counted(
        self, run: Callable[..., Coroutine[Any, Any, T]], is_transaction: bool
    ) -> Callable[..., Coroutine[Any, Any, T]]:
        async def counted(body: Body[T], *args: Any, **more: Any) -> T:
            self.transactions += is_transaction

            async def with_counting(tx: Transaction) -> T:
                return await body(ObservedTransaction(tx, self._count))

            return await run(with_counting, *args, **more)

        return counted

    def _count(self, *_: object) -> None:
        self.statements += 1


async def statements(url: str) -> list[Figure]:
    """How many statements each operation takes."""
    counter = Counter()
    async with open_deployment(url, watch=counter.watch) as deployment:
        tenant = await build_tenant(deployment)
        for number in range(20):
            await tenant.make_variable(f"key_{number}")
        one = await tenant.make_variable("one")
        # Whoever writes for the first time is looked at beforehand.
        first = await tenant.call(
            "writer", "POST", tenant.vars_path(), variable_document(key="first")
        )
        assert first.is_success, first.text
        path = one["links"]["self"].removeprefix("/api/v2")
        change = {"data": {"type": "vars", "id": one["id"], "attributes": {"value": "new"}}}
        operations: dict[str, tuple[int | None, tuple[str, str, object]]] = {
            "list variables": (2, ("GET", tenant.vars_path(), None)),
            "read a variable": (None, ("GET", path, None)),
            "create a variable": (4, ("POST", tenant.vars_path(), variable_document(key="new"))),
            "update a variable": (None, ("PATCH", path, change)),
            "delete a variable": (None, ("DELETE", path, None)),
        }
        return [
            await counted(counter, tenant, request, Figure(what, 0, "", bar))
            for what, (bar, request) in operations.items()
        ]


async def counted(
    counter: Counter, tenant: Tenant, request: tuple[str, str, object], figure: Figure
) -> Figure:
    """The figure with the statements of one successful request."""
    statements, transactions = counter.statements, counter.transactions
    answer = await tenant.call("writer", *request)
    assert answer.is_success, answer.text
    transactions = counter.transactions - transactions
    assert transactions <= 1, "a request is at most one transaction"
    unit = "statements, 1 transaction" if transactions else "statements"
    return replace(figure, value=counter.statements - statements, unit=unit)


# Rendering


def rendering(folder: Path, effort: Effort) -> Iterator[Figure]:
    """What a list of 20 takes that is not in memory, beyond one that is."""
    folder.mkdir()
    host = InstalledHost(folder)
    made = asyncio.run(dataset.build(host, Size(lists.WORKSPACES, 0, 0)))
    with LocalPostgres() as server:
        copied = asyncio.run(dataset.copy(host, server, "lists"))
        stores = {"SQLite": f"sqlite:///{host.data}/teamvars.db"}
        stores["PostgreSQL"] = copied.settings["DATABASE_URL"]
        for engine, url in stores.items():
            taken = uvloop.run(lists.rendering_microseconds(host, url, made, effort.requests // 10))
            unit = "µs of the processor"
            yield Figure(f"{engine}: to render a list of 20", taken, unit)


# The trail


def check_microseconds(times: int) -> float:
    """What it takes to check the head of a locked stream.

    The best of several rounds: whatever else the machine does can only add to it.
    """
    chain = Chain(keyring.generate())
    row = Stream(*msgspec.structs.astuple(chain.open("ws-FJH8Z2kQ6vXb7TcN", "org-1")))
    timer = timeit.Timer(lambda: chain.check(row), timer=time.process_time)
    return round(min(timer.repeat(20, times)) / times * 1e6, 2)


# Start and memory


def prepared(folder: Path) -> Host:
    """An installation on SQLite."""
    host = InstalledHost(folder)
    host.succeed("init")
    (folder / "directory.yaml").write_text(ONE_WORKSPACE)
    return host


def start_seconds(host: Host, starts: int) -> float:
    """The time from starting the command to the first answer over HTTP.

    The best of several: whatever else the machine does can only add to it.
    """
    return round(min(one_start(host) for _ in range(starts)), 2)


def one_start(host: Host) -> float:
    """Starts a server, waits for an answer, and ends it."""
    port = free_port()
    with (host.folder / "log").open("w") as log:
        begun = time.perf_counter()
        process = host.start("serve", "--port", port, out=log, err=log)
        while not answers(port):
            time.sleep(0.005)
        taken = time.perf_counter() - begun
        process.send_signal(signal.SIGTERM)
        process.wait()
    return taken


def answers(port: int) -> bool:
    """Whether the server there answers."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False


def worker_mebibytes(host: Host, requests: int) -> float:
    """The resident memory of a worker that has listed, created, read, changed and deleted."""
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    path = f"/api/v2/workspaces/{applied['organizations']['acme']['workspaces']['network']}/vars"
    with Server(host) as server, server.client(token) as client:
        client.headers["Content-Type"] = JSON_API
        for number in range(requests // 5):
            document = variable_document(key=f"key_{number}", value="v" * 1000)
            made = client.post(path, json=document).raise_for_status()
            location = made.headers["Location"]
            change = {"type": "vars", "id": made.json()["data"]["id"], "attributes": {"value": "w"}}
            client.patch(location, json={"data": change}).raise_for_status()
            client.get(location).raise_for_status()
            client.get(path).raise_for_status()
            client.delete(location).raise_for_status()
        (worker,) = psutil.Process(server.pid).children()
        return round(worker.memory_info().rss / 2**20, 1)


if __name__ == "__main__":
    sys.exit(main())
