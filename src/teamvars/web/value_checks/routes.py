"""The route that tries a value: decode, call, encode."""

from typing import Any

import msgspec

from teamvars.domain.ids import new_id
from teamvars.services.code.examination import CodeError, Examination
from teamvars.services.value_checks import ValueChecks
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.variables import decoding
from teamvars.web.variables.requests import ValueCheckDocument

_PATH = "/api/v2/workspaces/{workspace_id}/actions/check-value"


class Culprit(msgspec.Struct):
    """Where and why a value does not parse or evaluate; line and column from 1, in characters."""

    line: int
    column: int
    detail: str


class ValueCheckAnswer(msgspec.Struct, rename="kebab"):
    """`value` counts only when `evaluated`; what is referred to is not known here."""

    valid: bool
    evaluated: bool
    value: Any
    error: Culprit | None
    refers_to: list[str]
    calls: list[str]


class ValueCheckAnswerResource(msgspec.Struct):
    """What became of the value. Nothing is kept that its id would lead to."""

    id: str
    type: str
    attributes: ValueCheckAnswer


class ValueCheckAnswerDocument(msgspec.Struct):
    """What became of the value."""

    data: ValueCheckAnswerResource


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
                takes=ValueCheckDocument,
                may_forbid=True,
                name="checkValue",
            )
        ]

    async def check(self, request: Request) -> Response:
        """Try a value: does it parse, and what does it evaluate to? Nothing is stored."""
        found = await self._value_checks.check(
            request.require_caller(),
            request.path("workspace_id"),
            decoding.value_check(request.document),
        )
        return Response.document(200, _document(found))


def _document(found: Examination) -> ValueCheckAnswerDocument:
    attributes = ValueCheckAnswer(
        valid=found.valid,
        evaluated=found.evaluated,
        value=msgspec.Raw(found.value),
        error=None if found.error is None else _error(found.error),
        refers_to=list(found.references),
        calls=list(found.functions),
    )
    return ValueCheckAnswerDocument(
        ValueCheckAnswerResource(new_id("check"), "value-checks", attributes)
    )


def _error(error: CodeError) -> Culprit:
    detail = f"{error.message}: {error.name}" if error.name else error.message
    return Culprit(error.line, error.column, detail)
