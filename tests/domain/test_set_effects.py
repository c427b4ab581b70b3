"""What a change of a set makes of workspaces: what each gains, sees changed, and loses."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from teamvars.domain.applies import Name
from teamvars.domain.set_effects import (
    MOST_NAMED,
    Comparison,
    Effect,
    Rival,
    Standing,
    effects,
)
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category

KEY: Name = ("region", Category.TOOL)
OTHER: Name = ("account", Category.TOOL)
SET = VariableSet("varset-1", "middle", "org-1", "acme")
HERE = Workspace("ws-1", "network", "org-1", "acme")
THERE = Workspace("ws-2", "payments", "org-1", "acme")
NOWHERE, ATTACHED = Standing(SET, ()), Standing(SET, ("ws-1",))
GLOBAL = Standing(replace(SET, is_global=True), ())
FIRST = Standing(replace(SET, is_priority=True), ("ws-1",))
OWN = [("ws-1", KEY)]
Names = tuple[Sequence[Name], ...]
SAME: Names = ([], [], [])
GAINED: Names = ([KEY], [], [])
CHANGED: Names = ([], [KEY], [])
LOST: Names = ([], [], [KEY])


def rival(name: str, at: str = "ws-1", *, is_priority: bool = False) -> Rival:
    """Another set with the same key."""
    return Rival(f"varset-{name}", name, is_priority, at, KEY)


@pytest.mark.parametrize(
    ("before", "after", "own", "rivals", "outcome"),
    [
        (NOWHERE, NOWHERE, [], [], SAME),
        (NOWHERE, ATTACHED, [], [], GAINED),
        (NOWHERE, GLOBAL, [], [], GAINED),
        (ATTACHED, ATTACHED, [], [], SAME),
        (ATTACHED, NOWHERE, [], [], LOST),
        (ATTACHED, None, [], [], LOST),
        (NOWHERE, None, [], [], SAME),
        # Its own comes before a set, and after one that is priority.
        (NOWHERE, ATTACHED, OWN, [], SAME),
        (ATTACHED, None, OWN, [], SAME),
        (ATTACHED, FIRST, OWN, [], CHANGED),
        (FIRST, None, OWN, [], CHANGED),
        # Of two sets alike the name decides; whichever is attached comes before a global one.
        (NOWHERE, ATTACHED, [], [rival("a")], SAME),
        (NOWHERE, ATTACHED, [], [rival("z")], CHANGED),
        (NOWHERE, ATTACHED, [], [rival("a", "org-1")], CHANGED),
        (NOWHERE, GLOBAL, [], [rival("z")], SAME),
        (ATTACHED, NOWHERE, [], [rival("z"), rival("a")], SAME),
        (NOWHERE, ATTACHED, [], [rival("z"), rival("a")], SAME),
        (NOWHERE, ATTACHED, [], [rival("a"), rival("z")], SAME),
        # A set that is global and attached counts at its higher level.
        (NOWHERE, ATTACHED, [], [rival("a"), rival("a", "org-1")], SAME),
        (NOWHERE, FIRST, [], [rival("a", is_priority=True)], SAME),
        (NOWHERE, FIRST, OWN, [rival("a", is_priority=True)], SAME),
        (FIRST, ATTACHED, OWN, [rival("a")], CHANGED),
        # What is attached elsewhere, or has it elsewhere, is no matter here.
        (NOWHERE, ATTACHED, [("ws-2", KEY)], [rival("a", "ws-2")], GAINED),
    ],
)
def test_what_becomes_of_a_workspace(
    before: Standing,
    after: Standing | None,
    own: Sequence[tuple[str, Name]],
    rivals: Sequence[Rival],
    outcome: Names,
) -> None:
    comparison = Comparison([KEY], before, after, own, rivals)
    gained, changed, lost = outcome
    assert comparison.of(HERE) == Effect(HERE, gained, changed, lost)


def test_each_key_is_thought_of_by_itself_and_each_workspace() -> None:
    comparison = Comparison([KEY, OTHER], NOWHERE, GLOBAL, OWN, [rival("z", "org-1")])
    assert comparison.of(HERE) == Effect(HERE, [OTHER], [], [])
    assert comparison.of(THERE) == Effect(THERE, [OTHER], [KEY], [])


def test_workspaces_are_counted_by_what_becomes_of_them_and_the_first_are_named() -> None:
    many = [Workspace(f"ws-{n}", f"name-{n}", "org-1", "acme") for n in range(MOST_NAMED + 2)]
    comparison = Comparison([KEY], ATTACHED, GLOBAL, [("ws-0", KEY)], [])
    found = effects("varset-1", comparison, many)
    # The first has its own, and the second had the set before.
    assert (found.gaining, found.changing, found.losing) == (MOST_NAMED, 0, 0)
    assert [one.workspace for one in found.first] == many[2:]
    gone = effects("varset-1", Comparison([KEY], GLOBAL, None, [], [rival("z")]), many)
    assert (gone.gaining, gone.changing, gone.losing) == (0, 0, MOST_NAMED + 1)
    assert [one.workspace for one in gone.first] == [many[0], *many[2 : MOST_NAMED + 1]]
    swapped = effects("varset-1", Comparison([KEY], ATTACHED, NOWHERE, [], [rival("z")]), many[:2])
    assert (swapped.gaining, swapped.changing, swapped.losing) == (0, 1, 0)
