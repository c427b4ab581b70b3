"""The documents of authentication tokens: what the service takes and what it answers with."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.tokens import EXPIRY_RULE, MAX_DESCRIPTION_CHARACTERS, Token, TokenDraft
from teamvars.services.tokens import NewToken
from teamvars.web.http import paging
from teamvars.web.http.formats import Time, timestamp
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody

TYPE = "authentication-tokens"
_OTHER_TYPES = ("authentication-token", "")
_DESCRIPTION = Meta(
    max_length=MAX_DESCRIPTION_CHARACTERS,
    description="Shown beside each change made with the token, to whoever reads those changes.",
)
_EXPIRY = Meta(
    description=(
        f"A time to come (RFC 3339), {EXPIRY_RULE}. Without it a token ends after 24 months. A "
        "user's own ends no later than the token it is made with."
    )
)


class NewTokenAttributes(msgspec.Struct, rename="kebab", kw_only=True):
    """What a create says about a token; attributes that are not here are ignored."""

    description: Annotated[str, _DESCRIPTION] | UnsetType | None = UNSET
    expired_at: Annotated[Time, _EXPIRY] | UnsetType | None = UNSET


class NewTokenResource(msgspec.Struct):
    """A token to create; clients use both words, and some leave the type empty."""

    type: Literal["authentication-tokens", "authentication-token", ""]
    attributes: NewTokenAttributes | UnsetType = UNSET


class NewTokenDocument(msgspec.Struct):
    """Creates a token."""

    data: NewTokenResource


class TokenAttributes(msgspec.Struct, rename="kebab"):
    """A token's attributes; `token` is there once, when it was made."""

    created_at: Time
    last_used_at: Time | None
    expired_at: Time | None
    description: str | None
    token: str | UnsetType = UNSET


class MakerLinkage(msgspec.Struct):
    """The user who made a token; null where it was made with no user's token."""

    data: Identifier | None


class TokenTeamLinkage(msgspec.Struct):
    """The team whose token it is."""

    data: Identifier


class TokenRelationships(msgspec.Struct, rename="kebab"):
    """Who made a token, and whose it is when it is a team's."""

    created_by: MakerLinkage
    team: TokenTeamLinkage | UnsetType = UNSET


class TokenResource(msgspec.Struct):
    """A token, without the token itself unless it was just made."""

    id: str
    type: str
    attributes: TokenAttributes
    relationships: TokenRelationships


class TokenDocument(msgspec.Struct):
    """One token."""

    data: TokenResource


class TokenListDocument(msgspec.Struct):
    """A page of a user's tokens."""

    data: list[TokenResource]
    links: paging.PageLinks
    meta: paging.PageMeta


NEW = RequestBody(
    NewTokenDocument,
    {"data": {"type": TYPE, "attributes": {"description": "for a robot"}}},
    optional=True,
)


def draft(document: object) -> TokenDraft:
    """What a create asks for; a request may have no document, `null` or `{}`."""
    if document in (None, {}):
        return TokenDraft()
    read = Reader(document)
    data = read.data(dict)
    if data is None or data.get("type") not in _OTHER_TYPES:
        read.require_type(data, TYPE)
    read.refuse_client_id(data)
    attributes = read.member(data, "attributes", dict, "/data", required=False)
    given = {name: value for name, value in (attributes or {}).items() if value is not None}
    description = read.member(given, "description", str, "/data/attributes", required=False)
    expired_at = read.member(given, "expired-at", str, "/data/attributes", required=False)
    return TokenDraft(description, expired_at, read.faults)


def path(token: Token) -> str:
    """Where a token is."""
    return f"/api/v2/authentication-tokens/{token.id}"


def made(new: NewToken) -> TokenDocument:
    """The document of a token just made, with the token itself."""
    return TokenDocument(_resource(new.token, new.secret))


def token(found: Token) -> TokenDocument:
    """The document of one token."""
    return TokenDocument(_resource(found))


def token_list(
    found: Sequence[Token], links: paging.PageLinks, meta: paging.PageMeta
) -> TokenListDocument:
    """The document of a page of tokens."""
    return TokenListDocument([_resource(one) for one in found], links, meta)


def _resource(shown: Token, secret: str | UnsetType = UNSET) -> TokenResource:
    return TokenResource(
        id=shown.id,
        type=TYPE,
        attributes=TokenAttributes(
            created_at=timestamp(shown.created_at, shown.id),
            last_used_at=_time(shown.last_used_at, shown.id),
            expired_at=_time(shown.expires_at, shown.id),
            description=shown.description or None,
            token=secret,
        ),
        relationships=_relationships(shown),
    )


def _relationships(shown: Token) -> TokenRelationships:
    maker = None if shown.created_by is None else Identifier(shown.created_by, "users")
    relationships = TokenRelationships(MakerLinkage(maker))
    if shown.owner_kind == "team":
        relationships.team = TokenTeamLinkage(Identifier(shown.owner_id, "teams"))
    return relationships


def _time(at: int | None, token_id: str) -> str | None:
    return None if at is None else timestamp(at, token_id)
