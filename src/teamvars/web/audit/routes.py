"""The routes of audit events: the changes of one workspace or team, newest first."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, Page
from teamvars.services.audit import Audit, AuditPage
from teamvars.web.http import paging
from teamvars.web.http.formats import Time
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.http.times import written
from teamvars.web.variables.documents import Identifier

_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/audit-events"
_OF_TEAM = "/api/v2/teams/{team_id}/audit-events"

log = structlog.get_logger("teamvars")


class AuditEventAttributes(msgspec.Struct, rename="kebab"):
    """What happened: who did what to whom. `details` never hold a value or token."""

    sequence: int
    created_at: Time
    action: str
    actor: Identifier
    token_id: str | None
    request_id: str
    subject: Identifier
    details: dict[str, Any]


class AuditEventResource(msgspec.Struct):
    """One change."""

    id: str
    type: str
    attributes: AuditEventAttributes


class AuditEventListDocument(msgspec.Struct):
    """One page of changes."""

    data: list[AuditEventResource]
    meta: paging.PageMeta


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
    find: Callable[[Caller, str, Page], Awaitable[AuditPage]],
    subject_id: str,
) -> Response:
    page = paging.requested_page(request)
    found = await find(request.require_caller(), subject_id, page)
    events = [_event(entry) for entry in found.entries]
    document = AuditEventListDocument(events, paging.meta(page, found.total))
    return Response.document(200, document)


def _event(entry: AuditEntry) -> AuditEventResource:
    id_ = f"{entry.stream_id}.{entry.sequence}"
    details = entry.read_details()
    if details is None:  # somebody has touched the row; it hides no other
        log.warning("the details of an audit entry are no JSON object", row=id_)
    return AuditEventResource(
        id=id_,
        type="audit-events",
        attributes=AuditEventAttributes(
            sequence=entry.sequence,
            created_at=written(entry.at, id_).isoformat(),
            action=entry.action,
            actor=Identifier(entry.actor_id, entry.actor_kind),
            token_id=entry.token_id,
            request_id=entry.request_id,
            subject=Identifier(entry.subject_id, entry.subject_type),
            details=details or {},
        ),
    )
