"""What a change of a set makes of workspaces: which get a value, another value, or lose one."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from teamvars.domain.applies import Name
from teamvars.domain.effective import Level, Reach, Source
from teamvars.domain.errors import Fault
from teamvars.domain.variable_sets import SetDraft, VariableSet
from teamvars.domain.workspaces import Workspace

MOST_NAMED = 100
"""Workspaces that are told by name."""


class PreviewDraft(msgspec.Struct, frozen=True):
    """What a request asks about: a change of a set, or that it goes."""

    change: SetDraft
    is_deleted: bool = False
    faults: tuple[Fault, ...] = ()


class Standing(msgspec.Struct, frozen=True):
    """A set as it is or would be, and the workspaces that it is attached to."""

    set: VariableSet
    attached: Collection[str]

    def source(self, workspace_id: str) -> Source | None:
        """What it is for a workspace; None: it does not reach that."""
        ways: list[Reach] = ["global"] if self.set.is_global else []
        if workspace_id in self.attached:
            ways.append("workspace")
        return _source(self.set.id, self.set.name, ways, is_priority=self.set.is_priority)


class Rival(msgspec.Struct, frozen=True):
    """A variable of another set with a key and category of this one: by what it is attached to."""

    set_id: str
    set_name: str
    is_priority: bool
    target_id: str
    name: Name


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
    """How many workspaces get a value, another value, and lose one; and the first of them all."""

    set_id: str
    gaining: int
    changing: int
    losing: int
    first: Sequence[Effect]


Outcome = tuple[Sequence[Name], Sequence[Name], Sequence[Name]]
"""What is gained, changed and lost."""


class Comparison:
    """A set before and after a change, which may be that it goes, among all that it rivals with."""

    def __init__(
        self,
        names: Sequence[Name],
        before: Standing,
        after: Standing | None,
        own: Iterable[tuple[str, Name]],
        rivals: Iterable[Rival],
    ) -> None:
        """`own` are the variables of workspaces with one of these names."""
        self._names = names
        self._before, self._after = before, after
        self._own: dict[str, set[Name]] = {}
        for workspace_id, name in own:
            self._own.setdefault(workspace_id, set()).add(name)
        self._rivals: dict[str, list[Rival]] = {}
        for rival in rivals:
            self._rivals.setdefault(rival.target_id, []).append(rival)
        self._known: dict[object, Outcome] = {}

    def of(self, workspace: Workspace) -> Effect:
        """What becomes of a workspace. Most are alike, and thought about once."""
        id_ = workspace.id
        pair = self._before.source(id_), self._after.source(id_) if self._after else None
        own = frozenset(self._own.get(id_, ()))
        attached = tuple(self._rivals.get(id_, ()))
        alike = pair, own, attached
        if alike not in self._known:
            everywhere = self._rivals.get(workspace.organization_id, ())
            rivals = _strongest(own, (*attached, *everywhere), workspace)
            self._known[alike] = self._outcome(*pair, rivals)
        return Effect(workspace, *self._known[alike])

    def _outcome(
        self, before: Source | None, after: Source | None, rivals: Mapping[Name, Source]
    ) -> Outcome:
        gained, changed, lost = [], [], []
        for name in self._names:
            rival = rivals.get(name)
            was, is_ = _counts(before, rival), _counts(after, rival)
            if was == is_:
                continue
            if rival is not None:
                changed.append(name)
            elif is_:
                gained.append(name)
            else:
                lost.append(name)
        return gained, changed, lost


def effects(set_id: str, comparison: Comparison, workspaces: Iterable[Workspace]) -> Effects:
    """What becomes of all of these workspaces, those that are told by name in that order."""
    every = [one for one in map(comparison.of, workspaces) if one.gained or one.changed or one.lost]
    return Effects(
        set_id,
        sum(1 for one in every if one.gained),
        sum(1 for one in every if one.changed),
        sum(1 for one in every if one.lost),
        every[:MOST_NAMED],
    )


def _counts(mine: Source | None, rival: Source | None) -> bool:
    """Whether the variable of the set counts."""
    return mine is not None and (rival is None or mine.rank < rival.rank)


def _strongest(
    own: Collection[Name], rivals: Sequence[Rival], workspace: Workspace
) -> Mapping[Name, Source]:
    """What counts without the set, by key and category."""
    ways: dict[tuple[str, str, bool, Name], list[Reach]] = {}
    for one in rivals:
        way: Reach = "workspace" if one.target_id == workspace.id else "global"
        rival = one.set_id, one.set_name, one.is_priority, one.name
        ways.setdefault(rival, []).append(way)
    found = {name: Source(workspace.id, "", Level.WORKSPACE) for name in own}
    for (id_, set_name, is_priority, name), reach in ways.items():
        source = _source(id_, set_name, reach, is_priority=is_priority)
        if source is not None and not _counts(found.get(name), source):
            found[name] = source
    return found


def _source(id_: str, name: str, ways: Sequence[Reach], *, is_priority: bool) -> Source | None:
    if not ways:
        return None
    return Source.of_set(id_, name, is_priority=is_priority, parent="organization", reach=ways)
