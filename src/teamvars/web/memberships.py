"""The routes of memberships of organizations: decode, call, encode."""

import msgspec

from teamvars.domain.memberships import MembershipFilter
from teamvars.domain.pages import Page
from teamvars.services.memberships import MembershipPage, Memberships
from teamvars.web import membership_documents as documents
from teamvars.web import paging
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.includes import (
    EMAILS,
    INCLUDE,
    STATUS,
    requested_includes,
    requested_status,
    text_of,
    words_of,
)
from teamvars.web.membership_documents import (
    INCLUDES,
    InvitationDocument,
    MembershipDocument,
    MembershipListDocument,
)
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.resources import Route

_ALL = "/api/v2/organizations/{organization}/organization-memberships"
_OWN = "/api/v2/organization-memberships"
_ONE = "/api/v2/organization-memberships/{membership_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/relationships/organization-memberships"
_SEARCH = "q"
_JSON_API = {"Content-Type": MEDIA_TYPE}


class MembershipRoutes:
    """Memberships and invitations as HCP Terraform's clients know them."""

    def __init__(self, memberships: Memberships) -> None:
        self._memberships = memberships

    def routes(self) -> list[Route]:
        """The members of a team, as memberships."""
        page = {200: MembershipListDocument}
        reads = (*paging.PARAMETERS, STATUS, INCLUDE)
        list_ = self.list_of_team
        return [Route("GET", _OF_TEAM, list_, page, reads=reads, name="listTeamMemberships")]

    def directory_routes(self) -> list[Route]:
        """All the others, one row an operation."""
        one, page = {200: MembershipDocument}, {200: MembershipListDocument}
        reads = (*paging.PARAMETERS, INCLUDE, _SEARCH, EMAILS, STATUS)
        own = (*paging.PARAMETERS, INCLUDE)
        invite = Route(
            "POST",
            _ALL,
            self.invite,
            {201: MembershipDocument},
            takes=InvitationDocument,
            may_forbid=True,
            name="inviteMember",
        )
        remove = Route(
            "DELETE",
            _ONE,
            self.remove,
            {204: None},
            may_forbid=True,
            refuses=(422,),
            name="deleteMembership",
        )
        accept = f"{_ONE}/actions/accept"
        return [
            Route("GET", _ALL, self.list, page, reads=reads, name="listMemberships"),
            invite,
            Route("GET", _OWN, self.list_of_caller, page, reads=own, name="listOwnMemberships"),
            Route("GET", _ONE, self.read, one, reads=(INCLUDE,), name="readMembership"),
            remove,
            Route("POST", accept, self.accept, one, may_forbid=True, name="acceptInvitation"),
        ]

    async def list(self, exchange: Exchange) -> Answer:
        """List the memberships of an organization, invitations included."""
        includes = requested_includes(exchange, INCLUDES)
        emails, status = words_of(exchange, EMAILS), requested_status(exchange)
        wanted = MembershipFilter(text_of(exchange, _SEARCH), emails, status)
        page = paging.requested_page(exchange)
        caller, organization = exchange.require_caller(), exchange.path("organization")
        found = await self._memberships.list(caller, organization, wanted, page)
        return _listed(exchange, found, includes, page)

    async def list_of_caller(self, exchange: Exchange) -> Answer:
        """List the caller's own memberships and invitations."""
        includes = requested_includes(exchange, INCLUDES)
        page = paging.requested_page(exchange)
        found = await self._memberships.list_of_caller(exchange.require_caller(), page)
        return _listed(exchange, found, includes, page)

    async def list_of_team(self, exchange: Exchange) -> Answer:
        """List the memberships in a team: all of them, or a page when one is asked for."""
        includes = requested_includes(exchange, INCLUDES)
        wanted = MembershipFilter(status=requested_status(exchange))
        is_paged = any(exchange.values(name) for name in paging.PARAMETERS)
        page = paging.requested_page(exchange) if is_paged else None
        caller, team_id = exchange.require_caller(), exchange.path("team_id")
        found = await self._memberships.list_of_team(caller, team_id, wanted, page)
        return _listed(exchange, found, includes, page)

    async def read(self, exchange: Exchange) -> Answer:
        """Read a membership."""
        includes = requested_includes(exchange, INCLUDES)
        caller, id_ = exchange.require_caller(), exchange.path("membership_id")
        document = documents.membership(await self._memberships.read(caller, id_), includes)
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def invite(self, exchange: Exchange) -> Answer:
        """Invite somebody into an organization by e-mail address."""
        draft = documents.invitation(exchange.document)
        caller, organization = exchange.require_caller(), exchange.path("organization")
        made = await self._memberships.invite(caller, organization, draft)
        headers = {**_JSON_API, "Location": documents.path(made.memberships[0])}
        document = documents.membership(made, frozenset({"user"}))
        return Answer(201, msgspec.json.encode(document), headers)

    async def accept(self, exchange: Exchange) -> Answer:
        """Accept an invitation, as the invited user."""
        caller, id_ = exchange.require_caller(), exchange.path("membership_id")
        found = await self._memberships.accept(caller, id_)
        document = documents.membership(found, frozenset({"user"}))
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def remove(self, exchange: Exchange) -> Answer:
        """Remove somebody from an organization, and so from all its teams."""
        caller, id_ = exchange.require_caller(), exchange.path("membership_id")
        await self._memberships.remove(caller, id_)
        return Answer(204)


def _listed(
    exchange: Exchange,
    found: MembershipPage,
    includes: frozenset[str],
    page: Page | None,
) -> Answer:
    if page is None:
        document = documents.membership_list(found, includes)
    else:
        links, meta = paging.links(exchange, page, found.total), paging.meta(page, found.total)
        document = documents.membership_list(found, includes, links, meta)
    return Answer(200, msgspec.json.encode(document), _JSON_API)
