"""The order of a search: which keys a pattern means, and what a place between two of them tells."""

from itertools import pairwise

import pytest

from teamvars.domain.access import WrappedKey
from teamvars.domain.errors import Kind, Refusal
from teamvars.domain.variable_search import SET_MARK, KeyRange, Place, SearchAccess, VariableSearch
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, Category

LAST = "\U0010ffff"


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


def test_a_set_comes_between_the_beginning_of_a_key_and_all_workspaces_with_it() -> None:
    first, last = Place("a", f"{SET_MARK}zone", "env"), Place("a", "-", "env")
    assert Place.before("a") < first < last < Place.behind("a")
    assert "a" < KeyRange.of("*").up_to("a").end < "aa"
    assert KeyRange.of("a").up_to("b") == KeyRange.of("a")


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
