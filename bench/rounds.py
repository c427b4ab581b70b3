"""Rounds: all subjects take turns, so that whatever else the machine does touches all alike."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.subjects import Sample, Subject
from bench.works import Work

Pair = tuple[Work, Subject]
Key = tuple[str, str]
"""A row: the name of the work and the name of the subject."""

WRK_IS_FULL = "wrk is the bottleneck"
_WRK_CORES = 0.9


@dataclass(frozen=True, slots=True)
class Effort:
    """How long everything is measured."""

    rounds: int
    seconds: int


QUICK = Effort(3, 1)
THOROUGH = Effort(5, 3)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of two rows: the median of the rounds, and their extremes."""

    value: float
    low: float
    high: float


@dataclass(slots=True)
class Results:
    """The samples of every row, in the order of the rounds."""

    rows: dict[Key, list[Sample]] = field(default_factory=dict)

    def run(self, pairs: Sequence[Pair], effort: Effort) -> None:
        """Measures the pairs in turn, round after round, and says how it goes."""
        for work, subject in pairs:
            subject.measure(work, 1)  # warms up
        for number in range(1, effort.rounds + 1):
            parts = []
            for work, subject in pairs:
                sample = subject.measure(work, effort.seconds)
                self.rows.setdefault((work.name, subject.name), []).append(sample)
                written = " written" if work.written else ""
                parts.append(f"{subject.name}{written} {sample.per_second:,.0f}")
            print(f"  round {number}/{effort.rounds}: {' · '.join(parts)}", flush=True)

    def median(self, key: Key) -> float:
        """How often a second, in the median of the rounds."""
        return statistics.median(sample.per_second for sample in self.rows[key])

    def best(self, work: str, subject: str) -> Key | None:
        """The fastest at that work of those whose name begins so; None when none was measured."""
        keys = [key for key in self.rows if key[0] == work and key[1].startswith(subject)]
        return max(keys, key=self.median, default=None)

    def ratio(self, one: Key, other: Key) -> Ratio:
        """The one to the other, round by round."""
        rounds = zip(self.rows[one], self.rows[other], strict=True)
        quotients = [a.per_second / b.per_second for a, b in rounds]
        return Ratio(statistics.median(quotients), min(quotients), max(quotients))

    def wrk_is_full(self, key: Key) -> bool:
        """Whether it was the load that could do no more: the subject could have done better."""
        return (middle(sample.load_cpu for sample in self.rows[key]) or 0) > _WRK_CORES

    def tails(self, subjects: tuple[str, ...]) -> dict[Key, float]:
        """p99 / median of every row of those whose names begin so."""
        return {
            key: p99 / p50
            for key, samples in self.rows.items()
            if key[1].startswith(subjects)
            and (p50 := middle(s.p50 for s in samples))
            and (p99 := middle(s.p99 for s in samples))
        }


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None when none is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
