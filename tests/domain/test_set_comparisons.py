"""What becomes of workspaces when sets change: by a naive comparison of all that there is."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.applies import Name
from teamvars.domain.effective import Level, Reach, Source
from teamvars.domain.set_effects import Comparison, Held, Layout, affected
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category

SPACES = [Workspace(f"ws-{n}", f"w{n}", "org-1", "acme") for n in range(6)]
PROJECTS = ("prj-1", "prj-2")
NAMES: list[Name] = [(key, category) for key in "abc" for category in Category]


def a_layout(chance: random.Random) -> Layout:
    """Some sets out of six, with one name each, attached somewhere."""
    sets = {
        f"varset-{n}": VariableSet(
            f"varset-{n}",
            chance.choice((f"s{n}", f"t{n}")),
            "org-1",
            "acme",
            is_global=chance.random() < 0.2,
            is_priority=chance.random() < 0.3,
        )
        for n in range(6)
        if chance.random() < 0.8
    }
    targets = [*(one.id for one in SPACES), *PROJECTS]
    attached = {id_: {one for one in targets if chance.random() < 0.2} for id_ in sets}
    places = {one.id: chance.choice(PROJECTS) for one in SPACES if chance.random() < 0.9}
    return Layout(sets, attached, places)


def winners(layout: Layout, own: Held, workspace: Workspace) -> Mapping[Name, str]:
    """Where a workspace has each name from: the lowest of all ranks, one by one."""
    place = layout.places.get(workspace.id)
    found: dict[Name, str] = {}
    for name in NAMES if place is not None else ():
        candidates = []
        if name in own.get(workspace.id, ()):
            candidates.append((Source("", "", Level.WORKSPACE).rank, workspace.id))
        for one in layout.sets.values():
            ways: dict[Reach, bool] = {
                "global": one.is_global,
                "project": place in layout.attached[one.id],
                "workspace": workspace.id in layout.attached[one.id],
            }
            reach = [way for way, is_one in ways.items() if is_one]
            if reach and name in layout.held.get(one.id, ()):
                source = Source.of_set(
                    one.id,
                    one.name,
                    is_priority=one.is_priority,
                    parent="organization",
                    reach=reach,
                )
                candidates.append((source.rank, one.id))
        if candidates:
            found[name] = min(candidates)[1]
    return found


ONE, TWO = (VariableSet(f"varset-{n}", f"s{n}", "org-1", "acme") for n in (1, 2))
BOTH = Layout({ONE.id: ONE, TWO.id: TWO}, {ONE.id: {"prj-1"}, TWO.id: {"ws-1"}}, {"ws-1": "prj-1"})


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        ({}, set()),
        ({"places": {"ws-1": "prj-2"}}, {ONE.id}),
        ({"places": {"ws-1": "prj-1", "ws-2": "prj-1"}}, set()),
        ({"attached": {ONE.id: {"prj-1"}}}, {TWO.id}),
        ({"sets": {ONE.id: replace(ONE, is_global=True), TWO.id: TWO}}, {ONE.id}),
        ({"sets": {ONE.id: ONE}}, {TWO.id}),
    ],
)
def test_sets_differ_that_are_others_or_that_workspaces_gain_or_lose_with_a_project(
    other: dict[str, Any], differing: set[str]
) -> None:
    assert BOTH.differing(replace(BOTH, **other)) == differing


def some_held(chance: random.Random) -> Held:
    """Two names of five sets each."""
    return {f"varset-{n}": frozenset(chance.sample(NAMES, 2)) for n in range(5)}


def test_effects_are_what_a_naive_comparison_finds() -> None:
    chance, told = random.Random(33), 0
    for _ in range(2000):
        held, updated = some_held(chance), {"varset-0": frozenset(chance.sample(NAMES, 1))}
        before = replace(a_layout(chance), held=held)
        held = held if chance.random() < 0.5 else some_held(chance)
        after = replace(before if chance.random() < 0.3 else a_layout(chance), held=held)
        own = {one.id: frozenset(chance.sample(NAMES, chance.randint(0, 2))) for one in SPACES}
        there = [one for one in SPACES if one.id in before.places and one.id in after.places]
        comparison = Comparison(before, after, own, updated)
        found = {one.workspace.id: one for one in affected(map(comparison.of, there))}
        for one in there:
            was, is_ = winners(before, own, one), winners(after, own, one)
            differing = [
                name
                for name in was.keys() & is_.keys()
                if was[name] != is_[name] or name in updated.get(is_[name], ())
            ]
            expected = (
                sorted(is_.keys() - was.keys()),
                sorted(differing),
                sorted(was.keys() - is_.keys()),
            )
            effect = found.get(one.id)
            seen = ([], [], []) if effect is None else (effect.gained, effect.changed, effect.lost)
            assert seen == expected
            told += effect is not None
    assert told > 5000


def test_a_workspace_that_is_new_gains_what_reaches_it() -> None:
    one = VariableSet("varset-1", "s", "org-1", "acme", is_global=True)
    held = {one.id: frozenset(NAMES[:1])}
    before = Layout({one.id: one}, {}, {}, held)
    after = Layout({one.id: one}, {}, {SPACES[0].id: PROJECTS[0]}, held)
    effect = Comparison(before, after, {}, {}).of(SPACES[0])
    assert effect.gained == NAMES[:1]
