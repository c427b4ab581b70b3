"""What a directory file makes of an organization's variable sets. What is in them stays."""

from collections import Counter
from collections.abc import Iterator, Sequence

from teamvars.decisions import variable_sets
from teamvars.domain.directory import OrganizationEntry, SetEntry
from teamvars.domain.errors import GLOBAL_KEY_TAKEN, Code
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.projects import default_project_of
from teamvars.domain.variable_sets import (
    OF_PROJECT,
    PREFIX,
    Attached,
    SetDraft,
    SetLimits,
    VariableSet,
    too_many_sets,
)
from teamvars.services.directory_files.actual import OrganizationState
from teamvars.services.directory_files.changeset import Changeset, Step
from teamvars.services.directory_files.naming import Names
from teamvars.storage import variable_sets as storage
from teamvars.storage.database import Transaction

_MOST_NAMED = 10
"""Workspaces, or keys, that a fault names."""


class Sets:
    """Compares the variable sets of one organization's entry with its `state`, whose workspaces are
    those that there are once the file is applied.
    """

    def __init__(
        self,
        entry: OrganizationEntry,
        state: OrganizationState,
        changeset: Changeset,
        limits: SetLimits,
    ) -> None:
        self._entry = entry
        self._state = state
        self._changeset = changeset
        self._limits = limits
        self._names = {space.id: space.name for space in state.workspaces.values()}
        self._made = 0
        self._attached: Counter[str] = Counter()
        self._widened: dict[str, SetEntry] = {}

    def apply(self, *, prune: bool, delete_variables: bool) -> None:
        """Renames, adds, changes and attaches what the file names, and with `prune` removes all
        others. Refuses to remove those that have variables, and more than there may be.
        """
        state, changeset = self._state, self._changeset
        named = [(one.name, one.origin, one.at) for one in self._entry.variable_sets]
        place = "variable set", f"{state.name}/"
        names = Names(*place, named, state.sets, state.former_sets)
        names.rename(changeset, Step.RENAME_SET, variable_sets.changed)
        names.object_to(changeset)
        for entry in self._entry.variable_sets:
            self._apply(entry)
        if prune:
            self._prune(delete_variables=delete_variables)
        self._require_projects()
        self._require_room()

    async def require_own_keys(self, tx: Transaction) -> None:
        """No two sets that are global have a variable of the same key and category. A file can
        bring that about only by making one global that has variables.
        """
        everywhere = [one.id for one in self._state.sets.values() if one.is_global]
        shared: dict[str, list[str]] = {}
        if self._widened:
            for set_id, key in await storage.shared_keys(tx, self._widened, everywhere):
                shared.setdefault(set_id, []).append(key)
        for set_id, keys in shared.items():
            fault = GLOBAL_KEY_TAKEN.filled(keys=", ".join(keys[:_MOST_NAMED]))
            entry = self._widened[set_id]
            told = f"Variable set {self._state.name}/{entry.name}: {fault.detail}"
            self._changeset.refuse(told, entry.at, fault.code)

    def _apply(self, entry: SetEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.sets.get(fold(entry.name))
        base = before or VariableSet(
            new_id(PREFIX), entry.name, state.id, state.name, created_at=changeset.now
        )
        draft = SetDraft(
            description=entry.description,
            is_global=entry.is_global,
            is_priority=entry.is_priority,
        )
        after = state.sets[fold(entry.name)] = draft.applied_to(base)
        told = f"variable set {state.name}/{after.name}"
        for fault in draft.conflicts(base):
            changeset.refuse(f"{told.capitalize()}: {fault.detail}", entry.at, fault.code)
        is_wider = after.is_global and not base.is_global
        if before is None:
            self._made += 1
            changeset.add(Step.CREATE_SET, [f"create {told}"], variable_sets.created, after)
        elif after != before:
            step = Step.WIDEN_SET if is_wider else Step.CHANGE_SET
            changeset.add(step, [f"update {told}"], variable_sets.changed, before, after)
            if is_wider:
                self._widened[after.id] = entry
        if entry.workspaces is not None:
            self._attach(entry, entry.workspaces, after)

    def _attach(self, entry: SetEntry, workspaces: Sequence[str], one: VariableSet) -> None:
        state, names = self._state, self._names
        known = (id_ for id_ in state.attached.get(one.id, ()) if id_ in names)
        # A workspace that leaves the project of a set is attached to it no longer.
        before = frozenset(id_ for id_ in known if self._may_reach(one, id_))
        after = frozenset(self._found(entry, workspaces))
        if beside := sorted(names[id_] for id_ in after if not self._may_reach(one, id_)):
            detail = f"Variable set {state.name}/{one.name}: {OF_PROJECT} Not in it: "
            self._changeset.refuse(f"{detail}{', '.join(beside[:_MOST_NAMED])}.", entry.at)
        path = f"variable set {state.name}/{one.name}"
        told = [
            f"{verb} {path} {to} workspace {name}"
            for verb, to, ids in (
                ("attach", "to", after - before),
                ("detach", "from", before - after),
            )
            for name in sorted(names[id_] for id_ in ids)
        ]
        if told:
            both = Attached(before), Attached(after)
            self._changeset.add(Step.ATTACH_SET, told, variable_sets.attached, one, *both)
        self._attached.update(after - before)
        projects = {project.id for project in state.projects.values()}
        state.attached[one.id] = after | (state.attached.get(one.id, frozenset()) & projects)

    def _may_reach(self, one: VariableSet, workspace_id: str) -> bool:
        """Whether a set can be attached to a workspace, once the file is applied."""
        place = self._state.placed.get(workspace_id, default_project_of(self._state.id))
        return one.project_id in (None, place)

    def _require_projects(self) -> None:
        """Refuses to remove a project that has a set of its own."""
        there = {project.id for project in self._state.projects.values()}
        for one in self._state.sets.values():
            if one.project_id is not None and one.project_id not in there:
                path = f"{self._state.name}/{one.name}"
                detail = f"Variable set {path} is of a project that is not in the file."
                self._changeset.refuse(detail, self._entry.at)

    def _found(self, entry: SetEntry, workspaces: Sequence[str]) -> Iterator[str]:
        """The ids of the workspaces that the file names; what is not there is refused."""
        state = self._state
        for name in workspaces:
            if (workspace := state.workspaces.get(fold(name))) is not None:
                yield workspace.id
                continue
            missing = f"there is no workspace {name}.{state.former_workspaces.hint(name)}"
            detail = f"Variable set {state.name}/{entry.name}: {missing}"
            self._changeset.refuse(detail, entry.workspace_at.get(name, entry.at))

    def _prune(self, *, delete_variables: bool) -> None:
        state, changeset = self._state, self._changeset
        named = {fold(one.name) for one in self._entry.variable_sets}
        for name, one in sorted(state.sets.items()):
            if name in named:
                continue
            path = f"{state.name}/{one.name}"
            if (held := state.set_variables[one.id]) and not delete_variables:
                detail = (
                    f"Variable set {path} is not in the file and has {held} variables. "
                    "To remove both, add --delete-variables."
                )
                changeset.refuse(detail, self._entry.at)
            told = [f"delete variable set {path}"]
            changeset.add(Step.DELETE_SET, told, variable_sets.deleted, one)
            del state.sets[name]
            state.attached.pop(one.id, None)

    def _require_room(self) -> None:
        state, most = self._state, self._limits.of_target
        if self._made and len(state.sets) > self._limits.sets:
            fault = too_many_sets(self._limits.sets)
            self._changeset.refuse(fault.detail, self._entry.at, fault.code)
        if not self._attached:
            return
        counts = Counter(id_ for ids in state.attached.values() for id_ in ids)
        if full := sorted(self._names[id_] for id_ in self._attached if counts[id_] > most):
            told = f"At most {most} variable sets are attached to a workspace, and more would be to"
            detail = f"{told} {', '.join(full[:_MOST_NAMED])}."
            self._changeset.refuse(detail, self._entry.at, Code.TOO_MANY_ITEMS)
