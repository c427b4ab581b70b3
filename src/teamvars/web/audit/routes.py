"""The routes of audit events: the changes of a workspace, team or organization, newest first."""

from teamvars.domain.audit import OrganizationAuditQuery
from teamvars.services.audit import Audit
from teamvars.web.audit import documents
from teamvars.web.audit.documents import AuditEventListDocument, OrganizationAuditEventListDocument
from teamvars.web.http import cursors, paging
from teamvars.web.http.parameters import MAX_CHARACTERS, Parameter, text_of, time_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/audit-events"
_OF_TEAM = "/api/v2/teams/{team_id}/audit-events"
_OF_ORGANIZATION = "/api/v2/organizations/{organization}/audit-events"
_KEY = Parameter(
    "filter[key]", "A key: the changes of all variables that have it or had it, exactly."
)
_ACTOR = Parameter(
    "filter[actor]", "Who acted: a name of a user, a team or the organization, or an id."
)
_SAID_KEY = Parameter("filter[key]", "A key: the changes of variables that had it then, exactly.")
_WORKSPACE = Parameter(
    "filter[workspace]", "The name of a workspace that there is or was: the changes in and to it."
)
_SINCE = Parameter(
    "filter[since]",
    "A time: the changes from then on.",
    {"type": "string", "format": "date-time", "maxLength": MAX_CHARACTERS},
)


class AuditRoutes:
    """The changes of a workspace, of a team and of an organization."""

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
            Route(
                "GET",
                _OF_ORGANIZATION,
                self.of_organization,
                {200: OrganizationAuditEventListDocument},
                reads=(*cursors.PARAMETERS, _ACTOR, _SAID_KEY, _WORKSPACE, _SINCE),
                may_forbid=True,
                name="listOrganizationAuditEvents",
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

    async def of_organization(self, request: Request) -> Response:
        """List the changes of an organization and of all that is or was in it, newest first."""
        cursor, size = cursors.requested(request)
        query = OrganizationAuditQuery(
            actor=text_of(request, _ACTOR),
            key=text_of(request, _SAID_KEY),
            workspace=text_of(request, _WORKSPACE),
            since=time_of(request, _SINCE),
            size=size,
        )
        caller, organization = request.require_caller(), request.path("organization")
        found = await self._audit.of_organization(caller, organization, query, cursor)
        links = cursors.links(request, size, cursor, found.further)
        return Response.document(200, documents.organization_event_list(found, links))
