"""The tables: the figures against their bars, and every row that was measured."""

from collections.abc import Iterable, Sequence

from bench import machine
from bench.figures import figures
from bench.outcome import Outcome
from bench.rounds import WRK_IS_FULL, Key, Results, middle
from bench.writer import ENOUGH

_LOUD = 0.15


def markdown(outcome: Outcome) -> str:
    """What a run is told by."""
    effort = f"{outcome.effort.rounds} rounds of {outcome.effort.seconds} s, medians"
    known = {**machine.describe(), **outcome.versions}
    described = ", ".join(f"{name} {value}" for name, value in known.items())
    parts = [f"{effort}; {described}.", _figures(outcome), _rows(outcome.results)]
    if outcome.growth:
        parts.append(_growth(outcome))
    parts.append(_servers(outcome))
    return "\n\n".join(parts) + "\n"


def _figures(outcome: Outcome) -> str:
    head = ("figure", "first bar", "goal", "reached", "holds", "from (lowest and highest round)")
    numbers = ((f, map(_of, (f.bars.first, f.bars.goal, f.reached))) for f in figures(outcome))
    found = [(f.text, *three, f.verdict, f.how) for f, three in numbers]
    return _table(head, found)


def _rows(results: Results) -> str:
    head = ("work", "subject", "a second", "p50 ms", "p99 ms", "server µs each", "wrk cores")
    return _table((*head, "others", "remarks"), (_row(key, results) for key in results.rows))


def _row(key: Key, results: Results) -> tuple[str, ...]:
    samples = results.rows[key]
    p50, p99 = middle(s.p50 for s in samples), middle(s.p99 for s in samples)
    cores, others = middle(s.load_cpu for s in samples), middle(s.others for s in samples)
    written = middle(s.written for s in samples)
    remarks = [
        *([WRK_IS_FULL] if results.wrk_is_full(key) else []),
        *(["others are loud"] if (others or 0) > _LOUD else []),
        *([f"written only {written:.0f} times"] if (written or ENOUGH) < ENOUGH else []),
    ]
    return (
        *key,
        f"{results.median(key):,.0f}",
        _of(None if p50 is None else p50 / 1000),
        _of(None if p99 is None else p99 / 1000),
        _of(middle(s.spent for s in samples)),
        _of(cores),
        _of(others),
        ", ".join(remarks),
    )


def _growth(outcome: Outcome) -> str:
    sizes = next(iter(outcome.growth.values()))
    rows = (
        (name, *(f"{t:,.0f}" for t in times.values())) for name, times in outcome.growth.items()
    )
    return _table(("µs of a list, one client", *map(str, sizes)), rows)


def _servers(outcome: Outcome) -> str:
    rows = (
        (name, f"{seconds:.1f}", _of(outcome.memory.get(name)))
        for name, seconds in outcome.started.items()
    )
    return _table(("server", "ready after s", "MiB of a worker"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _of(value: float | None) -> str:
    """A number with as many digits as mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
