"""What a change of a variable set makes of workspaces, as it is told."""

import msgspec

from teamvars.domain.set_effects import Effects, keys_of


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


def rows_of(one: Effects) -> list[EffectOnWorkspace]:
    """What becomes of the workspaces that are told by name."""
    return [
        EffectOnWorkspace(
            each.workspace.id,
            each.workspace.name,
            keys_of(each.gained),
            keys_of(each.changed),
            keys_of(each.lost),
            list(each.runners),
        )
        for each in one.first
    ]
