"""What a process counts while it serves, as Prometheus has it: counters, gauges and histograms.

Whoever has something to count declares a metric and counts in it; `memory` is where the numbers
are, and `exposition` how they are shown. Counting is an addition in memory that others read: no
lock and no message, and what was counted outlives the process. Labels have few values whatever
tenants do, and none is a name of a tenant, a key or a person.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from teamvars.metrics.memory import SPARE, Memory, Nowhere, Series

METRICS: "dict[str, Metric]" = {}
"""All that are declared, by their names."""


class Metric:
    """One number or row of numbers for each set of its labels' values."""

    begins: Iterable[tuple[str, ...]] = ()
    """The labels of series that are there before anything happens: only what was 0 is seen to
    begin."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = (), *, size: int = 1) -> None:
        """`text` says what is counted, with its unit; a series takes `size` numbers."""
        assert name not in METRICS, name
        self.name, self.text, self.labels, self.size = name, text, tuple(labels), size
        assert size <= SPARE
        self.move(Nowhere())
        METRICS[name] = self

    def move(self, memory: Memory | Nowhere, known: Iterable[Series] = ()) -> None:
        """From now on it counts there, where those of its series are known."""
        self._memory, self._numbers = memory, memory.numbers
        self._places = {series.labels: series.at for series in known}
        for labels in self.begins:
            if labels not in self._places:
                self._place(labels)

    def _place(self, labels: tuple[str, ...]) -> int:
        at = self._places[labels] = self._memory.place(self.name, labels, self.size)
        return at


class Counter(Metric):
    """How often something has happened."""

    def __init__(
        self, name: str, text: str, label: str | None = None, values: Iterable[str] = ()
    ) -> None:
        """`values`: all that the label has, if there is one."""
        self.begins = ((),) if label is None else [(value,) for value in values]
        super().__init__(name, text, () if label is None else (label,))

    def add(self, *labels: str, by: float = 1) -> None:
        """It has happened once more, or so many times."""
        at = self._places.get(labels)
        self._numbers[self._place(labels) if at is None else at] += by


class Gauge(Metric):
    """How much of something there is, in each process."""

    def move(self, memory: Memory | Nowhere, known: Iterable[Series] = ()) -> None:
        super().move(memory, known)
        for at in self._places.values():  # what a process had is gone with it
            self._numbers[at] = math.nan

    def set(self, value: float, *labels: str) -> None:
        """So much there is now."""
        at = self._places.get(labels)
        self._numbers[self._place(labels) if at is None else at] = value


class Histogram(Metric):
    """How often something had which size. Its numbers are one for each bucket, the last of which
    has no bound, and the sum of all sizes.
    """

    def __init__(
        self, name: str, text: str, labels: Sequence[str] = (), *, bounds: Sequence[float]
    ) -> None:
        """A bucket has what is at most its bound and above the bound before; they ascend."""
        self.begins = () if labels else ((),)
        super().__init__(name, text, labels, size=len(bounds) + 2)
        self.bounds = tuple(bounds)

    def observe(self, value: float, *labels: str) -> None:
        """There was one more, of that size."""
        found = self._places.get(labels)
        at = self._place(labels) if found is None else found
        numbers = self._numbers
        numbers[at + bisect_left(self.bounds, value)] += 1
        numbers[at + self.size - 1] += value


def count_in(memory: Memory) -> None:
    """Has this process count there from now on, where others see it."""
    memory.enter()
    known: dict[str, list[Series]] = {}
    for series in memory.series():
        known.setdefault(series.name, []).append(series)
    for metric in METRICS.values():
        metric.move(memory, known.get(metric.name, ()))
