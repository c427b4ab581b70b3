"""What changes of sets would do to many workspaces is found in turns."""

from collections.abc import Sequence

import pytest

from teamvars.decisions.variable_sets import Foreseen
from teamvars.domain.applies import Name
from teamvars.domain.set_effects import Contest, Layout, Standing
from teamvars.domain.variable_sets import Attached, VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.services import house

SPACES = [Workspace(f"ws-{n}", f"name-{n}", "org-1", "acme") for n in range(5)]
KEY: Name = ("region", Category.ENV)


def foreseen(seen: int, spaces: Sequence[Workspace] = SPACES) -> Foreseen:
    """A global set with a variable goes, which reaches all; the caller sees so many."""
    one = VariableSet("varset-1", "cloud", "org-1", "acme", "", True, False, 0)
    contest = Contest([KEY], Layout({}, {}, {each.id: "prj-1" for each in spaces}), {})
    comparison = contest.as_set(Standing(one, Attached()), None)
    return Foreseen(one.id, comparison, spaces, {each.id for each in spaces[:seen]}, (), 0)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """An item for each time that others may have the loop."""
    kept: list[bool] = []

    async def keep(_: Pace) -> None:
        kept.append(True)

    monkeypatch.setattr(Pace, "keep", keep)
    return kept


async def test_others_may_have_the_loop_between_some_workspaces_and_the_next(
    turns: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "_AT_ONCE", 2)
    told = await house.foretold(foreseen(seen=4))
    assert len(turns) == 3
    assert told.losing == 5
    assert [one.workspace for one in told.first] == SPACES[:4]


async def test_they_may_have_it_after_a_few_workspaces_each_of_which_may_have_all_that_sets_have(
    turns: list[bool],
) -> None:
    told = await house.foretold(foreseen(seen=0, spaces=SPACES * 20))
    assert told.losing == 100
    assert len(turns) >= 10
