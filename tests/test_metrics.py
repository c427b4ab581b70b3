"""What processes count, and how it is shown."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families
from prometheus_client.samples import Sample

from teamvars import metrics
from teamvars.metrics import METRICS, SPARE, Counter, Gauge, Histogram, Memory, Nowhere
from teamvars.metrics.exposition import Exposition

OPEN = "application/openmetrics-text; version=1.0.0"
EVENTS = Counter("test_events_total", "What happens in tests.", "kind")
SIZES = Histogram("test_sizes", "How large it was.", bounds=(1, 10))
LEVEL = Gauge("test_level", "How much there is.")


@pytest.fixture(autouse=True)
def _nowhere() -> Iterator[None]:
    """Nothing is counted anywhere after a test."""
    yield
    for metric in METRICS.values():
        metric.move(Nowhere())


def samples(*memories: Memory) -> dict[tuple[str, ...], float]:
    """What a scrape of the tests' own metrics finds: a value by the name and labels of a sample."""
    text, _ = Exposition(memories).text("")
    found = [one for family in families(text.decode()) for one in family.samples]
    return {_of(one): one.value for one in found if one.name.startswith("test_")}


def _of(sample: Sample) -> tuple[str, ...]:
    return sample.name, *(sample.labels[name] for name in sorted(sample.labels))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.floats(0, 20)), max_size=30))
def test_what_processes_count_is_summed_whichever_counts_when(
    happened: list[tuple[int, str, float]],
) -> None:
    memories = [Memory() for _ in range(3)]
    for process, kind, size in happened:
        metrics.count_in(memories[process])  # as if each were begun anew every time
        EVENTS.add(kind)
        SIZES.observe(size)
    found = samples(*memories)
    kinds = [kind for _, kind, _ in happened]
    for kind in set(kinds):
        assert found["test_events_total", kind] == kinds.count(kind)
    sizes = [size for *_, size in happened]
    if sizes:
        buckets = [found["test_sizes_bucket", bound] for bound in ("1", "10", "+Inf")]
        assert buckets == [sum(size <= bound for size in sizes) for bound in (1, 10, float("inf"))]
        assert found["test_sizes_sum",] == pytest.approx(sum(sizes))
        assert found["test_sizes_count",] == len(sizes)


def test_a_gauge_is_told_of_each_process_and_ends_with_it() -> None:
    front, worker = Memory(), Memory()
    metrics.count_in(worker)
    LEVEL.set(3)
    EVENTS.add("a")
    assert samples(front, worker)["test_level", "1"] == 3
    metrics.count_in(worker)  # the one that takes its place
    found = samples(front, worker)
    assert not [name for name, *_ in found if name == "test_level"]
    assert found["test_events_total", "a"] == 1


def test_what_has_no_labels_is_there_before_it_happens() -> None:
    memory = Memory()
    metrics.count_in(memory)
    assert samples(memory)["test_sizes_count",] == 0


def test_what_has_no_room_is_not_shown_and_harms_nothing() -> None:
    memory = Memory()
    metrics.count_in(memory)
    EVENTS.add("first")
    for size in (SPARE, 1):
        while memory.place("test_sizes", ("full",), size):
            pass
    EVENTS.add("late")
    EVENTS.add("first")
    found = {series.labels for series in memory.series() if series.name == "test_events_total"}
    assert found == {("first",)}
    at = next(series.at for series in memory.series() if series.labels == ("first",))
    assert memory.numbers[at] == 2


def test_openmetrics_is_for_who_accepts_it() -> None:
    memory = Memory()
    metrics.count_in(memory)
    EVENTS.add('"a\\\n')
    text, media_type = Exposition([memory]).text(f"{OPEN};q=0.8,text/plain;version=0.0.4;q=0.5,*/*")
    assert media_type.startswith("application/openmetrics-text; version=1.0.0")
    found = [one for family in open_families(text.decode()) for one in family.samples]  # type: ignore[no-untyped-call]
    assert [one.labels["kind"] for one in found if one.name == "test_events_total"] == ['"a\\\n']


def test_every_metric_is_named_as_prometheus_wants_it() -> None:
    for metric in METRICS.values():
        assert metric.name.startswith(("teamvars_", "http_server_", "test_"))
        assert isinstance(metric, Counter) == metric.name.endswith("_total"), metric.name
        assert metric.text.endswith("."), metric.name
