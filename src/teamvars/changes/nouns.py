"""How the needs of decisions are looked up, and their writes written, noun by noun."""

from collections.abc import Callable, Mapping

from teamvars.changes import (
    directory,
    keys,
    runners,
    team_members,
    trails,
    variable_sets,
    variables,
)
from teamvars.changes.looks import LookUps
from teamvars.decisions import Write
from teamvars.storage.database import Statement

LOOK_UPS: LookUps = {
    **trails.LOOK_UPS,
    **directory.LOOK_UPS,
    **variables.LOOK_UPS,
    **variable_sets.LOOK_UPS,
    **team_members.LOOK_UPS,
    **runners.LOOK_UPS,
    **keys.LOOK_UPS,
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    **directory.STATEMENTS,
    **variables.STATEMENTS,
    **team_members.STATEMENTS,
    **runners.STATEMENTS,
}
