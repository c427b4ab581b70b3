"""How a list grows with its variables: one client, one request at a time."""

import statistics
from collections.abc import Sequence

from bench.dataset import GROWTH
from bench.rounds import Effort, middle
from bench.subjects import Served
from bench.works import Work, listing


def measure(servers: Sequence[Served], effort: Effort) -> dict[str, dict[int, float]]:
    """The median µs of a list for each number of variables, by the server's name."""
    samples: dict[tuple[str, int], list[int | None]] = {}
    works = {
        size: Work(f"growth-{size}", "", listing(f"growth-{size}"), connections=1)
        for size in GROWTH
    }
    for number in range(1, effort.rounds + 1):
        for size, work in works.items():
            for server in servers:
                sample = server.measure(work, 1)
                samples.setdefault((server.name, size), []).append(sample.p50)
        print(f"  round {number}/{effort.rounds}", flush=True)
    return {
        server.name: {size: middle(samples[server.name, size]) or 0.0 for size in GROWTH}
        for server in servers
    }


def slope(times: dict[int, float]) -> float:
    """µs for each further variable: the straight line with the smallest squares."""
    return statistics.linear_regression(list(times), list(times.values())).slope
