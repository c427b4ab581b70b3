"""The routes of audit events: the changes of one workspace or team, newest first."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry
from teamvars.domain.pages import Page, Paged
from teamvars.services.audit import Audit
from teamvars.web import paging
from teamvars.web.documents import Identifier
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.formats import Time
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.resources import Route
from teamvars.web.times import written

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

    async def of_workspace(self, exchange: Exchange) -> Answer:
        """List the changes of a workspace, newest first."""
        return await _paged(exchange, self._audit.of_workspace, exchange.path("workspace_id"))

    async def of_team(self, exchange: Exchange) -> Answer:
        """List the changes of a team, newest first."""
        return await _paged(exchange, self._audit.of_team, exchange.path("team_id"))


async def _paged(
    exchange: Exchange,
    find: Callable[[Caller, str, Page], Awaitable[Paged[AuditEntry]]],
    subject_id: str,
) -> Answer:
    page = paging.requested_page(exchange)
    found = await find(exchange.require_caller(), subject_id, page)
    events = [_event(entry) for entry in found.items]
    document = AuditEventListDocument(events, paging.meta(page, found.total))
    return Answer(200, msgspec.json.encode(document), {"Content-Type": MEDIA_TYPE})


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
