"""The route of accesses: who may read and write the variables of a workspace."""

from teamvars.services.accesses import Accesses
from teamvars.web.accesses import documents
from teamvars.web.accesses.documents import WorkspaceAccessListDocument
from teamvars.web.http import paging
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route


class AccessRoutes:
    """Who has access to a workspace."""

    def __init__(self, accesses: Accesses) -> None:
        self._accesses = accesses

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "GET",
                "/api/v2/workspaces/{workspace_id}/access",
                self.list,
                {200: WorkspaceAccessListDocument},
                reads=paging.PARAMETERS,
                may_forbid=True,
                name="listWorkspaceAccesses",
            )
        ]

    async def list(self, request: Request) -> Response:
        """List who may read and write the variables of a workspace, and through which teams."""
        page = paging.requested_page(request)
        caller, id_ = request.require_caller(), request.path("workspace_id")
        found = await self._accesses.list(caller, id_, page)
        links, meta = paging.links_and_meta(request, page, found.total)
        return Response.document(200, documents.access_list(found, links, meta))
