"""What changes of sets make of workspaces: which get a value, another value, or lose one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from teamvars.domain.applies import Name
from teamvars.domain.effective import Reach, Source
from teamvars.domain.errors import Fault
from teamvars.domain.variable_sets import Attached, SetDraft, VariableSet
from teamvars.domain.workspaces import Workspace

MOST_NAMED = 100
"""Workspaces that are told by name."""


class PreviewDraft(msgspec.Struct, frozen=True):
    """What a request asks about: a change of a set, or that it goes."""

    change: SetDraft
    is_deleted: bool = False
    faults: tuple[Fault, ...] = ()


class Standing(msgspec.Struct, frozen=True):
    """A set as it is or would be, and what it is attached to."""

    set: VariableSet
    attached: Attached

    def reaches(self, workspace_id: str, project_id: str) -> bool:
        """Whether it reaches a workspace that is in that project."""
        return self.set.is_global or self.attached.reaches(workspace_id, project_id)


Held = Mapping[str, frozenset[Name]]
"""The keys and categories that matter of sets, or of workspaces, by their ids."""


class Layout(msgspec.Struct, frozen=True):
    """The sets of an organization by id, the ids of what each is attached to, the projects that the
    workspaces are in, by their ids, and what sets have that matters.
    """

    sets: Mapping[str, VariableSet]
    attached: Mapping[str, Collection[str]]
    places: Mapping[str, str]
    held: Held = {}

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

    def having(self, one: Standing, names: Collection[Name]) -> "Layout":
        """With that set, and these in it."""
        id_, its = one.set.id, one.attached.workspaces | one.attached.projects
        return Layout(
            {**self.sets, id_: one.set},
            {**self.attached, id_: its},
            self.places,
            {**self.held, id_: frozenset(names)},
        )

    def only(self, set_id: str) -> "Layout":
        """Without the other sets."""
        return replace(self, sets={id_: one for id_, one in self.sets.items() if id_ == set_id})

    def _of(self, set_id: str) -> tuple[VariableSet | None, Collection[str]]:
        return self.sets.get(set_id), frozenset(self.attached.get(set_id, ()))

    def by_target(self) -> "Reaching":
        """Where those of the sets reach that have something that matters."""
        found: dict[str, list[VariableSet]] = {}
        for one in self.sets.values():
            everywhere = (one.organization_id,) if one.is_global else ()
            for id_ in (*everywhere, *self.attached.get(one.id, ())) if one.id in self.held else ():
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


class Alteration(msgspec.Struct, frozen=True):
    """What becomes of variables of a set: which are new, go, or say something else to a run."""

    created: frozenset[Name] = frozenset()
    deleted: frozenset[Name] = frozenset()
    updated: frozenset[Name] = frozenset()

    @property
    def names(self) -> tuple[Name, ...]:
        """All of them, in order."""
        return tuple(sorted(self.created | self.deleted | self.updated))


class Effect(msgspec.Struct, frozen=True):
    """What becomes of one workspace, by keys and categories; and the names of the runners that it
    is handed to.
    """

    workspace: Workspace
    gained: Sequence[Name] = ()
    changed: Sequence[Name] = ()
    lost: Sequence[Name] = ()
    runners: Sequence[str] = ()


class Effects(msgspec.Struct, frozen=True):
    """How many workspaces get a value, another value, and lose one; and the first of all those that
    the caller sees.
    """

    set_id: str
    gaining: int
    changing: int
    losing: int
    first: Sequence[Effect]


Outcome = tuple[Sequence[Name], Sequence[Name], Sequence[Name]]
"""What is gained, changed and lost."""


class Comparison:
    """Workspaces before and after sets have changed, or variables of sets, or workspaces have been
    moved.
    """

    def __init__(self, before: Layout, after: Layout, own: Held, updated: Held) -> None:
        """`own` is what workspaces have themselves, and `updated` what says something else in sets
        that have it before and after.
        """
        self._before, self._after = before, after
        self._was, self._is = before.by_target(), after.by_target()
        self._own, self._updated = own, updated
        self._known: dict[object, Outcome] = {}

    def of(self, workspace: Workspace) -> Effect:
        """What becomes of a workspace. Most are alike, and thought about once."""
        own = self._own.get(workspace.id, frozenset())
        alike = self._was.alike(workspace), self._is.alike(workspace), own
        if alike not in self._known:
            self._known[alike] = self._outcome(workspace, own)
        return Effect(workspace, *self._known[alike])

    def alone(self, set_id: str) -> "Comparison":
        """The same if workspaces had nothing but one set. Nobody learns from it what they have."""
        before, after = self._before.only(set_id), self._after.only(set_id)
        return Comparison(before, after, {}, self._updated)

    def _outcome(self, workspace: Workspace, own: frozenset[Name]) -> Outcome:
        before, after = self._was.sources(workspace), self._is.sources(workspace)
        gained, changed, lost = [], [], []
        for name in sorted(self._touched(before, after)):
            was = _winner(name, before, self._before.held, own)
            is_ = _winner(name, after, self._after.held, own)
            if was is None and is_ is not None:
                gained.append(name)
            elif was is not None and is_ is None:
                lost.append(name)
            elif was is not None and is_ is not None and self._differ(name, was, is_):
                changed.append(name)
        return gained, changed, lost

    def _touched(self, before: frozenset[Source], after: frozenset[Source]) -> frozenset[Name]:
        """What may be another: all that sets have which reach it otherwise, and of the others what
        they have on one side, or is updated.
        """
        found: set[Name] = set()
        for one in before | after:
            was, is_ = (side.held.get(one.id, frozenset()) for side in (self._before, self._after))
            stays = one in before and one in after
            found |= (was ^ is_) | self._updated.get(one.id, frozenset()) if stays else was | is_
        return frozenset(found)

    def _differ(self, name: Name, was: Source, is_: Source) -> bool:
        return was.id != is_.id or name in self._updated.get(is_.id, ())


class Contest(msgspec.Struct, frozen=True):
    """The keys and categories of a set that a change is about; the other sets that have one of
    them; and which of them each workspace of the organization has itself.
    """

    names: Sequence[Name]
    others: Layout
    own: Held

    def as_set(self, before: Standing, after: Standing | None) -> Comparison:
        """As the set becomes another, or goes."""
        will_be = self.others if after is None else self.others.having(after, self.names)
        return Comparison(self.others.having(before, self.names), will_be, self.own, {})

    def as_altered(self, one: Standing, alteration: Alteration) -> Comparison:
        """As variables of the set are made, changed and deleted."""
        before = self.others.having(one, frozenset(self.names) - alteration.created)
        after = self.others.having(one, frozenset(self.names) - alteration.deleted)
        return Comparison(before, after, self.own, {one.set.id: alteration.updated})


class Tally:
    """What becomes of workspaces as a set changes: those are told by name whose ids the caller
    sees. Others are counted as if they had nothing else: else who writes a set could try which keys
    they have.
    """

    def __init__(self, set_id: str, comparison: Comparison, seen: Collection[str]) -> None:
        self._comparison, self._alone = comparison, comparison.alone(set_id)
        self._seen = seen
        self.told = Effects(set_id, 0, 0, 0, ())
        """Of all that were added."""

    def add(self, workspaces: Iterable[Workspace]) -> None:
        """Counts these, which come behind the others by name."""
        told, seen = self.told, self._seen
        every = affected(
            (self._comparison if one.id in seen else self._alone).of(one) for one in workspaces
        )
        named = [one for one in every if one.workspace.id in seen]
        self.told = Effects(
            told.set_id,
            told.gaining + sum(1 for one in every if one.gained),
            told.changing + sum(1 for one in every if one.changed),
            told.losing + sum(1 for one in every if one.lost),
            [*told.first, *named][:MOST_NAMED],
        )


def keys_of(names: Sequence[Name]) -> list[str]:
    """The keys of these variables, each once, whatever its category."""
    return list(dict.fromkeys(key for key, _ in names))


def affected(found: Iterable[Effect]) -> list[Effect]:
    """Those that say of a workspace that something becomes of it."""
    return [one for one in found if one.gained or one.changed or one.lost]


def _winner(
    name: Name, sources: Iterable[Source], held: Held, own: frozenset[Name]
) -> Source | None:
    """Where a workspace has what counts."""
    itself = [Source.of_workspace("")] if name in own else []
    rivals = (one for one in sources if name in held.get(one.id, ()))
    return min((*itself, *rivals), key=attrgetter("rank"), default=None)
