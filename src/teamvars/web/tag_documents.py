"""The documents of tags: what they show, and what requests say of them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.tags import (
    KEY,
    NAME,
    VALUE,
    Binding,
    SaidBinding,
    SaidName,
    Tag,
    TagsDraft,
)
from teamvars.web.examples import IDS
from teamvars.web.http.parameters import Parameter, indexed_texts
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    Attribute,
    Group,
    Path,
    ProjectIdentifier,
    WorkspaceIdentifier,
    identifier,
    several,
    to_one,
)
from teamvars.web.http.resources import Relations, Resource
from teamvars.web.http.routes import RequestBody
from teamvars.web.organizations import owner

_TAGS, _TAG_BINDINGS = "tags", "tag-bindings"
TAGS_PLACE = f"/data/relationships/{_TAGS}/data"
BINDINGS_PLACE = f"/data/relationships/{_TAG_BINDINGS}/data"
_KEY = Parameter(
    "filter[tagged][0][key]",
    "Only what has this key; more keys have other numbers.",
    is_indexed=True,
)
_VALUE = Parameter(
    "filter[tagged][0][value]",
    "The value that this key must have.",
    is_indexed=True,
    beside=_KEY.name,
)
TAGGED = (_KEY, _VALUE)
"""What asks for those that have some keys."""
TAG_NAME = Annotated[str, Meta(pattern=f"^{NAME.pattern}$", description="Kept in lower case.")]


class GivenTagAttributes(msgspec.Struct):
    """What a tag is called."""

    name: TAG_NAME


class GivenTag(msgspec.Struct):
    """A tag by its name, or by its id if a workspace of the organization has it."""

    type: Literal["tags"]
    id: str | UnsetType = UNSET
    attributes: GivenTagAttributes | UnsetType = UNSET


class GivenBindingAttributes(msgspec.Struct):
    """A key and its value."""

    key: Annotated[str, Meta(pattern=f"^{KEY.pattern}$")]
    value: Annotated[str, Meta(pattern=f"^{VALUE.pattern}$")] = ""


class GivenBinding(msgspec.Struct):
    """A binding; it needs no id, since a workspace or project has each key once."""

    type: Literal["tag-bindings"]
    attributes: GivenBindingAttributes


TagsDocument: Any = several("TagsDocument", "Tags to add or remove, all or none.", GivenTag)
TagBindingsDocument: Any = several(
    "TagBindingsDocument",
    "Bindings to add, or to have in the place of all there are.",
    GivenBinding,
)


class GivenProject(msgspec.Struct):
    """The project that a workspace is to be in; null: the default one."""

    data: ProjectIdentifier | None


class GivenWorkspaceRelationships(msgspec.Struct, rename="kebab"):
    """The project that a workspace is to be in, and its tags; no others are changed."""

    project: GivenProject | UnsetType = UNSET
    tags: TagsDocument | UnsetType = UNSET
    tag_bindings: TagBindingsDocument | UnsetType = UNSET


TAG = Resource[Tag](
    type=_TAGS,
    name="Tag",
    noun="a tag",
    tag="Tags",
    id=lambda one: one.id,
    attributes=(
        Attribute("name", str, lambda one: one.name),
        Attribute(
            "instance-count",
            int,
            lambda one: one.instance_count,
            when=lambda one: one.instance_count is not None,
        ),
    ),
    members=(
        Attribute(
            "relationships",
            Group[Tag](
                "TagRelationships",
                "The organization that a tag is in.",
                owner(lambda one: one.organization),
            ),
        ),
    ),
    texts={
        "TagAttributes": (
            "What a tag is called. `instance-count` says how many of the workspaces that the "
            "caller sees have it, in the list of an organization's."
        ),
        "TagListDocument": "One page of the tags of the workspaces that a caller sees, or of one.",
    },
)


def _origin(one: Binding) -> str:
    assert one.project_id is not None  # else it is not shown
    return one.project_id


_BOUND = (
    Attribute[Binding]("key", str, lambda one: one.key),
    Attribute[Binding]("value", str, lambda one: one.value),
)
BINDING = Resource[Binding](
    type=_TAG_BINDINGS,
    name="TagBinding",
    noun="a binding",
    tag="Tags",
    id=lambda one: one.id,
    whole=True,
    attributes=_BOUND,
    texts={
        "TagBindingListDocument": "The keys of a workspace or project with their values, by key."
    },
)
EFFECTIVE = Resource[Binding](
    type="effective-tag-bindings",
    name="EffectiveTagBinding",
    noun="a binding",
    tag="Tags",
    id=lambda one: one.id,
    whole=True,
    tagged=True,
    attributes=_BOUND,
    members=(
        Attribute(
            "relationships",
            Group[Binding](
                "EffectiveTagBindingRelationships",
                "The project that a workspace has the key from.",
                to_one(
                    "inherited-from",
                    "TagBindingOrigin",
                    "The project that a workspace has a key from.",
                    "projects",
                    _origin,
                ),
            ),
            when=lambda one: one.project_id is not None,
        ),
        Attribute(
            "links",
            Group[Binding](
                "EffectiveTagBindingLinks",
                "The path of the project that a workspace has the key from.",
                Attribute("inherited-from", Path, lambda one: f"/api/v2/projects/{_origin(one)}"),
            ),
            when=lambda one: one.project_id is not None,
        ),
    ),
    texts={
        "EffectiveTagBindingResource": (
            "A binding that counts in a workspace: its own, or unless it has the key itself, its "
            "project's."
        ),
        "EffectiveTagBindingListDocument": "The keys that count, with their values, by key.",
    },
)


class ProjectTagBindings(msgspec.Struct):
    """The keys with values that a project is to have; without them, as it is shown, they stay."""

    data: Annotated[list[GivenBinding], Meta(max_length=MAX_ITEMS)] | UnsetType = UNSET


class GivenProjectRelationships(msgspec.Struct, rename="kebab"):
    """The keys with values that a project is to have; no others are changed."""

    tag_bindings: ProjectTagBindings | UnsetType = UNSET


def _tags_of_project(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    bindings = _bindings_named(read, relationships)
    return {"tags": TagsDraft(bindings=bindings, at=BINDINGS_PLACE)}


OF_PROJECT = Relations(GivenProjectRelationships, _tags_of_project, required=False, changeable=True)


def _bindings_named(
    read: Reader, relationships: Mapping[str, Any] | None
) -> tuple[SaidBinding, ...] | None:
    listed = _listed(read, relationships, _TAG_BINDINGS)
    return None if listed is None else _read_bindings(read, listed, BINDINGS_PLACE)


def _listed(read: Reader, relationships: Mapping[str, Any] | None, name: str) -> list[Any] | None:
    """What a relationship to many lists, if it is there."""
    relation = read.relation(relationships, name)
    return read.member(relation, "data", list, f"/data/relationships/{name}")


def _related(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the relationships of a workspace say of its project and its tags."""
    said: dict[str, Any] = {
        "project_id": read.related_or_none(relationships, "project", "projects")
    }
    listed = _listed(read, relationships, _TAGS)
    said["tags"] = None if listed is None else _read_names(read, listed, TAGS_PLACE)
    said["tag_bindings"] = _bindings_named(read, relationships)
    return said


RELATIONS = Relations(GivenWorkspaceRelationships, _related, required=False, changeable=True)


def _read_names(read: Reader, items: list[Any], at: str = "/data") -> tuple[SaidName, ...]:
    said = []
    for n, item in enumerate(read.at_most(MAX_ITEMS, items, at)):
        here = f"{at}/{n}"
        one = _item(read, item, _TAGS, here)
        id_ = read.member(one, "id", str, here, required=False)
        if id_:
            if "\0" not in id_:  # which is told already, and which no store can be asked for
                said.append(SaidName(id_, f"{here}/id", is_id=True))
            continue
        attributes = read.member(one, "attributes", dict, here)
        name = read.member(attributes, "name", str, f"{here}/attributes")
        if name is not None:
            said.append(SaidName(name, f"{here}/attributes/name"))
    return tuple(said)


def _read_bindings(read: Reader, items: list[Any], at: str = "/data") -> tuple[SaidBinding, ...]:
    said = []
    for n, item in enumerate(read.at_most(MAX_ITEMS, items, at)):
        here = f"{at}/{n}"
        attributes = read.member(_item(read, item, _TAG_BINDINGS, here), "attributes", dict, here)
        here = f"{here}/attributes"
        key = read.member(attributes, "key", str, here)
        value = read.member(attributes, "value", str, here, required=False)
        if key is not None:
            said.append(SaidBinding(key, value or "", here))
    return tuple(said)


def _item(read: Reader, item: object, type_: str, at: str) -> dict[str, Any] | None:
    resource = read.as_object(item, at)
    read.require_type(resource, type_, at)
    return resource


def tagged_with(request: Request) -> tuple[tuple[str, str | None], ...]:
    """The keys that are asked for, each with the value that has its number, if there is one."""
    keys, values = indexed_texts(request, _KEY), indexed_texts(request, _VALUE)
    return tuple((key, values.get(number)) for number, key in keys.items())


def names_draft(document: object) -> TagsDraft:
    """The tags of a document that names nothing else."""
    read = Reader(document)
    names = _read_names(read, read.data(list) or [])
    return TagsDraft(names=names, faults=read.faults)


def bindings_draft(document: object) -> TagsDraft:
    """The bindings of a document that names nothing else."""
    read = Reader(document)
    bindings = _read_bindings(read, read.data(list) or [])
    return TagsDraft(bindings=bindings, faults=read.faults)


TAKES_NAMES = RequestBody(
    TagsDocument, {"data": [{"type": _TAGS, "attributes": {"name": "production"}}]}
)
TAKES_BINDINGS = RequestBody(
    TagBindingsDocument,
    {"data": [{"type": _TAG_BINDINGS, "attributes": {"key": "environment", "value": "live"}}]},
)
TAKES_IDS = RequestBody(
    several(
        "TagIdentifiersDocument",
        "Tags to delete, all or none.",
        identifier("TagIdentifier", "A tag by its id.", _TAGS),
    ),
    {"data": [{"type": _TAGS, "id": IDS["tag_id"]}]},
)
TAKES_WORKSPACES = RequestBody(
    several(
        "TaggedWorkspacesDocument",
        "Workspaces that are to have a tag, all or none.",
        WorkspaceIdentifier,
    ),
    {"data": [{"type": "workspaces", "id": IDS["workspace_id"]}]},
)
