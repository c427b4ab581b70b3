"""Storage that is full or gone refuses whole writes until it is back; each commit is synced."""

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import psutil
import pytest

from tests.faults.hasty import HastyHost
from tests.faults.server_under_load import ServerUnderLoad, on_postgres, server_under_load
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.postgres import LocalPostgres
from tests.support.server import Server
from tests.support.tenant import JSON_API, variable_document

COMMITS = 25
UNABLE_TO_WRITE = {"status": "ready", "writes": "unavailable"}
SMALL_DISK = "size=12m,mode=0700"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder for the data: a disk of its own where we may make one."""
    with disk_in(tmp_path) as folder:
        yield folder


@contextmanager
def disk_in(place: Path) -> Iterator[Path]:
    """Such a folder, which is there inside."""
    folder = place / "disk"
    folder.mkdir()
    if os.getuid() != 0:
        yield folder
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", SMALL_DISK, "tmpfs", folder], check=True)  # noqa: S607
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # noqa: S607


@contextmanager
def no_room(disk: Path, server: Server) -> Iterator[None]:
    """Takes all room away: fills the disk, or, where it is not ours alone, lets no file grow."""
    if os.getuid() == 0:
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for size in (64 * 1024, 4096, 1):
                try:
                    while file.write(bytes(size)):
                        pass
                except OSError:
                    continue
        yield
        ballast.unlink()
        return
    workers = psutil.Process(server.pid).children(recursive=True)
    before = [worker.rlimit(psutil.RLIMIT_FSIZE) for worker in workers]
    for worker, (_, most) in zip(workers, before, strict=True):
        worker.rlimit(psutil.RLIMIT_FSIZE, (64 * 1024, most))
    yield
    for worker, limits in zip(workers, before, strict=True):
        worker.rlimit(psutil.RLIMIT_FSIZE, limits)


async def test_a_full_disk_refuses_writes_answers_reads_and_is_over_by_itself(
    tmp_path: Path, small_disk: Path
) -> None:
    with (hit := server_under_load(Host(tmp_path, {"DATA_DIR": str(small_disk)}))).server as server:
        async with hit.writers.at_work():
            await hit.writers.until_more(20)
            with no_room(small_disk, server):
                await hit.writers.until_refused(20)
                with server.client(hit.token) as client:
                    assert client.get(hit.path).status_code == 200
                    ready = client.get("/readyz")
                    assert (ready.status_code, ready.json()) == (200, UNABLE_TO_WRITE)
                    assert client.get("/readyz?writes=required").status_code == 503
            await hit.writers.until_more(20)
        with server.client() as client:
            while client.get("/readyz?writes=required").status_code != 200:  # noqa: ASYNC110 - of a server
                await asyncio.sleep(0.1)
            assert client.get("/readyz").json() == {"status": "ready"}
            assert client.get("/readyz?writes=perhaps").status_code == 400
        told = re.findall("writes are (?:un)?available", server.log)
        assert told == ["writes are unavailable", "writes are available"]
        assert "storage is" not in server.log
        assert hit.broken_promises() == []


async def test_a_store_that_was_taken_away_refuses_all_and_goes_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    with (hit := server_under_load(Host(tmp_path))).server as server:
        async with hit.writers.at_work():
            await hit.writers.until_more(20)
            elsewhere = server.host.data.rename(tmp_path / "elsewhere")
            await hit.writers.until_refused(20)
            with server.client(hit.token) as client:
                answer = client.get(hit.path)
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
            elsewhere.rename(server.host.data)
            await hit.writers.until_more(20)
        assert hit.broken_promises() == []


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_worker_that_begins_while_the_store_is_away_refuses_all_until_it_is_back(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    host, away = Host(tmp_path), without_file(tmp_path)
    if engine == "postgres":
        durable = request.getfixturevalue("durable")
        host, away = on_postgres(durable, tmp_path), stopped(durable)
    with (hit := server_under_load(host)).server as server:
        with away:
            for worker in psutil.Process(server.pid).children():
                worker.kill()
            refused = until(hit, 503).json()["errors"][0]
            assert refused["code"] == "storage_unavailable"
        assert until(hit, 200).json()["data"] == []
        assert server.terminate() == 0
        assert "Traceback" not in server.log
        assert re.search(r"Error.*storage is unavailable", server.log)


@contextmanager
def without_file(folder: Path) -> Iterator[None]:
    """Takes SQLite's file away."""
    file = Host(folder).data / "teamvars.db"
    elsewhere = file.rename(folder / "elsewhere")
    try:
        yield
    finally:
        elsewhere.rename(file)


@contextmanager
def stopped(database: LocalPostgres) -> Iterator[None]:
    """Kills the database."""
    database.kill()
    try:
        yield
    finally:
        database.start()


def until(hit: ServerUnderLoad, status: int) -> httpx.Response:
    """The first answer of that status; connections may break before."""
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError), hit.server.client(hit.token) as client:
            if (answer := client.get(hit.path, timeout=HANGS)).status_code == status:
                return answer
        time.sleep(0.05)
    raise AssertionError(f"no answer was {status}:\n{hit.server.log}")


def syncs(pids: list[int], work: Callable[[], None], folder: Path) -> int:
    """How often the processes ask the kernel, while they work, to write files to the disk."""
    strace = shutil.which("strace")
    assert strace, "this test counts system calls with strace; on Debian: apt install strace"
    trace = folder / f"trace-{uuid4()}"
    targets = [option for pid in pids for option in ("-p", str(pid))]
    command = [strace, "-f", "-e", "trace=fsync,fdatasync", "-o", str(trace), *targets]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        for _ in pids:
            line = tracer.stderr.readline()
            assert "attached" in line, f"strace must be allowed to look at other processes: {line}"
        work()
        tracer.terminate()
    return sum("sync(" in line for line in trace.read_text().splitlines())


def write_in_sequence(hit: ServerUnderLoad) -> None:
    """Commits one change after the other."""
    with hit.server.client(hit.token) as client:
        for _ in range(COMMITS):
            document = variable_document(key=f"key-{uuid4()}")
            answer = client.post(hit.path, json=document, headers={"Content-Type": JSON_API})
            assert answer.status_code == 201


def workers_of(server: Server) -> list[int]:
    """The processes that have the store open."""
    return [process.pid for process in psutil.Process(server.pid).children(recursive=True)]


def test_sqlite_syncs_a_file_for_every_commit(tmp_path: Path) -> None:
    with (hit := server_under_load(Host(tmp_path))).server as server:
        made = syncs(workers_of(server), lambda: write_in_sequence(hit), tmp_path)
    assert made >= COMMITS


async def test_postgresql_syncs_a_file_for_every_commit(
    tmp_path: Path, durable: LocalPostgres
) -> None:
    with (hit := server_under_load(on_postgres(durable, tmp_path))).server:
        write_in_sequence(hit)
        connection = await asyncpg.connect(durable.admin_url)
        others = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        pids = [row["pid"] for row in await connection.fetch(others)]
        await connection.close()
        made = syncs(pids, lambda: write_in_sequence(hit), tmp_path)
    assert made >= COMMITS


def test_a_server_that_answers_before_it_commits_syncs_too_seldom(tmp_path: Path) -> None:
    with (hit := server_under_load(HastyHost(tmp_path))).server as server:
        made = syncs(workers_of(server), lambda: write_in_sequence(hit), tmp_path)
    assert made < COMMITS
