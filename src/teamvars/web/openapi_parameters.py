"""What `/openapi.json` says of parameters and headers: one rule for each name."""

import re
from typing import Any

from teamvars.domain.memberships import Status
from teamvars.web import includes, paging
from teamvars.web.examples import IDS
from teamvars.web.resources import Route

_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_TEXT = {"type": "string", "maxLength": includes.MAX_CHARACTERS}
_NUMBER = {"type": "integer", "minimum": 1}
_SCHEMAS: dict[str, dict[str, Any]] = {
    **{
        name: {"type": "array", "items": _TEXT, "maxItems": includes.MAX_WORDS}
        for name in includes.LISTS
    },
    **dict.fromkeys(paging.PARAMETERS, _NUMBER),
    includes.STATUS: {"type": "string", "enum": list(Status)},
}
_DESCRIPTIONS = {
    includes.INCLUDE: "Related resources that the answer should have as well, with commas.",
    "page[number]": "Which page; the first is 1.",
    "page[size]": (
        f"Items on a page: {paging.DEFAULT_SIZE} unless said; "
        f"more than {paging.MAX_SIZE} counts as {paging.MAX_SIZE}."
    ),
    "If-Match": "An entity tag: nothing is changed unless it is still that of the resource.",
    "If-None-Match": "An entity tag: 304 while it is still that of the resource.",
    "X-Request-Id": (
        "Comes back with the answer, and is in log and audit trail: 1 to 128 visible ASCII "
        "characters. In the place of anything else a new one is made."
    ),
}
_ANSWERED = ("X-Request-Id", "Cache-Control", "Vary")
_ANSWERED_NUMBERS = {"Retry-After": "In seconds."}


def of_path(template: str) -> list[dict[str, Any]]:
    """The parameters of a path, with an example of each."""
    return [_of_path(name) for name in _PATH_PARAMETER.findall(template)]


def of_operation(one: Route) -> list[dict[str, Any]]:
    """The headers and query parameters that an operation reads."""
    headers = [name for name in one.reads if name.startswith("If-")]
    if not one.public:
        headers.insert(0, "X-Request-Id")
    return [
        *(_parameter(name, "header", {"type": "string"}) for name in headers),
        *(_query(name, one) for name in one.reads if name not in headers),
    ]


def answered(*names: str) -> dict[str, Any]:
    """The headers of every answer, and those."""
    return {name: _header(name) for name in (*_ANSWERED, *names)}


def _of_path(name: str) -> dict[str, Any]:
    said = {**_parameter(name, "path", {"type": "string"}), "required": True}
    return {**said, "example": IDS[name]} if name in IDS else said


def _query(name: str, one: Route) -> dict[str, Any]:
    said = _parameter(name, "query", _SCHEMAS.get(name, _TEXT))
    if name in includes.LISTS:
        said |= {"style": "form", "explode": False}
    return {**said, "required": name in one.needed}


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    said = {"name": name, "in": place, "required": False, "schema": schema}
    if name in _DESCRIPTIONS:
        said["description"] = _DESCRIPTIONS[name]
    return said


def _header(name: str) -> dict[str, Any]:
    if name in _ANSWERED_NUMBERS:
        return {"description": _ANSWERED_NUMBERS[name], "schema": {"type": "integer"}}
    return {"schema": {"type": "string"}}
