"""Variable sets, `varsets` on the wire, and what they are attached to."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, UnsetType
from msgspec.structs import replace

from teamvars.decisions.variable_sets import SetView
from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.pages import Paged
from teamvars.domain.set_effects import MOST_NAMED, Effects, PreviewDraft
from teamvars.domain.variable_sets import (
    KINDS,
    MAX_DESCRIPTION_CHARACTERS,
    MAX_NAME_CHARACTERS,
    Attaching,
    SetDraft,
    SetSearch,
    TargetKind,
    TargetsDraft,
)
from teamvars.services.variable_sets import VariableSets
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http.parameters import FLAG, PART, Parameter, requested_flag, text_of
from teamvars.web.http.reader import Reader, ids_or_dry_run
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    Identifier,
    ProjectIdentifier,
    RelatedLink,
    Time,
    WorkspaceIdentifier,
    identifiers,
    several,
    timestamp,
    to_many,
)
from teamvars.web.http.resources import Found, Operations, Relations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.organizations import owner
from teamvars.web.projects import IncludedProject, IncludedProjectAttributes
from teamvars.web.variables.documents import EffectOnWorkspace, effect_rows
from teamvars.web.workspaces import IncludedWorkspace, IncludedWorkspaceAttributes

_ALL, _ONE = "/api/v2/organizations/{organization}/varsets", "/api/v2/varsets/{varset_id}"
_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/varsets"
_APPLICABLE = "/api/v2/workspaces/{workspace_id}/applicable-varsets"
_OF_PROJECT = "/api/v2/projects/{project_id}/varsets"
_WORKSPACES, _PROJECTS, _VARS, _PARENT = "workspaces", "projects", "vars", "parent"
_NAME = Meta(min_length=1, max_length=MAX_NAME_CHARACTERS)
_DESCRIPTION = Meta(max_length=MAX_DESCRIPTION_CHARACTERS)
_GLOBAL = Meta(description="It reaches every workspace of the organization.")
_PRIORITY = Meta(description="It comes before what workspaces have themselves.")
_IS_GLOBAL = Parameter("filter[global]", "Only sets that are global, or only others.", FLAG)
_SCOPE = Parameter(
    "scope",
    "Only sets of the organization, none of its projects.",
    {"type": "string", "enum": ["owned"]},
)
_NO_VARIABLES = "A set is made without variables: add them to it one by one."


SetWorkspacesDocument: Any = several(
    "SetWorkspacesDocument",
    "Workspaces to attach a set to, or to detach it from, all or none.",
    WorkspaceIdentifier,
)
SetProjectsDocument: Any = several(
    "SetProjectsDocument",
    "Projects to attach a set to, or to detach it from, all or none.",
    ProjectIdentifier,
)
_OR_FORESEEN = "The same, or what would come of it."


class ParentLinkage(msgspec.Struct):
    """The organization of the path, by its name, or a project of it, by its id; null, as clients
    send it that have none: nothing is said of it.
    """

    data: Identifier | None = None


class GivenSetRelationships(msgspec.Struct):
    """The workspaces and the projects that a set is attached to, and no others; its parent stays
    that with which it was made, its organization unless that names a project.
    """

    workspaces: SetWorkspacesDocument | UnsetType = msgspec.UNSET
    projects: SetProjectsDocument | UnsetType = msgspec.UNSET
    parent: ParentLinkage | UnsetType = msgspec.UNSET


def _named(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    ids: dict[TargetKind, tuple[str | None, ...] | None] = {
        kind: read.related_ids(relationships, kind, kind, MAX_ITEMS) for kind in KINDS
    }
    linked: dict[str, Any] = {
        kind: TargetsDraft(ones, kind=kind, at=f"/data/relationships/{kind}/data")
        for kind, ones in ids.items()
        if ones is not None
    }
    return {**linked, **_parent(read, relationships)}


def _parent(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, str | None]:
    """The organization that it is to belong to, by its name, or the project, by its id."""
    relation = read.member(relationships, _PARENT, dict, "/data/relationships", required=False)
    item = None if relation is None else relation.get("data")
    if item is None:
        return {}
    at = f"/data/relationships/{_PARENT}/data"
    if isinstance(item, dict) and item.get("type") == _PROJECTS:
        return {"project_id": read.identifier(item, _PROJECTS, at)}
    return {"parent": read.identifier(item, "organizations", at)}


_PERMISSIONS = Group[SetView](
    "VariableSetPermissions",
    "What the caller may do; clients ask before they offer it.",
    Attribute("can-update", bool, lambda one: one.is_writable),
)


def _owner(one: SetView) -> Identifier:
    if one.set.project_id is None:
        return Identifier(one.set.organization_name, "organizations")
    return Identifier(one.set.project_id, _PROJECTS)


_RELATIONSHIPS = Group[SetView](
    "VariableSetRelationships",
    "Whose a set is, what it has, and what it is attached to as far as the caller sees it.",
    owner(lambda one: one.set.organization_name),
    Attribute(
        _PARENT,
        Group(
            "ParentOfSet",
            "The organization that a set belongs to, by its name, or the project, by its id.",
            Attribute("data", Identifier, _owner),
        ),
    ),
    Attribute(
        _VARS,
        Group(
            "VariablesOfSet",
            "All variables of a set, newest first; not in a list of very many.",
            identifiers(
                _VARS,
                lambda one: one.details.variable_ids or (),
                lambda one: one.details.variable_ids is not None,
            ),
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(f"{VARIABLE_SET.path_of(one)}/relationships/vars"),
            ),
        ),
    ),
    to_many(
        _WORKSPACES,
        "WorkspacesOfSet",
        "The workspaces that a set is attached to; one that is global reaches all.",
        _WORKSPACES,
        lambda one: one.details.workspaces,
    ),
    to_many(
        _PROJECTS,
        "ProjectsOfSet",
        "The projects that a set is attached to: it reaches all workspaces in them.",
        _PROJECTS,
        lambda one: one.details.projects,
    ),
)
VARIABLE_SET: Resource[SetView] = Resource(
    type="varsets",
    name="VariableSet",
    noun="a variable set",
    tag="Variable sets",
    id=lambda one: one.set.id,
    draft=SetDraft,
    include=(_WORKSPACES, _PROJECTS),
    included=(IncludedWorkspace, IncludedProject),
    relations=Relations(
        GivenSetRelationships,
        _named,
        required=False,
        changeable=True,
        refused={_VARS: _NO_VARIABLES},
    ),
    attributes=(
        Attribute("name", str, lambda one: one.set.name, given=Annotated[str, _NAME], new=REQUIRED),
        Attribute(
            "description",
            str,
            lambda one: one.set.description,
            given=Annotated[str, _DESCRIPTION] | None,
            new="",
            null="",
        ),
        Attribute(
            "global",
            bool,
            lambda one: one.set.is_global,
            given=Annotated[bool, _GLOBAL],
            new=False,
            to="is_global",
        ),
        Attribute(
            "priority",
            bool,
            lambda one: one.set.is_priority,
            given=Annotated[bool, _PRIORITY],
            new=False,
            to="is_priority",
        ),
        Attribute("updated-at", Time, lambda one: timestamp(one.details.updated_at, one.set.id)),
        Attribute("var-count", int, lambda one: one.details.variables_count),
        Attribute("workspace-count", int, lambda one: len(one.details.workspaces)),
        Attribute("project-count", int, lambda one: len(one.details.projects)),
        Attribute("permissions", _PERMISSIONS),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    linked=True,
    texts={
        "VariableSetAttributes": (
            "A set's attributes. `updated-at` is when anything of it last changed, and "
            "`workspace-count` and `project-count` count the workspaces and the projects that it "
            "is attached to and the caller sees."
        ),
        "VariableSetListDocument": "One page of the variable sets that a caller sees.",
    },
)
_LINKED = {"data": [{"type": _WORKSPACES, "id": IDS["workspace_id"]}]}
_LINKED_PROJECTS = {"data": [{"type": _PROJECTS, "id": IDS["project_id"]}]}
_NEW = VARIABLE_SET.new_body(
    attributes={"name": NEW_NAME, "description": "what it is for", "global": False},
    relationships={_WORKSPACES: _LINKED, _PROJECTS: _LINKED_PROJECTS},
)
_CHANGED = VARIABLE_SET.changed_body(attributes={"priority": True})
_UPDATE = "Update a variable set; what it names takes the place of what it is attached to."


EFFECTS = Resource[Effects](
    type="varset-effects",
    name="VariableSetEffects",
    noun="a preview",
    tag="Variable sets",
    id=lambda one: one.set_id,
    attributes=(
        Attribute("gaining", int, lambda one: one.gaining),
        Attribute("changing", int, lambda one: one.changing),
        Attribute("losing", int, lambda one: one.losing),
        Attribute("workspaces", list[EffectOnWorkspace], effect_rows),
    ),
    texts={
        "VariableSetEffectsAttributes": (
            "How many workspaces would get a value that they have not, another value, or lose one; "
            f"and the first {MOST_NAMED} by name of all these that the caller sees."
        ),
        "VariableSetEffectsDocument": "What a change of a variable set would do.",
    },
)


def _preview_draft(document: object) -> PreviewDraft:
    """The change that is asked about; nothing at all: that the set goes."""
    if document in (None, {}):
        return PreviewDraft(SetDraft(), is_deleted=True)
    return PreviewDraft(VARIABLE_SET.changed_draft(document))


def routes(sets: VariableSets) -> list[Route]:
    """One row an operation."""
    do = Operations(VARIABLE_SET)
    lists = partial(do.lists, shows=_found, asks=_asked, reads=(PART,))
    return [
        lists(
            _ALL,
            "List the variable sets of an organization that the caller sees, by name.",
            sets.list,
            asks=_search,
            reads=(PART, _IS_GLOBAL, _SCOPE),
        ),
        do.creates(_ALL, "Create a variable set.", sets.create, _NEW),
        lists(
            _OF_WORKSPACE,
            "List the variable sets that reach a workspace, by name.",
            sets.of_workspace,
            name="listWorkspaceVariableSets",
        ),
        lists(
            _APPLICABLE,
            "List the variable sets that the caller sees and a workspace does not get, by name.",
            sets.applicable,
            name="listApplicableVariableSets",
        ),
        lists(
            _OF_PROJECT,
            "List the variable sets of a project, and those that reach all in it, by name.",
            sets.of_project,
            name="listProjectVariableSets",
        ),
        do.reads(_ONE, "Read a variable set.", sets.read, shows=_found),
        do.updates(_ONE, _UPDATE, sets.update, _CHANGED),
        do.updates(_ONE, _UPDATE, sets.update, _CHANGED, method="PUT", name="replaceVariableSet"),
        do.updates(
            _ONE,
            _UPDATE,
            sets.update,
            _CHANGED,
            method="POST",
            draft=VARIABLE_SET.changed_draft,
            name="postVariableSet",
        ),
        Operations(EFFECTS).acts(
            f"{_ONE}/actions/preview",
            "Say what an update would do to workspaces; without a document, a deletion.",
            sets.preview,
            takes=replace(_CHANGED, optional=True),
            draft=_preview_draft,
            keyed=False,
            name="previewVariableSet",
        ),
        do.deletes(_ONE, "Delete a variable set with its variables.", sets.delete),
        *(_attaching(sets, how, kind) for kind in KINDS for how in Attaching),
    ]


_BODIES: Mapping[TargetKind, RequestBody] = {
    "workspaces": RequestBody(
        several("AttachedWorkspacesDocument", _OR_FORESEEN, WorkspaceIdentifier, dry_run=True),
        _LINKED,
    ),
    "projects": RequestBody(
        several("AttachedProjectsDocument", _OR_FORESEEN, ProjectIdentifier, dry_run=True),
        _LINKED_PROJECTS,
    ),
}
_OPERATIONS: Mapping[tuple[Attaching, TargetKind], str] = {
    (Attaching.ADD, "workspaces"): "attachVariableSet",
    (Attaching.REMOVE, "workspaces"): "detachVariableSet",
    (Attaching.ADD, "projects"): "attachVariableSetToProjects",
    (Attaching.REMOVE, "projects"): "detachVariableSetFromProjects",
}


def _attaching(sets: VariableSets, how: Attaching, kind: TargetKind) -> Route:
    is_added = how is Attaching.ADD
    return Operations(EFFECTS).updates(
        f"{_ONE}/relationships/{kind}",
        f"{'Attach a set to' if is_added else 'Detach a set from'} {kind}, all or none.",
        partial(sets.attach, how=how),
        _BODIES[kind],
        method="POST" if is_added else "DELETE",
        draft=partial(_targets, kind=kind),
        keyed=is_added,
        responses={200: EFFECTS.one, 204: None},
        name=_OPERATIONS[how, kind],
    )


def _targets(document: object, kind: TargetKind) -> TargetsDraft:
    named, dry_run = ids_or_dry_run(document, kind)
    return TargetsDraft(named.ids, named.faults, kind, dry_run)


def _found(found: Paged[SetView] | SetView, includes: frozenset[str]) -> Found[SetView]:
    """The sets of a list, or the one that was read, with their workspaces and projects if asked
    for.
    """
    items, total = (found.items, found.total) if isinstance(found, Paged) else ([found], 1)
    if not includes:
        return Found(items, total)
    workspaces = {id_: name for one in items for id_, name in one.details.workspaces.items()}
    projects = {id_: name for one in items for id_, name in one.details.projects.items()}
    included: list[msgspec.Struct] = []
    if _WORKSPACES in includes:
        included += [
            IncludedWorkspace(id_, IncludedWorkspaceAttributes(name))
            for id_, name in workspaces.items()
        ]
    if _PROJECTS in includes:
        included += [
            IncludedProject(id_, IncludedProjectAttributes(name)) for id_, name in projects.items()
        ]
    return Found(items, total, included)


def _search(request: Request) -> tuple[str, SetSearch]:
    organization, part = _asked(request)
    is_owned = text_of(request, _SCOPE) is not None
    wanted = SetSearch(part, is_global=requested_flag(request, _IS_GLOBAL), is_owned=is_owned)
    return organization, wanted


def _asked(request: Request) -> tuple[str, str]:
    """What the path names, and a part of the names that are wanted."""
    (what,) = request.parameters.values()
    return what, text_of(request, PART) or ""
