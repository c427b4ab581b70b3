"""Tags of workspaces: names that stand alone, and bindings, which are keys with a value. Projects
have bindings alone, which their workspaces inherit.

Nothing here acts on them: they are what workspaces are found by.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import Code, Fault
from teamvars.domain.ids import derived_id
from teamvars.domain.names import fold

MAX_TAGS = 50
"""Of one workspace or project, names and bindings together."""
MAX_NAME_CHARACTERS = 255
MAX_KEY_CHARACTERS = 128
MAX_VALUE_CHARACTERS = 256

NAME = re.compile(rf"[A-Za-z0-9]([A-Za-z0-9_:-]{{0,{MAX_NAME_CHARACTERS - 2}}}[A-Za-z0-9])?")
KEY = re.compile(rf"[A-Za-z0-9_.:/+@ -]{{1,{MAX_KEY_CHARACTERS}}}")
VALUE = re.compile(rf"[A-Za-z0-9_.:/=+@ -]{{0,{MAX_VALUE_CHARACTERS}}}")

NAME_RULE = (
    f"A tag is 1 to {MAX_NAME_CHARACTERS} letters, digits, colons, hyphens or underscores, with a "
    "letter or digit at either end."
)
KEY_RULE = f"A key is 1 to {MAX_KEY_CHARACTERS} letters, digits, spaces and any of '_.:/+@-'."
VALUE_RULE = (
    f"A value is at most {MAX_VALUE_CHARACTERS} letters, digits, spaces and any of '_.:/=+@-'."
)
TOO_MANY_TAGS = Fault(Code.TOO_MANY_ITEMS, f"Nothing has more than {MAX_TAGS} tags of its own.")
NO_SUCH_TAG = Fault(Code.NOT_FOUND, "No workspace of the organization has a tag with this id.")


class Tags(msgspec.Struct, frozen=True):
    """The tags of a workspace: names in lower case, and values by key. Both are in order."""

    names: tuple[str, ...] = ()
    bindings: Mapping[str, str] = {}

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.names) + len(self.bindings)

    def but(self, other: "Tags") -> "Tags":
        """Those that the other has not, or with another value."""
        theirs = frozenset(other.names)
        bindings = {k: v for k, v in self.bindings.items() if other.bindings.get(k) != v}
        return Tags(tuple(name for name in self.names if name not in theirs), bindings)

    def changed_from(self, former: "Tags") -> list[str]:
        """What of them is not as it was, as documents call it."""
        pairs = {
            "tag-bindings": (self.bindings, former.bindings),
            "tag-names": (self.names, former.names),
        }
        return [name for name, (now, was) in pairs.items() if now != was]


class Tag(msgspec.Struct, frozen=True):
    """A name that some workspaces of an organization have. `id` follows from both, so it needs no
    row of its own and lasts as long as a workspace has it.

    `instance_count` says how many of those that the caller sees have it, where that was counted.
    """

    id: str
    name: str
    organization: str
    instance_count: int | None = None


class TagSearch(msgspec.Struct, frozen=True):
    """Which tags of an organization are wanted: by a part of the name, and those that one workspace
    does not have.
    """

    part: str = ""
    not_of: str | None = None


class Binding(msgspec.Struct, frozen=True):
    """A key of a workspace or project, with its value. A workspace may have it from its project."""

    id: str
    key: str
    value: str
    project_id: str | None = None


class TagRow(msgspec.Struct, frozen=True):
    """A tag as it is stored with its workspace: a name, with its `tag_id`, or a binding."""

    id: str
    workspace_id: str
    tag_id: str | None
    key: str
    value: str | None


class ProjectTagRow(msgspec.Struct, frozen=True):
    """A binding as it is stored with its project."""

    id: str
    project_id: str
    key: str
    value: str


class TagChange(StrEnum):
    """What becomes of the tags that a workspace has."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class SaidName(msgspec.Struct, frozen=True):
    """A tag that a request names, by name or by id, and where it does."""

    text: str
    at: str
    is_id: bool = False


class SaidBinding(msgspec.Struct, frozen=True):
    """A key with a value that a request names, and where their members are."""

    key: str
    value: str
    at: str


class TagsDraft(msgspec.Struct, frozen=True):
    """What a request says of tags; None: nothing. `faults` are those of its document, in which a
    list of them, the longest, is `at` that place.
    """

    names: tuple[SaidName, ...] | None = None
    bindings: tuple[SaidBinding, ...] | None = None
    faults: tuple[Fault, ...] = ()
    at: str = "/data"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that it names tags by."""
        return tuple(dict.fromkeys(one.text for one in self.names or () if one.is_id))

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [*self.faults, *self._name_faults(), *self._binding_faults()]

    def named(self, known: Mapping[str, str]) -> "TagsDraft":
        """The draft with names in the place of the ids that are known, and faults for others."""
        names = self.names or ()
        unknown = [NO_SUCH_TAG.at(one.at) for one in names if one.is_id and one.text not in known]
        named = tuple(
            SaidName(known[one.text], one.at) if one.text in known else one for one in names
        )
        faults = (*self.faults, *unknown)
        return replace(self, names=None if self.names is None else named, faults=faults)

    def applied_to(self, tags: Tags, change: TagChange) -> Tags:
        """The tags as the draft makes them."""
        names, bindings = tags.names, tags.bindings
        if self.names is not None:
            names = tuple(_changed(names, {fold(one.text) for one in self.names}, change))
        if self.bindings is not None:
            said = {one.key: one.value for one in self.bindings}
            values = {**bindings, **said}
            bindings = {key: values[key] for key in _changed(bindings, set(said), change)}
        return Tags(names, bindings)

    def surplus(self, before: Tags, change: TagChange) -> list[Fault]:
        """The fault of what would get more of them than it may have."""
        return [one.at(self.at) for one in surplus(before, self.applied_to(before, change))]

    def _name_faults(self) -> Iterator[Fault]:
        for one in self.names or ():
            if not one.is_id and NAME.fullmatch(one.text) is None:
                yield Fault(Code.INVALID_VALUE, NAME_RULE, pointer=one.at)

    def _binding_faults(self) -> Iterator[Fault]:
        values: dict[str, str] = {}
        for one in self.bindings or ():
            if KEY.fullmatch(one.key) is None:
                yield Fault(Code.INVALID_VALUE, KEY_RULE, pointer=f"{one.at}/key")
            elif values.setdefault(one.key, one.value) != one.value:
                detail = "This key is given another value before."
                yield Fault(Code.INVALID_VALUE, detail, pointer=f"{one.at}/key")
            if VALUE.fullmatch(one.value) is None:
                yield Fault(Code.INVALID_VALUE, VALUE_RULE, pointer=f"{one.at}/value")


def surplus(before: Tags, after: Tags) -> list[Fault]:
    """The fault of a workspace that gets more tags than it may have."""
    return [TOO_MANY_TAGS] if after.count > max(MAX_TAGS, before.count) else []


def tag_id_of(organization_id: str, name: str) -> str:
    """The id of a name in an organization, the same for all of its workspaces."""
    return derived_id("tag", organization_id, name)


def bindings_of(owner_id: str, bindings: Mapping[str, str]) -> list[Binding]:
    """The bindings of a workspace or project, by key."""
    return [
        Binding(derived_id("tb", owner_id, "=", key), key, value) for key, value in bindings.items()
    ]


def effective_bindings(
    workspace_id: str, own: Mapping[str, str], project_id: str, inherited: Mapping[str, str]
) -> list[Binding]:
    """The bindings that count in a workspace, by key: its own, and those of its project whose keys
    it has not itself.
    """
    from_project = [
        replace(one, project_id=project_id)
        for one in bindings_of(project_id, inherited)
        if one.key not in own
    ]
    return sorted([*bindings_of(workspace_id, own), *from_project], key=lambda one: one.key)


def project_rows(project_id: str, bindings: Mapping[str, str]) -> dict[str, ProjectTagRow]:
    """The rows of a project's bindings, by id."""
    found = bindings_of(project_id, bindings)
    return {one.id: ProjectTagRow(one.id, project_id, one.key, one.value) for one in found}


def rows_of(workspace_id: str, organization_id: str, tags: Tags) -> dict[str, TagRow]:
    """The rows of a workspace's tags, by id: no two of a workspace are of one name or key."""
    names = [
        (derived_id("tb", workspace_id, name), tag_id_of(organization_id, name), name, None)
        for name in tags.names
    ]
    bound = [(one.id, None, one.key, one.value) for one in bindings_of(workspace_id, tags.bindings)]
    return {row[0]: TagRow(row[0], workspace_id, *row[1:]) for row in (*names, *bound)}


def _changed(before: Iterable[str], said: set[str], change: TagChange) -> list[str]:
    """What is there after the change, in order."""
    if change is TagChange.REMOVE:
        return sorted(set(before) - said)
    return sorted(said.union(before) if change is TagChange.ADD else said)
