"""The routes of variables: decode, call, encode."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from teamvars.domain.errors import Code, Fault, refuse_all
from teamvars.domain.variables import VariableInWorkspace
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
from teamvars.web.http.routes import Handler, Route
from teamvars.web.http.sending import NO_HEADERS, Response
from teamvars.web.variables import documents, requests
from teamvars.web.variables.documents import (
    VariableDocument,
    VariableListDocument,
    entity_tag,
    rendered,
)

DEPRECATIONS = "/docs/deprecations"
"""The page that says what is deprecated."""
# Since the day of release 0.1.0, 2026-11-21, the first that says so (RFC 9745, 2.1).
_DEPRECATED_FILTER = {
    "Deprecation": "@1795219200",
    "Link": f'<{DEPRECATIONS}>; rel="deprecation"; type="text/markdown"',
}
_LIST = "/api/v2/workspaces/{workspace_id}/vars"
_VARS = "/api/v2/vars"
_NAMED = tuple(
    Parameter(f"filter[{noun}][name]", f"The name of the {noun}.", required=True)
    for noun in ("organization", "workspace")
)
_ALL_VARS = "/api/v2/workspaces/{workspace_id}/all-vars"
_WITHHELD = VariableInWorkspace.without_value
"""Whoever repeats a request is shown the value as it is now."""
_VARIABLE = {200: VariableDocument}
_ONE = "/api/v2/workspaces/{workspace_id}/vars/{variable_id}"


class VariableRoutes:
    """The five operations on variables (contract §4), and the reading of one."""

    def __init__(self, variables: Variables, dialect: Dialect) -> None:
        self._variables = variables
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            self._list(_LIST, "listVariables"),
            Route(
                "POST",
                _LIST,
                self.create,
                {201: VariableDocument},
                takes=requests.new_body(self._dialect),
                keyed=True,
                has_entity_tag=True,
                sends=dict.fromkeys(
                    _DEPRECATED_FILTER, "Sent when the request has the deprecated filter."
                ),
                may_forbid=True,
                name="createVariable",
            ),
            Route(
                "GET",
                _ONE,
                self.read,
                _VARIABLE,
                precondition=IF_NONE_MATCH,
                has_entity_tag=True,
                name="readVariable",
            ),
            Route(
                "PATCH",
                _ONE,
                self.update,
                _VARIABLE,
                takes=requests.changed_body(self._dialect),
                keyed=True,
                precondition=IF_MATCH,
                has_entity_tag=True,
                may_forbid=True,
                name="updateVariable",
            ),
            Route(
                "DELETE",
                _ONE,
                self.delete,
                {204: None},
                precondition=IF_MATCH,
                may_forbid=True,
                name="deleteVariable",
            ),
        ]

    def directory_routes(self, workspaces: Workspaces) -> list[Route]:
        """The same list where clients ask for variable sets as well, of which there are none, and
        where they name its workspace.
        """

        async def list_named(request: Request) -> Response:
            """List all variables of a workspace that is named, as older clients do."""
            view = await workspaces.read(request.require_caller(), _names(request))
            return await self._listed(request, view.workspace.id)

        by_names = self._list(
            _VARS, "listVariablesOfNamedWorkspace", list_named, reads=_NAMED, refuses=(404,)
        )
        return [self._list(_ALL_VARS, "listAllVariables"), by_names]

    def _list(self, template: str, name: str, handler: Handler | None = None, **more: Any) -> Route:
        return Route(
            "GET",
            template,
            handler or self.list,
            {200: VariableListDocument},
            precondition=IF_NONE_MATCH,
            has_entity_tag=True,
            name=name,
            **more,
        )

    async def list(self, request: Request) -> Response:
        """List all variables of a workspace, by key and category."""
        return await self._listed(request, request.parameters["workspace_id"])

    async def _listed(self, request: Request, workspace_id: str) -> Response:
        found = await self._variables.list(request.require_caller(), workspace_id, self._render)
        known = request.header("if-none-match")
        if known is not None and is_known(known, found.entity_tag):
            return Response(304, headers={"ETag": found.entity_tag})
        return Response(200, found, {"Content-Type": MEDIA_TYPE, "ETag": found.entity_tag})

    async def read(self, request: Request) -> Response:
        """Read a variable, as its `links.self` says."""
        found = await self._variables.read(
            request.require_caller(),
            request.parameters["workspace_id"],
            request.parameters["variable_id"],
        )
        shown, known = self._shown(found), request.header("if-none-match")
        if known is not None and is_known(known, shown.headers["ETag"]):
            return Response(304, headers={"ETag": shown.headers["ETag"]})
        return shown

    async def create(self, request: Request) -> Response:
        """Create a variable; no other of its category has its key."""
        workspace_id = request.parameters["workspace_id"]
        draft, named = requests.create_draft(request.document, workspace_id, self._dialect)
        caller, deprecated = request.require_caller(), {} if named is None else _DEPRECATED_FILTER
        work = self._variables.create(caller, workspace_id, draft, named)
        made = partial(self._shown, status=201, more=deprecated)
        again = partial(self._again, request)
        return await changed(request, work, made, withheld=Withheld(_WITHHELD, again))

    async def update(self, request: Request) -> Response:
        """Update what the request names of a variable."""
        ids = request.parameters["workspace_id"], request.parameters["variable_id"]
        draft = requests.update_draft(request.document, *ids, self._dialect)
        wanted = requests.wanted_versions(request)
        work = self._variables.update(request.require_caller(), *ids, draft, wanted)
        again = partial(self._again, request)
        return await changed(request, work, self._shown, withheld=Withheld(_WITHHELD, again))

    async def delete(self, request: Request) -> Response:
        """Delete a variable; any body is ignored."""
        await self._variables.delete(
            request.require_caller(),
            request.parameters["workspace_id"],
            request.parameters["variable_id"],
            requests.wanted_versions(request),
        )
        return Response(204)

    def _shown(
        self, found: VariableInWorkspace, *, status: int = 200, more: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        (shown,) = documents.variables([found.variable], found.workspace, self._dialect)
        tag = entity_tag(found.variable.version_id, found.workspace, self._dialect)
        place = {"Location": shown.links.self} if status == HTTPStatus.CREATED else {}
        return Response.document(status, VariableDocument(shown), {**place, "ETag": tag, **more})

    async def _again(self, request: Request, body: bytes) -> bytes:
        """The document of a repeat. It has the value, if the variable is readable and as it was."""
        document = msgspec.json.decode(body)
        data = document["data"]
        attributes = data["attributes"]
        attributes["value"] = await self._variables.value_at(
            request.require_caller(),
            request.parameters["workspace_id"],
            data["id"],
            attributes["version-id"],
        )
        return msgspec.json.encode(document)

    async def _render(self, found: VariableList) -> Rendered:
        """The document of the list."""
        workspace = found.workspace
        batches = (documents.variables(one, workspace, self._dialect) for one in found.batches)
        return await rendered(entity_tag(found.version, workspace, self._dialect), batches)


def _names(request: Request) -> ByNames:
    said = {one.name: text_of(request, one) or "" for one in _NAMED}
    refuse_all(
        Fault(Code.INVALID_PARAMETER, f"{name} says which.", parameter=name)
        for name, text in said.items()
        if not text
    )
    return ByNames(*said.values())
