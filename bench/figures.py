"""The figures that count: ratios and limits, each with its first bar and its goal."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench import growth
from bench.applies import FEW, MANY, Applied
from bench.outcome import Outcome
from bench.programs import OPENBAO
from bench.references import COMMITS, GRANIAN_ALONE, HTTP_ALONE, INSERT, NGINX, SELECT
from bench.rounds import WRK_IS_FULL, Results, middle
from bench.stage import EMPTIED, FILLED, POSTGRES, SQLITE
from bench.works import (
    CREATE,
    CREATE_HOT,
    LIST,
    LIST_WRITTEN,
    MEMBERS,
    MIXED,
    MIXED_WIDE,
    WORKS,
)
from bench.writer import ENOUGH

Side = tuple[str, str]
"""A work and the beginning of a subject's name: the fastest of those is taken."""


@dataclass(frozen=True, slots=True)
class Bars:
    """What is to be reached at first and in the end; None is reported without a bar."""

    first: float | None = None
    goal: float | None = None
    at_most: bool = False

    def verdict(self, reached: float) -> str:
        """Which of the two is reached, as a word."""
        if self.first is None or self.goal is None:
            return ""
        if self._holds(reached, self.goal):
            return "goal"
        return "first bar" if self._holds(reached, self.first) else "below"

    def _holds(self, reached: float, bar: float) -> bool:
        return reached <= bar if self.at_most else reached >= bar


@dataclass(frozen=True, slots=True)
class Figure:
    """One line; `how` says what it was taken from. One that was taken under less work than it must
    be reaches no bar."""

    text: str
    bars: Bars
    reached: float
    how: str
    short: bool = False

    @property
    def verdict(self) -> str:
        """Which of the bars is reached, as a word; none where there are no bars."""
        return "below" if self.short else self.bars.verdict(self.reached)


_ENGINES = (SQLITE, POSTGRES)
_SERVERS = _ON_SQLITE, _ON_POSTGRES = f"{SQLITE} x", f"{POSTGRES} x"
_SCALE = Bars(0.8, 0.95)
_RATIOS: tuple[tuple[str, Side, Side, Bars], ...] = (
    ("list of 20 / nginx", (LIST.name, _ON_SQLITE), (LIST.name, NGINX), Bars(0.25, 0.35)),
    ("list of 20 / nginx", (LIST.name, _ON_POSTGRES), (LIST.name, NGINX), Bars(0.18, 0.25)),
    ("list of 20 / OpenBao", (LIST.name, _ON_SQLITE), (LIST.name, OPENBAO), Bars(5, 7)),
    ("list of 20 / OpenBao", (LIST.name, _ON_POSTGRES), (LIST.name, OPENBAO), Bars(4, 5.5)),
    *(
        ("list written / unwritten", (LIST_WRITTEN.name, e), (LIST.name, e), Bars(0.6, 0.85))
        for e in _SERVERS
    ),
    ("create / raw commits", (CREATE.name, _ON_SQLITE), (CREATE.name, COMMITS), Bars(0.8, 1.3)),
    ("create / one INSERT", (CREATE.name, _ON_POSTGRES), (CREATE.name, INSERT), Bars(0.18, 0.40)),
    ("create / OpenBao", (CREATE.name, _ON_SQLITE), (CREATE.name, OPENBAO), Bars(4, 5)),
    ("create / OpenBao", (CREATE.name, _ON_POSTGRES), (CREATE.name, OPENBAO), Bars(3, 4)),
    ("members / create", (MEMBERS.name, _ON_POSTGRES), (CREATE.name, _ON_POSTGRES), Bars(0.5, 0.8)),
    (
        "HTTP alone / granian alone",
        (LIST.name, f"{HTTP_ALONE} x1"),
        (LIST.name, f"{GRANIAN_ALONE} x1"),
        Bars(0.45, 0.6),
    ),
    ("list / HTTP alone", (LIST.name, _ON_SQLITE), (LIST.name, HTTP_ALONE), Bars(0.5, 0.8)),
    ("list / HTTP alone", (LIST.name, _ON_POSTGRES), (LIST.name, HTTP_ALONE), Bars()),
    ("list / access SELECT", (LIST.name, _ON_POSTGRES), (LIST.name, SELECT), Bars()),
    *(("create in one / in 64", (CREATE_HOT.name, e), (CREATE.name, e), Bars()) for e in _SERVERS),
    *(("mixed day / list", (MIXED.name, e), (LIST.name, e), Bars()) for e in _SERVERS),
    *(
        ("full / empty: " + w.text, (w.name, f"{e} {FILLED}"), (w.name, f"{e} {EMPTIED}"), _SCALE)
        for e in _ENGINES
        for w in WORKS
    ),
    *(
        (
            "full: mixed day over all / 64",
            (MIXED_WIDE.name, f"{e} {FILLED}"),
            (MIXED.name, f"{e} {FILLED}"),
            Bars(0.6, 0.8),
        )
        for e in _ENGINES
    ),
)


def figures(outcome: Outcome) -> Iterator[Figure]:
    """All that this run has measured."""
    for text, one, other, bars in _RATIOS:
        yield from _ratio(outcome.results, text, (one, other), bars)
    tails = outcome.results.tails(_ENGINES)
    if tails:
        (work, subject), tail = max(tails.items(), key=lambda item: item[1])
        bars = Bars(10, 10, at_most=True)
        yield Figure("widest p99 / median", bars, tail, f"{work}, {subject}")
    if outcome.memory:
        name, most = max(outcome.memory.items(), key=lambda item: item[1])
        bars = Bars(150, 90, at_most=True)
        yield Figure("MiB of one worker after the run", bars, most, name)
    for name, times in outcome.growth.items():
        bars = Bars(3, 3, at_most=True)
        yield Figure("list: µs for each further variable", bars, growth.slope(times), name)
    for name, applied in outcome.applies.items():
        yield from _applied(name, applied)


def _applied(name: str, applied: Applied) -> Iterator[Figure]:
    bars = Bars(10, 20)
    yield Figure(f"apply of {FEW} / {FEW} creates in turn", bars, applied.faster, name)
    bars = Bars(30, 15, at_most=True)
    how = f"{name}, an apply of {MANY} in {applied.seconds:.1f} s"
    yield Figure("ms: p99 of a list beside it, over quiet", bars, applied.list_p99, how)
    if name.startswith(SQLITE):  # which has one writer
        bars = Bars(1500, 750, at_most=True)
        yield Figure("ms: longest update beside it, over quiet", bars, applied.longest_update, how)
    else:
        yield Figure("ms: p99 of an update beside it, over quiet", bars, applied.update_p99, how)


def _ratio(results: Results, text: str, sides: tuple[Side, Side], bars: Bars) -> Iterator[Figure]:
    one, other = (results.best(*side) for side in sides)
    if one is not None and other is not None:
        ratio = results.ratio(one, other)
        how = f"{one[1]} / {other[1]}, {ratio.low:.2f}–{ratio.high:.2f}"  # noqa: RUF001
        if any(map(results.wrk_is_full, (one, other))):
            how += f", {WRK_IS_FULL}"
        written = middle(sample.written for sample in results.rows[one])
        short = written is not None and written < ENOUGH
        if short:
            how += f", though written only {written:.0f} times a second"
        yield Figure(text, bars, ratio.value, how, short)
