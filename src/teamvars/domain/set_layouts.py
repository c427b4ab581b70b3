"""What becomes of workspaces when many variable sets change at once, and the workspaces move."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from teamvars.domain.applies import Name
from teamvars.domain.effective import Level, Reach, Source
from teamvars.domain.set_effects import Effect
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace


class Layout(msgspec.Struct, frozen=True):
    """The sets of an organization by id, the ids of what each is attached to, and the projects that
    the workspaces are in, by their ids.
    """

    sets: Mapping[str, VariableSet]
    attached: Mapping[str, Collection[str]]
    places: Mapping[str, str]

    def differing(self, other: "Layout") -> frozenset[str]:
        """The ids of the sets that are not the same in both, or that workspaces may gain or lose
        with a project.
        """
        left = {
            place
            for id_ in self.places.keys() & other.places.keys()
            if self.places[id_] != other.places[id_]
            for place in (self.places[id_], other.places[id_])
        }
        return frozenset(
            id_
            for id_ in self.sets.keys() | other.sets.keys()
            if self._of(id_) != other._of(id_) or not left.isdisjoint(self.attached.get(id_, ()))
        )

    def _of(self, set_id: str) -> tuple[VariableSet | None, Collection[str]]:
        return self.sets.get(set_id), frozenset(self.attached.get(set_id, ()))

    def by_target(self, among: Collection[str]) -> "Reaching":
        """Where those of the sets reach that are among these."""
        found: dict[str, list[VariableSet]] = {}
        for one in self.sets.values():
            everywhere = (one.organization_id,) if one.is_global else ()
            for id_ in (*everywhere, *self.attached.get(one.id, ())) if one.id in among else ():
                found.setdefault(id_, []).append(one)
        return Reaching(self.places, found)


class Reaching(msgspec.Struct, frozen=True):
    """The sets that are attached to each workspace, project and, being global, organization."""

    places: Mapping[str, str]
    targets: Mapping[str, Sequence[VariableSet]]

    def alike(self, workspace: Workspace) -> object:
        """What is the same of two workspaces that all the same sets reach in the same ways."""
        place = self.places.get(workspace.id)
        return place, tuple(one.id for one in self.targets.get(workspace.id, ()))

    def sources(self, workspace: Workspace) -> frozenset[Source]:
        """The sets that reach a workspace, at their levels; none if it is not there."""
        place = self.places.get(workspace.id)
        if place is None:
            return frozenset()
        ways: dict[str, list[Reach]] = {}
        sets: dict[str, VariableSet] = {}
        targets: Mapping[Reach, str] = {
            "global": workspace.organization_id,
            "project": place,
            "workspace": workspace.id,
        }
        for way, target in targets.items():
            for one in self.targets.get(target, ()):
                ways.setdefault(one.id, []).append(way)
                sets[one.id] = one
        return frozenset(
            Source.of_set(
                id_,
                sets[id_].name,
                is_priority=sets[id_].is_priority,
                parent=sets[id_].parent,
                reach=its,
            )
            for id_, its in ways.items()
        )


class Held(msgspec.Struct, frozen=True):
    """The keys and categories that matter, of sets and of workspaces, by their ids."""

    of_sets: Mapping[str, frozenset[Name]]
    of_workspaces: Mapping[str, frozenset[Name]]


def effects_between(
    before: Layout, after: Layout, held: Held, workspaces: Iterable[Workspace]
) -> list[Effect]:
    """What becomes of these workspaces: of those alone of which something does."""
    was, is_ = before.by_target(held.of_sets), after.by_target(held.of_sets)
    known: dict[object, Effect] = {}
    found = []
    for one in workspaces:
        own = held.of_workspaces.get(one.id, frozenset())
        alike = was.alike(one), is_.alike(one), own
        if alike not in known:
            known[alike] = _effect(one, was.sources(one), is_.sources(one), held.of_sets, own)
        effect = known[alike]
        if effect.gained or effect.changed or effect.lost:
            found.append(replace(effect, workspace=one))
    return found


def _effect(
    workspace: Workspace,
    before: frozenset[Source],
    after: frozenset[Source],
    of_sets: Mapping[str, frozenset[Name]],
    own: frozenset[Name],
) -> Effect:
    others = before ^ after
    names = sorted({name for one in others for name in of_sets[one.id]})
    gained, changed, lost = [], [], []
    for name in names:
        itself = [Source("", "", Level.WORKSPACE)] if name in own else []
        was, is_ = (
            min(
                (*itself, *(one for one in sources if name in of_sets[one.id])),
                key=attrgetter("rank"),
                default=None,
            )
            for sources in (before, after)
        )
        if was is None and is_ is not None:
            gained.append(name)
        elif was is not None and is_ is None:
            lost.append(name)
        elif was is not None and is_ is not None and was.id != is_.id:
            changed.append(name)
    return Effect(workspace, gained, changed, lost)
