"""What a change of a variable set makes of workspaces, as it is told."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.applies import Name
from teamvars.domain.set_effects import Effects


class EffectOnWorkspace(msgspec.Struct):
    """What becomes of a workspace: the keys whose values it gets, gets another of, and loses; and
    the names of the approved runners that it is handed to.
    """

    id: str
    name: str
    gains: list[str]
    changes: list[str]
    loses: list[str]
    runners: list[str]


def _keys(names: Sequence[Name]) -> list[str]:
    return list(dict.fromkeys(key for key, _ in names))


def rows_of(one: Effects) -> list[EffectOnWorkspace]:
    """What becomes of the workspaces that are told by name."""
    return [
        EffectOnWorkspace(
            each.workspace.id,
            each.workspace.name,
            _keys(each.gained),
            _keys(each.changed),
            _keys(each.lost),
            list(each.runners),
        )
        for each in one.first
    ]
