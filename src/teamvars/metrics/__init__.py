"""What a process counts while it serves, as Prometheus has it: counters, gauges and histograms; and
its beat, by which it is seen how late its event loop is, and what is seen by looking.

Whoever has something to count declares a metric and counts in it. The numbers are in memory that
one process writes and all of a server read, and `exposition` says how they are shown. The memory is
made before the processes are, and outlives each: one that takes the place of another goes on with
its numbers. Only one process writes at a time, so counting is an addition: no lock and no message.
Labels have few values whatever tenants do, and none is a name of a tenant, a key or a person.
"""

import asyncio
import math
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import Array, c_char, c_double, c_size_t
from multiprocessing.sharedctypes import RawArray
from typing import NamedTuple

import msgspec

SPARE = 64
"""Numbers at the front that nobody reads: what has no room counts there."""
_NUMBERS = 16_384
_TEXT_BYTES = 160 * 1024
_LENGTH, _END, _PROCESS = range(3)

METRICS: "dict[str, Metric]" = {}
"""All that are declared, by their names."""


class Series(msgspec.Struct, frozen=True, array_like=True):
    """What a row of numbers is: of which metric, for which values of its labels, and where."""

    name: str
    labels: tuple[str, ...]
    at: int
    size: int


class Nowhere:
    """Where a process counts that shows its numbers to nobody, as a command does."""

    numbers = memoryview(bytearray(8 * SPARE)).cast("d")

    def place(self, name: str, labels: tuple[str, ...], size: int) -> int:
        """Among the spare numbers, whatever it is."""
        return 0


class Memory:
    """The series of one process."""

    def __init__(self) -> None:
        self._facts: Array[c_size_t] = RawArray(c_size_t, 3)
        self._text: Array[c_char] = RawArray(c_char, _TEXT_BYTES)
        self._numbers: Array[c_double] = RawArray(c_double, _NUMBERS)
        self._facts[_END] = SPARE

    @property
    def numbers(self) -> "memoryview[float]":
        """All numbers, to be read and written."""
        return memoryview(self._numbers).cast("B").cast("d")

    @property
    def process_id(self) -> int | None:
        """The process that counts here, or did so last."""
        return self._facts[_PROCESS] or None

    def enter(self) -> None:
        """It is this process from now on."""
        self._facts[_PROCESS] = os.getpid()

    def place(self, name: str, labels: tuple[str, ...], size: int) -> int:
        """Where the numbers of a new series begin, which all who read are told; among the spare
        ones when there is no room.
        """
        at, begin = self._facts[_END], self._facts[_LENGTH]
        line = msgspec.json.encode(Series(name, labels, at, size)) + b"\n"
        if at + size > _NUMBERS or begin + len(line) > _TEXT_BYTES:
            return 0
        memoryview(self._text).cast("B")[begin : begin + len(line)] = line
        self._facts[_END] = at + size
        self._facts[_LENGTH] = begin + len(line)  # after the line itself: others read meanwhile
        return at

    def series(self) -> Iterator[Series]:
        """All there are, in the order in which they came."""
        text = bytes(memoryview(self._text).cast("B")[: self._facts[_LENGTH]])
        for line in text.splitlines():
            yield msgspec.json.decode(line, type=Series)


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

    def add(self, *labels: str) -> None:
        """It has happened once more."""
        at = self._places.get(labels)
        self._numbers[self._place(labels) if at is None else at] += 1


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


BEAT_SECONDS = 0.5
"""Between two beats. A loop that stands still says nothing meanwhile, which the last time tells."""

LAG = Histogram(
    "teamvars_event_loop_lag_seconds",
    "How late the event loop came to what was due.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10),
)
LAST_TURN = Gauge(
    "teamvars_event_loop_last_turn_timestamp_seconds",
    "When the event loop had its last turn that was looked at, in seconds since 1970.",
)


class Look(NamedTuple):
    """What is to be seen now and then, and the labels that it has in the gauge."""

    gauge: Gauge
    see: Callable[[], float]
    labels: tuple[str, ...] = ()


async def beat(looks: Sequence[Look]) -> None:
    """Beats until it is cancelled, and sets each gauge to what is there."""
    loop = asyncio.get_running_loop()
    while True:
        LAST_TURN.set(time.time())
        for gauge, see, labels in looks:
            gauge.set(see(), *labels)
        due = loop.time() + BEAT_SECONDS
        await asyncio.sleep(BEAT_SECONDS)
        LAG.observe(max(loop.time() - due, 0.0))
