"""The routes of authentication tokens: decode, call, encode."""

from collections.abc import Callable
from functools import partial

from teamvars.services.tokens import NewToken, OfOrganization, OfTeam, OfUser, Tokens, Whose
from teamvars.web.http import paging
from teamvars.web.http.parameters import Parameter, invalid, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.tokens import documents
from teamvars.web.tokens.documents import TokenDocument, TokenListDocument

_OF_ORGANIZATION = "/api/v2/organizations/{organization}/authentication-token"
_OF_TEAM = "/api/v2/teams/{team_id}/authentication-token"
_OF_USER = "/api/v2/users/{user_id}/authentication-tokens"
_ONE = "/api/v2/authentication-tokens/{token_id}"
_KIND = Parameter(
    "token",
    "Empty: an organization has one token, and none of another kind.",
    {"type": "string", "enum": [""]},
)

Named = Callable[[Request], Whose]


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
        self, path: str, whose: Named, noun: str, reads: tuple[Parameter, ...] = ()
    ) -> list[Route]:
        route = partial(Route, reads=reads, may_forbid=True)
        show, end = partial(self.read_newest, whose=whose), partial(self.delete_all, whose=whose)
        return [
            self._creation(path, whose, f"create{noun}", may_forbid=True, reads=reads),
            route("GET", path, show, {200: TokenDocument}, name=f"read{noun}"),
            route("DELETE", path, end, {204: None}, name=f"delete{noun}"),
        ]

    def _creation(
        self,
        path: str,
        whose: Named,
        name: str,
        *,
        may_forbid: bool,
        reads: tuple[Parameter, ...] = (),
    ) -> Route:
        return Route(
            "POST",
            path,
            partial(self.create, whose=whose),
            {201: TokenDocument},
            takes=documents.NEW,
            keyed=True,
            reads=reads,
            may_forbid=may_forbid,
            name=name,
        )

    async def create(self, request: Request, whose: Named) -> Response:
        """Create a token, shown this once; a team's or organization's replaces the former."""
        draft = documents.draft(request.document)
        work = self._tokens.make(request.require_caller(), whose(request), draft)
        return await request.changed(work, _made, made=lambda made: made.token.id)

    async def read_newest(self, request: Request, whose: Named) -> Response:
        """Read about the token of a team or organization; the token itself is not shown."""
        found = await self._tokens.show_newest(request.require_caller(), whose(request))
        return Response.document(200, documents.token(found))

    async def delete_all(self, request: Request, whose: Named) -> Response:
        """Revoke the token of a team or organization."""
        await self._tokens.end_all(request.require_caller(), whose(request))
        return Response(204)

    async def list(self, request: Request) -> Response:
        """List the caller's own tokens, oldest first; the tokens themselves are not shown."""
        page = paging.requested_page(request)
        caller, whose = request.require_caller(), _user(request)
        found = await self._tokens.list_of(caller, whose, page)
        links, meta = paging.links_and_meta(request, page, found.total)
        document = documents.token_list(found.items, links, meta)
        return Response.document(200, document)

    async def read(self, request: Request) -> Response:
        """Read about a token; the token itself is not shown."""
        caller, token_id = request.require_caller(), request.path("token_id")
        found = await self._tokens.show(caller, token_id)
        return Response.document(200, documents.token(found))

    async def delete(self, request: Request) -> Response:
        """Revoke a token."""
        await self._tokens.end(request.require_caller(), request.path("token_id"))
        return Response(204)


def _made(made: NewToken) -> Response:
    headers = {"Location": documents.path(made.token)}
    return Response.document(201, documents.made(made), headers)


def _organization(request: Request) -> Whose:
    """Refuses a kind of token: there is one, that clients ask for by saying nothing.

    What is made for any other would hold more rights than were meant, in the place of the real one.
    """
    if text_of(request, _KIND) is not None:
        raise invalid(_KIND.name, "An organization has one token, and none of another kind.")
    return OfOrganization(request.path("organization"))


def _team(request: Request) -> Whose:
    return OfTeam(request.path("team_id"))


def _user(request: Request) -> Whose:
    return OfUser(request.path("user_id"))
