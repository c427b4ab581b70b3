"""The routes of audit events: the changes of one workspace or team, newest first."""

from teamvars.services.audit import Audit
from teamvars.web.audit import documents
from teamvars.web.audit.documents import AuditEventListDocument
from teamvars.web.http import paging
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/audit-events"
_OF_TEAM = "/api/v2/teams/{team_id}/audit-events"
_KEY = Parameter(
    "filter[key]", "A key: the changes of all variables that have it or had it, exactly."
)


class AuditRoutes:
    """The changes of a workspace and of a team."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def routes(self) -> list[Route]:
        """One row an operation."""
        page = {200: AuditEventListDocument}
        return [
            Route(
                "GET",
                _OF_WORKSPACE,
                self.of_workspace,
                page,
                reads=(*paging.PARAMETERS, _KEY),
                name="listWorkspaceAuditEvents",
            ),
            Route(
                "GET",
                _OF_TEAM,
                self.of_team,
                page,
                reads=paging.PARAMETERS,
                may_forbid=True,
                name="listTeamAuditEvents",
            ),
        ]

    async def of_workspace(self, request: Request) -> Response:
        """List the changes of a workspace, newest first."""
        page, key = paging.requested_page(request), text_of(request, _KEY)
        caller, id_ = request.require_caller(), request.path("workspace_id")
        found = await self._audit.of_workspace(caller, id_, page, key)
        return Response.document(200, documents.event_list(found, page))

    async def of_team(self, request: Request) -> Response:
        """List the changes of a team, newest first."""
        page = paging.requested_page(request)
        caller, id_ = request.require_caller(), request.path("team_id")
        found = await self._audit.of_team(caller, id_, page)
        return Response.document(200, documents.event_list(found, page))
