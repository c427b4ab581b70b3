"""The routes of workspaces: decode, call, encode."""

from collections.abc import Mapping
from functools import partial

from teamvars.domain.errors import forbidden, not_found
from teamvars.domain.workspaces import WorkspaceSearch
from teamvars.services.workspaces import Address, ByNames, Workspaces, WorkspaceView
from teamvars.web.http import paging
from teamvars.web.http.parameters import INCLUDE, Parameter, requested_includes, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Handler, Route
from teamvars.web.workspaces import documents
from teamvars.web.workspaces.documents import (
    INCLUDES,
    WorkspaceDocument,
    WorkspaceListDocument,
    workspace_path,
)

_ALL = "/api/v2/organizations/{organization}/workspaces"
_BY_NAME = "/api/v2/organizations/{organization}/workspaces/{workspace}"
_BY_ID = "/api/v2/workspaces/{workspace_id}"
_SEARCH = Parameter("search[name]", "A part of the name.")
_WILDCARD = Parameter("search[wildcard-name]", "A name in which * stands for any characters.")
_ONE = {200: WorkspaceDocument}


class WorkspaceRoutes:
    """Workspaces as HCP Terraform's clients know them."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def routes(self) -> list[Route]:
        """What `relationships.configurable.links.related` of a variable points at."""
        return [
            Route("GET", _BY_NAME, self.read, _ONE, reads=(INCLUDE,), name="readWorkspaceByName")
        ]

    def directory_routes(self) -> list[Route]:
        """All the others, one row an operation."""
        page = {200: WorkspaceListDocument}
        reads = (*paging.PARAMETERS, INCLUDE, _SEARCH, _WILDCARD)
        current, states = f"{_BY_ID}/current-state-version", f"{_BY_ID}/state-versions"
        force = partial(self.unlock, force=True)
        return [
            Route("GET", _ALL, self.list, page, reads=reads, name="listWorkspaces"),
            Route(
                "POST",
                _ALL,
                self.create,
                {201: WorkspaceDocument},
                takes=documents.NEW,
                keyed=True,
                may_forbid=True,
                name="createWorkspace",
            ),
            Route("GET", _BY_ID, self.read, _ONE, reads=(INCLUDE,), name="readWorkspace"),
            *self._changes(_BY_NAME, "WorkspaceByName"),
            *self._changes(_BY_ID, "Workspace"),
            _action(f"{_BY_ID}/actions/lock", self.lock, _ONE, "lockWorkspace"),
            _action(f"{_BY_ID}/actions/unlock", self.unlock, _ONE, "unlockWorkspace"),
            _action(f"{_BY_ID}/actions/force-unlock", force, _ONE, "forceUnlockWorkspace"),
            Route("GET", current, self.read_state, {}, name="readCurrentStateVersion"),
            Route(
                "POST", states, self.refuse_state, {}, may_forbid=True, name="createStateVersion"
            ),
        ]

    def _changes(self, path: str, noun: str) -> list[Route]:
        safely = partial(self.delete, only_unlocked=True)
        update, delete = f"update{noun}", f"delete{noun}"
        return [
            Route(
                "PATCH",
                path,
                self.update,
                _ONE,
                takes=documents.CHANGED,
                keyed=True,
                may_forbid=True,
                name=update,
            ),
            Route("DELETE", path, self.delete, {204: None}, may_forbid=True, name=delete),
            _action(f"{path}/actions/safe-delete", safely, {204: None}, f"safeDelete{noun}"),
        ]

    async def list(self, request: Request) -> Response:
        """List the workspaces of an organization that the caller sees, by name."""
        includes = self._includes(request)
        page = paging.requested_page(request)
        wanted = WorkspaceSearch(
            text_of(request, _SEARCH) or "", text_of(request, _WILDCARD) or "*"
        )
        caller, organization = request.require_caller(), request.path("organization")
        found = await self._workspaces.list(caller, organization, wanted, page)
        links, meta = paging.links_and_meta(request, page, found.total)
        document = documents.workspace_list(found, includes, links, meta)
        return Response.document(200, document)

    async def create(self, request: Request) -> Response:
        """Create a workspace."""
        draft = documents.new_draft(request.document)
        caller, organization = request.require_caller(), request.path("organization")
        work = self._workspaces.create(caller, organization, draft)
        return await request.changed(work, _made)

    async def read(self, request: Request) -> Response:
        """Read a workspace."""
        includes = self._includes(request)
        caller, address = request.require_caller(), _address(request)
        return _shown(await self._workspaces.read(caller, address, organization=bool(includes)))

    async def update(self, request: Request) -> Response:
        """Update a workspace: its name, execution mode or Terraform version."""
        draft = documents.changed_draft(request.document)
        caller, address = request.require_caller(), _address(request)
        return await request.changed(self._workspaces.update(caller, address, draft), _shown)

    async def delete(self, request: Request, *, only_unlocked: bool = False) -> Response:
        """Delete a workspace with its variables; safely means that nobody has locked it."""
        caller, address = request.require_caller(), _address(request)
        work = self._workspaces.delete(caller, address, only_unlocked=only_unlocked)
        return await request.changed(work, lambda _: Response(204))

    async def lock(self, request: Request) -> Response:
        """Lock a workspace for the caller; the body, with its empty type, is ignored."""
        caller, workspace_id = request.require_caller(), request.path("workspace_id")
        return await request.changed(self._workspaces.lock(caller, workspace_id), _shown)

    async def unlock(self, request: Request, *, force: bool = False) -> Response:
        """Unlock a workspace; only an owner may force open what another has locked."""
        caller, workspace_id = request.require_caller(), request.path("workspace_id")
        work = self._workspaces.unlock(caller, workspace_id, force=force)
        return await request.changed(work, _shown)

    async def read_state(self, request: Request) -> Response:
        """Say that there is no state here."""
        await self._workspaces.read(request.require_caller(), request.path("workspace_id"))
        raise not_found()

    async def refuse_state(self, request: Request) -> Response:
        """Say that no state is kept here."""
        await self._workspaces.read(request.require_caller(), request.path("workspace_id"))
        raise forbidden("No state is kept here. Use a backend that keeps it.")

    def _includes(self, request: Request) -> frozenset[str]:
        return requested_includes(request, INCLUDES)


def _action(path: str, handler: Handler, responses: Mapping[int, type | None], name: str) -> Route:
    return Route("POST", path, handler, responses, keyed=True, may_forbid=True, name=name)


def _address(request: Request) -> Address:
    if "workspace_id" in request.parameters:
        return request.path("workspace_id")
    return ByNames(request.path("organization"), request.path("workspace"))


def _made(made: WorkspaceView) -> Response:
    headers = {"Location": workspace_path(made.workspace)}
    return Response.document(201, documents.workspace(made), headers)


def _shown(view: WorkspaceView) -> Response:
    return Response.document(200, documents.workspace(view))
