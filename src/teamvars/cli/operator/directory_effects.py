"""What a dry run of a directory file says of the workspaces that variable sets reach."""

from collections.abc import Sequence

from teamvars.domain.applies import Name
from teamvars.domain.directory import Applied
from teamvars.domain.set_effects import MOST_NAMED, Effect

_MOST_ON_A_LINE = 10
"""Keys, or names."""


def told_effects(applied: Applied) -> list[str]:
    """Which workspaces variable sets would give another value, or take one from, a line each."""
    every = [(name, one) for name, effects in applied.effects.items() for one in effects]
    lines = [f"workspace {name}/{one.workspace.name} {_told(one)}" for name, one in every]
    left = len(every) - MOST_NAMED
    return [*lines[:MOST_NAMED], *([f"and {left} workspaces more"] if left > 0 else [])]


def _told(effect: Effect) -> str:
    verbs = {
        "gains": effect.gained,
        "gets another value of": effect.changed,
        "loses": effect.lost,
    }
    told = [f"{verb} {_some(_keys(names))}" for verb, names in verbs.items() if names]
    runners = [f"runners that reach it: {_some(effect.runners)}"] if effect.runners else []
    return "; ".join([*told, *runners])


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MOST_ON_A_LINE
    more = [f"and {left} more"] if left > 0 else []
    return ", ".join([*names[:_MOST_ON_A_LINE], *more])


def counted_effects(applied: Applied, *, dry_run: bool) -> dict[str, object]:
    """The same for programs, as the API tells the effects of a change of one set; of a dry run
    alone, since nothing else looks.
    """
    if not dry_run:
        return {}
    return {"effects": {name: _counted(effects) for name, effects in applied.effects.items()}}


def _counted(effects: Sequence[Effect]) -> dict[str, object]:
    return {
        "gaining": sum(1 for one in effects if one.gained),
        "changing": sum(1 for one in effects if one.changed),
        "losing": sum(1 for one in effects if one.lost),
        "workspaces": [
            {
                "name": one.workspace.name,
                "gains": _keys(one.gained),
                "changes": _keys(one.changed),
                "loses": _keys(one.lost),
                "runners": one.runners,
            }
            for one in effects[:MOST_NAMED]
        ],
    }


def _keys(names: Sequence[Name]) -> list[str]:
    return [*dict.fromkeys(key for key, _ in names)]
