"""What a directory file makes of an organization's variable sets. What is in them stays."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from teamvars.decisions import variable_sets
from teamvars.domain.directory import OrganizationEntry, SetEntry
from teamvars.domain.errors import GLOBAL_KEY_TAKEN, Code, Fault
from teamvars.domain.ids import new_id, prefix_of
from teamvars.domain.names import fold
from teamvars.domain.projects import PREFIX as PROJECT
from teamvars.domain.projects import Project
from teamvars.domain.variable_sets import (
    OF_PROJECT,
    PREFIX,
    Attached,
    SetDraft,
    SetLimits,
    VariableSet,
    too_many_global,
    too_many_sets,
)
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files.actual import OrganizationState, Part, unnamed
from teamvars.services.directory_files.changeset import Changeset, Step
from teamvars.storage import variable_sets as storage
from teamvars.storage.database import Transaction

Kind = Literal["workspace", "project"]
"""What a set is attached to."""

_MOST_NAMED = 10
"""Workspaces, projects or keys that a fault names."""


class Sets(Part):
    """Compares the variable sets of one organization's entry with its `state`, whose workspaces and
    projects are those that there are once the file is applied.
    """

    def __init__(
        self,
        entry: OrganizationEntry,
        state: OrganizationState,
        changeset: Changeset,
        limits: SetLimits,
    ) -> None:
        super().__init__(entry, state, changeset)
        self._limits = limits
        self._names: Mapping[Kind, Mapping[str, str]] = {
            "workspace": {one.id: one.name for one in state.workspaces.values()},
            "project": {one.id: one.name for one in state.projects.values()},
        }
        self._made = 0
        self._attached: Counter[str] = Counter()
        self._widened: dict[str, SetEntry] = {}

    def apply(self, *, prune: bool, delete_variables: bool) -> None:
        """Renames, adds, changes and attaches what the file names, and with `prune` removes all
        others. Refuses to remove those that have variables, and more than there may be.
        """
        state, changeset = self._state, self._changeset
        names = state.names("variable set", state.sets, self._entry.variable_sets)
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
            self._refuse(self._widened[set_id], fault.detail, fault.code)

    def _apply(self, entry: SetEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.sets.get(fold(entry.name))
        named = [] if entry.project is None else [entry.project]
        project_id = next(self._found(entry, "project", named), None)
        base = before or VariableSet(
            new_id(PREFIX),
            entry.name,
            state.id,
            state.name,
            created_at=changeset.now,
            project_id=project_id,
        )
        draft = SetDraft(
            project_id=project_id,
            description=entry.description,
            is_global=entry.is_global,
            is_priority=entry.is_priority,
        )
        for fault in draft.conflicts(base):
            self._refuse(entry, fault.detail, fault.code)
        after = state.sets[fold(entry.name)] = draft.applied_to(base)
        told = f"variable set {state.name}/{after.name}"
        if after.is_global and not (before and before.is_global):
            self._widened[after.id] = entry
        if before is None:
            self._made += 1
            changeset.add(Step.CREATE_SET, [f"create {told}"], variable_sets.created, after)
        elif after != before:
            step = Step.WIDEN_SET if after.id in self._widened else Step.CHANGE_SET
            changeset.add(step, [f"update {told}"], variable_sets.changed, before, after)
        self._attach(entry, after)

    def _attach(self, entry: SetEntry, one: VariableSet) -> None:
        """Attaches a set to the workspaces, or projects, that the file names, and to no others."""
        spaces, projects = self._names["workspace"], self._names["project"]
        before = self._before(one)
        after = self._kept(before)
        if entry.workspaces is not None:
            found = frozenset(self._found(entry, "workspace", entry.workspaces))
            after = replace(after, workspaces=found)
        if entry.projects is not None:
            found = frozenset(self._found(entry, "project", entry.projects))
            after = replace(after, projects=found)
        self._require_own(entry, one, after)
        more, fewer = after.but(before), before.but(after)
        path = f"variable set {self._state.name}/{one.name}"
        told = [
            f"{verb} {path} {to} {kind} {name}"
            for verb, to, change in (("attach", "to", more), ("detach", "from", fewer))
            for kind, names, some in (
                ("workspace", spaces, change.workspaces),
                ("project", projects, change.projects),
            )
            for name in sorted(names[id_] for id_ in some if id_ in names)
        ]
        self._changeset.add(Step.ATTACH_SET, told, variable_sets.attached, one, before, after)
        self._attached.update(more.workspaces | more.projects)
        self._state.attached[one.id] = after.workspaces | after.projects

    def _before(self, one: VariableSet) -> Attached:
        """What a set is attached to before the file is applied, also what goes with that."""
        ids = self._state.attached.get(one.id, frozenset())
        in_projects = frozenset(id_ for id_ in ids if prefix_of(id_) == PROJECT)
        return Attached(ids - in_projects, in_projects)

    def _kept(self, before: Attached) -> Attached:
        """What of it stays."""
        there = self._names
        spaces, projects = there["workspace"].keys(), there["project"].keys()
        return Attached(before.workspaces & spaces, before.projects & projects)

    def _require_own(self, entry: SetEntry, one: VariableSet, attached: Attached) -> None:
        """Refuses to attach a set of a project to what is not in it, once the file is applied."""
        if one.project_id is None:
            return
        spaces, projects = self._names["workspace"], self._names["project"]
        beside = [
            *(
                spaces[id_]
                for id_ in attached.workspaces
                if self._state.project_of(id_) != one.project_id
            ),
            *(projects[id_] for id_ in attached.projects if id_ != one.project_id),
        ]
        if beside:
            names = ", ".join(sorted(beside)[:_MOST_NAMED])
            self._refuse(entry, f"{OF_PROJECT} Not in it: {names}.")

    def _found(self, entry: SetEntry, kind: Kind, names: Sequence[str]) -> Iterator[str]:
        """The ids of what the file names; what is not there is refused."""
        state = self._state
        places = entry.workspace_at if kind == "workspace" else entry.project_at
        live: Mapping[str, Workspace | Project] = (
            state.workspaces if kind == "workspace" else state.projects
        )

        def refuse(name: str, hint: str) -> None:
            self._refuse(entry, f"there is no {kind} {name}.{hint}", at=places.get(name))

        return (one.id for _, one in state.meant(kind, live, names, refuse))

    def _refuse(
        self,
        entry: SetEntry,
        detail: str,
        code: Code = Code.INVALID_VALUE,
        at: str | None = None,
    ) -> None:
        told = f"Variable set {self._state.name}/{entry.name}: {detail}"
        self._changeset.refuse(told, at or entry.at, code)

    def _require_projects(self) -> None:
        """Refuses to remove a project that has a set of its own."""
        there = self._names["project"]
        for one in self._state.sets.values():
            if one.project_id is not None and one.project_id not in there:
                path = f"{self._state.name}/{one.name}"
                detail = f"Variable set {path} is of a project that is not in the file."
                self._changeset.refuse(detail, self._entry.at)

    def _prune(self, *, delete_variables: bool) -> None:
        state, changeset = self._state, self._changeset
        there = dict(sorted(state.sets.items()))
        for one in unnamed(there, (entry.name for entry in self._entry.variable_sets)):
            path = f"{state.name}/{one.name}"
            if not delete_variables:
                self._refuse_held(f"Variable set {path}", state.set_variables[one.id])
            told = [f"delete variable set {path}"]
            changeset.add(Step.DELETE_SET, told, variable_sets.deleted, one)
            del state.sets[fold(one.name)]
            state.attached.pop(one.id, None)

    def _require_room(self) -> None:
        state, limits = self._state, self._limits
        if self._made and len(state.sets) > limits.sets:
            self._refuse_all(too_many_sets(limits.sets))
        if self._widened and sum(one.is_global for one in state.sets.values()) > limits.of_target:
            self._refuse_all(too_many_global(limits.of_target))
        counts = Counter(id_ for ids in state.attached.values() for id_ in ids)
        full = {id_ for id_ in self._attached if counts[id_] > limits.of_target}
        for kind, names in self._names.items():
            if told := sorted(names[id_] for id_ in full if id_ in names):
                said = (
                    f"At most {limits.of_target} variable sets are attached to a {kind}, and more"
                )
                detail = f"{said} would be to {', '.join(told[:_MOST_NAMED])}."
                self._refuse_all(Fault(Code.TOO_MANY_ITEMS, detail))

    def _refuse_all(self, fault: Fault) -> None:
        self._changeset.refuse(fault.detail, self._entry.at, fault.code)
