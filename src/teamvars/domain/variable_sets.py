"""Variable sets: variables that several workspaces share."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import OTHER_ID, Code, Fault, invalid
from teamvars.domain.linked import IdsDraft
from teamvars.domain.names import fold, is_safe
from teamvars.domain.workspaces import Quota

PREFIX = "varset"
"""Of the ids of sets."""
MAX_NAME_CHARACTERS = 90
MAX_DESCRIPTION_CHARACTERS = 512
MAX_VALUE_BYTES = 256 * 1024
"""Of all values of a set together: a workspace may get many sets at once."""
NAME_RULE = f"1 to {MAX_NAME_CHARACTERS} characters on one line, and no space at either end"


class VariableSet(msgspec.Struct, frozen=True):
    """A set of an organization. One that is global reaches all of its workspaces, and one that is
    priority comes before what workspaces have themselves. `created_at` in µs UTC.
    """

    id: str
    name: str
    organization_id: str
    organization_name: str
    description: str = ""
    is_global: bool = False
    is_priority: bool = False
    created_at: int = 0

    @property
    def scope(self) -> str:
        """The id of that in which no two variables have the same key and category: of the set, or
        of the organization, all of whose global sets are one in this.
        """
        return self.organization_id if self.is_global else self.id


class SetLimits(msgspec.Struct, frozen=True):
    """How many sets an organization has at most, how many can be attached to a workspace and as
    many be global, and what one may hold.
    """

    sets: int
    of_workspace: int
    of_set: Quota

    @classmethod
    def of(cls, sets: int = 1000, of_workspace: int = 100, variables: int = 500) -> "SetLimits":
        """Limits with that many variables in a set."""
        quota = Quota(variables, MAX_VALUE_BYTES, Code.VARIABLE_SET_FULL, "variable set")
        return cls(sets, of_workspace, quota)


class Target(msgspec.Struct, frozen=True):
    """What a set is attached to: a workspace, or with a global one the organization itself."""

    set_id: str
    target_id: str
    workspace_id: str | None

    @property
    def id(self) -> str:
        """The set and the target, as one key."""
        return f"{self.set_id}/{self.target_id}"

    @classmethod
    def of_workspace(cls, set_id: str, workspace_id: str) -> "Target":
        """A workspace."""
        return cls(set_id, workspace_id, workspace_id)

    @classmethod
    def of_all(cls, one: VariableSet) -> "Target":
        """All workspaces of the organization."""
        return cls(one.id, one.organization_id, None)


class Attaching(StrEnum):
    """What becomes of the workspaces that a set is attached to, when some are named."""

    ADD = "add"
    REMOVE = "remove"

    def applied_to(self, before: Collection[str], named: Collection[str]) -> frozenset[str]:
        """The workspaces that it is attached to then."""
        is_added = self is Attaching.ADD
        return frozenset(before) | set(named) if is_added else frozenset(before) - set(named)


class SetDraft(msgspec.Struct, frozen=True):
    """What a request says of a set; None where it says nothing usable.

    `id` is that of the document, when it has one, and `parent` the name of the organization that it
    is to belong to. `workspaces` are those that it is to be attached to, and no others.
    """

    id: str | None = None
    parent: str | None = None
    name: str | None = None
    description: str | None = None
    is_global: bool | None = None
    is_priority: bool | None = None
    workspaces: IdsDraft | None = None
    faults: tuple[Fault, ...] = ()

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
        """A fault for another id than the path's, and for another organization."""
        faults = [] if self.id in (None, one.id) else [OTHER_ID.filled(what="variable set")]
        if self.parent is not None and fold(self.parent) != fold(one.organization_name):
            detail = "A variable set belongs to the organization that it is made in."
            at = "/data/relationships/parent/data/id"
            faults.append(Fault(Code.INVALID_VALUE, detail, pointer=at))
        return faults

    def applied_to(self, one: VariableSet) -> VariableSet:
        """The set as a draft without faults makes it."""
        names = ("name", "description", "is_global", "is_priority")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(one, **said)


class SetDetails(msgspec.Struct, frozen=True):
    """What variables do not need of a set: the names of the workspaces that it is attached to, as
    far as the caller sees them, by id; its variables, newest first; and when anything of it last
    changed.
    """

    workspaces: Mapping[str, str] = {}
    variable_ids: Sequence[str] = ()
    updated_at: int = 0


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
