"""The routes of memberships of organizations: decode, call, encode."""

from teamvars.domain.memberships import MembershipFilter, Status
from teamvars.domain.pages import Page
from teamvars.services.invitations import Invitations
from teamvars.services.memberships import MembershipPage, Memberships
from teamvars.web.http import paging
from teamvars.web.http.parameters import (
    INCLUDE,
    Parameter,
    invalid,
    requested_includes,
    text_of,
    words_of,
)
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.memberships import documents
from teamvars.web.memberships.documents import (
    INCLUDES,
    MembershipDocument,
    MembershipListDocument,
)

_ALL = "/api/v2/organizations/{organization}/organization-memberships"
_OWN = "/api/v2/organization-memberships"
_ONE = "/api/v2/organization-memberships/{membership_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/relationships/organization-memberships"
_SEARCH = Parameter("q", "A part of the username or of the e-mail address.")
_STATUS = Parameter("filter[status]", schema={"type": "string", "enum": list(Status)})
_BY_NAME = "username"
_SORT = Parameter("sort", "By id unless given.", schema={"type": "string", "enum": [_BY_NAME]})
_EMAILS = Parameter("filter[email]", "Whole addresses, with commas.", is_list=True)
_NAMES = Parameter(
    "filter[user]",
    "Whole usernames, e-mail addresses or ids, of users or memberships, with commas.",
    is_list=True,
)


class MembershipRoutes:
    """Memberships and invitations as HCP Terraform's clients know them."""

    def __init__(self, memberships: Memberships, invitations: Invitations) -> None:
        self._memberships = memberships
        self._invitations = invitations

    def routes(self) -> list[Route]:
        """The members of a team, as memberships."""
        page = {200: MembershipListDocument}
        reads = (*paging.PARAMETERS, _SEARCH, _STATUS, _SORT, INCLUDE)
        list_ = self.list_of_team
        return [Route("GET", _OF_TEAM, list_, page, reads=reads, name="listTeamMemberships")]

    def directory_routes(self) -> list[Route]:
        """All the others, one row an operation."""
        one, page = {200: MembershipDocument}, {200: MembershipListDocument}
        reads = (*paging.PARAMETERS, INCLUDE, _SEARCH, _EMAILS, _NAMES, _STATUS, _SORT)
        own = (*paging.PARAMETERS, INCLUDE)
        accept = f"{_ONE}/actions/accept"
        return [
            Route("GET", _ALL, self.list, page, reads=reads, name="listMemberships"),
            Route(
                "POST",
                _ALL,
                self.invite,
                {201: MembershipDocument},
                takes=documents.INVITATION,
                keyed=True,
                may_forbid=True,
                name="inviteMember",
            ),
            Route("GET", _OWN, self.list_of_caller, page, reads=own, name="listOwnMemberships"),
            Route("GET", _ONE, self.read, one, reads=(INCLUDE,), name="readMembership"),
            Route(
                "DELETE",
                _ONE,
                self.remove,
                {204: None},
                may_forbid=True,
                refuses=(422,),
                name="deleteMembership",
            ),
            Route(
                "POST",
                accept,
                self.accept,
                one,
                keyed=True,
                may_forbid=True,
                name="acceptInvitation",
            ),
            Route(
                "POST",
                f"{_ONE}/actions/resend",
                self.resend,
                one,
                keyed=True,
                may_forbid=True,
                refuses=(422,),
                name="resendInvitation",
            ),
            Route(
                "POST",
                f"{_ONE}/actions/revoke",
                self.revoke,
                {204: None},
                keyed=True,
                may_forbid=True,
                refuses=(422,),
                name="revokeInvitation",
            ),
        ]

    async def list(self, request: Request) -> Response:
        """List the memberships of an organization, invitations included."""
        includes = requested_includes(request, INCLUDES)
        wanted = MembershipFilter(
            search=text_of(request, _SEARCH),
            emails=words_of(request, _EMAILS),
            names=words_of(request, _NAMES),
            status=_requested_status(request),
            by_name=_is_by_name(request),
        )
        page = paging.requested_page(request)
        caller, organization = request.require_caller(), request.path("organization")
        found = await self._memberships.list(caller, organization, wanted, page)
        return _listed(request, found, includes, page)

    async def list_of_caller(self, request: Request) -> Response:
        """List the caller's own memberships and invitations."""
        includes = requested_includes(request, INCLUDES)
        page = paging.requested_page(request)
        found = await self._memberships.list_of_caller(request.require_caller(), page)
        return _listed(request, found, includes, page)

    async def list_of_team(self, request: Request) -> Response:
        """List the memberships in a team: all of them, or a page when one is asked for."""
        includes = requested_includes(request, INCLUDES)
        wanted = MembershipFilter(
            search=text_of(request, _SEARCH),
            status=_requested_status(request),
            by_name=_is_by_name(request),
        )
        is_paged = any(request.values(parameter.name) for parameter in paging.PARAMETERS)
        page = paging.requested_page(request) if is_paged else None
        caller, team_id = request.require_caller(), request.path("team_id")
        found = await self._memberships.list_of_team(caller, team_id, wanted, page)
        return _listed(request, found, includes, page)

    async def read(self, request: Request) -> Response:
        """Read a membership."""
        includes = requested_includes(request, INCLUDES)
        caller, id_ = request.require_caller(), request.path("membership_id")
        document = documents.membership(await self._memberships.read(caller, id_), includes)
        return Response.document(200, document)

    async def invite(self, request: Request) -> Response:
        """Invite somebody into an organization by e-mail address."""
        draft = documents.invitation(request.document)
        caller, organization = request.require_caller(), request.path("organization")
        work = self._invitations.invite(caller, organization, draft)
        return await request.changed(work, _invited)

    async def accept(self, request: Request) -> Response:
        """Accept an invitation, as the invited user."""
        caller, id_ = request.require_caller(), request.path("membership_id")
        return await request.changed(self._invitations.accept(caller, id_), _shown)

    async def resend(self, request: Request) -> Response:
        """Send a new link to whoever is invited; the former one is void."""
        caller, id_ = request.require_caller(), request.path("membership_id")
        return await request.changed(self._invitations.resend(caller, id_), _shown)

    async def revoke(self, request: Request) -> Response:
        """Take an invitation back."""
        caller, id_ = request.require_caller(), request.path("membership_id")
        return await request.changed(self._memberships.revoke(caller, id_), _revoked)

    async def remove(self, request: Request) -> Response:
        """Remove somebody from an organization, and so from all its teams."""
        caller, id_ = request.require_caller(), request.path("membership_id")
        await self._memberships.remove(caller, id_)
        return Response(204)


def _invited(made: MembershipPage) -> Response:
    document = documents.membership(made, frozenset({"user"}))
    return Response.document(201, document, {"Location": documents.path(made.memberships[0])})


def _shown(found: MembershipPage) -> Response:
    return Response.document(200, documents.membership(found, frozenset({"user"})))


def _revoked(_: None) -> Response:
    return Response(204)


def _requested_status(request: Request) -> Status | None:
    """The status that memberships should have. Refuses one that there is not."""
    text = text_of(request, _STATUS)
    if text is None:
        return None
    try:
        return Status(text)
    except ValueError:
        listed = ", ".join(status.value for status in Status)
        raise invalid(_STATUS.name, f"{_STATUS.name} is one of {listed}.") from None


def _is_by_name(request: Request) -> bool:
    """Whether the list should be in the order of usernames. Refuses any other order."""
    text = text_of(request, _SORT)
    if text not in (None, _BY_NAME):
        raise invalid(_SORT.name, f"{_SORT.name} is {_BY_NAME}, or absent.")
    return text is not None


def _listed(
    request: Request,
    found: MembershipPage,
    includes: frozenset[str],
    page: Page | None,
) -> Response:
    if page is None:
        document = documents.membership_list(found, includes)
    else:
        links, meta = paging.links_and_meta(request, page, found.total)
        document = documents.membership_list(found, includes, links, meta)
    return Response.document(200, document)
