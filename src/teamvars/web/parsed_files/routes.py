"""The route that reads a file of variables: decode, call, encode."""

from teamvars.services.parsed_files import ParsedFiles
from teamvars.web.dialects import Dialect
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.parsed_files import documents
from teamvars.web.parsed_files.documents import ParsedFileDocument

_PATH = "/api/v2/workspaces/{workspace_id}/actions/parse"


class ParsedFileRoutes:
    """`actions/parse` of a workspace."""

    def __init__(self, parsed_files: ParsedFiles, dialect: Dialect) -> None:
        self._parsed_files = parsed_files
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "POST",
                _PATH,
                self.parse,
                {200: ParsedFileDocument},
                takes=documents.PARSE,
                may_forbid=True,
                name="parseFile",
            )
        ]

    async def parse(self, request: Request) -> Response:
        """Read a file of variables: what does it define, where is it wrong? Nothing is stored."""
        found = await self._parsed_files.parse(
            request.require_caller(),
            request.path("workspace_id"),
            documents.draft(request.document),
        )
        return Response.document(200, documents.parsed(found, self._dialect))
