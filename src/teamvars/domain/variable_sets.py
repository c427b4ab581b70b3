"""Variable sets: variables that several workspaces share; and variables with what they belong to, a
set or a workspace.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import Code, Fault, invalid, other_id
from teamvars.domain.linked import IdsDraft, ResourceDraft
from teamvars.domain.names import fold, is_safe
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Quota, Workspace

Parent = Literal["organization", "project"]
"""Whose a set is."""
TargetKind = Literal["workspaces", "projects"]
"""What a set is attached to, as relationships of it are called."""
KINDS: tuple[TargetKind, ...] = ("workspaces", "projects")
PREFIX = "varset"
"""Of the ids of sets."""
MAX_NAME_CHARACTERS = 90
MAX_DESCRIPTION_CHARACTERS = 512
MAX_VALUE_BYTES = 256 * 1024
"""Of all values of a set together: a workspace may get many sets at once."""
PARENT = "/data/relationships/parent/data/id"
"""Where a document says whose a set is."""
OF_PROJECT = "A set of a project is attached to that project, or to workspaces in it."
NAME_RULE = f"1 to {MAX_NAME_CHARACTERS} characters on one line, and no space at either end"


class VariableSet(msgspec.Struct, frozen=True):
    """A set of an organization, or of one of its projects: where it has a `project_id`. One that is
    global reaches all workspaces of the organization, and one that is priority comes before what
    workspaces have themselves. `created_at` in µs UTC.
    """

    id: str
    name: str
    organization_id: str
    organization_name: str
    description: str = ""
    is_global: bool = False
    is_priority: bool = False
    created_at: int = 0
    project_id: str | None = None

    @property
    def parent(self) -> Parent:
        """Whose it is."""
        return "organization" if self.project_id is None else "project"

    @property
    def scope(self) -> str:
        """The id of that in which no two variables have the same key and category: of the set, or
        of the organization, all of whose global sets are one in this.
        """
        return self.organization_id if self.is_global else self.id


MOST_SETS = 10_000
"""Of an organization, whatever its operator says: a search goes through all that one sees."""


class SetLimits(msgspec.Struct, frozen=True):
    """How many sets an organization has at most, how many can be attached to one workspace, as many
    to one project, and as many be global, and what a set may hold.
    """

    sets: int
    of_target: int
    of_set: Quota

    @classmethod
    def of(cls, sets: int = 1000, of_target: int = 100, variables: int = 500) -> "SetLimits":
        """Limits with that many variables in a set."""
        quota = Quota(variables, MAX_VALUE_BYTES, Code.VARIABLE_SET_FULL, "variable set")
        return cls(sets, of_target, quota)


class Target(msgspec.Struct, frozen=True):
    """What a set is attached to: a workspace, a project, or with a global one the organization."""

    set_id: str
    target_id: str
    workspace_id: str | None = None
    project_id: str | None = None

    @property
    def id(self) -> str:
        """The set and the target, as one key."""
        return f"{self.set_id}/{self.target_id}"

    @classmethod
    def of_workspace(cls, set_id: str, workspace_id: str) -> "Target":
        """A workspace."""
        return cls(set_id, workspace_id, workspace_id=workspace_id)

    @classmethod
    def of_project(cls, set_id: str, project_id: str) -> "Target":
        """All workspaces in a project."""
        return cls(set_id, project_id, project_id=project_id)

    @classmethod
    def of_all(cls, one: VariableSet) -> "Target":
        """All workspaces of the organization."""
        return cls(one.id, one.organization_id)


class Attached(msgspec.Struct, frozen=True):
    """The ids of the workspaces and of the projects that a set is attached to."""

    workspaces: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()

    def of(self, kind: TargetKind) -> frozenset[str]:
        """Those of one kind."""
        return self.workspaces if kind == "workspaces" else self.projects

    def targets(self, set_id: str) -> Mapping[str, Target]:
        """The same as targets, by their ids."""
        ones = [
            *(Target.of_workspace(set_id, id_) for id_ in sorted(self.workspaces)),
            *(Target.of_project(set_id, id_) for id_ in sorted(self.projects)),
        ]
        return {one.id: one for one in ones}

    def reaches(self, workspace_id: str, project_id: str) -> bool:
        """Whether it reaches a workspace that is in that project."""
        return workspace_id in self.workspaces or project_id in self.projects

    def but(self, other: "Attached") -> "Attached":
        """What is not in the other."""
        return Attached(self.workspaces - other.workspaces, self.projects - other.projects)


class Attaching(StrEnum):
    """What becomes of what a set is attached to, when some of it is named."""

    ADD = "add"
    REMOVE = "remove"

    def applied_to(self, before: Collection[str], named: Collection[str]) -> frozenset[str]:
        """What it is attached to then."""
        is_added = self is Attaching.ADD
        return frozenset(before) | set(named) if is_added else frozenset(before) - set(named)


class TargetsDraft(IdsDraft, frozen=True):
    """Workspaces or projects that a request names, `at` that place, which a set is to be attached
    to, or no more; or the request asks what would come of it.
    """

    kind: TargetKind = "workspaces"
    dry_run: bool = False
    at: str = "/data"


class SetSearch(msgspec.Struct, frozen=True):
    """Which sets are wanted: those with a part of the name, with a project those that are its own
    or reach all in it, and perhaps only those that are global or are not, and only the
    organization's own.
    """

    part: str = ""
    project_id: str | None = None
    is_global: bool | None = None
    is_owned: bool = False


class SetDraft(ResourceDraft, frozen=True):
    """What a request says of a set; None where it says nothing usable.

    `parent` is the name of the organization that it is to belong to, or `project_id` the id of the
    project. `workspaces` and `projects` are those that it is to be attached to, and no others.
    """

    parent: str | None = None
    project_id: str | None = None
    name: str | None = None
    description: str | None = None
    is_global: bool | None = None
    is_priority: bool | None = None
    workspaces: TargetsDraft | None = None
    projects: TargetsDraft | None = None

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        faults = list(self.faults)
        if self.name is not None and not is_set_name(self.name):
            faults.append(invalid("name", f"The name of a variable set has {NAME_RULE}."))
        if len(self.description or "") > MAX_DESCRIPTION_CHARACTERS:
            length = f"at most {MAX_DESCRIPTION_CHARACTERS} characters"
            faults.append(invalid("description", f"A description has {length}."))
        return faults

    def conflicts(self, one: VariableSet) -> list[Fault]:
        """A fault for another id than the path's, for another parent than it has, and for one of a
        project that would be global.
        """
        faults = other_id(self.id, one.id, "variable set")
        if self._names_other_parent(one):
            detail = "A variable set belongs to the organization or project that it is made in."
            faults.append(Fault(Code.RELATIONSHIP_CONFLICT, detail, pointer=PARENT))
        if self.is_global and one.project_id is not None:
            detail = "A variable set of a project reaches no more than the workspaces in it."
            faults.append(invalid("global", detail))
        return faults

    def _names_other_parent(self, one: VariableSet) -> bool:
        if self.project_id is not None:
            return self.project_id != one.project_id
        if self.parent is None:
            return False
        return one.project_id is not None or fold(self.parent) != fold(one.organization_name)

    def applied_to(self, one: VariableSet) -> VariableSet:
        """The set as a draft without faults makes it."""
        names = ("name", "description", "is_global", "is_priority")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(one, **said)


class SetDetails(msgspec.Struct, frozen=True):
    """What variables do not need of a set: the names of the workspaces and of the projects that it
    is attached to, as far as the caller sees them, by id; its variables, newest first, or None
    where a list would have too many, and how many they are; and when anything of it last changed.
    """

    workspaces: Mapping[str, str] = {}
    projects: Mapping[str, str] = {}
    variable_ids: Sequence[str] | None = ()
    updated_at: int = 0
    variables_count: int = 0


def is_set_name(text: str) -> bool:
    """Whether it can name a variable set."""
    return 1 <= len(text) <= MAX_NAME_CHARACTERS and text == text.strip() and is_safe(text)


def too_many_global(most: int) -> Fault:
    """As many sets reach all workspaces as may: every delivery has to open what is in them."""
    detail = f"At most {most} variable sets of an organization are global."
    return Fault(Code.TOO_MANY_ITEMS, detail, pointer="/data/attributes/global")


def too_many_sets(most: int) -> Fault:
    """An organization has as many sets as it may."""
    return Fault(Code.TOO_MANY_ITEMS, f"An organization has at most {most} variable sets.")


Owner = Workspace | VariableSet
"""What has variables."""
Quotas = Mapping[type[Owner], Quota]
"""What each kind of them may hold."""


class OwnedVariable(msgspec.Struct, frozen=True):
    """A variable as its readers see it, and what it belongs to."""

    owner: Owner
    variable: Variable

    def without_value(self) -> "OwnedVariable":
        """The same, without the value."""
        return replace(self, variable=self.variable.with_value(None))
