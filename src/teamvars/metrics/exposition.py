"""The numbers of all processes of a server as text, in the format that a scraper asks for."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import add

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import (
    Metric as Family,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from teamvars.metrics import METRICS, Counter, Gauge, Histogram, Metric
from teamvars.metrics.memory import Memory

PATH = "/metrics"
PROCESS = "process"
"""The label that tells processes apart: `server`, or the number of a worker."""

Numbers = dict[tuple[str, ...], Sequence[float]]
"""Those of the series of a metric, by the values of its labels."""


class Exposition(Collector):
    """What a server's processes have counted, and what the kernel says of each.

    Counters and histograms are sums over the processes; a gauge is told of each.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        """The first memory is that of the process in front, the others its workers'."""
        self._memories = {
            str(number) if number else "server": memory for number, memory in enumerate(memories)
        }
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self, accept: str) -> tuple[bytes, str]:
        """All of it, and its media type: OpenMetrics for who accepts that, else Prometheus's own
        text format, also to who accepts what nobody understands.
        """
        try:
            encode, media_type = choose_encoder(accept)
        except (TypeError, ValueError):  # it compares whatever is there with numbers of versions
            encode, media_type = choose_encoder("")
        return encode(self._registry), media_type

    def describe(self) -> Iterable[Family]:
        """Nothing: what it has is asked for at each scrape alone."""
        return ()

    def collect(self) -> Iterator[Family]:
        found: dict[str, Numbers] = {}
        for process, memory in self._memories.items():
            _gather(process, memory, found)
        for metric in METRICS.values():
            yield _FAMILIES[type(metric)](metric, found.get(metric.name, {}))
        yield from self._of_the_kernel()

    def _of_the_kernel(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for process, memory in self._memories.items():
            if (pid := memory.process_id) is None:
                continue
            for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                kept = families.setdefault(family.name, family)
                samples = [_of(process, sample) for sample in family.samples]
                kept.samples = samples if kept is family else [*kept.samples, *samples]
        yield from families.values()


def _of(process: str, sample: Sample) -> Sample:
    return sample._replace(labels={**sample.labels, PROCESS: process})


def _gather(process: str, memory: Memory, found: dict[str, Numbers]) -> None:
    """Adds what one process has counted."""
    numbers = memory.numbers
    for series in memory.series():
        metric = METRICS[series.name]
        values: Sequence[float] = numbers[series.at : series.at + series.size].tolist()
        labels = (*series.labels, process) if isinstance(metric, Gauge) else series.labels
        of_metric = found.setdefault(series.name, {})
        if isinstance(metric, Gauge) and math.isnan(values[0]):
            continue  # nobody has said anything yet
        former = of_metric.get(labels)
        of_metric[labels] = values if former is None else list(map(add, former, values))


def _counter(metric: Metric, found: Numbers) -> Family:
    family = CounterMetricFamily(metric.name, metric.text, labels=metric.labels)
    for labels, (value,) in found.items():
        family.add_metric(labels, value)
    return family


def _gauge(metric: Metric, found: Numbers) -> Family:
    family = GaugeMetricFamily(metric.name, metric.text, labels=(*metric.labels, PROCESS))
    for labels, (value,) in found.items():
        family.add_metric(labels, value)
    return family


def _histogram(metric: Metric, found: Numbers) -> Family:
    assert isinstance(metric, Histogram)
    family = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
    bounds = [*map(str, metric.bounds), "+Inf"]
    for labels, (*buckets, sum_) in found.items():
        family.add_metric(labels, list(zip(bounds, accumulate(buckets), strict=True)), sum_)
    return family


_FAMILIES: dict[type[Metric], Callable[[Metric, Numbers], Family]] = {
    Counter: _counter,
    Gauge: _gauge,
    Histogram: _histogram,
}
