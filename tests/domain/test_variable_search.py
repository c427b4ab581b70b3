"""The order of a search: which keys a pattern means, and what a place between two of them tells."""

from itertools import pairwise

import pytest

from teamvars.domain.access import WrappedKey
from teamvars.domain.errors import Kind, Refusal
from teamvars.domain.variable_search import (
    KeyRange,
    Place,
    SearchAccess,
    SetPlace,
    SetWalk,
    VariableSearch,
)
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, Category

LAST = "\U0010ffff"


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("url", ["DB_URL", "Url", "url"]),
        ("B_u", ["DB_URL"]),
        ("strasse", ["STRASSE", "Straße"]),
        ("É", ["CAFÉ", "café"]),
        ("e\u0301", ["CAFE\u0301"]),
        ("e", ["CAFE\u0301", "STRASSE", "Straße"]),
        ("*", ["*"]),
        ("", None),
    ],
)
def test_a_part_is_found_in_any_case_and_nothing_else_is_alike(
    part: str, found: list[str] | None
) -> None:
    keys = ["*", "CAFE\u0301", "CAFÉ", "DB_URL", "STRASSE", "Straße", "Url", "café", "url"]
    assert VariableSearch(part=part).matching(keys) == (keys if found is None else found)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("key", ["key"], ["ke", "key ", "kez", "keyx"]),
        ("key*", ["key", "key*", "keyx", f"key{LAST}"], ["ke", "kex", "kez"]),
        ("*", ["a", LAST * MAX_KEY_CHARACTERS], []),
        ("k*y", ["k*y"], ["k", "key", "k*yy"]),
        (f"{LAST}*", [LAST, LAST * MAX_KEY_CHARACTERS], ["a"]),
        (f"a{LAST}*", [f"a{LAST}", f"a{LAST}b"], ["a", "b"]),
        ("\ud7ff*", ["\ud7ff", "\ud7ffa"], ["\ue000", "\ud7fe"]),
    ],
)
def test_a_pattern_means_one_key_or_all_that_begin_alike(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    keys = KeyRange.of(pattern)
    assert [keys.first <= key < keys.end for key in inside] == [True] * len(inside)
    assert [keys.first <= key < keys.end for key in outside] == [False] * len(outside)
    keys.end.encode()  # the store takes no half of a pair


def test_a_place_between_two_variables_tells_no_more_than_tells_them_apart() -> None:
    in_order = [
        Place("alpha", "network", "env"),
        Place("alpha", "network", "tool"),
        Place("alpha", "payments", "env"),
        Place("alphabet", "network", "env"),
        Place("amber", "network", "env"),
    ]
    between = [Place.between(one, other) for one, other in pairwise(in_order)]
    assert between == [
        Place("alpha", "network", "tool"),
        Place("alpha", "p", ""),
        Place("alphab", "", ""),
        Place("am", "", ""),
    ]
    for (one, other), place in zip(pairwise(in_order), between, strict=True):
        assert one < place <= other


def test_a_page_begins_behind_the_last_one_and_within_the_keys_that_are_wanted() -> None:
    keys = KeyRange.of("m*")
    assert VariableSearch(keys).start == Place.before("m")
    behind, ahead = Place.behind("mm"), Place.behind("aa")
    assert VariableSearch(keys, after=behind).start == behind
    assert VariableSearch(keys, after=ahead).start == Place.before("m")


@pytest.mark.parametrize(
    ("search", "wants_all"),
    [
        (VariableSearch(), True),
        (VariableSearch(category=Category.TOOL), False),
        (VariableSearch(sensitive=False), False),
        (VariableSearch(workspace="network"), True),
    ],
)
def test_a_search_for_some_of_the_variables_does_not_want_all(
    search: VariableSearch, wants_all: bool
) -> None:
    assert search.wants_all is wants_all


def test_all_variables_of_a_key_are_before_the_place_behind_it_and_those_of_others_are_not() -> (
    None
):
    behind = Place.behind("a")
    assert Place("a", LAST, "tool") < behind < Place.before("a ") < Place.before("a!")
    assert behind > Place("a", "~", "env")


def test_variables_of_sets_come_first_and_behind_them_begins_another_list() -> None:
    wanted, walk = VariableSearch(KeyRange.of("m*")), SetWalk.on("net", ["varset-1"], [])
    place = Place("mm", "x", "env")
    assert wanted.begun_at(None) == wanted
    among_sets = wanted.begun_at(SetPlace(place, walk))
    assert (among_sets.start, among_sets.walk) == (place, walk)
    assert among_sets.behind_sets() == wanted.behind_sets()
    assert among_sets.behind_sets().start == Place.before("m")
    behind = wanted.begun_at(place)
    assert (behind.start, behind.walk) == (place, None)
    assert behind.behind_sets() == behind


def test_a_walk_knows_which_sets_it_has_listed_until_one_of_them_is_gone() -> None:
    every = [f"varset-{n:02}" for n in range(19)]
    listed = {*every[3:5], every[8], every[18]}
    walk = SetWalk.on("network", every, listed)
    assert walk.listed_of(every) == listed
    assert walk.listed_of([*every, "varset-19"]) == listed
    assert walk.listed_of(every[1:]) == walk.listed_of(every[:-1]) == frozenset()
    assert SetWalk().listed_of(every) == frozenset()


@pytest.mark.parametrize("reads_all", [False, True])
@pytest.mark.parametrize("is_member", [False, True])
def test_outsiders_search_what_is_not_there(reads_all: bool, is_member: bool) -> None:
    key = WrappedKey("org-1", 1, "k", b"")
    granted = SearchAccess("org-1", "acme", reads_all, False, is_member, (), (), key)
    if reads_all or is_member:
        granted.require_visible()
    else:
        with pytest.raises(Refusal) as refusal:
            granted.require_visible()
        assert refusal.value.kind is Kind.NOT_FOUND
