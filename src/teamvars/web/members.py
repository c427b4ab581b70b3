"""The routes of team membership: decode, call, encode."""

from functools import partial

import msgspec

from teamvars.domain.teams import LinkageType
from teamvars.services.members import Change, Members
from teamvars.web import decoding, documents
from teamvars.web.documents import LinkageDocument
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.requests import MembershipsDocument, UsersDocument
from teamvars.web.resources import Route

_TAKES: dict[LinkageType, type[msgspec.Struct]] = {
    LinkageType.USERS: UsersDocument,
    LinkageType.ORGANIZATION_MEMBERSHIPS: MembershipsDocument,
}


class MemberRoutes:
    """The four operations on team membership (contract §5), and the reading of users' linkage.

    That of memberships is read as full resources: `web/memberships.py`.
    """

    def __init__(self, members: Members) -> None:
        self._members = members

    def routes(self) -> list[Route]:
        """The same three operations for each way of naming a member."""
        by_users = f"/api/v2/teams/{{team_id}}/relationships/{LinkageType.USERS}"
        rows = [Route("GET", by_users, self.list, {200: LinkageDocument})]
        for linkage in LinkageType:
            path = f"/api/v2/teams/{{team_id}}/relationships/{linkage}"
            takes = _TAKES[linkage]
            add = partial(self.change, linkage=linkage, change="add")
            remove = partial(self.change, linkage=linkage, change="remove")
            rows += [
                Route("POST", path, add, {204: None}, takes=takes, may_forbid=True),
                Route("DELETE", path, remove, {204: None}, takes=takes, may_forbid=True),
            ]
        return rows

    async def list(self, exchange: Exchange) -> Answer:
        """The linkage objects of all members."""
        linkage = LinkageType.USERS
        ids = await self._members.list(exchange.require_caller(), exchange.path("team_id"), linkage)
        body = msgspec.json.encode(documents.linkage(ids, linkage))
        return Answer(200, body, {"Content-Type": MEDIA_TYPE})

    async def change(self, exchange: Exchange, linkage: LinkageType, change: Change) -> Answer:
        """Add or remove users, all or none (contract §5)."""
        await self._members.change(
            exchange.require_caller(),
            exchange.path("team_id"),
            linkage,
            change,
            decoding.members(exchange.document, linkage),
        )
        return Answer(204)
