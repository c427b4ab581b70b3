"""The routes of team membership: decode, call, encode."""

from functools import partial

import msgspec

from teamvars.domain.team_members import LinkageType
from teamvars.services.team_members import Change, TeamMembers
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
_NAMES = {LinkageType.USERS: "Users", LinkageType.ORGANIZATION_MEMBERSHIPS: "Memberships"}


class MemberRoutes:
    """The four operations on team membership (contract §5), and the reading of users' linkage.

    That of memberships is read as full resources: `web/memberships.py`.
    """

    def __init__(self, members: TeamMembers) -> None:
        self._members = members

    def routes(self) -> list[Route]:
        """The same three operations for each way of naming a member."""
        by_users = f"/api/v2/teams/{{team_id}}/relationships/{LinkageType.USERS}"
        rows = [Route("GET", by_users, self.list, {200: LinkageDocument}, name="listTeamUsers")]
        for linkage in LinkageType:
            path = f"/api/v2/teams/{{team_id}}/relationships/{linkage}"
            add = partial(self.add, linkage=linkage)
            remove = partial(self.remove, linkage=linkage)
            for method, handler, verb in (("POST", add, "add"), ("DELETE", remove, "remove")):
                rows.append(
                    Route(
                        method,
                        path,
                        handler,
                        {204: None},
                        takes=_TAKES[linkage],
                        may_forbid=True,
                        name=f"{verb}Team{_NAMES[linkage]}",
                    )
                )
        return rows

    async def list(self, exchange: Exchange) -> Answer:
        """List the members of a team as users."""
        linkage = LinkageType.USERS
        ids = await self._members.list(exchange.require_caller(), exchange.path("team_id"), linkage)
        body = msgspec.json.encode(documents.linkage(ids, linkage))
        return Answer(200, body, {"Content-Type": MEDIA_TYPE})

    async def add(self, exchange: Exchange, linkage: LinkageType) -> Answer:
        """Put users into a team, all or none."""
        return await self._change(exchange, linkage, "add")

    async def remove(self, exchange: Exchange, linkage: LinkageType) -> Answer:
        """Take users out of a team, all or none."""
        return await self._change(exchange, linkage, "remove")

    async def _change(self, exchange: Exchange, linkage: LinkageType, change: Change) -> Answer:
        await self._members.change(
            exchange.require_caller(),
            exchange.path("team_id"),
            linkage,
            change,
            decoding.members(exchange.document, linkage),
        )
        return Answer(204)
