"""What others feel of searches: `.venv/bin/python -m bench.searching [sqlite] [postgres]`.

A server with one worker has a million variables. Six connections of an owner and of a member with
50,000 grants look for parts of keys without a pause, or for keys by their beginnings. Meanwhile a
bystander lists the variables of another workspace, now and then. Prints how long its requests take,
quiet and beside these, in turns.
"""

import asyncio
import http.client
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from urllib.parse import urlsplit

from bench import searches
from tests.support.commands import InstalledHost
from tests.support.patience import HANGS
from tests.support.postgres import LocalPostgres
from tests.support.served_deployment import serve_deployment
from tests.support.tenant import Tenant, build_tenant
from tests.web.test_team_workspaces import access_document

CONNECTIONS, ROUNDS, ASKED, PAUSE = 6, 5, 100, 0.01
SEARCHES = {
    "a part of every key, owner": ("owner", "q=IABLE"),
    "a part of no key, 50,000 grants": ("manager", "q=url"),
    "a prefix, owner": ("owner", "filter[key]=variable_0*"),
}


def _ask(line: http.client.HTTPConnection, path: str, token: str) -> bytes:
    line.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = line.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} was answered with {answer.status}.")
    return content


def _median(url: str, tenant: Tenant) -> float:
    """The milliseconds of a bystander's request."""
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANGS)
    path, took = f"/api/v2{tenant.vars_path()}", []
    for _ in range(ASKED):
        began = time.perf_counter()
        _ask(line, path, tenant.tokens["reader"])
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE)
    line.close()
    return statistics.median(took)


@contextmanager
def _searching(url: str, tenant: Tenant, who: str, query: str) -> Iterator["Synchronized[int]"]:
    """Meanwhile pages are asked for, one after another on each connection; counts them.

    By processes of their own, so that the bystander waits for none of these.
    """
    fork = multiprocessing.get_context("fork")
    pages = fork.Value("q", 0)
    first = f"/api/v2/organizations/{tenant.organization}/vars?{query}&page[size]=100"

    def search() -> None:
        line, path = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANGS), first
        while True:
            answer = _ask(line, path, tenant.tokens[who])
            path = json.loads(answer)["links"]["next"] or first
            with pages.get_lock():
                pages.value += 1

    searchers = [fork.Process(target=search) for _ in range(CONNECTIONS)]
    for one in searchers:
        one.start()
    try:
        yield pages
    finally:
        for one in searchers:
            one.kill()
            one.join()


async def _measure(engine: str, folder: Path, url: str | None) -> None:
    host = InstalledHost(folder).having(
        log_format="json", workers="1", **({} if url is None else {"database_url": url})
    )
    async with serve_deployment(host) as served:
        tenant = await build_tenant(served)
        await served.services.database.write(
            lambda tx: searches.fill(tx, tenant, searches.EACH, with_sets=False)
        )
        document = access_document(
            tenant.teams["readers"], tenant.workspaces["network"], access="read"
        )
        answer = await tenant.call("owner", "POST", "/team-workspaces", document)
        assert answer.status_code == 201, answer.text
        await tenant.make_variable("region")
        await asyncio.to_thread(_compare, engine, served.server.url, tenant)


def _compare(engine: str, url: str, tenant: Tenant) -> None:
    for words, (who, query) in SEARCHES.items():
        quiet, beside, rates = [], [], []
        for _ in range(ROUNDS):
            quiet.append(_median(url, tenant))
            with _searching(url, tenant, who, query) as pages:
                began = time.monotonic()
                beside.append(_median(url, tenant))
                rates.append(pages.value / (time.monotonic() - began))
        ratio = statistics.median(b / q for q, b in zip(quiet, beside, strict=True))
        print(
            f"{engine:9} {words:34} quiet {statistics.median(quiet):5.2f} ms, beside "
            f"{statistics.median(beside):5.2f}: {ratio:4.1f} times, "
            f"{statistics.median(rates):4.0f} pages a second",
            flush=True,
        )


def main(engines: Sequence[str]) -> None:
    """Prints a line for each search and engine."""
    for engine in engines:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            url = None
            if engine == "postgres":
                postgres = stack.enter_context(LocalPostgres())
                postgres.create_database("searching")
                url = postgres.url("searching")
            asyncio.run(_measure(engine, Path(folder), url))


if __name__ == "__main__":
    main(sys.argv[1:] or ("sqlite", "postgres"))
