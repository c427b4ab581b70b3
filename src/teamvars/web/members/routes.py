"""The routes of team membership: decode, call, encode."""

from functools import partial

from teamvars.domain.team_members import LinkageType
from teamvars.services.team_members import Change, TeamMembers
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.members import documents
from teamvars.web.members.documents import LinkageDocument

_NAMES = {LinkageType.USERS: "Users", LinkageType.ORGANIZATION_MEMBERSHIPS: "Memberships"}


class MemberRoutes:
    """The four operations on team membership (contract §5), and the reading of users' linkage.

    That of memberships is read as full resources: `web/memberships`.
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
                        takes=documents.MEMBERS[linkage],
                        keyed=method == "POST",
                        may_forbid=True,
                        name=f"{verb}Team{_NAMES[linkage]}",
                    )
                )
        return rows

    async def list(self, request: Request) -> Response:
        """List the members of a team as users."""
        linkage = LinkageType.USERS
        ids = await self._members.list(request.require_caller(), request.path("team_id"), linkage)
        return Response.document(200, documents.linkage(ids, linkage))

    async def add(self, request: Request, linkage: LinkageType) -> Response:
        """Put users into a team, all or none."""
        return await self._change(request, linkage, "add")

    async def remove(self, request: Request, linkage: LinkageType) -> Response:
        """Take users out of a team, all or none."""
        return await self._change(request, linkage, "remove")

    async def _change(self, request: Request, linkage: LinkageType, change: Change) -> Response:
        work = self._members.change(
            request.require_caller(),
            request.path("team_id"),
            linkage,
            change,
            documents.draft(request.document, linkage),
        )
        return await request.changed(work, lambda _: Response(204))
