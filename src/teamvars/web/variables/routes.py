"""The routes of variables: decode, call, encode."""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from teamvars.decisions.variables import ToOwner, ToSet, ToWorkspace
from teamvars.domain.errors import Code, Fault, refuse_all
from teamvars.domain.variables import OwnedVariable
from teamvars.domain.workspaces import ByNames
from teamvars.services.rendered import Rendered
from teamvars.services.variables import VariableList, Variables
from teamvars.services.workspaces import Workspaces
from teamvars.web.dialects import Dialect
from teamvars.web.http.idempotency import Withheld, changed
from teamvars.web.http.negotiation import (
    IF_MATCH,
    IF_NONE_MATCH,
    MEDIA_TYPE,
    is_known,
)
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import NO_HEADERS, Response
from teamvars.web.variables import documents, requests
from teamvars.web.variables.documents import (
    VariableDocument,
    VariableListDocument,
    entity_tag,
    place_of,
    rendered,
)

DEPRECATIONS = "/docs/deprecations"
"""The page that says what is deprecated."""
# Since the day of release 0.1.0, 2026-11-21, the first that says so (RFC 9745, 2.1).
_DEPRECATED_FILTER = {
    "Deprecation": "@1795219200",
    "Link": f'<{DEPRECATIONS}>; rel="deprecation"; type="text/markdown"',
}
_VARS = "/api/v2/vars"
_INHERITED = "/api/v2/workspaces/{workspace_id}/varsets/{varset_id}/relationships/vars"
_NAMED = tuple(
    Parameter(f"filter[{noun}][name]", f"The name of the {noun}.", required=True)
    for noun in ("organization", "workspace")
)
_WITHHELD = OwnedVariable.without_value
"""Whoever repeats a request is shown the value as it is now."""
_VARIABLE = {200: VariableDocument}


class _Kind(msgspec.Struct, frozen=True):
    """Where the variables of one kind of owner are, by which parameters of the path, and what that
    is called: its type, the `noun` in texts, and in the `names` of operations.
    """

    path: str
    parameter: str
    variable: str
    type: str
    to: Callable[[str], ToOwner]
    noun: str
    names: str

    def owner_of(self, request: Request) -> Identifier:
        """What the path of a request names."""
        return Identifier(request.parameters[self.parameter], self.type)

    def variable_of(self, request: Request) -> str:
        """The id of the variable that the path names."""
        return request.parameters[self.variable]


_OF_WORKSPACES = _Kind(
    "/api/v2/workspaces/{workspace_id}/vars",
    "workspace_id",
    "variable_id",
    "workspaces",
    ToWorkspace,
    "a workspace",
    "Variable",
)
_OF_SETS = _Kind(
    "/api/v2/varsets/{varset_id}/relationships/vars",
    "varset_id",
    "set_variable_id",
    "varsets",
    ToSet,
    "a variable set",
    "SetVariable",
)


def variable_routes(variables: Variables, dialect: Dialect) -> list[Route]:
    """The operations on variables of workspaces."""
    return _VariableRoutes(variables, dialect, _OF_WORKSPACES).routes()


def set_variable_routes(variables: Variables, dialect: Dialect) -> list[Route]:
    """The same on those of variable sets."""
    return _VariableRoutes(variables, dialect, _OF_SETS).routes()


def inherited_variable_routes(variables: Variables, dialect: Dialect) -> list[Route]:
    """Reading those of a set that reaches a workspace, where its readers look for them."""
    of_sets = _VariableRoutes(variables, dialect, _OF_SETS)
    more: dict[str, Any] = {"precondition": IF_NONE_MATCH, "has_entity_tag": True}
    return [
        Route(
            "GET",
            _INHERITED,
            of_sets.list,
            {200: VariableListDocument},
            name="listInheritedVariables",
            text="List all variables of a variable set that reaches a workspace, by key.",
            **more,
        ),
        Route(
            "GET",
            f"{_INHERITED}/{{{_OF_SETS.variable}}}",
            of_sets.read,
            _VARIABLE,
            name="readInheritedVariable",
            text="Read a variable of a variable set that reaches a workspace.",
            **more,
        ),
    ]


def named_variable_routes(
    variables: Variables, workspaces: Workspaces, dialect: Dialect
) -> list[Route]:
    """The list, where older clients name its workspace."""
    of_workspaces = _VariableRoutes(variables, dialect, _OF_WORKSPACES)

    async def list_named(request: Request) -> Response:
        """List all variables of a workspace that is named, as older clients do."""
        view = await workspaces.read(request.require_caller(), _names(request))
        return await of_workspaces.listed(request, ToWorkspace(view.workspace.id))

    return [
        Route(
            "GET",
            _VARS,
            list_named,
            {200: VariableListDocument},
            precondition=IF_NONE_MATCH,
            has_entity_tag=True,
            name="listVariablesOfNamedWorkspace",
            reads=_NAMED,
            refuses=(404,),
        )
    ]


class _VariableRoutes:
    """The five operations on variables (contract §4), and the reading of one."""

    def __init__(self, variables: Variables, dialect: Dialect, kind: _Kind) -> None:
        self._variables = variables
        self._dialect = dialect
        self._kind = kind

    def routes(self) -> list[Route]:
        """One row an operation."""
        kind = self._kind
        all_, one = kind.path, f"{kind.path}/{{{kind.variable}}}"
        is_of_workspaces = kind is _OF_WORKSPACES
        return [
            Route(
                "GET",
                all_,
                self.list,
                {200: VariableListDocument},
                precondition=IF_NONE_MATCH,
                has_entity_tag=True,
                name=f"list{kind.names}s",
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
                sends=dict.fromkeys(
                    _DEPRECATED_FILTER if is_of_workspaces else (),
                    "Sent when the request has the deprecated filter.",
                ),
                may_forbid=True,
                name=f"create{kind.names}",
                text=f"Create a variable of {kind.noun}; no other of its category has its key.",
            ),
            Route(
                "GET",
                one,
                self.read,
                _VARIABLE,
                precondition=IF_NONE_MATCH,
                has_entity_tag=True,
                name=f"read{kind.names}",
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
                name=f"update{kind.names}",
            ),
            Route(
                "DELETE",
                one,
                self.delete,
                {204: None},
                precondition=IF_MATCH,
                may_forbid=True,
                name=f"delete{kind.names}",
            ),
        ]

    async def list(self, request: Request) -> Response:
        return await self.listed(request, self._to(request), self._at(request))

    async def listed(self, request: Request, to: ToOwner, at: str | None = None) -> Response:
        """The list of an owner, of a set where it reaches a workspace."""
        found = await self._variables.list(request.require_caller(), to, self._render, at=at)
        return list_response(request, found)

    async def read(self, request: Request) -> Response:
        """Read a variable, as its `links.self` says."""
        found = await self._variables.read(
            request.require_caller(),
            self._to(request),
            self._kind.variable_of(request),
            at=self._at(request),
        )
        shown, known = self._shown(found), request.header("if-none-match")
        if known is not None and is_known(known, shown.headers["ETag"]):
            return Response(304, headers={"ETag": shown.headers["ETag"]})
        return shown

    async def create(self, request: Request) -> Response:
        owner = self._kind.owner_of(request)
        draft, named = requests.create_draft(request.document, owner, self._dialect)
        named = named if self._kind is _OF_WORKSPACES else None
        caller, deprecated = request.require_caller(), {} if named is None else _DEPRECATED_FILTER
        work = self._variables.create(caller, self._to(request), draft, named)
        made = partial(self._shown, status=201, more=deprecated)
        again = partial(self._again, request)
        return await changed(request, work, made, withheld=Withheld(_WITHHELD, again))

    async def update(self, request: Request) -> Response:
        """Update what the request names of a variable."""
        owner, id_ = self._kind.owner_of(request), self._kind.variable_of(request)
        draft = requests.update_draft(request.document, owner, id_, self._dialect)
        wanted = requests.wanted_versions(request)
        caller = request.require_caller()
        work = self._variables.update(caller, self._to(request), id_, draft, wanted)
        again = partial(self._again, request)
        return await changed(request, work, self._shown, withheld=Withheld(_WITHHELD, again))

    async def delete(self, request: Request) -> Response:
        """Delete a variable; any body is ignored."""
        await self._variables.delete(
            request.require_caller(),
            self._to(request),
            self._kind.variable_of(request),
            requests.wanted_versions(request),
        )
        return Response(204)

    def _to(self, request: Request) -> ToOwner:
        return self._kind.to(request.parameters[self._kind.parameter])

    def _at(self, request: Request) -> str | None:
        """The workspace that a set has to reach, where the path names one."""
        return request.parameters.get("workspace_id") if self._kind is _OF_SETS else None

    def _shown(
        self, found: OwnedVariable, *, status: int = 200, more: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        place = place_of(found.owner)
        (shown,) = documents.variables([found.variable], place, self._dialect)
        tag = entity_tag(found.variable.version_id, found.owner, self._dialect)
        where = {"Location": shown.links.self} if status == HTTPStatus.CREATED else {}
        return Response.document(status, VariableDocument(shown), {**where, "ETag": tag, **more})

    async def _again(self, request: Request, body: bytes) -> bytes:
        """The document of a repeat. It has the value, if the variable is readable and as it was."""
        document = msgspec.json.decode(body)
        data = document["data"]
        attributes = data["attributes"]
        attributes["value"] = await self._variables.value_at(
            request.require_caller(), self._to(request), data["id"], attributes["version-id"]
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


def _names(request: Request) -> ByNames:
    said = {one.name: text_of(request, one) or "" for one in _NAMED}
    refuse_all(
        Fault(Code.INVALID_PARAMETER, f"{name} says which.", parameter=name)
        for name, text in said.items()
        if not text
    )
    return ByNames(*said.values())
