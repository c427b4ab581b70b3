"""What a workspace gets: thirteen levels, their winners and losers, as an oracle says it apart."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from teamvars.domain.effective import (
    Level,
    Reach,
    Rule,
    Run,
    Source,
    effective,
    head_of,
    head_of_all,
    winning,
)
from teamvars.domain.variable_sets import Parent

OWN = Source.of_workspace("ws-1")
TOOL, ENV = "tool", "env"


def run(source: Source, said: Mapping[str, str], category: str = TOOL) -> Run[str]:
    """What a source has by key."""
    return Run(source, {(key, category): said[key] for key in sorted(said)})


def a_set(
    name: str,
    *reach: Reach,
    is_priority: bool = False,
    parent: Parent = "organization",
) -> Source:
    """A set, whose name is its id as well."""
    return Source.of_set(name, name, is_priority=is_priority, parent=parent, reach=reach)


def values(runs: Sequence[Run[str]]) -> list[str]:
    """What counts, by key and category; also where what does not is left out before."""
    found = [one for (_, one), *_ in effective(runs)]
    alone = [[one for _, one in each] for each in effective(winning(runs))]
    assert alone == [[one] for one in found]
    return found


# HCP Terraform's "Variables overview", under "Precedence example", as of 16 March 2026.
EXAMPLE: Sequence[tuple[Source, Mapping[str, str]]] = [
    (a_set("1", "global", is_priority=True), {"Region": "us-east-1"}),
    (a_set("2", "project", is_priority=True), {"Region": "us-east-2"}),
    (a_set("3", "workspace", is_priority=True), {"Region": "us-west-1"}),
    (a_set("4", "project", is_priority=True, parent="project"), {"Region": "eu-east-2"}),
    (a_set("5", "workspace", is_priority=True, parent="project"), {"Region": "eu-west-1"}),
    (Source("-var", "", Level.COMMAND_LINE), {"Region": "us-west-2", "Replicas": "9"}),
    (Source("TF_VAR_", "", Level.ENVIRONMENT), {"Replicas": "8"}),
    (OWN, {"Var1": "h", "Replicas": "1"}),
    (a_set("9", "workspace", parent="project"), {"Var1": "y", "Replicas": "2"}),
    (a_set("10", "project", parent="project"), {"Replicas": "4"}),
    (a_set("11", "workspace"), {"Var1": "z", "Replicas": "3"}),
    (a_set("12", "project"), {"Replicas": "5"}),
    (a_set("13", "global"), {"Replicas": "6"}),
]


def test_the_worked_example_of_hcp_terraform_comes_out_as_its_page_says() -> None:
    runs = [run(source, said) for source, said in EXAMPLE]
    # Region, Replicas, Var1.
    assert values(runs) == ["us-east-1", "9", "h"]
    assert values(runs[::-1]) == ["us-east-1", "9", "h"]


def test_each_of_the_thirteen_levels_comes_before_the_next() -> None:
    assert [source.level for source, _ in EXAMPLE] == list(Level)
    assert [level.rank for level in Level] == list(range(len(Level)))
    sources = [source for source, _ in EXAMPLE]
    (chosen,) = effective([run(one, {"k": one.level.value}) for one in sources[::-1]])
    assert [one for _, one in chosen] == list(Level)
    (winner, _), *losers = chosen
    assert {Rule.between(winner, source) for source, _ in losers} == {Rule.LEVEL}


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("B", "a"), ("Z", "é"), ("a", "a ")])
def test_of_two_sets_alike_the_name_decides_by_code_points(first: str, second: str) -> None:
    (chosen,) = effective([run(a_set(one, "workspace"), {"k": one}) for one in (second, first)])
    (winner, name), (loser, _) = chosen
    assert name == first
    assert Rule.between(winner, loser) is Rule.NAME


def test_a_set_that_reaches_a_workspace_twice_counts_at_its_higher_level() -> None:
    assert a_set("s", "global", "workspace").level is Level.ORGANIZATION_BY_WORKSPACE
    assert a_set("s", "workspace", "project").level is Level.ORGANIZATION_BY_WORKSPACE
    priority = a_set("s", "workspace", "global", is_priority=True)
    assert priority.level is Level.PRIORITY_GLOBAL
    by_project = a_set("s", "workspace", "project", is_priority=True)
    assert by_project.level is Level.PRIORITY_ORGANIZATION_BY_PROJECT


def test_the_same_key_of_another_category_is_no_conflict() -> None:
    theirs = run(a_set("s", "global", is_priority=True), {"k": "theirs"}, ENV)
    runs = [run(OWN, {"k": "ours"}, TOOL), theirs]
    assert [[one for _, one in each] for each in effective(runs)] == [["theirs"], ["ours"]]
    assert values(runs) == ["theirs", "ours"]


def test_the_head_is_another_for_another_stream_or_head() -> None:
    heads = [
        head_of_all({"ws-1": b"a"}),
        head_of_all({"ws-1": b"a", "varset-1": b"b"}),
        head_of_all({"ws-1": b"a", "varset-1": b"b", "varset-2": b"c"}),
        head_of_all({"ws-1": b"b", "varset-1": b"a"}),
    ]
    assert heads[0] == b"a"
    assert len(set(heads)) == len(heads)
    assert head_of_all({"varset-2": b"c", "varset-1": b"b", "ws-1": b"a"}) == heads[2]
    assert head_of(b"a", b"bc") == heads[2]


# An oracle: sets and variables as they are described, and the page's list gone through from its
# end, so that what is above overwrites what is below.


class Described(NamedTuple):
    """A set: its name, whether it is priority and a project's, and how it reaches the workspace."""

    name: str
    is_priority: bool
    is_of_project: bool
    ways: frozenset[str]
    keys: frozenset[str]


def oracle(own: frozenset[str], sets: Sequence[Described]) -> dict[str, str]:
    """Whose variable counts of each key, by the name of the set; that of the workspace is ''."""
    result: dict[str, str] = {}

    def overwrite(*, priority: bool, of_project: bool, way: str) -> None:
        for one in sorted(sets, key=lambda each: each.name, reverse=True):
            if (one.is_priority, one.is_of_project) == (priority, of_project) and way in one.ways:
                for key in one.keys:
                    result[key] = one.name

    overwrite(priority=False, of_project=False, way="global")
    overwrite(priority=False, of_project=False, way="project")
    overwrite(priority=False, of_project=False, way="workspace")
    overwrite(priority=False, of_project=True, way="project")
    overwrite(priority=False, of_project=True, way="workspace")
    result |= dict.fromkeys(own, "")
    overwrite(priority=True, of_project=True, way="workspace")
    overwrite(priority=True, of_project=True, way="project")
    overwrite(priority=True, of_project=False, way="workspace")
    overwrite(priority=True, of_project=False, way="project")
    overwrite(priority=True, of_project=False, way="global")
    return result


def some(chance: random.Random, words: Sequence[str], least: int = 0) -> frozenset[str]:
    """Any of them, in any number."""
    return frozenset(chance.sample(words, chance.randint(least, len(words))))


def sets_by_chance(chance: random.Random) -> Sequence[Described]:
    """Up to eight, of different names; a project has no global ones."""
    made = {}
    for _ in range(chance.randint(0, 8)):
        name = "".join(chance.choices("AaZzé", k=chance.randint(1, 3)))
        is_of_project = chance.random() < 0.5
        ways = ("workspace", "project") if is_of_project else ("workspace", "project", "global")
        made[name] = Described(
            name, chance.random() < 0.5, is_of_project, some(chance, ways, 1), some(chance, "abc")
        )
    return list(made.values())


def test_an_oracle_agrees_on_every_organization() -> None:
    chance = random.Random(13)
    for _ in range(3000):
        agree(some(chance, "abc"), sets_by_chance(chance))


def agree(own: frozenset[str], sets: Sequence[Described]) -> None:
    """What counts is what the oracle says, and nothing is lost that does not."""
    runs = [Run(OWN, {(key, ENV): "" for key in sorted(own)})]
    for one in sets:
        source = Source.of_set(
            one.name,
            one.name,
            is_priority=one.is_priority,
            parent="project" if one.is_of_project else "organization",
            reach=[way for way in ("global", "project", "workspace") if way in one.ways],
        )
        runs.append(Run(source, {(key, ENV): one.name for key in sorted(one.keys)}))
    expected = oracle(own, sets)
    assert values(runs) == [expected[key] for key in sorted(expected)]
    held = [one for each in effective(runs) for one in each]
    assert sorted(held, key=str) == sorted(
        ((each.source, one) for each in runs for one in each.held.values()), key=str
    )
