"""What is counted for Prometheus, looked at by a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from teamvars import metrics
from teamvars.metrics import METRICS, Memory, Nowhere


@contextmanager
def counting() -> Iterator[Memory]:
    """Where this process counts until the block has ended."""
    memory = Memory()
    metrics.count_in(memory)
    yield memory
    for metric in METRICS.values():
        metric.move(Nowhere())


def told(memory: Memory, name: str) -> dict[tuple[str, ...], float]:
    """The values of a counter or gauge by its labels."""
    return {
        series.labels: memory.numbers[series.at]
        for series in memory.series()
        if series.name == name
    }
