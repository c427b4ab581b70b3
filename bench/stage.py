"""The stage: stores, servers and references, all of them up before anything is measured."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import dataset, programs, references
from bench.dataset import EMPTY, FULL, Dataset, Size
from bench.machine import resident_mib
from bench.subjects import Served, Subject
from tests.support.commands import Host
from tests.support.postgres import LocalPostgres
from tests.support.server import Server

SQLITE, POSTGRES = "SQLite", "PostgreSQL"
EMPTIED, FILLED = "empty", "full"
WORKERS = (1, 2)
# More than the tests need; the defaults of production begin there.
_SHARED_BUFFERS = "256MB"
_SETTINGS = {"LOG_FORMAT": "json", "MAX_VARIABLES": "0"}


@dataclass(slots=True)
class Stage:
    """What can be measured. `started` has the seconds until each server was ready."""

    servers: list[Served] = field(default_factory=list)
    for_lists: list[Subject] = field(default_factory=list)
    for_creates: list[Subject] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)

    def memory(self) -> dict[str, float]:
        """The MiB of one worker of each server, now."""
        return {server.name: resident_mib(server.pid) for server in self.servers}


@contextmanager
def ratios() -> Iterator[Stage]:
    """Both engines with one and two workers, over the same rows, and every reference."""
    with _stores() as (folder, postgres, stack):
        stage = Stage()
        host, made = _build(folder / "empty", EMPTY)
        with_postgres = asyncio.run(dataset.copy(host, postgres, "empty"))
        for engine, where in ((SQLITE, host), (POSTGRES, with_postgres)):
            for workers in WORKERS:
                _serve(stage, stack, Server(where, workers=workers), f"{engine} x{workers}", made)
        like = stage.servers[0]
        for workers in WORKERS:
            nginx = references.nginx(folder / f"nginx-{workers}", workers, like, made)
            alone = references.http_alone(folder / f"alone-{workers}", workers, like, made)
            stage.for_lists += [stack.enter_context(nginx), stack.enter_context(alone)]
        url = postgres.url("empty")
        stage.for_lists.append(references.pgbench_select(url, made, folder))
        stage.for_creates += [
            references.commits(folder),
            references.pgbench_insert(url, folder),
        ]
        yield stage


@contextmanager
def scale() -> Iterator[Stage]:
    """Both engines with one worker each over an empty and over a full store."""
    with _stores() as (folder, postgres, stack):
        stage = Stage()
        for name, size in ((EMPTIED, EMPTY), (FILLED, FULL)):
            begun = time.monotonic()
            host, made = _build(folder / name, size)
            with_postgres = asyncio.run(dataset.copy(host, postgres, name))
            print(f"  the {name} stores took {time.monotonic() - begun:.0f} s", flush=True)
            for engine, where in ((SQLITE, host), (POSTGRES, with_postgres)):
                _serve(stage, stack, Server(where), f"{engine} {name}", made)
        yield stage


@contextmanager
def _stores() -> Iterator[tuple[Path, LocalPostgres, ExitStack]]:
    """A folder and a durable PostgreSQL, and what ends before they do."""
    with (
        tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder,
        LocalPostgres(durable=True) as postgres,
        ExitStack() as stack,
    ):
        setting = f"ALTER SYSTEM SET shared_buffers = '{_SHARED_BUFFERS}'"
        command = [programs.PSQL, "-Xq", "-d", postgres.admin_url, "-c", setting]
        subprocess.run(command, check=True)
        postgres.kill()
        postgres.start()
        yield Path(folder), postgres, stack


def _build(folder: Path, size: Size) -> tuple[Host, Dataset]:
    folder.mkdir()
    host = Host(folder, _SETTINGS)
    return host, asyncio.run(dataset.build(host, size))


def _serve(stage: Stage, stack: ExitStack, server: Server, name: str, made: Dataset) -> None:
    begun = time.monotonic()
    stack.enter_context(server)
    stage.started[name] = time.monotonic() - begun
    stage.servers.append(Served(name, server.url, server.pid, made))
