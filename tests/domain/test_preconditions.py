"""What a request may demand of the state before it."""

import pytest
from msgspec import UNSET

from teamvars.domain.errors import CHANGED_OR_GONE, EXISTS_NOW, Fault, Refusal
from teamvars.domain.variables import ANY_VERSION, Expected, Versions, staleness


@pytest.mark.parametrize(
    ("versions", "admits"),
    [
        (ANY_VERSION, True),
        (Versions(frozenset({"v-0", "v-1"})), True),
        (Versions(frozenset({"v-0"})), False),
        (Versions(), False),
    ],
)
def test_a_change_is_made_at_the_versions_it_names(versions: Versions, admits: bool) -> None:
    if admits:
        versions.require("v-1")
        return
    with pytest.raises(Refusal) as refusal:
        versions.require("v-1")
    assert [fault.code.word for fault in refusal.value.faults] == ["precondition_failed"]


@pytest.mark.parametrize(
    ("expected", "there", "faults"),
    [
        (UNSET, "v-1", []),
        (UNSET, None, []),
        (None, None, []),
        (None, "v-1", [EXISTS_NOW]),
        ("v-1", "v-1", []),
        ("v-1", "v-2", [CHANGED_OR_GONE]),
        ("v-1", None, [CHANGED_OR_GONE]),
    ],
)
def test_what_is_expected_is_there_or_the_fault_says_which_way_it_is_not(
    expected: Expected, there: str | None, faults: list[Fault]
) -> None:
    assert staleness(expected, there, "/data/0") == [fault.at("/data/0") for fault in faults]
