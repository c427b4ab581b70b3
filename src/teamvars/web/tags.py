"""Tags: names and bindings of workspaces, bindings of projects, and all the names in an
organization.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.access import ProjectAccess
from teamvars.domain.pages import Paged
from teamvars.domain.tags import TagChange, TagsDraft, TagSearch
from teamvars.services.tags import Tags
from teamvars.web.http.idempotency import changed
from teamvars.web.http.parameters import PART, Parameter, text_of
from teamvars.web.http.reader import ids_draft
from teamvars.web.http.request import Request
from teamvars.web.http.resources import Operations, Work
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
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


class _Kind(msgspec.Struct, frozen=True):
    """A document of several items, all or none of which a change concerns, and how it is read."""

    takes: RequestBody
    draft: Callable[[object], Any]


_OF_NAMES = _Kind(TAKES_NAMES, names_draft)
_OF_BINDINGS = _Kind(TAKES_BINDINGS, bindings_draft)
_OF_IDS = _Kind(TAKES_IDS, partial(ids_draft, type_=TAG.type))
_OF_WORKSPACES = _Kind(TAKES_WORKSPACES, partial(ids_draft, type_="workspaces"))


def routes(tags: Tags) -> list[Route]:
    """One row an operation."""
    add, remove = (partial(tags.change, how=how) for how in (TagChange.ADD, TagChange.REMOVE))
    return [
        Operations(TAG).lists(
            _OF_ORGANIZATION,
            "List the tags of the workspaces that the caller sees, by name.",
            tags.list,
            asks=_search,
            reads=(PART, _NOT_OF),
        ),
        _change(
            f"DELETE {_OF_ORGANIZATION}",
            _OF_IDS,
            tags.delete,
            name="deleteTags",
            text="Take tags from all workspaces of an organization, all or none.",
        ),
        _change(
            f"POST {_OF_TAG}",
            _OF_WORKSPACES,
            tags.add_workspaces,
            name="addTagWorkspaces",
            text="Give a tag to more workspaces, all or none.",
            may_forbid=False,
        ),
        *_of_names(tags, add, remove),
        *_of_bindings("workspace", _WORKSPACE, (tags.bindings, tags.effective), tags.change, ""),
        *_of_bindings(
            "project", _PROJECT, (tags.of_project, tags.of_project), tags.retag_project, "Project"
        ),
    ]


def _of_names(tags: Tags, add: Callable[..., Any], remove: Callable[..., Any]) -> list[Route]:
    return [
        Operations(TAG).lists(
            _NAMES,
            "List the tags of a workspace, by name.",
            tags.names,
            asks=_parts,
            reads=(PART, _NAME),
            name="listWorkspaceTags",
        ),
        _change(
            f"POST {_NAMES}",
            _OF_NAMES,
            add,
            name="addWorkspaceTags",
            text="Add tags to a workspace, all or none.",
        ),
        _change(
            f"DELETE {_NAMES}",
            _OF_NAMES,
            remove,
            name="removeWorkspaceTags",
            text="Remove tags from a workspace, all or none.",
        ),
    ]


def _of_bindings(noun: str, path: str, lists: Sequence[Work], change: Work, of: str) -> list[Route]:
    """The keys of a `noun` with their values; `of` tells their names from those of others."""
    own, effective = lists
    add, put = (partial(change, how=how) for how in (TagChange.ADD, TagChange.REPLACE))
    text = f"List the keys of a {noun} with their values."
    linked = f"{path}/relationships/tag-bindings"
    bindings = Operations(BINDING)
    return [
        bindings.lists(f"{path}/tag-bindings", text, own, whole=True, name=f"list{of}TagBindings"),
        bindings.lists(linked, text, own, whole=True, name=f"listLinked{of}TagBindings"),
        Operations(EFFECTIVE).lists(
            f"{path}/effective-tag-bindings",
            f"List the bindings that count in a {noun}.",
            effective,
            whole=True,
            name=f"listEffective{of}TagBindings",
        ),
        _change(
            f"PATCH {path}/tag-bindings",
            _OF_BINDINGS,
            add,
            name=f"update{of}TagBindings",
            text=f"Set keys of a {noun}; others stay.",
            responses={200: BINDING.page},
        ),
        _change(
            f"POST {linked}",
            _OF_BINDINGS,
            add,
            name=f"add{of}TagBindings",
            text=f"Set keys of a {noun}; others stay.",
        ),
        _change(
            f"PATCH {linked}",
            _OF_BINDINGS,
            put,
            name=f"replace{of}TagBindings",
            text=f"Set the keys of a {noun}; others go.",
        ),
    ]


def _change(operation: str, kind: _Kind, work: Callable[..., Awaitable[Any]], **said: Any) -> Route:
    """A change whose response has no document, unless it has all bindings there are then."""
    responses = said.pop("responses", {204: None})
    method, path = operation.split()

    async def handle(request: Request) -> Response:
        draft = kind.draft(request.document)
        asked = work(request.require_caller(), *request.parameters.values(), draft)

        def render(found: Any) -> Response:
            return Response(204) if 204 in responses else _as_list(found, draft)

        return await changed(request, asked, render)

    more = {"keyed": method != "DELETE", "may_forbid": True, "tag": TAG.tag, **said}
    return Route(method, path, handle, responses, kind.takes, **more)


def _as_list(view: WorkspaceView | ProjectAccess, said: TagsDraft) -> Response:
    """All bindings, first those that the request says, as clients take them for theirs."""
    place = {one.key: number for number, one in enumerate(said.bindings or ())}
    found = sorted(view.own_bindings, key=lambda one: place.get(one.key, len(place)))
    return Response.document(200, BINDING.listing(Paged(found, len(found))))


def _search(request: Request) -> tuple[str, TagSearch]:
    wanted = TagSearch(text_of(request, PART) or "", text_of(request, _NOT_OF))
    return request.parameters["organization"], wanted


def _parts(request: Request) -> tuple[str, list[str]]:
    parts = [text_of(request, one) or "" for one in (PART, _NAME)]
    return request.parameters["workspace_id"], parts
