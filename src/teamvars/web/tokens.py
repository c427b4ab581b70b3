"""The routes of authentication tokens: decode, call, encode."""

from collections.abc import Callable
from functools import partial

import msgspec

from teamvars.services.tokens import OfOrganization, OfTeam, OfUser, Tokens, Whose
from teamvars.web import paging
from teamvars.web import token_documents as documents
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.includes import invalid, text_of
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.resources import Route
from teamvars.web.token_documents import NewTokenDocument, TokenDocument, TokenListDocument

_OF_ORGANIZATION = "/api/v2/organizations/{organization}/authentication-token"
_OF_TEAM = "/api/v2/teams/{team_id}/authentication-token"
_OF_USER = "/api/v2/users/{user_id}/authentication-tokens"
_ONE = "/api/v2/authentication-tokens/{token_id}"
_KIND = "token"
_JSON_API = {"Content-Type": MEDIA_TYPE}

Named = Callable[[Exchange], Whose]


class TokenRoutes:
    """Tokens as HCP Terraform's clients know them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def routes(self) -> list[Route]:
        """One row an operation; organizations and teams have one token, users any number."""
        one, page = {200: TokenDocument}, {200: TokenListDocument}
        return [
            *self._single(_OF_ORGANIZATION, _organization, "OrganizationToken", reads=(_KIND,)),
            *self._single(_OF_TEAM, _team, "TeamToken"),
            Route("GET", _OF_USER, self.list, page, reads=paging.PARAMETERS, name="listUserTokens"),
            self._creation(_OF_USER, _user, "createUserToken", may_forbid=False),
            Route("GET", _ONE, self.read, one, name="readToken"),
            Route("DELETE", _ONE, self.delete, {204: None}, name="deleteToken"),
        ]

    def _single(
        self, path: str, whose: Named, noun: str, reads: tuple[str, ...] = ()
    ) -> list[Route]:
        read = Route(
            "GET",
            path,
            partial(self.read_newest, whose=whose),
            {200: TokenDocument},
            may_forbid=True,
            reads=reads,
            name=f"read{noun}",
        )
        delete = Route(
            "DELETE",
            path,
            partial(self.delete_all, whose=whose),
            {204: None},
            may_forbid=True,
            reads=reads,
            name=f"delete{noun}",
        )
        create = self._creation(path, whose, f"create{noun}", may_forbid=True, reads=reads)
        return [create, read, delete]

    def _creation(
        self,
        path: str,
        whose: Named,
        name: str,
        *,
        may_forbid: bool,
        reads: tuple[str, ...] = (),
    ) -> Route:
        return Route(
            "POST",
            path,
            partial(self.create, whose=whose),
            {201: TokenDocument},
            takes=NewTokenDocument,
            may_lack=True,
            reads=reads,
            may_forbid=may_forbid,
            name=name,
        )

    async def create(self, exchange: Exchange, whose: Named) -> Answer:
        """Create a token, shown this once; a team's or organization's replaces the former."""
        draft = documents.draft(exchange.document)
        made = await self._tokens.make(exchange.require_caller(), whose(exchange), draft)
        headers = {**_JSON_API, "Location": documents.path(made.token)}
        return Answer(201, msgspec.json.encode(documents.made(made)), headers)

    async def read_newest(self, exchange: Exchange, whose: Named) -> Answer:
        """Read about the token of a team or organization; the token itself is not shown."""
        found = await self._tokens.show_newest(exchange.require_caller(), whose(exchange))
        return Answer(200, msgspec.json.encode(documents.token(found)), _JSON_API)

    async def delete_all(self, exchange: Exchange, whose: Named) -> Answer:
        """Revoke the token of a team or organization."""
        await self._tokens.end_all(exchange.require_caller(), whose(exchange))
        return Answer(204)

    async def list(self, exchange: Exchange) -> Answer:
        """List the caller's own tokens, oldest first; the tokens themselves are not shown."""
        page = paging.requested_page(exchange)
        caller, whose = exchange.require_caller(), _user(exchange)
        found = await self._tokens.list_of(caller, whose, page)
        links, meta = paging.links(exchange, page, found.total), paging.meta(page, found.total)
        document = documents.token_list(found.items, links, meta)
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def read(self, exchange: Exchange) -> Answer:
        """Read about a token; the token itself is not shown."""
        caller, token_id = exchange.require_caller(), exchange.path("token_id")
        found = await self._tokens.show(caller, token_id)
        return Answer(200, msgspec.json.encode(documents.token(found)), _JSON_API)

    async def delete(self, exchange: Exchange) -> Answer:
        """Revoke a token."""
        await self._tokens.end(exchange.require_caller(), exchange.path("token_id"))
        return Answer(204)


def _organization(exchange: Exchange) -> Whose:
    """Refuses a kind of token: there is one, that clients ask for by saying nothing.

    What is made for any other would hold more rights than were meant, in the place of the real one.
    """
    if text_of(exchange, _KIND) is not None:
        raise invalid(_KIND, "An organization has one token, and none of another kind.")
    return OfOrganization(exchange.path("organization"))


def _team(exchange: Exchange) -> Whose:
    return OfTeam(exchange.path("team_id"))


def _user(exchange: Exchange) -> Whose:
    return OfUser(exchange.path("user_id"))
