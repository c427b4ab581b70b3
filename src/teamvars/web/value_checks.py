"""Values to be tried, of which nothing is stored."""

from typing import Annotated, Any, Literal

import msgspec

from teamvars.domain.ids import new_id
from teamvars.domain.variables import ValueDraft
from teamvars.services.code.examination import CodeError, Examination
from teamvars.services.parsed_files import ValueChecks
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.variables.requests import HCL, VALUE


class ValueCheckAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A value to try, as text or as configuration-language code."""

    value: Annotated[str, VALUE]
    hcl: Annotated[bool, HCL] = False


class ValueCheckResource(msgspec.Struct):
    """A value to try."""

    type: Literal["value-checks"]
    attributes: ValueCheckAttributes


class ValueCheckDocument(msgspec.Struct):
    """Tries a value; nothing is stored."""

    data: ValueCheckResource


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


VALUE_CHECK = RequestBody(
    ValueCheckDocument,
    {
        "data": {
            "type": "value-checks",
            "attributes": {"value": '{ size = 2 * 3, name = "a" }', "hcl": True},
        }
    },
)


def draft(document: object) -> ValueDraft:
    """What value somebody wants to try."""
    read = Reader(document)
    data = read.data(dict)
    read.require_type(data, "value-checks")
    attributes = read.member(data, "attributes", dict, "/data")
    read.refuse_unknown(attributes, known={"value", "hcl"})
    value = read.member(attributes, "value", str, "/data/attributes")
    hcl = read.member(attributes, "hcl", bool, "/data/attributes", required=False)
    return ValueDraft(value, hcl or False, read.faults)


def examined(found: Examination) -> ValueCheckAnswerDocument:
    """The document of what became of a value."""
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


def routes(value_checks: ValueChecks) -> list[Route]:
    """The one operation."""

    async def check(request: Request) -> Response:
        """Try a value: does it parse, and what does it evaluate to? Nothing is stored."""
        caller, workspace_id = request.require_caller(), request.parameters["workspace_id"]
        found = await value_checks.check(caller, workspace_id, draft(request.document))
        return Response.document(200, examined(found))

    return [
        Route(
            "POST",
            "/api/v2/workspaces/{workspace_id}/actions/check-value",
            check,
            {200: ValueCheckAnswerDocument},
            takes=VALUE_CHECK,
            may_forbid=True,
            name="checkValue",
        )
    ]
