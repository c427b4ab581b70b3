"""The documents of audit events."""

from typing import Any

import msgspec
import structlog

from teamvars.domain.audit import AuditEntry
from teamvars.web.http import paging
from teamvars.web.http.formats import Time, written
from teamvars.web.http.resource_objects import Identifier

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


def event(entry: AuditEntry) -> AuditEventResource:
    """The resource object of an entry."""
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
