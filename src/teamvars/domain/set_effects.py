"""What a change of a set makes of workspaces: which get a value, another value, or lose one."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from teamvars.domain.applies import Name
from teamvars.domain.effective import Level, Reach, Source
from teamvars.domain.errors import Fault
from teamvars.domain.variable_sets import Attached, Parent, SetDraft, VariableSet
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

    def source(self, workspace_id: str, project_id: str) -> Source | None:
        """What it is for a workspace in that project; None: it does not reach that."""
        ways: list[Reach] = ["global"] if self.set.is_global else []
        if project_id in self.attached.projects:
            ways.append("project")
        if workspace_id in self.attached.workspaces:
            ways.append("workspace")
        if not ways:
            return None
        one = self.set
        return Source.of_set(
            one.id, one.name, is_priority=one.is_priority, parent=one.parent, reach=ways
        )


class RivalSet(msgspec.Struct, frozen=True):
    """Another set that some of its variables are in conflict by, as far as its level goes."""

    id: str
    name: str
    is_priority: bool
    parent: Parent


class Rival(msgspec.Struct, frozen=True):
    """A variable of another set with a key and category of this one, for each target of that."""

    set: RivalSet
    target_id: str
    name: Name


class Alteration(msgspec.Struct, frozen=True):
    """What becomes of variables of a set: which are new, go, or say something else to a run."""

    created: frozenset[Name] = frozenset()
    deleted: frozenset[Name] = frozenset()
    updated: frozenset[Name] = frozenset()

    @property
    def names(self) -> tuple[Name, ...]:
        """All of them, in order."""
        return tuple(sorted(self.created | self.deleted | self.updated))


class Contest(msgspec.Struct, frozen=True):
    """The keys and categories of a set that a change is about; each workspace of the organization
    that has one of them itself; and the variables of other sets with one.
    """

    names: Sequence[Name]
    own: Sequence[tuple[str, Name]]
    rivals: Sequence[Rival]


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
    """A set before and after a change, which may be that it goes or one of its variables, among all
    that it rivals with.
    """

    def __init__(
        self,
        before: Standing,
        after: Standing | None,
        contest: Contest,
        places: Mapping[str, str],
        alteration: Alteration = Alteration(),  # noqa: B008 - frozen
    ) -> None:
        """`places` are the projects of all workspaces, by id."""
        self._alteration = alteration
        self._names = contest.names
        self._places = places
        self._before, self._after = before, after
        self._own: dict[str, set[Name]] = {}
        for workspace_id, name in contest.own:
            self._own.setdefault(workspace_id, set()).add(name)
        self._rivals: dict[str, list[Rival]] = {}
        for rival in contest.rivals:
            self._rivals.setdefault(rival.target_id, []).append(rival)
        self._known: dict[object, Outcome] = {}

    def of(self, workspace: Workspace) -> Effect:
        """What becomes of a workspace. Most are alike, and thought about once."""
        id_, project_id = workspace.id, self._places[workspace.id]
        before, after = self._sources(id_, project_id)
        own = frozenset(self._own.get(id_, ()))
        alone, together = self._rivals.get(id_, ()), self._rivals.get(project_id, ())
        alike = before, after, own, tuple(alone), project_id if together else None
        if alike not in self._known:
            everywhere = self._rivals.get(workspace.organization_id, ())
            ways: Mapping[Reach, Sequence[Rival]] = {
                "workspace": alone,
                "project": together,
                "global": everywhere,
            }
            self._known[alike] = self._outcome(before, after, _strongest(own, ways))
        return Effect(workspace, *self._known[alike])

    def alone(self, workspace: Workspace) -> Effect:
        """The same if it had nothing but this set. Nobody learns from it what it has."""
        alike = self._sources(workspace.id, self._places[workspace.id])
        if alike not in self._known:
            self._known[alike] = self._outcome(*alike, {})
        return Effect(workspace, *self._known[alike])

    def _sources(self, workspace_id: str, project_id: str) -> tuple[Source | None, Source | None]:
        """What the set is for a workspace in that project, before and after."""
        before = self._before.source(workspace_id, project_id)
        return before, self._after.source(workspace_id, project_id) if self._after else None

    def _outcome(
        self, before: Source | None, after: Source | None, rivals: Mapping[Name, Source]
    ) -> Outcome:
        gained, changed, lost = [], [], []
        made = self._alteration
        for name in self._names:
            rival = rivals.get(name)
            was = name not in made.created and _counts(before, rival)
            is_ = name not in made.deleted and _counts(after, rival)
            if was == is_ and not (is_ and name in made.updated):
                continue
            if rival is not None or was == is_:
                changed.append(name)
            elif is_:
                gained.append(name)
            else:
                lost.append(name)
        return gained, changed, lost


def effects(
    set_id: str,
    comparison: Comparison,
    workspaces: Iterable[Workspace],
    seen: Collection[str],
) -> Effects:
    """What becomes of all of these workspaces; those are told by name, in that order, whose ids the
    caller sees. Others are counted as if they had nothing else: else who writes a set could try
    which keys they have.
    """
    found = (comparison.of(one) if one.id in seen else comparison.alone(one) for one in workspaces)
    every = [one for one in found if one.gained or one.changed or one.lost]
    return Effects(
        set_id,
        sum(1 for one in every if one.gained),
        sum(1 for one in every if one.changed),
        sum(1 for one in every if one.lost),
        [one for one in every if one.workspace.id in seen][:MOST_NAMED],
    )


def _counts(mine: Source | None, rival: Source | None) -> bool:
    """Whether the variable of the set counts."""
    return mine is not None and (rival is None or mine.rank < rival.rank)


def _strongest(
    own: Collection[Name], rivals: Mapping[Reach, Sequence[Rival]]
) -> Mapping[Name, Source]:
    """What counts without the set, by key and category."""
    ways: dict[tuple[RivalSet, Name], list[Reach]] = {}
    for way, ones in rivals.items():
        for rival in ones:
            ways.setdefault((rival.set, rival.name), []).append(way)
    found = {name: Source("", "", Level.WORKSPACE) for name in own}
    for (one, name), reach in ways.items():
        source = Source.of_set(
            one.id, one.name, is_priority=one.is_priority, parent=one.parent, reach=reach
        )
        if not _counts(found.get(name), source):
            found[name] = source
    return found
