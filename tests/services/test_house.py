"""What changes of sets would do to many workspaces is found in turns."""

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


def foreseen(seen: int) -> Foreseen:
    """A global set with a variable goes, which reaches all five; the caller sees so many."""
    one = VariableSet("varset-1", "cloud", "org-1", "acme", "", True, False, 0)
    contest = Contest([KEY], Layout({}, {}, {each.id: "prj-1" for each in SPACES}), {})
    comparison = contest.as_set(Standing(one, Attached()), None)
    return Foreseen(one.id, comparison, SPACES, {each.id for each in SPACES[:seen]}, (), 0)


async def test_others_may_have_the_loop_between_some_workspaces_and_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = []

    async def keep(_: Pace) -> None:
        turns.append(True)

    monkeypatch.setattr(Pace, "keep", keep)
    monkeypatch.setattr(house, "_AT_ONCE", 2)
    told = await house.foretold(foreseen(seen=4))
    assert len(turns) == 3
    assert told.losing == 5
    assert [one.workspace for one in told.first] == SPACES[:4]
