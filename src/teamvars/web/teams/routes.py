"""The routes of teams: decode, call, encode."""

from teamvars.domain.teams import TeamFilter
from teamvars.services.teams import Teams, TeamView
from teamvars.web.http import paging
from teamvars.web.http.parameters import INCLUDE, Parameter, requested_includes, text_of, words_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.teams import documents
from teamvars.web.teams.documents import (
    INCLUDES,
    TeamDocument,
    TeamListDocument,
)

_ALL = "/api/v2/organizations/{organization}/teams"
_ONE = "/api/v2/teams/{team_id}"
_SEARCH = Parameter("q", "A part of the name.")
_NAMES = Parameter("filter[names]", "Whole names, with commas.", is_list=True)


class TeamRoutes:
    """Teams as HCP Terraform's clients know them."""

    def __init__(self, teams: Teams) -> None:
        self._teams = teams

    def routes(self) -> list[Route]:
        """One row an operation."""
        one, page = {200: TeamDocument}, {200: TeamListDocument}
        reads = (*paging.PARAMETERS, INCLUDE, _NAMES, _SEARCH)
        return [
            Route("GET", _ALL, self.list, page, reads=reads, name="listTeams"),
            Route(
                "POST",
                _ALL,
                self.create,
                {201: TeamDocument},
                takes=documents.NEW,
                keyed=True,
                may_forbid=True,
                name="createTeam",
            ),
            Route("GET", _ONE, self.read, one, reads=(INCLUDE,), name="readTeam"),
            Route(
                "PATCH",
                _ONE,
                self.update,
                one,
                takes=documents.CHANGED,
                keyed=True,
                may_forbid=True,
                name="updateTeam",
            ),
            Route(
                "DELETE",
                _ONE,
                self.delete,
                {204: None},
                may_forbid=True,
                refuses=(422,),
                name="deleteTeam",
            ),
        ]

    async def list(self, request: Request) -> Response:
        """List the teams of an organization that the caller sees, by name."""
        includes = requested_includes(request, INCLUDES)
        wanted = TeamFilter(words_of(request, _NAMES), text_of(request, _SEARCH))
        page = paging.requested_page(request)
        caller, organization = request.require_caller(), request.path("organization")
        found = await self._teams.list(caller, organization, wanted, page, members=bool(includes))
        links, meta = paging.links_and_meta(request, page, found.total)
        document = documents.team_list(found, includes, links, meta)
        return Response.document(200, document)

    async def create(self, request: Request) -> Response:
        """Create a team; it is secret unless the request says otherwise."""
        draft = documents.new_draft(request.document)
        caller, organization = request.require_caller(), request.path("organization")
        return await request.changed(self._teams.create(caller, organization, draft), _made)

    async def read(self, request: Request) -> Response:
        """Read a team."""
        includes = requested_includes(request, INCLUDES)
        caller, team_id = request.require_caller(), request.path("team_id")
        found = await self._teams.read(caller, team_id, members=bool(includes))
        return Response.document(200, documents.team(found, includes))

    async def update(self, request: Request) -> Response:
        """Update a team: its name, visibility or right to manage membership."""
        draft = documents.changed_draft(request.document)
        caller, team_id = request.require_caller(), request.path("team_id")
        return await request.changed(self._teams.update(caller, team_id, draft), _changed)

    async def delete(self, request: Request) -> Response:
        """Delete a team with its grants and tokens; its members stay in the organization."""
        await self._teams.delete(request.require_caller(), request.path("team_id"))
        return Response(204)


def _made(made: TeamView) -> Response:
    return Response.document(201, documents.made(made), {"Location": documents.path(made)})


def _changed(changed: TeamView) -> Response:
    return Response.document(200, documents.made(changed))
