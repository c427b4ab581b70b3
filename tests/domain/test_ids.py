"""Ids: contract §4."""

import re
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import count

import pytest

from teamvars.domain.ids import ALPHABET, new_id, new_version_id


def test_an_id_is_its_prefix_and_sixteen_characters_that_are_not_mistaken_for_others() -> None:
    assert len(ALPHABET) == 58
    assert not set("0OIl") & set(ALPHABET)
    assert re.fullmatch(f"var-[{ALPHABET}]{{16}}", new_id("var"))


def test_a_version_id_is_36_hex_characters() -> None:
    assert re.fullmatch(r"[0-9a-f]{36}", new_version_id())


def test_ids_are_not_repeated_and_the_half_that_is_random_uses_every_character() -> None:
    ids = [new_id("x")[2:] for _ in range(5000)]
    assert len(set(ids)) == len(ids)
    for place in range(8, 16):
        assert Counter(id_[place] for id_ in ids).keys() == set(ALPHABET)


def test_ids_sort_by_the_millisecond_they_were_made_in(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(time.time_ns(), 1_000_000)
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    ids = [new_id("x") for _ in range(1000)]
    assert ids == sorted(ids)


def test_ids_have_room_for_a_hundred_years_more(monkeypatch: pytest.MonkeyPatch) -> None:
    before = new_id("x")
    monkeypatch.setattr(time, "time_ns", lambda: time_of(2126))
    late = new_id("x")
    monkeypatch.setattr(time, "time_ns", lambda: time_of(2127))
    assert before < late < new_id("x")
    assert len(late) == len(before)


def time_of(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1e9)
