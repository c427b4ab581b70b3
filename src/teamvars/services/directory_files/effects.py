"""What applying a directory file would do to workspaces by way of variable sets."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from teamvars.domain.projects import default_project_of
from teamvars.domain.runners import Runner
from teamvars.domain.set_effects import Comparison, Effect, Layout, affected
from teamvars.services.directory_files.actual import OrganizationState
from teamvars.storage import variable_sets
from teamvars.storage.database import Transaction


def layout_of(state: OrganizationState) -> Layout:
    """How the sets of an organization stand now."""
    default = default_project_of(state.id)
    return Layout(
        {one.id: one for one in state.sets.values()},
        dict(state.attached),
        {space.id: state.placed.get(space.id, default) for space in state.workspaces.values()},
    )


async def effects(
    tx: Transaction,
    changes: Sequence[tuple[Layout, OrganizationState]],
    hands_out: Callable[[Runner, str], bool],
) -> Mapping[str, Sequence[Effect]]:
    """What becomes of workspaces, by the organization's name and in the order of theirs: of each
    organization how its sets stood, and the state that they come to. `hands_out` says whether a
    runner is handed a workspace with that id.
    """
    pairs = [(before, layout_of(state), state) for before, state in changes]
    differing = [
        id_
        for before, after, state in pairs
        for id_ in before.differing(after)
        if state.set_variables.get(id_)
    ]
    if not differing:
        return {}
    keys = await variable_sets.keys_of(tx, differing)
    of_sets, own = await variable_sets.held(tx, [state.id for _, state in changes], keys)
    found = {}
    for before, after, state in pairs:
        was, is_ = (replace(side, held=of_sets) for side in (before, after))
        comparison = Comparison(was, is_, own, {})
        spaces = (space for _, space in sorted(state.workspaces.items()))
        found[state.name] = [
            replace(one, runners=_runners(state, one, hands_out))
            for one in affected(map(comparison.of, spaces))
        ]
    return found


def _runners(
    state: OrganizationState, effect: Effect, hands_out: Callable[[Runner, str], bool]
) -> Sequence[str]:
    """The names of the runners that are handed what a workspace gets."""
    if not (effect.gained or effect.changed):
        return ()
    runners = (one for _, one in sorted(state.runners.items()))
    return tuple(one.spec.name for one in runners if hands_out(one, effect.workspace.id))
