"""Tags: names and bindings of workspaces, and all the names in an organization."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.pages import Paged
from teamvars.domain.tags import TagChange, TagSearch
from teamvars.services.tags import Tags
from teamvars.web.http.idempotency import changed
from teamvars.web.http.operations import Operations
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.linked import ids_draft
from teamvars.web.tag_documents import (
    BINDING,
    EFFECTIVE,
    TAG,
    TAKES_BINDINGS,
    TAKES_IDS,
    TAKES_NAMES,
    TAKES_WORKSPACES,
    bindings_draft,
    effective_bindings,
    names_draft,
)

_OF_ORGANIZATION = "/api/v2/organizations/{organization}/tags"
_OF_TAG = "/api/v2/tags/{tag_id}/relationships/workspaces"
_WORKSPACE = "/api/v2/workspaces/{workspace_id}"
_NAMES = f"{_WORKSPACE}/relationships/tags"
_BINDINGS = f"{_WORKSPACE}/tag-bindings"
_LINKED = f"{_WORKSPACE}/relationships/tag-bindings"
_PART = Parameter("q", "A part of the name.")
_NAME = Parameter("name", "The same.")
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
    add, remove, put = (partial(tags.change, how=how) for how in TagChange)
    return [
        Operations(TAG).lists(
            _OF_ORGANIZATION,
            "List the tags of the workspaces that the caller sees, by name.",
            tags.list,
            asks=_search,
            reads=(_PART, _NOT_OF),
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
        *_of_bindings(tags, add, put),
    ]


def _of_names(tags: Tags, add: Callable[..., Any], remove: Callable[..., Any]) -> list[Route]:
    return [
        Operations(TAG).lists(
            _NAMES,
            "List the tags of a workspace, by name.",
            tags.names,
            asks=_parts,
            reads=(_PART, _NAME),
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


def _of_bindings(tags: Tags, add: Callable[..., Any], put: Callable[..., Any]) -> list[Route]:
    text = "List the keys of a workspace with their values."
    bindings, all_of_them = Operations(BINDING), {"whole": True}
    return [
        bindings.lists(_BINDINGS, text, tags.bindings, **all_of_them),
        bindings.lists(_LINKED, text, tags.bindings, name="listLinkedTagBindings", **all_of_them),
        Operations(EFFECTIVE).lists(
            f"{_WORKSPACE}/effective-tag-bindings",
            "List the bindings that count in a workspace: its own.",
            tags.bindings,
            **all_of_them,
        ),
        _change(
            f"PATCH {_BINDINGS}",
            _OF_BINDINGS,
            add,
            name="updateTagBindings",
            text="Set keys of a workspace; others stay.",
            responses={200: BINDING.page},
        ),
        _change(
            f"POST {_LINKED}",
            _OF_BINDINGS,
            add,
            name="addTagBindings",
            text="Set keys of a workspace; others stay.",
        ),
        _change(
            f"PATCH {_LINKED}",
            _OF_BINDINGS,
            put,
            name="replaceTagBindings",
            text="Set the keys of a workspace; others go.",
        ),
    ]


def _change(operation: str, kind: _Kind, work: Callable[..., Awaitable[Any]], **said: Any) -> Route:
    """A change whose response has no document, unless it has all bindings there are then."""
    responses = said.pop("responses", {204: None})
    method, path = operation.split()

    def render(found: Any) -> Response:
        return Response(204) if 204 in responses else _as_list(found)

    async def handle(request: Request) -> Response:
        draft = kind.draft(request.document)
        asked = work(request.require_caller(), *request.parameters.values(), draft)
        return await changed(request, asked, render)

    more = {"keyed": method != "DELETE", "may_forbid": True, "tag": TAG.tag, **said}
    return Route(method, path, handle, responses, kind.takes, **more)


def _as_list(view: WorkspaceView) -> Response:
    found = effective_bindings(view)
    return Response.document(200, BINDING.listing(Paged(found, len(found))))


def _search(request: Request) -> tuple[str, TagSearch]:
    wanted = TagSearch(text_of(request, _PART) or "", text_of(request, _NOT_OF))
    return request.parameters["organization"], wanted


def _parts(request: Request) -> tuple[str, list[str]]:
    parts = [text_of(request, one) or "" for one in (_PART, _NAME)]
    return request.parameters["workspace_id"], parts
