"""Audit events: the changes of a workspace, set, team or organization, newest first."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec
import structlog
from msgspec import UNSET, UnsetType

from teamvars.domain.audit import AuditEntry, OrganizationAuditQuery, shown_details
from teamvars.domain.audit_names import ActorNames
from teamvars.domain.ids import prefix_of
from teamvars.domain.pages import Page
from teamvars.fair_slots import Turns
from teamvars.services.audit import Audit
from teamvars.services.audit_pages import AuditPage
from teamvars.web.http import paging
from teamvars.web.http.parameters import MAX_CHARACTERS, Parameter, text_of, time_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier, Time, written
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response
from teamvars.web.variables import owners

_KEY = Parameter(
    "filter[key]", "A key: the changes of all variables that have it or had it, exactly."
)
_PART = Parameter(
    "q", "A part of keys, in any case: the changes of all variables that have such a key or had it."
)
_SAID_PART = Parameter(
    "q", "A part of keys, in any case: the changes of variables that had such a key then."
)
_ACTOR = Parameter(
    "filter[actor]", "Who acted: a name of a user, a team or the organization, or an id."
)
_SAID_KEY = Parameter("filter[key]", "A key: the changes of variables that had it then, exactly.")
_WORKSPACE = Parameter(
    "filter[workspace]",
    "The name of a workspace, existing or deleted: the changes in it and to it.",
)
_SINCE = Parameter(
    "filter[since]",
    "A time: the changes since then.",
    {"type": "string", "format": "date-time", "maxLength": MAX_CHARACTERS},
)
_OWN = "organizations"
_STREAMS = {"ws": "workspaces", "varset": "varsets", "team": "teams", "run": "runners"}
"""The types of the subjects of streams, by how their ids begin."""

log = structlog.get_logger("teamvars")


class AuditEventAttributes(msgspec.Struct, rename="kebab"):
    """What happened: who did what to whom. `details` never hold a value or token, and null in the
    place of a workspace, set or project that the reader may not see.

    `actor-name` and `token-description` are as of now, and null where there is none, or none that
    the reader is told. `changed` has the names that an update's details have, else nothing.
    """

    sequence: int
    created_at: Time
    action: str
    actor: Identifier
    token_id: str | None
    request_id: str
    subject: Identifier
    details: dict[str, Any]
    actor_name: str | None
    token_description: str | None
    changed: list[str]


class AuditEventResource(msgspec.Struct):
    """One change."""

    id: str
    type: str
    attributes: AuditEventAttributes


class OrganizationAuditEventAttributes(AuditEventAttributes, rename="kebab", kw_only=True):
    """What happened, and in which `stream`: that of a workspace, a variable set, a team, a runner
    or the organization.

    `stream-name` is what that is called now, and null once it is gone.
    """

    stream: Identifier
    stream_name: str | None


class OrganizationAuditEventResource(msgspec.Struct):
    """One change in an organization."""

    id: str
    type: str
    attributes: OrganizationAuditEventAttributes


class AuditEventMeta(msgspec.Struct, rename="kebab"):
    """`meta` of a page of changes.

    `searched-from` is the sequence number of the oldest change that a filter looked at.
    """

    pagination: paging.Pagination
    searched_from: int | UnsetType = UNSET


class AuditEventListDocument(msgspec.Struct):
    """One page of changes."""

    data: list[AuditEventResource]
    meta: AuditEventMeta


class OrganizationAuditEventListDocument(msgspec.Struct):
    """One page of an organization's changes. It may be short, or empty, and have a next one."""

    data: list[OrganizationAuditEventResource]
    links: paging.CursorLinks


def routes(audit: Audit, turns: Turns) -> list[Route]:
    """One row an operation; `turns`: those of all searches."""

    def turn(request: Request) -> AbstractAsyncContextManager[None]:
        """Whoever looks for a part of keys has one of these."""
        return request.turn(turns) if any(request.values(_PART.name)) else nullcontext()

    async def of_organization(request: Request) -> Response:
        """List the changes of an organization and of all that is or was in it, newest first."""
        cursor, size = paging.requested_cursor(request)
        query = OrganizationAuditQuery(
            actor=text_of(request, _ACTOR),
            key=text_of(request, _SAID_KEY),
            part=text_of(request, _SAID_PART),
            workspace=text_of(request, _WORKSPACE),
            since=time_of(request, _SINCE),
            size=size,
        )
        caller, organization = request.require_caller(), request.parameters["organization"]
        found = await audit.of_organization(caller, organization, query, cursor)
        events = [_organization_event(entry, found.actors) for entry in found.entries]
        links = paging.cursor_links(request, size, cursor, found.further)
        return Response.document(200, OrganizationAuditEventListDocument(events, links))

    return [
        *(
            _lists(
                kind.path.removeprefix("/api/v2"),
                f"List the changes of {kind.noun}, newest first.",
                audit.of_owner,
                _KEY,
                _PART,
                asks=kind.asked,
                turn=turn,
                name=f"list{kind.names or 'Workspace'}AuditEvents",
            )
            for kind in owners.EVERY
        ),
        _lists(
            "/teams/{team_id}",
            "List the changes of a team, newest first.",
            audit.of_team,
            may_forbid=True,
            name="listTeamAuditEvents",
        ),
        _lists(
            "/runners/{runner_id}",
            "List what a runner was handed, newest first.",
            audit.of_runner,
            name="listRunnerAuditEvents",
        ),
        Route(
            "GET",
            "/api/v2/organizations/{organization}/audit-events",
            of_organization,
            {200: OrganizationAuditEventListDocument},
            turn=turn,
            reads=(*paging.BY_CURSOR, _ACTOR, _SAID_KEY, _SAID_PART, _WORKSPACE, _SINCE),
            may_forbid=True,
            name="listOrganizationAuditEvents",
        ),
    ]


def _lists(
    path: str, text: str, work: Callable[..., Awaitable[AuditPage]], *by: Parameter, **more: Any
) -> Route:
    """Lists a page of what the work finds, which takes what `by` says as well."""

    asks = more.pop("asks", None)

    async def handle(request: Request) -> Response:
        page, said = paging.requested_page(request), [text_of(request, one) for one in by]
        (id_,) = request.parameters.values()
        asked = id_ if asks is None else asks(request)
        found = await work(request.require_caller(), asked, page, *said)
        return _page(found, page)

    reads = (*paging.PARAMETERS, *by)
    shown = {200: AuditEventListDocument}
    return Route(
        "GET", f"/api/v2{path}/audit-events", handle, shown, text=text, reads=reads, **more
    )


def _page(found: AuditPage, page: Page) -> Response:
    """The document of one numbered page."""
    events = []
    for entry in found.entries.items:
        told = _told(entry, found.actors)
        if found.seen is not None:
            told["details"] = shown_details(told["details"], found.seen)
        events.append(AuditEventResource(_id(entry), "audit-events", AuditEventAttributes(**told)))
    pagination = paging.meta(page, found.entries.total).pagination
    searched_from = UNSET if found.searched_from is None else found.searched_from
    meta = AuditEventMeta(pagination, searched_from)
    return Response.document(200, AuditEventListDocument(events, meta))


def _organization_event(entry: AuditEntry, actors: ActorNames) -> OrganizationAuditEventResource:
    # A text, unless somebody has touched the row.
    stream = Identifier(entry.stream_id, _STREAMS.get(prefix_of(str(entry.stream_id)), _OWN))
    attributes = OrganizationAuditEventAttributes(
        **_told(entry, actors), stream=stream, stream_name=actors.of_stream(entry)
    )
    return OrganizationAuditEventResource(_id(entry), "audit-events", attributes)


def _id(entry: AuditEntry) -> str:
    return f"{entry.stream_id}.{entry.sequence}"


def _told(entry: AuditEntry, actors: ActorNames) -> dict[str, Any]:
    """The attributes of every event."""
    id_ = _id(entry)
    details = entry.read_details()
    if details is None:  # somebody has touched the row; it hides no other
        log.warning("the details of an audit entry are no JSON object", row=id_)
    return {
        "sequence": entry.sequence,
        "created_at": written(entry.at, id_).isoformat(),
        "action": entry.action,
        "actor": Identifier(entry.actor_id, entry.actor_kind),
        "token_id": entry.token_id,
        "request_id": entry.request_id,
        "subject": Identifier(entry.subject_id, entry.subject_type),
        "details": details or {},
        "actor_name": actors.of_actor(entry),
        "token_description": actors.of_token(entry),
        "changed": _changed(details or {}),
    }


def _changed(details: Mapping[str, Any]) -> list[str]:
    """Also of a row that somebody has touched: names alone."""
    said = details.get("changed")
    return [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
