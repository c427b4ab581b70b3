"""The routes of links: the page, what a link opens, and accepting by it. None takes a token."""

from teamvars.domain.access import Caller
from teamvars.security.tokens import hash_token
from teamvars.services.invitation_links import InvitationLinks
from teamvars.services.tokens import NewToken
from teamvars.web.http import pages
from teamvars.web.http.negotiation import HTML
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.invitations import documents, page
from teamvars.web.invitations.documents import InvitedDocument
from teamvars.web.tokens import documents as token_documents
from teamvars.web.tokens.documents import TokenDocument

_ACTIONS = "/api/v2/invitations/actions"
_REFUSES = (400, 406, 408, 409, 413, 415, 422, 503)
_FRESH = {"Cache-Control": "no-store"}


class InvitationRoutes:
    """What whoever holds a link can do with it."""

    def __init__(self, links: InvitationLinks) -> None:
        self._links = links

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "GET",
                page.PATH,
                self.page,
                {200: str},
                sends=dict.fromkeys(page.PAGE.headers, ""),
                media_type=HTML,
                public=True,
                name="readInvitationPage",
            ),
            Route(
                "POST",
                f"{_ACTIONS}/show",
                self.show,
                {200: InvitedDocument},
                takes=documents.LINK,
                refuses=_REFUSES,
                public=True,
                name="showInvitation",
            ),
            Route(
                "POST",
                f"{_ACTIONS}/accept",
                self.accept,
                {201: TokenDocument},
                takes=documents.LINK,
                keyed=True,
                refuses=(403, *_REFUSES),
                public=True,
                name="acceptInvitationByLink",
            ),
        ]

    async def page(self, _: Request) -> Response:
        """Read the page that links open; it is the same for all of them."""
        return Response(200, page.PAGE.body, {"Content-Type": pages.TYPE, **page.PAGE.headers})

    async def show(self, request: Request) -> Response:
        """Say who invites whom where; the link stays as good as it was."""
        found = await self._links.show(documents.secret(request.document))
        return Response.document(200, documents.invited(found), _FRESH)

    async def accept(self, request: Request) -> Response:
        """Accept an invitation by its link: once, with a first token as the answer."""
        secret = documents.secret(request.document)
        caller = Caller(hash_token(secret), request.request_id, address=request.audited_address)
        request.caller = caller
        work = self._links.accept(caller, secret)
        return await request.changed(work, _accepted, made=lambda made: made.token.id)


def _accepted(made: NewToken) -> Response:
    headers = {"Location": token_documents.path(made.token)}
    return Response.document(201, token_documents.made(made), headers)
