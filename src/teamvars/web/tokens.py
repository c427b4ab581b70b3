"""Authentication tokens as HCP Terraform's clients know them, and how long those of an organization
and its teams may live: token TTL policies, to clients.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.pages import Paged
from teamvars.domain.tokens import (
    EXPIRY_RULE,
    LIMITED_KINDS,
    MAX_DESCRIPTION_CHARACTERS,
    MAX_LIMIT_MS,
    MIN_LIMIT_MS,
    TWO_YEARS_MS,
    UNLIMITED_KINDS,
    DescribedOfTeam,
    LimitsDraft,
    NewToken,
    OfOrganization,
    OfTeam,
    OfUser,
    SaidLimit,
    TeamTokenSearch,
    Token,
    TokenDraft,
    TokenEnd,
    TokenLimit,
    TokenOrder,
    Whose,
)
from teamvars.services.sign_ins import SignIns
from teamvars.services.tokens import TokenLimits, Tokens
from teamvars.web.examples import IDS
from teamvars.web.http.parameters import Parameter, text_of, words_of
from teamvars.web.http.reader import Reader, ids_draft
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    Attribute,
    Group,
    Identifier,
    Time,
    identifier,
    one_of,
    several,
    timestamp,
    to_one,
)
from teamvars.web.http.resources import Found, Operations, Resource
from teamvars.web.http.routes import RequestBody, Route

_OF_ORGANIZATION = "/api/v2/organizations/{organization}/authentication-token"
_OF_TEAM = "/api/v2/teams/{team_id}/authentication-token"
_OF_TEAM_DESCRIBED = "/api/v2/teams/{team_id}/authentication-tokens"
_OF_TEAMS = "/api/v2/organizations/{organization}/team-tokens"
_OF_USER = "/api/v2/users/{user_id}/authentication-tokens"
_ONE = "/api/v2/authentication-tokens/{token_id}"
# What is made for any other kind would hold more rights than were meant, in the place of the one
# there is, that clients ask for by saying nothing.
_KIND = Parameter(
    "token",
    "Empty: an organization has one token, and none of another kind.",
    {"type": "string", "enum": [""]},
)
_DESCRIPTION = Meta(
    max_length=MAX_DESCRIPTION_CHARACTERS,
    description="Shown beside each change made with the token, to whoever reads those changes.",
)
_EXPIRY = Meta(
    description=(
        f"A time to come (RFC 3339), {EXPIRY_RULE}. Without it a token ends after 24 months. A "
        "user's own, and one made with a token of a team or organization, ends no later than the "
        "token it is made with."
    )
)
_CREATE = "Create a token, shown only once; a team's or organization's replaces the old one."
_PART = Parameter("q", "A part of the team's name.")
_ENDS = Parameter(
    "filter[expiry_status]",
    "Only tokens of which one of these is true.",
    schema={"type": "string", "enum": list(TokenEnd)},
    is_list=True,
)
_WAYS = [way for word in TokenOrder for way in (word.value, f"-{word.value}")]
_SORT = Parameter("sort", "Oldest first unless given.", schema={"type": "string", "enum": _WAYS})
_LIMITS = "/api/v2/organizations/{organization}/token-ttl-policies"
_ITEMS = "token-ttl-policies"
_KINDS = Meta(
    description=f"For all but {' and '.join(LIMITED_KINDS)} there is no other than 730 days."
)
_MOST = Meta(
    ge=MIN_LIMIT_MS, le=MAX_LIMIT_MS, description="How long a token may live, in milliseconds."
)


Asks = Callable[[Request], tuple[Whose]]


def _time(at: int | None, one: NewToken) -> str | None:
    return None if at is None else timestamp(at, one.token.id)


def _maker(one: NewToken) -> Identifier | None:
    maker = one.token.created_by
    return None if maker is None else Identifier(maker, "users")


_RELATIONSHIPS = Group[NewToken](
    "TokenRelationships",
    "Who made a token, and whose it is when it is a team's.",
    Attribute(
        "created-by",
        Group(
            "MakerLinkage",
            "The user who made a token; null if it was not made with a user's token.",
            Attribute("data", Identifier | None, _maker),
        ),
    ),
    to_one(
        "team",
        "TokenTeamLinkage",
        "The team whose token it is.",
        "teams",
        lambda one: one.token.owner_id,
        when=lambda one: one.token.owner_kind == "team",
    ),
)
TOKEN = Resource[NewToken](
    type="authentication-tokens",
    name="Token",
    noun="a token",
    tag="Tokens",
    id=lambda one: one.token.id,
    draft=TokenDraft,
    aliases=("authentication-token", ""),
    attributes=(
        Attribute("created-at", Time, lambda one: _time(one.token.created_at, one)),
        Attribute("last-used-at", Time | None, lambda one: _time(one.token.last_used_at, one)),
        Attribute(
            "expired-at",
            Time | None,
            lambda one: _time(one.token.expires_at, one),
            given=Annotated[Time, _EXPIRY] | None,
        ),
        Attribute(
            "description",
            str | None,
            lambda one: one.token.description or None,
            given=Annotated[str, _DESCRIPTION] | None,
        ),
        Attribute("token", str, lambda one: one.secret, when=lambda one: bool(one.secret)),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    texts={
        "NewTokenResource": (
            "A token to create; clients use both words, and some leave the type empty."
        ),
        "TokenAttributes": "A token's attributes; `token` is there once, when it was made.",
        "TokenResource": "A token, without the token itself unless it was just made.",
        "TokenListDocument": "A page of a user's tokens.",
    },
)
NEW = TOKEN.new_body(attributes={"description": "for a robot"})
_SEVERAL = RequestBody(
    several(
        "TokenIdentifiersDocument",
        "Tokens to revoke, all or none.",
        identifier("TokenIdentifier", "A token by its id.", TOKEN.type),
    ),
    {"data": [{"type": TOKEN.type, "id": IDS["token_id"]}]},
)
_WITHOUT_DESCRIPTION = replace(NEW, example={"data": {"type": TOKEN.type}})


def routes(tokens: Tokens, sign_ins: SignIns) -> list[Route]:
    """One row an operation; organizations and teams have one token, users any number."""
    do = Operations(TOKEN)
    return [
        *_single(tokens, _OF_ORGANIZATION, _organization, "OrganizationToken", NEW),
        *_single(
            tokens,
            _OF_TEAM,
            lambda request: (OfTeam(request.parameters["team_id"]),),
            "TeamToken",
            _WITHOUT_DESCRIPTION,
        ),
        *_of_teams(tokens),
        do.lists(
            _OF_USER,
            "List the caller's own tokens, oldest first; the tokens themselves are not shown.",
            tokens.list_of,
            shows=_listed,
            asks=_user,
            name="listUserTokens",
        ),
        do.creates(
            _OF_USER,
            _CREATE,
            tokens.make,
            NEW,
            asks=_user,
            made=_id,
            may_forbid=False,
            name="createUserToken",
        ),
        do.acts(
            "/api/v2/users/{user_id}/actions/end-sessions",
            "End all of the caller's sessions, everywhere.",
            sign_ins.end_all,
            status=204,
            keyed=False,
            may_forbid=False,
            name="endSessions",
        ),
        do.reads(
            _ONE,
            "Read about a token; the token itself is not shown.",
            tokens.show,
            shows=_known,
        ),
        do.deletes(_ONE, "Revoke a token.", tokens.end, may_forbid=False),
    ]


def _of_teams(tokens: Tokens) -> list[Route]:
    """Those with descriptions, and all of an organization's teams."""
    do = Operations(TOKEN)
    return [
        do.lists(
            _OF_TEAM_DESCRIBED,
            "List the tokens of a team, oldest first; the tokens themselves are not shown.",
            tokens.list_of,
            shows=_listed,
            asks=_team,
            name="listTeamTokens",
            may_forbid=True,
        ),
        do.creates(
            _OF_TEAM_DESCRIBED,
            "Create a token of a team with a description, shown only once; others stay.",
            tokens.make,
            NEW,
            asks=_team,
            made=_id,
            name="createDescribedTeamToken",
        ),
        do.lists(
            _OF_TEAMS,
            "List the tokens of an organization's teams; the tokens themselves are not shown.",
            tokens.list_of_teams,
            shows=_listed,
            asks=_search,
            reads=(_PART, _ENDS, _SORT),
            name="listOrganizationTeamTokens",
            may_forbid=True,
        ),
        do.deletes(
            _OF_TEAMS,
            "Revoke tokens of an organization's teams, all or none.",
            tokens.end_of_teams,
            takes=_SEVERAL,
            draft=partial(ids_draft, type_=TOKEN.type),
            name="deleteOrganizationTeamTokens",
        ),
    ]


def _single(tokens: Tokens, path: str, asks: Asks, noun: str, takes: RequestBody) -> list[Route]:
    do = Operations(TOKEN)
    reads = (_KIND,) if path == _OF_ORGANIZATION else ()
    return [
        do.creates(
            path,
            _CREATE,
            tokens.make,
            takes,
            asks=asks,
            reads=reads,
            made=_id,
            name=f"create{noun}",
        ),
        do.reads(
            path,
            "Read about the token of a team or organization; the token itself is not shown.",
            tokens.show_newest,
            shows=_known,
            asks=asks,
            reads=reads,
            may_forbid=True,
            name=f"read{noun}",
        ),
        do.deletes(
            path,
            "Revoke the token of a team or organization.",
            tokens.end_all,
            asks=asks,
            reads=reads,
            name=f"delete{noun}",
        ),
    ]


def _known(token: Token) -> NewToken:
    """A token that was made before: the token itself is not known."""
    return NewToken(token, "")


def _listed(page: Paged[Token]) -> Found[NewToken]:
    return Found([_known(one) for one in page.items], page.total)


def _id(made: NewToken) -> str:
    return made.token.id


def _organization(request: Request) -> tuple[Whose]:
    return (OfOrganization(request.parameters["organization"]),)


def _team(request: Request) -> tuple[Whose]:
    return (DescribedOfTeam(request.parameters["team_id"]),)


def _search(request: Request) -> tuple[str, TeamTokenSearch]:
    way = text_of(request, _SORT)
    order = None if way is None else TokenOrder(way.removeprefix("-"))
    is_reversed = way is not None and way.startswith("-")
    ends = tuple(map(TokenEnd, words_of(request, _ENDS) or ()))
    wanted = TeamTokenSearch(text_of(request, _PART) or "", order, is_reversed, ends)
    return request.parameters["organization"], wanted


def _user(request: Request) -> tuple[Whose]:
    return (OfUser(request.parameters["user_id"]),)


LIMIT = Resource[TokenLimit](
    type="organization-token-ttl-policies",
    name="TokenLimit",
    noun="a limit",
    tag="Tokens",
    id=lambda one: one.id,
    whole=True,
    attributes=(
        Attribute("token-type", one_of(LIMITED_KINDS, Meta()), lambda one: one.kind),
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


class GivenTokenLimit(Struct, rename="kebab"):
    """How long tokens of a kind may live."""

    token_type: one_of((*LIMITED_KINDS, *UNLIMITED_KINDS), _KINDS)  # type: ignore[valid-type]
    max_ttl_ms: Annotated[int, _MOST]


class GivenTokenLimits(Struct, rename="kebab"):
    """Limits to set; those that are not named stay."""

    token_ttl_policies: Annotated[list[GivenTokenLimit], Meta(max_length=MAX_ITEMS)]


class TokenLimitsResource(Struct):
    """The limits of an organization."""

    type: Literal["organization-token-ttl-policies"]
    attributes: GivenTokenLimits


class TokenLimitsDocument(Struct):
    """Sets limits of an organization."""

    data: TokenLimitsResource


_LIMITS_EXAMPLE = {_ITEMS: [{"token-type": "team", "max-ttl-ms": TWO_YEARS_MS // 2}]}
_LIMITS_BODY = RequestBody(
    TokenLimitsDocument, {"data": {"type": LIMIT.type, "attributes": _LIMITS_EXAMPLE}}
)


def limit_routes(limits: TokenLimits) -> list[Route]:
    """One row an operation."""
    do = Operations(LIMIT)
    return [
        do.lists(
            _LIMITS,
            "List how long tokens of an organization and its teams may live.",
            limits.page,
            whole=True,
            may_forbid=True,
        ),
        do.updates(
            _LIMITS,
            "Set how long tokens may live; those that live longer are shortened at once.",
            limits.put,
            _LIMITS_BODY,
            draft=_limits_draft,
            whole=True,
            name="updateTokenLimits",
        ),
    ]


def _limits_draft(document: object) -> LimitsDraft:
    read, at = Reader(document), f"/data/attributes/{_ITEMS}"
    items = read.member(read.attributes(LIMIT.type), _ITEMS, list, "/data/attributes")
    said = []
    for n, item in enumerate(read.at_most(MAX_ITEMS, items or [], at)):
        here = f"{at}/{n}"
        limit = read.as_object(item, here)
        kind = read.member(limit, "token-type", str, here)
        max_ttl_ms = read.member(limit, "max-ttl-ms", int, here)
        if kind is not None and max_ttl_ms is not None:
            said.append(SaidLimit(kind, max_ttl_ms, here))
    return LimitsDraft(tuple(said), read.faults)
