"""The stage: stores, servers and references, all of them up before anything is measured."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import dataset, openbao, programs, references
from bench.dataset import EMPTY, FULL, Dataset, Size
from bench.machine import memory_mib
from bench.references import GRANIAN_ALONE, HTTP_ALONE
from bench.rounds import Pair
from bench.subjects import Served
from bench.works import CREATE, LIST
from tests.support.commands import Host, InstalledHost
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
    for_lists: list[Pair] = field(default_factory=list)
    for_creates: list[Pair] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)

    def memory(self) -> dict[str, float]:
        """The MiB of one worker of each server, now."""
        return {server.name: memory_mib(server.pid) for server in self.servers}


@contextmanager
def ratios() -> Iterator[Stage]:
    """Both engines with one and two workers, over the same rows, and every reference."""
    with stores() as (folder, postgres, stack):
        stage = Stage()
        host, made = build(folder / "empty", EMPTY)
        with_postgres = asyncio.run(dataset.copy(host, postgres, "empty"))
        for engine, where in ((SQLITE, host), (POSTGRES, with_postgres)):
            for workers in WORKERS:
                _serve(stage, stack, Server(where, workers=workers), f"{engine} x{workers}", made)
        _add_references(stage, stack, folder, made)
        add_openbao(stage, stack, folder / "openbao", made)
        url = postgres.url("empty")
        stage.for_lists.append((LIST, references.pgbench_select(url, made, folder)))
        stage.for_creates += [
            (CREATE, references.commits(folder)),
            (CREATE, references.pgbench_insert(url, folder)),
        ]
        yield stage


@contextmanager
def scale() -> Iterator[Stage]:
    """Both engines with one worker each over an empty and over a full store."""
    with stores() as (folder, postgres, stack):
        stage = Stage()
        for name, size in ((EMPTIED, EMPTY), (FILLED, FULL)):
            begun = time.monotonic()
            host, made = build(folder / name, size)
            with_postgres = asyncio.run(dataset.copy(host, postgres, name))
            print(f"  the {name} stores took {time.monotonic() - begun:.0f} s", flush=True)
            for engine, where in ((SQLITE, host), (POSTGRES, with_postgres)):
                _serve(stage, stack, Server(where), f"{engine} {name}", made)
        yield stage


@contextmanager
def stores() -> Iterator[tuple[Path, LocalPostgres, ExitStack]]:
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


def build(folder: Path, size: Size) -> tuple[Host, Dataset]:
    """A store of that size on SQLite, in a folder that it makes."""
    folder.mkdir()
    host = InstalledHost(folder, _SETTINGS)
    return host, asyncio.run(dataset.build(host, size))


def _serve(stage: Stage, stack: ExitStack, server: Server, name: str, made: Dataset) -> None:
    begun = time.monotonic()
    stack.enter_context(server)
    stage.started[name] = time.monotonic() - begun
    stage.servers.append(Served(name, server.url, server.pid, made))


def _add_references(stage: Stage, stack: ExitStack, folder: Path, made: Dataset) -> None:
    """The servers that give the bytes of our list and do less for it."""
    like = stage.servers[0]
    for workers in WORKERS:
        nginx = references.nginx(folder / f"nginx-{workers}", workers, like, made)
        alone = references.constant(HTTP_ALONE, folder / f"http-{workers}", workers, like, made)
        stage.for_lists += [(LIST, stack.enter_context(server)) for server in (nginx, alone)]
    granian = references.constant(GRANIAN_ALONE, folder / "granian-1", 1, like, made)
    stage.for_lists.append((LIST, stack.enter_context(granian)))


def add_openbao(stage: Stage, stack: ExitStack, folder: Path, made: Dataset) -> None:
    """OpenBao; says in a sentence what will be missing when it cannot be run here."""
    if programs.OPENBAO not in programs.versions():
        print("  OpenBao cannot be run here: its rows and the figures taken from them are missing.")
        return
    server = stack.enter_context(openbao.openbao(folder, made))
    stage.for_lists.append((openbao.READ, server))
    stage.for_creates.append((openbao.WRITE, server))
