"""The numbers of all processes of a server as text, in the format that a scraper asks for.

The library's own encoders look at each character of each name and label: a scrape of all routes
took 65 ms. What it knows of processes and of what a scraper accepts is asked of it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, starmap
from operator import add

from prometheus_client import ProcessCollector
from prometheus_client.exposition import choose_encoder

from teamvars.metrics import METRICS, Counter, Gauge, Histogram, Memory, Metric

PATH = "/metrics"
PROCESS = "process"
"""The label that tells processes apart: `server`, or the number of a worker."""

Labels = Sequence[tuple[str, str]]
Numbers = dict[tuple[str, ...], Sequence[float]]
"""Those of the series of a metric, by the values of its labels."""
Head = tuple[str, str, str]
"""The name of the samples of a family, what they are, and which kind of metric."""
Family = tuple[Head, Iterable[str]]
"""With the lines of its samples."""
_OPEN = "application/openmetrics-text"
_TOTAL = "_total"
_KINDS: dict[type[Metric], str] = {Counter: "counter", Gauge: "gauge", Histogram: "histogram"}
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Exposition:
    """What a server's processes have counted, and what the kernel says of each.

    Counters and histograms are sums over the processes; a gauge is told of each.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        """The first memory is that of the process in front, the others its workers'."""
        self._memories = {
            str(number) if number else "server": memory for number, memory in enumerate(memories)
        }

    def text(self, accept: str) -> tuple[bytes, str]:
        """All of it, and its media type: OpenMetrics for who accepts that, else Prometheus's own
        text format, also to who accepts what nobody understands.
        """
        try:
            _, media_type = choose_encoder(accept)
        except (TypeError, ValueError):  # it compares whatever is there with numbers of versions
            _, media_type = choose_encoder("")
        is_open = media_type.startswith(_OPEN)
        lines: list[str] = []
        for (name, text, kind), samples in (*self._counted(), *self._of_the_kernel()):
            # OpenMetrics calls a counter what is before the end of its samples' names.
            family = name.removesuffix(_TOTAL) if is_open else name
            lines += f"# HELP {family} {text}\n# TYPE {family} {kind}\n", *samples
        return "".join(lines + ["# EOF\n"] * is_open).encode(), media_type

    def _counted(self) -> Iterator[Family]:
        found: dict[str, Numbers] = {}
        for process, memory in self._memories.items():
            _gather(process, memory, found)
        for metric in METRICS.values():
            of_metric = found.get(metric.name, {})
            yield (metric.name, metric.text, _KINDS[type(metric)]), _samples(metric, of_metric)

    def _of_the_kernel(self) -> Iterator[Family]:
        families: dict[Head, list[str]] = {}
        for process, memory in self._memories.items():
            if (pid := memory.process_id) is None:
                continue
            for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                for sample in family.samples:
                    head = sample.name, family.documentation, family.type
                    line = _line(sample.name, [(PROCESS, process)], sample.value)
                    families.setdefault(head, []).append(line)
        yield from families.items()


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


def _samples(metric: Metric, found: Numbers) -> Iterator[str]:
    """The lines of a metric."""
    names = (*metric.labels, PROCESS) if isinstance(metric, Gauge) else metric.labels
    for values, numbers in found.items():
        labels = list(zip(names, values, strict=True))
        if isinstance(metric, Histogram):
            yield from _sizes(metric, labels, numbers)
        else:
            yield _line(metric.name, labels, numbers[0])


def _sizes(metric: Histogram, labels: Labels, numbers: Sequence[float]) -> Iterator[str]:
    *buckets, sum_ = numbers
    counts = list(accumulate(buckets))
    begin = f'{metric.name}_bucket{{{"".join(f"{_label(*label)}," for label in labels)}le="'
    for bound, count in zip((*metric.bounds, "+Inf"), counts, strict=True):
        yield f'{begin}{bound}"}} {count}\n'
    yield _line(f"{metric.name}_count", labels, counts[-1])
    yield _line(f"{metric.name}_sum", labels, sum_)


def _line(name: str, labels: Labels, value: float) -> str:
    if not labels:
        return f"{name} {value}\n"
    return f"{name}{{{','.join(starmap(_label, labels))}}} {value}\n"


def _label(name: str, value: str) -> str:
    return f'{name}="{value.translate(_ESCAPES)}"'
