"""The routes of audit events: the changes of one workspace or team, newest first."""

from collections.abc import Awaitable, Callable

import structlog

from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry
from teamvars.domain.pages import Page, Paged
from teamvars.services.audit import Audit
from teamvars.web.audit import documents
from teamvars.web.audit.documents import AuditEventListDocument
from teamvars.web.http import paging
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/audit-events"
_OF_TEAM = "/api/v2/teams/{team_id}/audit-events"

log = structlog.get_logger("teamvars")


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
                reads=paging.PARAMETERS,
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
        return await _paged(request, self._audit.of_workspace, request.path("workspace_id"))

    async def of_team(self, request: Request) -> Response:
        """List the changes of a team, newest first."""
        return await _paged(request, self._audit.of_team, request.path("team_id"))


async def _paged(
    request: Request,
    find: Callable[[Caller, str, Page], Awaitable[Paged[AuditEntry]]],
    subject_id: str,
) -> Response:
    page = paging.requested_page(request)
    found = await find(request.require_caller(), subject_id, page)
    events = [documents.event(entry) for entry in found.items]
    document = AuditEventListDocument(events, paging.meta(page, found.total))
    return Response.document(200, document)
