"""The routes of variables: decode, call, encode."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from teamvars.decisions.variables import ToOwner, ToWorkspace
from teamvars.domain.variable_sets import OwnedVariable
from teamvars.domain.workspaces import ByNames
from teamvars.services.rendered import Rendered
from teamvars.services.variables import VariableList, Variables
from teamvars.services.workspaces import Workspaces
from teamvars.web.dialects import Dialect
from teamvars.web.http.idempotency import Withheld, changed
from teamvars.web.http.negotiation import IF_MATCH, IF_NONE_MATCH, MEDIA_TYPE, is_known
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import NO_HEADERS, Response, rendered
from teamvars.web.variables import documents, requests
from teamvars.web.variables.documents import (
    VariableDocument,
    VariableListDocument,
    entity_tag,
    place_of,
)
from teamvars.web.variables.owners import OF_SETS, OF_WORKSPACES, OwnerKind

DEPRECATIONS = "/docs/deprecations"
"""The page that says what is deprecated."""
# Since the day of release 0.1.0, 2026-11-21, the first that says so (RFC 9745, 2.1).
_DEPRECATED_FILTER = {
    "Deprecation": "@1795219200",
    "Link": f'<{DEPRECATIONS}>; rel="deprecation"; type="text/markdown"',
}
DEPRECATION = dict.fromkeys(_DEPRECATED_FILTER, "Sent when the request has the deprecated filter.")
"""The headers of that, each with a word on when it is sent."""
_INHERITED = "/api/v2/workspaces/{workspace_id}/varsets/{varset_id}/relationships/vars"
_WITHHELD = OwnedVariable.without_value
"""Whoever repeats a request is shown the value as it is now."""
_ALL, _ONE = "/api/v2/vars", "/api/v2/vars/{variable_id}"
_NAMED = tuple(
    Parameter(f"filter[{noun}][name]", f"The name of the {noun}.", required=True)
    for noun in ("organization", "workspace")
)
_VARIABLE = {200: VariableDocument}


def inherited_variable_routes(variables: Variables, dialect: Dialect) -> list[Route]:
    """Reading those of a set that reaches a workspace, where its readers look for them."""
    of_sets = VariableRoutes(variables, dialect, OF_SETS)

    async def list_(request: Request) -> Response:
        at = request.parameters[OF_WORKSPACES.parameter]
        return await of_sets.listed(request, OF_SETS.asked(request), at)

    async def read(request: Request) -> Response:
        return await of_sets.found(request, request.parameters[OF_WORKSPACES.parameter])

    more: dict[str, Any] = {"precondition": IF_NONE_MATCH, "has_entity_tag": True}
    return [
        Route(
            "GET",
            _INHERITED,
            list_,
            {200: VariableListDocument},
            name="listInheritedVariables",
            text="List all variables of a variable set that reaches a workspace, by key.",
            **more,
        ),
        Route(
            "GET",
            f"{_INHERITED}/{{{OF_SETS.variable}}}",
            read,
            _VARIABLE,
            name="readInheritedVariable",
            text="Read a variable of a variable set that reaches a workspace.",
            **more,
        ),
    ]


def named_routes(variables: Variables, workspaces: Workspaces, dialect: Dialect) -> list[Route]:
    """The same on those of workspaces as older clients find them: by the names of the workspace, by
    what a document says, or by the variable's id alone. What comes of it is the same as at the
    workspace's own path.
    """
    by_workspace = VariableRoutes(variables, dialect, OF_WORKSPACES)

    async def list_(request: Request) -> Response:
        """List all variables of a workspace that is named, as older clients do."""
        names = ByNames(*(text_of(request, one) or "" for one in _NAMED))
        view = await workspaces.read(request.require_caller(), names)
        return await by_workspace.listed(request, ToWorkspace(view.workspace.id))

    async def create(request: Request) -> Response:
        """Create a variable of the workspace that the document names, as older clients do."""
        id_ = requests.named_workspace(request.document, dialect)
        return await by_workspace.created(request, id_)

    async def update(request: Request) -> Response:
        """Update a variable of whichever workspace has it, as older clients do."""
        return await by_workspace.updated(request, await id_of(request))

    async def delete(request: Request) -> Response:
        """Delete a variable of whichever workspace has it, as older clients do."""
        return await by_workspace.deleted(request, ToWorkspace(await id_of(request)))

    async def id_of(request: Request) -> str:
        return await variables.workspace_of(request.parameters["variable_id"])

    return [
        Route(
            "GET",
            _ALL,
            list_,
            {200: VariableListDocument},
            precondition=IF_NONE_MATCH,
            has_entity_tag=True,
            name="listVariablesOfNamedWorkspace",
            reads=_NAMED,
            refuses=(404,),
        ),
        Route(
            "POST",
            _ALL,
            create,
            {201: VariableDocument},
            takes=requests.new_named_body(dialect),
            keyed=True,
            has_entity_tag=True,
            sends=DEPRECATION,
            may_forbid=True,
            name="createVariableOfNamedWorkspace",
            refuses=(404,),
        ),
        Route(
            "PATCH",
            _ONE,
            update,
            {200: VariableDocument},
            takes=requests.changed_body(dialect, "variable_id"),
            keyed=True,
            precondition=IF_MATCH,
            has_entity_tag=True,
            may_forbid=True,
            name="updateVariableById",
        ),
        Route(
            "DELETE",
            _ONE,
            delete,
            {204: None},
            precondition=IF_MATCH,
            may_forbid=True,
            name="deleteVariableById",
        ),
    ]


class VariableRoutes:
    """The five operations on variables (contract §4), each on what its path or its caller names."""

    def __init__(self, variables: Variables, dialect: Dialect, kind: OwnerKind) -> None:
        self._variables = variables
        self._dialect = dialect
        self._kind = kind

    def routes(self) -> list[Route]:
        """One row an operation."""
        kind = self._kind
        all_ = f"{kind.path}{kind.below}"
        one, named = f"{all_}/{{{kind.variable}}}", f"{kind.names}Variable"
        is_of_workspaces = kind is OF_WORKSPACES
        return [
            Route(
                "GET",
                all_,
                self.list,
                {200: VariableListDocument},
                precondition=IF_NONE_MATCH,
                has_entity_tag=True,
                name=f"list{named}s",
                text=f"List all variables of {kind.noun}, by key and category.",
            ),
            Route(
                "POST",
                all_,
                self.create,
                {201: VariableDocument},
                takes=requests.new_body(self._dialect),
                keyed=True,
                has_entity_tag=True,
                sends=DEPRECATION if is_of_workspaces else {},
                may_forbid=True,
                name=f"create{named}",
                text=f"Create a variable of {kind.noun}; no other of its category has its key.",
            ),
            Route(
                "GET",
                one,
                self.read,
                _VARIABLE,
                precondition=IF_NONE_MATCH,
                has_entity_tag=True,
                name=f"read{named}",
            ),
            Route(
                "PATCH",
                one,
                self.update,
                _VARIABLE,
                takes=requests.changed_body(self._dialect, kind.variable),
                keyed=True,
                precondition=IF_MATCH,
                has_entity_tag=True,
                may_forbid=True,
                name=f"update{named}",
            ),
            Route(
                "DELETE",
                one,
                self.delete,
                {204: None},
                precondition=IF_MATCH,
                may_forbid=True,
                name=f"delete{named}",
            ),
        ]

    async def list(self, request: Request) -> Response:
        return await self.listed(request, self._kind.asked(request))

    async def read(self, request: Request) -> Response:
        """Read a variable, as its `links.self` says."""
        return await self.found(request)

    async def create(self, request: Request) -> Response:
        return await self.created(request, request.parameters[self._kind.parameter])

    async def update(self, request: Request) -> Response:
        """Update what the request names of a variable."""
        return await self.updated(request, request.parameters[self._kind.parameter])

    async def delete(self, request: Request) -> Response:
        """Delete a variable; any body is ignored."""
        return await self.deleted(request, self._kind.asked(request))

    async def found(self, request: Request, at: str | None = None) -> Response:
        """The variable that the path names, of a set where that reaches a workspace."""
        to, id_ = self._kind.asked(request), self._kind.variable_of(request)
        found = await self._variables.read(request.require_caller(), to, id_, at=at)
        shown, known = self._shown(found), request.header("if-none-match")
        if known is not None and is_known(known, shown.headers["ETag"]):
            return Response(304, headers={"ETag": shown.headers["ETag"]})
        return shown

    async def listed(self, request: Request, to: ToOwner, at: str | None = None) -> Response:
        """The list of an owner, of a set where it reaches a workspace."""
        caller = request.require_caller()
        return list_response(request, await self._variables.list(caller, to, self._render, at=at))

    async def created(self, request: Request, owner_id: str) -> Response:
        """A variable that an owner has from now on."""
        owner = Identifier(owner_id, self._kind.type)
        draft, named = requests.create_draft(request.document, owner, self._dialect)
        named = named if self._kind is OF_WORKSPACES else None
        caller, deprecated = request.require_caller(), {} if named is None else _DEPRECATED_FILTER
        to = self._kind.to(owner_id)
        work = self._variables.create(caller, to, draft, named)
        made = partial(self._shown, status=201, more=deprecated)
        again = partial(self._again, request, to)
        return await changed(request, work, made, withheld=Withheld(_WITHHELD, again))

    async def updated(self, request: Request, owner_id: str) -> Response:
        """The variable of an owner that the path names, as it is from now on."""
        to, id_ = self._kind.to(owner_id), self._kind.variable_of(request)
        owner = Identifier(owner_id, self._kind.type)
        draft = requests.update_draft(request.document, owner, id_, self._dialect)
        wanted = requests.wanted_versions(request)
        caller = request.require_caller()
        work = self._variables.update(caller, to, id_, draft, wanted)
        again = partial(self._again, request, to)
        return await changed(request, work, self._shown, withheld=Withheld(_WITHHELD, again))

    async def deleted(self, request: Request, to: ToOwner) -> Response:
        """Nothing: the owner has the variable of the path no more."""
        id_, wanted = self._kind.variable_of(request), requests.wanted_versions(request)
        await self._variables.delete(request.require_caller(), to, id_, wanted)
        return Response(204)

    def _shown(
        self, found: OwnedVariable, *, status: int = 200, more: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        (shown,) = documents.variables([found.variable], place_of(found.owner), self._dialect)
        tag = entity_tag(found.variable.version_id, found.owner, self._dialect)
        where = {"Location": shown.links.self} if status == HTTPStatus.CREATED else {}
        return Response.document(status, VariableDocument(shown), {**where, "ETag": tag, **more})

    async def _again(self, request: Request, to: ToOwner, body: bytes) -> bytes:
        """The document of a repeat. It has the value, if the variable is readable and as it was."""
        document = msgspec.json.decode(body)
        data = document["data"]
        attributes = data["attributes"]
        attributes["value"] = await self._variables.value_at(
            request.require_caller(), to, data["id"], attributes["version-id"]
        )
        return msgspec.json.encode(document)

    async def _render(self, found: VariableList) -> Rendered:
        """The document of the list."""
        place = place_of(found.owner)
        batches = (documents.variables(one, place, self._dialect) for one in found.batches)
        return await rendered(entity_tag(found.version, found.owner, self._dialect), batches)


def list_response(request: Request, found: Rendered) -> Response:
    """A rendered list, or 304 for whoever has it."""
    known = request.header("if-none-match")
    if known is not None and is_known(known, found.entity_tag):
        return Response(304, headers={"ETag": found.entity_tag})
    return Response(200, found, {"Content-Type": MEDIA_TYPE, "ETag": found.entity_tag})
