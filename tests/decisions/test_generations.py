"""Generations of data keys: what may be added, taken into use and retired, case by case."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Update
from teamvars.decisions.generations import (
    Generations,
    activate,
    add,
    begin_rewrap,
    end_rewrap,
    retire,
)
from teamvars.domain.audit import ACTIONS, SYSTEM_STREAM
from teamvars.domain.keys import Generation, KeyRefused, Rewrap
from tests.support.deployment import operator

NOW = 1_700_000_000_000_000
GONE = Generation(1, 0, 0, 30)
FORMER, ACTIVE, ADDED = Generation(2, 1, 2), Generation(3, 4, 5), Generation(4, 6)


def found(*generations: Generation) -> Found:
    return Found(operator(), NOW, {Generations(): generations})


@pytest.mark.parametrize(
    ("decide", "there", "writes", "said"),
    [
        (
            partial(add, version=4),
            (GONE, FORMER, ACTIVE),
            Insert(Generation(4, NOW)),
            ("key.add", "data-4", {"purpose": "data"}),
        ),
        (
            partial(activate, key_id="data-4"),
            (FORMER, ACTIVE, ADDED),
            Update(ADDED, replace(ADDED, activated_at=NOW)),
            ("key.activate", "data-4", {"purpose": "data", "former": "data-3"}),
        ),
        (
            partial(retire, key_id="data-2", leaked=True),
            (FORMER, ACTIVE),
            Update(FORMER, replace(FORMER, retired_at=NOW)),
            ("key.retire", "data-2", {"purpose": "data", "leaked": True}),
        ),
        (
            partial(retire, key_id="data-2", leaked=False),
            (FORMER, ACTIVE),
            Update(FORMER, replace(FORMER, retired_at=NOW)),
            ("key.retire", "data-2", {"purpose": "data"}),
        ),
        (
            partial(begin_rewrap, job=Rewrap("job-1", 5, 3)),
            (),
            Insert(Rewrap("job-1", 5, 3)),
            ("rewrap.begin", "data-3", {}),
        ),
        (
            partial(end_rewrap, job=Rewrap("job-1", 5, 3, done=7), broken=2),
            (),
            Delete(Rewrap, ("job-1",)),
            ("rewrap.end", "data-3", {"sealed": 7, "broken": 2}),
        ),
    ],
)
def test_each_step_writes_one_row_and_one_entry_of_the_system(
    decide: Callable[[Found], Decision[Any]],
    there: tuple[Generation, ...],
    writes: object,
    said: tuple[str, str, dict[str, object]],
) -> None:
    decided = decide(found(*there))
    assert decided.writes == (writes,)
    (note,) = decided.notes
    assert note.stream_id == SYSTEM_STREAM
    assert (note.event.action, note.event.subject_id, note.event.details) == said
    assert ACTIONS[said[0]].admits(said[2])


def test_one_that_is_in_use_is_not_taken_into_use_again() -> None:
    decided = activate(found(FORMER, ACTIVE), "data-3")
    assert (decided.answer, decided.writes, decided.notes) == (ACTIVE, (), ())


@pytest.mark.parametrize(
    ("decide", "there", "refused"),
    [
        (partial(add, version=5), (ACTIVE, ADDED), "data-4 was added before"),
        (partial(add, version=4), (FORMER,), "Somebody else has added data-4"),
        (partial(activate, key_id="data-2"), (FORMER, ACTIVE), "data-3 is in use, which is newer"),
        (partial(activate, key_id="data-9"), (FORMER, ACTIVE), "There is no data-9"),
        (partial(activate, key_id="data-1"), (GONE, ACTIVE), "data-1 was retired"),
        (partial(retire, key_id="data-1", leaked=False), (GONE, ACTIVE), "data-1 was retired"),
        (partial(retire, key_id="data-3", leaked=False), (FORMER, ACTIVE), "is in use or will be"),
        (partial(retire, key_id="data-4", leaked=False), (ACTIVE, ADDED), "is in use or will be"),
        (partial(retire, key_id="mk-1", leaked=False), (FORMER, ACTIVE), "There is no mk-1"),
    ],
)
def test_what_stands_in_the_way_is_said(
    decide: Callable[[Found], object], there: tuple[Generation, ...], refused: str
) -> None:
    with pytest.raises(KeyRefused, match=refused):
        decide(found(*there))
