"""The routes of teams' accesses to workspaces: decode, call, encode."""

from teamvars.domain.grants import Grant, NamedGrant
from teamvars.domain.pages import Page, Paged
from teamvars.services.grants import Grants
from teamvars.web.http import paging
from teamvars.web.http.parameters import (
    INCLUDE,
    Parameter,
    invalid,
    requested_includes,
    text_of,
)
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.team_workspaces import documents
from teamvars.web.team_workspaces.documents import (
    INCLUDES,
    TeamWorkspaceDocument,
    TeamWorkspaceListDocument,
)

_ALL = "/api/v2/team-workspaces"
_ONE = "/api/v2/team-workspaces/{team_workspace_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/team-workspaces"
_WORKSPACE = Parameter(
    "filter[workspace][id]", "The workspace whose accesses are listed.", required=True
)


class TeamWorkspaceRoutes:
    """Which team may do what with the variables of which workspace."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def routes(self) -> list[Route]:
        """One row an operation."""
        one, page = {200: TeamWorkspaceDocument}, {200: TeamWorkspaceListDocument}
        return [
            Route(
                "GET",
                _ALL,
                self.list,
                page,
                reads=(*paging.PARAMETERS, INCLUDE, _WORKSPACE),
                refuses=(404,),
                name="listTeamWorkspaces",
            ),
            Route(
                "GET",
                _OF_TEAM,
                self.list_of_team,
                page,
                reads=(*paging.PARAMETERS, INCLUDE),
                name="listTeamWorkspacesOfTeam",
            ),
            Route(
                "POST",
                _ALL,
                self.create,
                {201: TeamWorkspaceDocument},
                takes=documents.NEW,
                keyed=True,
                may_forbid=True,
                refuses=(404,),
                name="createTeamWorkspace",
            ),
            Route("GET", _ONE, self.read, one, name="readTeamWorkspace"),
            Route(
                "PATCH",
                _ONE,
                self.update,
                one,
                takes=documents.CHANGED,
                keyed=True,
                may_forbid=True,
                name="updateTeamWorkspace",
            ),
            Route(
                "DELETE",
                _ONE,
                self.delete,
                {204: None},
                may_forbid=True,
                name="deleteTeamWorkspace",
            ),
        ]

    async def list(self, request: Request) -> Response:
        """List the teams' accesses to a workspace."""
        workspace_id = text_of(request, _WORKSPACE)
        if workspace_id is None:
            raise invalid(_WORKSPACE.name, f"{_WORKSPACE.name} says which workspace.")
        includes, page = requested_includes(request, INCLUDES), paging.requested_page(request)
        found = await self._grants.list(request.require_caller(), workspace_id, page)
        return _listed(request, found, includes, page)

    async def list_of_team(self, request: Request) -> Response:
        """List a team's accesses to workspaces that the caller may read, by name."""
        includes, page = requested_includes(request, INCLUDES), paging.requested_page(request)
        caller, team_id = request.require_caller(), request.path("team_id")
        found = await self._grants.list_of_team(caller, team_id, page)
        return _listed(request, found, includes, page)

    async def create(self, request: Request) -> Response:
        """Give a team access to a workspace."""
        draft = documents.new_draft(request.document)
        work = self._grants.create(request.require_caller(), draft)
        return await request.changed(work, _made)

    async def read(self, request: Request) -> Response:
        """Read a team's access to a workspace."""
        caller, id_ = request.require_caller(), request.path("team_workspace_id")
        return _shown(await self._grants.read(caller, id_))

    async def update(self, request: Request) -> Response:
        """Update a team's access to a workspace."""
        draft = documents.changed_draft(request.document)
        caller, id_ = request.require_caller(), request.path("team_workspace_id")
        return await request.changed(self._grants.update(caller, id_, draft), _shown)

    async def delete(self, request: Request) -> Response:
        """Take a team's access to a workspace away."""
        caller, id_ = request.require_caller(), request.path("team_workspace_id")
        await self._grants.delete(caller, id_)
        return Response(204)


def _listed(
    request: Request, found: Paged[NamedGrant], includes: frozenset[str], page: Page
) -> Response:
    links, meta = paging.links_and_meta(request, page, found.total)
    document = documents.team_workspace_list(found, includes, links, meta)
    return Response.document(200, document)


def _made(made: Grant) -> Response:
    headers = {"Location": documents.path(made)}
    return Response.document(201, documents.team_workspace(made), headers)


def _shown(found: Grant) -> Response:
    return Response.document(200, documents.team_workspace(found))
