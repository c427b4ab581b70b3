"""Tags: names and bindings of workspaces, bindings of projects, and all the names in an
organization.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.access import ProjectAccess
from teamvars.domain.tags import Binding, TagChange, TagsDraft, TagSearch
from teamvars.services.tags import Tags
from teamvars.web.http.parameters import PART, Parameter, text_of
from teamvars.web.http.reader import ids_draft
from teamvars.web.http.request import Request
from teamvars.web.http.resources import Operations, Work
from teamvars.web.http.routes import Route
from teamvars.web.tag_documents import (
    BINDING,
    EFFECTIVE,
    TAG,
    TAKES_BINDINGS,
    TAKES_IDS,
    TAKES_NAMES,
    TAKES_WORKSPACES,
    bindings_draft,
    names_draft,
)

_OF_ORGANIZATION = "/api/v2/organizations/{organization}/tags"
_OF_TAG = "/api/v2/tags/{tag_id}/relationships/workspaces"
_WORKSPACE = "/api/v2/workspaces/{workspace_id}"
_NAMES = f"{_WORKSPACE}/relationships/tags"
_PROJECT = "/api/v2/projects/{project_id}"
_NAME = Parameter("name", "As `q`.")
_NOT_OF = Parameter("filter[exclude][taggable][id]", "A workspace whose own tags are left out.")


_OF_NAMES: dict[str, Any] = {"takes": TAKES_NAMES, "draft": names_draft}
"""A document of several items, all or none of which a change concerns, and how it is read."""
_OF_BINDINGS: dict[str, Any] = {"takes": TAKES_BINDINGS, "draft": bindings_draft}
_OF_IDS: dict[str, Any] = {"takes": TAKES_IDS, "draft": partial(ids_draft, type_=TAG.type)}
_OF_WORKSPACES: dict[str, Any] = {
    "takes": TAKES_WORKSPACES,
    "draft": partial(ids_draft, type_="workspaces"),
}


def routes(tags: Tags) -> list[Route]:
    """One row an operation."""
    do = Operations(TAG)
    return [
        do.lists(
            _OF_ORGANIZATION,
            "List the tags of the workspaces that the caller sees, by name.",
            tags.list,
            asks=_search,
            reads=(PART, _NOT_OF),
        ),
        do.deletes(
            _OF_ORGANIZATION,
            "Take tags from all workspaces of an organization, all or none.",
            tags.delete,
            name="deleteTags",
            **_OF_IDS,
        ),
        do.acts(
            _OF_TAG,
            "Give a tag to more workspaces, all or none.",
            tags.add_workspaces,
            status=204,
            may_forbid=False,
            name="addTagWorkspaces",
            **_OF_WORKSPACES,
        ),
        *_of_names(tags),
        *_of_bindings("workspace", _WORKSPACE, (tags.bindings, tags.effective), tags.change, ""),
        *_of_bindings(
            "project", _PROJECT, (tags.of_project, tags.of_project), tags.retag_project, "Project"
        ),
    ]


def _of_names(tags: Tags) -> list[Route]:
    do = Operations(TAG)
    return [
        do.lists(
            _NAMES,
            "List the tags of a workspace, by name.",
            tags.names,
            asks=_parts,
            reads=(PART, _NAME),
            name="listWorkspaceTags",
        ),
        do.acts(
            _NAMES,
            "Add tags to a workspace, all or none.",
            partial(tags.change, how=TagChange.ADD),
            status=204,
            name="addWorkspaceTags",
            **_OF_NAMES,
        ),
        do.deletes(
            _NAMES,
            "Remove tags from a workspace, all or none.",
            partial(tags.change, how=TagChange.REMOVE),
            name="removeWorkspaceTags",
            **_OF_NAMES,
        ),
    ]


def _of_bindings(noun: str, path: str, lists: Sequence[Work], change: Work, of: str) -> list[Route]:
    """The keys of a `noun` with their values; `of` tells their names from those of others."""
    own, effective = lists
    add, put = (partial(change, how=how) for how in (TagChange.ADD, TagChange.REPLACE))
    text = f"List the keys of a {noun} with their values."
    linked = f"{path}/relationships/tag-bindings"
    do = Operations(BINDING)
    return [
        do.lists(f"{path}/tag-bindings", text, own, whole=True, name=f"list{of}TagBindings"),
        do.lists(linked, text, own, whole=True, name=f"listLinked{of}TagBindings"),
        Operations(EFFECTIVE).lists(
            f"{path}/effective-tag-bindings",
            f"List the bindings that count in a {noun}.",
            effective,
            whole=True,
            name=f"listEffective{of}TagBindings",
        ),
        do.updates(
            f"{path}/tag-bindings",
            f"Set keys of a {noun}; others stay.",
            add,
            shows=_in_order,
            whole=True,
            name=f"update{of}TagBindings",
            **_OF_BINDINGS,
        ),
        do.acts(
            linked,
            f"Set keys of a {noun}; others stay.",
            add,
            status=204,
            name=f"add{of}TagBindings",
            **_OF_BINDINGS,
        ),
        do.updates(
            linked,
            f"Set the keys of a {noun}; others go.",
            put,
            status=204,
            name=f"replace{of}TagBindings",
            **_OF_BINDINGS,
        ),
    ]


def _in_order(view: WorkspaceView | ProjectAccess, said: TagsDraft) -> Sequence[Binding]:
    """All bindings, first those that the request says, as clients take them for theirs."""
    place = {one.key: number for number, one in enumerate(said.bindings or ())}
    return sorted(view.own_bindings, key=lambda one: place.get(one.key, len(place)))


def _search(request: Request) -> tuple[str, TagSearch]:
    wanted = TagSearch(text_of(request, PART) or "", text_of(request, _NOT_OF))
    return request.parameters["organization"], wanted


def _parts(request: Request) -> tuple[str, list[str]]:
    parts = [text_of(request, one) or "" for one in (PART, _NAME)]
    return request.parameters["workspace_id"], parts
