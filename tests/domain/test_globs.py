"""Globs of keys, against what the standard library makes of the same."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.deliveries import MAX_WILDCARDS, DeliveryDraft
from teamvars.domain.globs import Globs, wildcards_within

GLOB = st.text("ab*?\n.", max_size=8)


@given(st.lists(GLOB, max_size=4), st.text("ab\n.", max_size=10))
def test_several_globs_mean_what_one_of_them_does(globs: list[str], key: str) -> None:
    assert Globs(globs).match(key) is any(fnmatchcase(key, glob) for glob in globs)


def test_a_bracket_stands_for_itself() -> None:
    assert Globs(["A[B]*"]).match("A[B]C")
    assert not Globs(["A[B]*"]).match("ABC")


@pytest.mark.parametrize(
    ("glob", "within"), [("KEY", 0), ("KEY*", 0), ("*", 0), ("*KEY", 1), ("K*Y*", 1), ("K??*", 2)]
)
def test_what_is_at_the_end_costs_nothing(glob: str, within: int) -> None:
    assert wildcards_within([glob]) == within
    assert (Globs([glob])._others is None) is (within == 0)


def test_many_globs_are_one_expression_of_those_that_are_no_beginnings() -> None:
    globs = Globs([*(f"KEY_{n}" for n in range(50)), *(f"ANY_{n}*" for n in range(50)), "*a", "*a"])
    assert globs._others is not None
    assert globs._others.pattern == ".*a"


@pytest.mark.parametrize("only", [("a*" * 9 + "b",) * 3, ("?" * 21,), ("*x",) * 21, ("a*" * 128,)])
def test_a_job_asks_with_so_many_wildcards_and_no_more(only: tuple[str, ...]) -> None:
    assert wildcards_within(only) > MAX_WILDCARDS
    (fault,) = DeliveryDraft(only=only).all_faults()
    assert fault.pointer == "/data/attributes/only"
    assert str(MAX_WILDCARDS) in fault.detail
    assert DeliveryDraft(only=("*x",) * MAX_WILDCARDS).all_faults() == []
    assert DeliveryDraft(only=("prefix_*",) * 50).all_faults() == []
