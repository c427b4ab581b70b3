"""What a change of a set makes of workspaces: what each gains, sees changed, and loses."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from teamvars.domain.applies import Name
from teamvars.domain.set_effects import (
    MOST_NAMED,
    Alteration,
    Contest,
    Effect,
    Effects,
    Layout,
    Standing,
    Tally,
)
from teamvars.domain.variable_sets import Attached, Parent, VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category

KEY: Name = ("region", Category.TOOL)
OTHER: Name = ("account", Category.TOOL)
A_KEY = frozenset({KEY})
SET = VariableSet("varset-1", "middle", "org-1", "acme")
HERE = Workspace("ws-1", "network", "org-1", "acme")
THERE = Workspace("ws-2", "payments", "org-1", "acme")
HERE_ALONE = Attached(frozenset({"ws-1"}))
NOWHERE, ATTACHED = Standing(SET, Attached()), Standing(SET, HERE_ALONE)
GLOBAL = Standing(replace(SET, is_global=True), Attached())
FIRST = Standing(replace(SET, is_priority=True), HERE_ALONE)
AT_PROJECT = Standing(SET, Attached(projects=frozenset({"prj-1"})))
OWNED = Standing(replace(SET, project_id="prj-1"), HERE_ALONE)
OWNED_AT_PROJECT = Standing(OWNED.set, AT_PROJECT.attached)
PLACES = {"ws-1": "prj-1", "ws-2": "prj-2"}
OWN = [("ws-1", KEY)]
Names = tuple[Sequence[Name], Sequence[Name], Sequence[Name]]
SAME: Names = ([], [], [])
GAINED: Names = ([KEY], [], [])
CHANGED: Names = ([], [KEY], [])
LOST: Names = ([], [], [KEY])


Rival = tuple[VariableSet, str]
"""Another set with the same key, and where it is."""


def rival(
    name: str, at: str = "ws-1", *, is_priority: bool = False, parent: Parent = "organization"
) -> Rival:
    project_id = "prj-1" if parent == "project" else None
    id_, is_global = f"varset-{name}", at == "org-1"
    flags = "", is_global, is_priority
    return VariableSet(id_, name, "org-1", "acme", *flags, project_id=project_id), at


def contest(
    own: Sequence[tuple[str, Name]],
    rivals: Sequence[Rival],
    names: Sequence[Name] = (KEY,),
    places: Mapping[str, str] = PLACES,
) -> Contest:
    """What a set is in conflict with that has these names."""
    sets: dict[str, VariableSet] = {}
    attached: dict[str, set[str]] = {}
    for one, at in rivals:
        is_global = one.is_global or (one.id in sets and sets[one.id].is_global)
        sets[one.id] = replace(one, is_global=is_global)
        attached.setdefault(one.id, set()).update({at} - {"org-1"})
    held = dict.fromkeys(sets, A_KEY)
    its = {id_: frozenset(name for at, name in own if at == id_) for id_, _ in own}
    return Contest(names, Layout(sets, attached, places, held), its)


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
        (NOWHERE, ATTACHED, [("ws-2", KEY)], [rival("a", "ws-2"), rival("a", "prj-2")], GAINED),
        # Sets that reach all in its project, or are the project's.
        (NOWHERE, AT_PROJECT, [], [], GAINED),
        (AT_PROJECT, ATTACHED, [], [rival("a", "prj-1")], CHANGED),
        (NOWHERE, AT_PROJECT, [], [rival("z")], SAME),
        (NOWHERE, AT_PROJECT, [], [rival("a", "org-1")], CHANGED),
        (NOWHERE, OWNED_AT_PROJECT, [], [rival("a")], CHANGED),
        (NOWHERE, OWNED_AT_PROJECT, [], [rival("z", parent="project")], SAME),
        (NOWHERE, OWNED, [], [rival("a", "prj-1", parent="project")], CHANGED),
        (NOWHERE, OWNED, OWN, [], SAME),
    ],
)
def test_what_becomes_of_a_workspace(
    before: Standing,
    after: Standing | None,
    own: Sequence[tuple[str, Name]],
    rivals: Sequence[Rival],
    outcome: Names,
) -> None:
    comparison = contest(own, rivals).as_set(before, after)
    gained, changed, lost = outcome
    assert comparison.of(HERE) == Effect(HERE, gained, changed, lost)


NEW, GONE, OTHERWISE = Alteration(A_KEY), Alteration(deleted=A_KEY), Alteration(updated=A_KEY)


@pytest.mark.parametrize(
    ("alteration", "own", "rivals", "outcome"),
    [
        (Alteration(), [], [], SAME),
        (Alteration(updated=frozenset({OTHER})), [], [], SAME),
        (NEW, [], [], GAINED),
        (NEW, OWN, [], SAME),
        (NEW, [], [rival("a")], SAME),
        (NEW, [], [rival("z")], CHANGED),
        (GONE, [], [], LOST),
        (GONE, OWN, [], SAME),
        (GONE, [], [rival("z")], CHANGED),
        (OTHERWISE, [], [], CHANGED),
        (OTHERWISE, OWN, [], SAME),
        (OTHERWISE, [], [rival("a")], SAME),
        (OTHERWISE, [], [rival("z")], CHANGED),
    ],
)
def test_what_becomes_of_a_workspace_as_a_variable_of_its_set_is_made_changed_or_deleted(
    alteration: Alteration,
    own: Sequence[tuple[str, Name]],
    rivals: Sequence[Rival],
    outcome: Names,
) -> None:
    comparison = contest(own, rivals).as_altered(ATTACHED, alteration)
    assert comparison.of(HERE) == Effect(HERE, *outcome)


def test_what_another_set_has_in_one_project_is_no_matter_in_others() -> None:
    comparison = contest([], [rival("a", "prj-1")]).as_set(NOWHERE, GLOBAL)
    assert comparison.of(HERE) == Effect(HERE, *SAME)
    assert comparison.of(THERE) == Effect(THERE, *GAINED)


def test_each_key_is_thought_of_by_itself_and_each_workspace() -> None:
    rivals = [rival("z", "org-1"), rival("a", "prj-1")]
    comparison = contest(OWN, rivals, [KEY, OTHER]).as_set(NOWHERE, GLOBAL)
    assert comparison.of(HERE) == Effect(HERE, [OTHER], [], [])
    assert comparison.of(THERE) == Effect(THERE, [OTHER], [KEY], [])


def test_workspaces_are_counted_by_what_becomes_of_them_and_the_first_are_named() -> None:
    many = [Workspace(f"ws-{n}", f"name-{n}", "org-1", "acme") for n in range(MOST_NAMED + 2)]
    places = {one.id: "prj-1" for one in many}

    def told(
        before: Standing, after: Standing | None, among: Contest, seen: Sequence[Workspace]
    ) -> Effects:
        comparison = among.as_set(before, after)
        tally = Tally("varset-1", comparison, {one.id for one in seen})
        for first in range(0, len(many), 7):
            tally.add(many[first : first + 7])
        return tally.told

    found = told(ATTACHED, GLOBAL, contest([("ws-0", KEY)], [], places=places), many)
    # The first has its own, and the second had the set before.
    assert (found.gaining, found.changing, found.losing) == (MOST_NAMED, 0, 0)
    assert [one.workspace for one in found.first] == many[2:]
    zeal = contest([], [rival("z")], places=places)
    gone = told(GLOBAL, None, zeal, many)
    assert (gone.gaining, gone.changing, gone.losing) == (0, 0, MOST_NAMED + 1)
    assert [one.workspace for one in gone.first] == [many[0], *many[2 : MOST_NAMED + 1]]
    # What the caller does not see is counted, whatever else it has, and not named.
    some = told(GLOBAL, None, zeal, many[:1])
    assert some.losing == MOST_NAMED + 2
    assert [one.workspace for one in some.first] == many[:1]
    swapped = told(ATTACHED, NOWHERE, zeal, many)
    assert (swapped.gaining, swapped.changing, swapped.losing) == (0, 1, 0)
