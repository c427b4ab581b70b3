"""What requests and rows cost: `.venv/bin/python -m bench.costs [--workspaces N] [--seconds N]`.

It fills a PostgreSQL of its own, serves it with one worker, and sends each kind of request on 32
connections for a while. Printed is the processor time that a request took of the server's processes
and of PostgreSQL's, of whatever kind, as /proc tells it: others may use the host. Then what the
rows take on the disk, each with its share of the indexes, and what a worker connects with.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx

from bench import dataset, programs, wrk
from bench.dataset import SPREAD, Dataset, Size
from bench.machine import cpu_seconds, memory_mib
from bench.works import MIXED_WIDE, WORKS, Work, variables_path
from bench.wrk import CONNECTIONS, Request, fresh_number
from teamvars.web.http.negotiation import MEDIA_TYPE
from tests.support.commands import InstalledHost
from tests.support.patience import HANGS
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.server import Server
from tests.support.tenant import variable_document

DELETES = 2000
MICRO = 1_000_000
_TABLES = ("variables", "audit_entries", "streams", "tokens", "workspaces")
_BYTES = """
SELECT CAST(round(pg_total_relation_size('{table}') / greatest(count(*), 1)) AS BIGINT) || ' ' ||
    count(*) FROM {table}
"""
_OPEN = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'teamvars'"


@dataclass(frozen=True)
class Served:
    """A server, the PostgreSQL below it with the store's own database, and what is in there."""

    server: Server
    postgres: LocalPostgres
    store: Postgres
    made: Dataset

    def spent(self) -> tuple[float, float]:
        """The processor time of the server and of PostgreSQL until now."""
        return cpu_seconds(self.server.pid), cpu_seconds(self.postgres.pid)

    def client(self) -> httpx.Client:
        """The caller, on connections of its own."""
        headers = {"Authorization": f"Bearer {self.made.token}", "Content-Type": MEDIA_TYPE}
        return httpx.Client(base_url=self.server.url, headers=headers, timeout=HANGS)


def main() -> None:
    """Prints one line for each kind of request, and for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workspaces", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=3)
    wanted = parser.parse_args()
    programs.require()
    with _served(Size(wanted.workspaces, 2 * wanted.workspaces, 100)) as served:
        _print_rows(served)  # before there are any that changes leave behind
        print(f"{'µs of the processor':42}  server  PostgreSQL  requests")
        for work in (*WORKS, *_FURTHER):
            _print(served, work.text, partial(_load, served, work, wanted.seconds))
        _print(served, "delete", partial(_delete, served, _created(served)))
        print(f"connections of the worker: {served.postgres.execute(_OPEN)}")
        print(f"memory of the worker: {memory_mib(served.server.pid):.0f} MiB")


@contextmanager
def _served(size: Size) -> Iterator[Served]:
    with (
        tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder,
        LocalPostgres(durable=True) as postgres,
    ):
        host = InstalledHost(Path(folder), {"LOG_FORMAT": "json", "MAX_VARIABLES": "0"})
        made = asyncio.run(dataset.build(host, size))
        with_postgres = asyncio.run(dataset.copy(host, postgres, "costs"))
        store = Postgres(postgres.url("costs"))
        store.execute("VACUUM ANALYZE")
        with Server(with_postgres) as server:
            yield Served(server, postgres, store, made)


def _print_rows(served: Served) -> None:
    print(f"{'bytes of a row':42}   bytes        rows")
    for table in _TABLES:
        size, count = served.store.execute(_BYTES.format(table=table)).split()
        print(f"{table:42}  {size:>6}  {int(count):>10,}", flush=True)


def _print(served: Served, what: str, run: Callable[[], int]) -> None:
    before = served.spent()
    count = run()
    used = (now - then for now, then in zip(served.spent(), before, strict=True))
    server, database = (MICRO * seconds / count for seconds in used)
    print(f"{what:42}  {server:6.0f}  {database:10.0f}  {count:>8,}", flush=True)


def _load(served: Served, work: Work, seconds: int) -> int:
    plan = work.plan(served.made, served.server.url)
    return int(wrk.run(served.server.url, plan, seconds).per_second * seconds)


def _created(served: Served) -> Sequence[str]:
    """The paths of variables that are there to be deleted."""
    paths = [variables_path(served.made.workspaces[name]) for name in SPREAD]
    first = fresh_number()

    def create(client: httpx.Client, n: int) -> str:
        path = paths[n % len(paths)]
        answer = client.post(path, json=variable_document(key=f"goes_{first + n}"))
        return f"{path}/{answer.json()['data']['id']}"

    with served.client() as client, ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(threads.map(partial(create, client), range(DELETES)))


def _delete(served: Served, paths: Sequence[str]) -> int:
    with served.client() as client, ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = threads.map(client.delete, paths)
        return sum(answer.status_code == httpx.codes.NO_CONTENT for answer in answers)


def _effective(made: Dataset) -> list[Request]:
    return [
        Request("GET", variables_path(made.workspaces[name]).replace("/vars", "/effective-vars"))
        for name in SPREAD
    ]


_FURTHER = (
    MIXED_WIDE,
    Work("effective", "effective-vars of 20, 64 workspaces", _effective),
    Work(
        "search",
        "search by a part of the key, a page of 20",
        lambda _: [Request("GET", "/api/v2/organizations/bench/vars?q=1&page[size]=20")],
    ),
)

if __name__ == "__main__":
    main()
