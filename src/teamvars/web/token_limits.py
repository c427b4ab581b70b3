"""How long tokens of an organization and its teams may live: token TTL policies, to clients."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from teamvars.domain.pages import Paged
from teamvars.domain.team_members import MAX_ITEMS
from teamvars.domain.token_limits import (
    LIMITED,
    MAX_MS,
    MIN_MS,
    NOT_LIMITED,
    TWO_YEARS_MS,
    LimitsDraft,
    SaidLimit,
    TokenLimit,
)
from teamvars.services.tokens import TokenLimits
from teamvars.web.http.attributes import Attribute, one_of
from teamvars.web.http.idempotency import changed
from teamvars.web.http.operations import Operations
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Time, timestamp
from teamvars.web.http.resources import Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response

_PATH = "/api/v2/organizations/{organization}/token-ttl-policies"
_ITEMS = "token-ttl-policies"
_KINDS = Meta(description=f"For all but {' and '.join(LIMITED)} there is no other than 730 days.")
_MOST = Meta(ge=MIN_MS, le=MAX_MS, description="How long a token may live, in milliseconds.")
LIMIT = Resource[TokenLimit](
    type="organization-token-ttl-policies",
    name="TokenLimit",
    noun="a limit",
    tag="Tokens",
    id=lambda one: one.id,
    whole=True,
    attributes=(
        Attribute("token-type", one_of(LIMITED, Meta()), lambda one: one.kind),
        Attribute("max-ttl-ms", int, lambda one: one.max_ttl_ms),
        Attribute("created-at", Time, lambda one: timestamp(one.created_at, one.id)),
        Attribute("updated-at", Time, lambda one: timestamp(one.updated_at, one.id)),
    ),
    texts={
        "TokenLimitAttributes": (
            "How long tokens of a kind may live, in milliseconds; it counts while the organization "
            "has `max-ttl-enabled`."
        ),
        "TokenLimitListDocument": "The limits that an organization has set.",
    },
)


class GivenTokenLimit(msgspec.Struct, rename="kebab"):
    """How long tokens of a kind may live."""

    token_type: one_of((*LIMITED, *NOT_LIMITED), _KINDS)  # type: ignore[valid-type]
    max_ttl_ms: Annotated[int, _MOST]


class GivenTokenLimits(msgspec.Struct, rename="kebab"):
    """Limits to set; those that are not named stay."""

    token_ttl_policies: Annotated[list[GivenTokenLimit], Meta(max_length=MAX_ITEMS)]


class TokenLimitsResource(msgspec.Struct):
    """The limits of an organization."""

    type: Literal["organization-token-ttl-policies"]
    attributes: GivenTokenLimits


class TokenLimitsDocument(msgspec.Struct):
    """Sets limits of an organization."""

    data: TokenLimitsResource


_EXAMPLE = {_ITEMS: [{"token-type": "team", "max-ttl-ms": TWO_YEARS_MS // 2}]}
_TAKES = RequestBody(TokenLimitsDocument, {"data": {"type": LIMIT.type, "attributes": _EXAMPLE}})


def routes(limits: TokenLimits) -> list[Route]:
    """One row an operation."""

    async def put(request: Request) -> Response:
        """Set how long tokens may live; those that live longer are shortened at once."""
        caller, organization = request.require_caller(), request.parameters["organization"]
        return await changed(request, limits.put(caller, organization, _draft(request)), _listed)

    said: dict[str, Any] = {"may_forbid": True, "tag": LIMIT.tag}
    return [
        Operations(LIMIT).lists(
            _PATH,
            "List how long tokens of an organization and its teams may live.",
            limits.page,
            whole=True,
            may_forbid=True,
        ),
        Route(
            "PATCH",
            _PATH,
            put,
            {200: LIMIT.page},
            _TAKES,
            keyed=True,
            name="updateTokenLimits",
            **said,
        ),
    ]


def _listed(found: Sequence[TokenLimit]) -> Response:
    return Response.document(200, LIMIT.listing(Paged(found, len(found))))


def _draft(request: Request) -> LimitsDraft:
    read, at = Reader(request.document), f"/data/attributes/{_ITEMS}"
    data = read.data(dict)
    read.require_type(data, LIMIT.type)
    attributes = read.member(data, "attributes", dict, "/data")
    items = read.member(attributes, _ITEMS, list, "/data/attributes")
    said = []
    for n, item in enumerate(read.at_most(MAX_ITEMS, items or [], at)):
        here = f"{at}/{n}"
        if not isinstance(item, dict):
            read.wrong_type(here, dict)
            continue
        kind = read.member(item, "token-type", str, here)
        max_ttl_ms = read.member(item, "max-ttl-ms", int, here)
        if kind is not None and max_ttl_ms is not None:
            said.append(SaidLimit(kind, max_ttl_ms, here))
    return LimitsDraft(tuple(said), read.faults)
