"""What changes of sets would make of workspaces, however many there are."""

from teamvars.decisions.variable_sets import Foreseen
from teamvars.domain.set_effects import Effects
from teamvars.pace import Pace

_AT_ONCE = 500
"""Workspaces that are compared before others may have the loop."""


async def told(foreseen: Foreseen) -> Effects:
    """What the caller is told of; others have the loop in between."""
    pace, tally, workspaces = Pace(), foreseen.tally(), foreseen.workspaces
    for first in range(0, len(workspaces), _AT_ONCE):
        tally.add(workspaces[first : first + _AT_ONCE])
        await pace.keep()
    return foreseen.with_runners(tally.told)
