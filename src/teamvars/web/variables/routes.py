"""The routes of variables: decode, call, encode."""

from functools import partial

import msgspec

from teamvars.services.rendered import Rendered
from teamvars.services.variables import VariableInWorkspace, VariableList, Variables
from teamvars.web.dialects import Dialect
from teamvars.web.http.idempotency import Withheld
from teamvars.web.http.negotiation import (
    IF_MATCH,
    IF_NONE_MATCH,
    MEDIA_TYPE,
    is_known,
)
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.variables import documents, requests
from teamvars.web.variables.deprecations import DEPRECATED_FILTER
from teamvars.web.variables.documents import VariableDocument, VariableListDocument
from teamvars.web.variables.entity_tags import entity_tag, wanted_versions
from teamvars.web.variables.rendering import rendered

_LIST = "/api/v2/workspaces/{workspace_id}/vars"
_ALL_VARS = "/api/v2/workspaces/{workspace_id}/all-vars"
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
                    DEPRECATED_FILTER, "Sent when the request has the deprecated filter."
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

    def directory_routes(self) -> list[Route]:
        """The same list where clients ask for variable sets as well; there are none."""
        return [self._list(_ALL_VARS, "listAllVariables")]

    def _list(self, template: str, name: str) -> Route:
        return Route(
            "GET",
            template,
            self.list,
            {200: VariableListDocument},
            precondition=IF_NONE_MATCH,
            has_entity_tag=True,
            name=name,
        )

    async def list(self, request: Request) -> Response:
        """List all variables of a workspace, by key and category."""
        found = await self._variables.list(
            request.require_caller(), request.path("workspace_id"), self._render
        )
        if is_known(request.header("if-none-match"), found.entity_tag):
            return Response(304, headers={"ETag": found.entity_tag})
        return Response(200, found, {"Content-Type": MEDIA_TYPE, "ETag": found.entity_tag})

    async def read(self, request: Request) -> Response:
        """Read a variable, as its `links.self` says."""
        found = await self._variables.read(
            request.require_caller(),
            request.path("workspace_id"),
            request.path("variable_id"),
        )
        headers = {"ETag": self._tag_of(found)}
        if is_known(request.header("if-none-match"), headers["ETag"]):
            return Response(304, headers=headers)
        return Response.document(200, self._document(found), headers)

    async def create(self, request: Request) -> Response:
        """Create a variable; no other of its category has its key."""
        workspace_id = request.path("workspace_id")
        draft, deprecated = requests.create_draft(request.document, workspace_id, self._dialect)
        work = self._variables.create(request.require_caller(), workspace_id, draft, deprecated)
        is_deprecated = requests.has_deprecated_filter(request.document)
        made = partial(self._made, is_deprecated=is_deprecated)
        return await request.changed(work, made, withheld=self._withheld(request))

    async def update(self, request: Request) -> Response:
        """Update what the request names of a variable."""
        ids = request.path("workspace_id"), request.path("variable_id")
        draft = requests.update_draft(request.document, *ids, self._dialect)
        wanted = wanted_versions(request)
        work = self._variables.update(request.require_caller(), *ids, draft, wanted)
        return await request.changed(work, self._updated, withheld=self._withheld(request))

    async def delete(self, request: Request) -> Response:
        """Delete a variable; any body is ignored."""
        await self._variables.delete(
            request.require_caller(),
            request.path("workspace_id"),
            request.path("variable_id"),
            wanted_versions(request),
        )
        return Response(204)

    def _made(self, made: VariableInWorkspace, *, is_deprecated: bool) -> Response:
        headers = {
            "Location": documents.variable_path(made.variable),
            "ETag": self._tag_of(made),
            **(DEPRECATED_FILTER if is_deprecated else {}),
        }
        return Response.document(201, self._document(made), headers)

    def _updated(self, updated: VariableInWorkspace) -> Response:
        return Response.document(200, self._document(updated), {"ETag": self._tag_of(updated)})

    def _withheld(self, request: Request) -> Withheld[VariableInWorkspace]:
        """The value: whoever repeats a request is shown it as it is now."""
        return Withheld(VariableInWorkspace.without_value, partial(self._again, request))

    async def _again(self, request: Request, body: bytes) -> bytes:
        """The document of a repeat. It has the value, if the variable is readable and as it was."""
        document = msgspec.json.decode(body)
        data = document["data"]
        attributes = data["attributes"]
        attributes["value"] = await self._variables.value_at(
            request.require_caller(),
            request.path("workspace_id"),
            data["id"],
            attributes["version-id"],
        )
        return msgspec.json.encode(document)

    async def _render(self, found: VariableList) -> Rendered:
        """The document of the list."""
        workspace = found.workspace
        batches = (documents.variables(one, workspace, self._dialect) for one in found.batches)
        return await rendered(entity_tag(found.version, workspace, self._dialect), batches)

    def _document(self, found: VariableInWorkspace) -> VariableDocument:
        return documents.variable(found.variable, found.workspace, self._dialect)

    def _tag_of(self, found: VariableInWorkspace) -> str:
        return entity_tag(found.variable.version_id, found.workspace, self._dialect)
