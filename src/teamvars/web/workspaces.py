"""The route of a workspace by names."""

import msgspec

from teamvars.services.workspaces import Workspaces
from teamvars.web import documents
from teamvars.web.documents import WorkspaceDocument
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.resources import Route

_BY_NAME = "/api/v2/organizations/{organization}/workspaces/{workspace}"


class WorkspaceRoutes:
    """What `relationships.configurable.links.related` points at."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [Route("GET", _BY_NAME, self.read, {200: WorkspaceDocument})]

    async def read(self, exchange: Exchange) -> Answer:
        """A workspace of an organization, both by name."""
        found = await self._workspaces.read(
            exchange.require_caller(), exchange.path("organization"), exchange.path("workspace")
        )
        body = msgspec.json.encode(documents.workspace(found))
        return Answer(200, body, {"Content-Type": MEDIA_TYPE})
