"""The routes of teams' accesses to workspaces: decode, call, encode."""

import msgspec

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.grants import Grant
from teamvars.services.grants import Grants
from teamvars.web import paging
from teamvars.web import team_workspace_documents as documents
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.includes import text_of
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.resources import Route
from teamvars.web.team_workspace_documents import (
    ChangedTeamWorkspaceDocument,
    NewTeamWorkspaceDocument,
    TeamWorkspaceDocument,
    TeamWorkspaceListDocument,
)

_ALL = "/api/v2/team-workspaces"
_ONE = "/api/v2/team-workspaces/{team_workspace_id}"
_WORKSPACE = "filter[workspace][id]"
_JSON_API = {"Content-Type": MEDIA_TYPE}


class TeamWorkspaceRoutes:
    """Which team may do what with the variables of which workspace."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def routes(self) -> list[Route]:
        """One row an operation."""
        one, page = {200: TeamWorkspaceDocument}, {200: TeamWorkspaceListDocument}
        create = Route(
            "POST",
            _ALL,
            self.create,
            {201: TeamWorkspaceDocument},
            takes=NewTeamWorkspaceDocument,
            may_forbid=True,
            refuses=(404,),
            name="createTeamWorkspace",
        )
        list_ = Route(
            "GET",
            _ALL,
            self.list,
            page,
            reads=(*paging.PARAMETERS, _WORKSPACE),
            needed=(_WORKSPACE,),
            refuses=(404,),
            name="listTeamWorkspaces",
        )
        update = Route(
            "PATCH",
            _ONE,
            self.update,
            one,
            takes=ChangedTeamWorkspaceDocument,
            may_forbid=True,
            name="updateTeamWorkspace",
        )
        delete = Route(
            "DELETE",
            _ONE,
            self.delete,
            {204: None},
            may_forbid=True,
            name="deleteTeamWorkspace",
        )
        return [
            list_,
            create,
            Route("GET", _ONE, self.read, one, name="readTeamWorkspace"),
            update,
            delete,
        ]

    async def list(self, exchange: Exchange) -> Answer:
        """List the teams' accesses to a workspace."""
        workspace_id = text_of(exchange, _WORKSPACE)
        if workspace_id is None:
            detail = f"{_WORKSPACE} says which workspace."
            raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=_WORKSPACE))
        page = paging.requested_page(exchange)
        found = await self._grants.list(exchange.require_caller(), workspace_id, page)
        links, meta = paging.links(exchange, page, found.total), paging.meta(page, found.total)
        document = documents.team_workspace_list(found, links, meta)
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def create(self, exchange: Exchange) -> Answer:
        """Give a team access to a workspace."""
        draft = documents.new_draft(exchange.document)
        made = await self._grants.create(exchange.require_caller(), draft)
        headers = {**_JSON_API, "Location": documents.path(made)}
        return Answer(201, msgspec.json.encode(documents.team_workspace(made)), headers)

    async def read(self, exchange: Exchange) -> Answer:
        """Read a team's access to a workspace."""
        caller, id_ = exchange.require_caller(), exchange.path("team_workspace_id")
        return _shown(await self._grants.read(caller, id_))

    async def update(self, exchange: Exchange) -> Answer:
        """Update a team's access to a workspace."""
        draft = documents.changed_draft(exchange.document)
        caller, id_ = exchange.require_caller(), exchange.path("team_workspace_id")
        return _shown(await self._grants.update(caller, id_, draft))

    async def delete(self, exchange: Exchange) -> Answer:
        """Take a team's access to a workspace away."""
        caller, id_ = exchange.require_caller(), exchange.path("team_workspace_id")
        await self._grants.delete(caller, id_)
        return Answer(204)


def _shown(found: Grant) -> Answer:
    return Answer(200, msgspec.json.encode(documents.team_workspace(found)), _JSON_API)
