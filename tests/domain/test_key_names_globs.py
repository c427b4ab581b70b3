"""Globs of keys, against what the standard library makes of the same."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.deliveries import MAX_WILDCARDS, DeliveryDraft
from teamvars.domain.key_names import Globs, all_meant, wildcards_within

GLOB = st.text("ab*?\n.", max_size=8)


@given(st.lists(GLOB, max_size=4), st.text("ab\n.", max_size=10))
def test_several_globs_mean_what_one_of_them_does(globs: list[str], key: str) -> None:
    assert Globs(globs).match(key) is any(fnmatchcase(key, glob) for glob in globs)


@given(
    st.lists(st.text("ab.", max_size=4), min_size=2, max_size=4).map("*".join),
    st.lists(st.text("ab.", max_size=10), max_size=4),
)
def test_of_many_keys_a_glob_with_a_star_means_the_same(glob: str, keys: list[str]) -> None:
    assert all_meant(glob, keys) == [key for key in keys if fnmatchcase(key, glob)]


def test_a_bracket_stands_for_itself() -> None:
    assert Globs(["A[B]*"]).match("A[B]C")
    assert not Globs(["A[B]*"]).match("ABC")


@pytest.mark.parametrize(
    ("glob", "within"), [("KEY", 0), ("KEY*", 0), ("*", 0), ("*KEY", 1), ("K*Y*", 1), ("K??*", 2)]
)
def test_what_is_at_the_end_costs_nothing(glob: str, within: int) -> None:
    assert wildcards_within([glob]) == within


def test_many_globs_are_looked_up_and_those_alone_compiled_that_ask_for_one_character() -> None:
    simple = [*(f"KEY_{n}" for n in range(50)), *(f"ANY_{n}*" for n in range(50))]
    globs = Globs([*simple, "*a", "*a", "b?", "b?"])
    assert globs._pieces == [["", "a"]]
    assert globs._asking is not None
    assert globs._asking.pattern == "b."
    assert Globs([*simple, "*a*b"])._asking is None


@pytest.mark.parametrize("only", [("a*" * 9 + "b",) * 3, ("?" * 21,), ("*x",) * 21, ("a*" * 128,)])
def test_a_job_asks_with_so_many_wildcards_and_no_more(only: tuple[str, ...]) -> None:
    assert wildcards_within(only) > MAX_WILDCARDS
    (fault,) = DeliveryDraft(only=only).all_faults()
    assert fault.pointer == "/data/attributes/only"
    assert str(MAX_WILDCARDS) in fault.detail
    assert DeliveryDraft(only=("*x",) * MAX_WILDCARDS).all_faults() == []
    assert DeliveryDraft(only=("prefix_*",) * 50).all_faults() == []
