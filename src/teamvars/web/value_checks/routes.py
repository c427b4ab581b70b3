"""The route that tries a value: decode, call, encode."""

from teamvars.services.value_checks import ValueChecks
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.value_checks import documents
from teamvars.web.value_checks.documents import (
    ValueCheckAnswerDocument,
)

_PATH = "/api/v2/workspaces/{workspace_id}/actions/check-value"


class ValueCheckRoutes:
    """`actions/check-value` of a workspace."""

    def __init__(self, value_checks: ValueChecks) -> None:
        self._value_checks = value_checks

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "POST",
                _PATH,
                self.check,
                {200: ValueCheckAnswerDocument},
                takes=documents.VALUE_CHECK,
                may_forbid=True,
                name="checkValue",
            )
        ]

    async def check(self, request: Request) -> Response:
        """Try a value: does it parse, and what does it evaluate to? Nothing is stored."""
        found = await self._value_checks.check(
            request.require_caller(),
            request.path("workspace_id"),
            documents.draft(request.document),
        )
        return Response.document(200, documents.examined(found))
