"""What counting costs a request, and a scrape the server: `.venv/bin/python -m bench.metrics`.

The figures behind docs/decisions/036-metrics.md, in processor time; `--quick` does each once.
"""

import argparse
import sys
import time
import timeit
from collections.abc import Callable
from functools import partial

import prometheus_client

from teamvars import metrics
from teamvars.metrics import Memory
from teamvars.metrics.exposition import Exposition
from teamvars.web.http.app import DURATIONS

ROUNDS = 50_000
SERIES = 60
LABELS = ("/api/v2/workspaces/{workspace_id}/vars", "GET", "2xx")


def main() -> int:
    """Prints the time of an observation, beside the library's own, and of a scrape."""
    parser = argparse.ArgumentParser(prog="bench.metrics")
    parser.add_argument("--quick", action="store_true", help="each once")
    rounds, repeats = (1, 1) if parser.parse_args().quick else (ROUNDS, 5)
    memories = [Memory(), Memory()]
    metrics.count_in(memories[1])
    registry = prometheus_client.CollectorRegistry()
    theirs = prometheus_client.Histogram(
        "durations", "As ours.", DURATIONS.labels, buckets=DURATIONS.bounds, registry=registry
    )
    ways: dict[str, Callable[[], None]] = {
        "an observation": partial(DURATIONS.observe, 0.0123, *LABELS),
        "the library's": lambda: theirs.labels(*LABELS).observe(0.0123),
    }
    for what, way in ways.items():
        timed = timeit.repeat(way, number=rounds, repeat=repeats, timer=time.process_time)
        print(f"{what:<24}{min(timed) / rounds * 1e6:9.2f} µs")
    for number in range(SERIES - 1):
        DURATIONS.observe(0.0123, f"/route/{number}", "GET", "2xx")
    exposition = Exposition(memories)
    for accept in ("text/plain", "application/openmetrics-text; version=1.0.0"):
        scrape = partial(exposition.text, accept)
        timed = timeit.repeat(scrape, number=1, repeat=repeats, timer=time.process_time)
        lines = scrape()[0].count(b"\n")
        print(f"{accept.partition(';')[0]:<32}{min(timed) * 1e3:9.1f} ms of {lines} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
