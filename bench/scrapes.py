"""What a bystander feels of a scrape each second: `.venv/bin/python -m bench.scrapes`.

One worker on SQLite, whose lists of 20 variables a client asks for on one connection, without a
pause. With scrapes, without them, and without them once more take turns; printed are the medians of
the rounds, and each beside the first of no scrapes. The last column is what chance does.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpx

from bench import dataset, programs, wrk
from bench.dataset import Size
from bench.works import LIST
from tests.support.commands import InstalledHost
from tests.support.patience import HANGS
from tests.support.server import Server, free_port

ROUNDS = 9
EVERY = 1.0
"""Seconds between two scrapes."""


def main() -> int:
    """Prints a line for the median request and one for the 99th of 100."""
    parser = argparse.ArgumentParser(prog="bench.scrapes", description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="of each round (4)")
    seconds = parser.parse_args().seconds
    programs.require()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        address = f"127.0.0.1:{port}"
        host = InstalledHost(Path(folder), {"LOG_FORMAT": "json", "METRICS_LISTEN": address})
        made = asyncio.run(dataset.build(host, Size(100, 200, 100)))
        with Server(host) as server:
            plan, url = LIST.plan(made, server.url), f"http://{address}/metrics"
            rounds = []
            for _ in range(ROUNDS):
                loads = []
                for meanwhile in (nullcontext(), _scraped(url), nullcontext()):
                    with meanwhile:
                        loads.append(wrk.run(server.url, plan, seconds, connections=1))
                rounds.append(loads)
    print(f"{'µs of a list':16}{'quiet':>10}{'scraped':>10}{'ratio':>10}{'by chance':>12}")
    for name in ("p50", "p99"):
        taken = [[getattr(load, name) for load in loads] for loads in rounds]
        quiet, scraped, _ = map(statistics.median, zip(*taken, strict=True))
        ratio, chance = (statistics.median(each[n] / each[0] for each in taken) for n in (1, 2))
        print(f"{name:16}{quiet:10.0f}{scraped:10.0f}{ratio:10.2f}{chance:12.2f}")
    return 0


@contextmanager
def _scraped(url: str) -> Iterator[None]:
    """Meanwhile somebody looks every second."""
    is_over = threading.Event()

    def look() -> None:
        with httpx.Client(timeout=HANGS) as client:
            while not is_over.wait(EVERY):
                client.get(url).raise_for_status()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()


if __name__ == "__main__":
    sys.exit(main())
