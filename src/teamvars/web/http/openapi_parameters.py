"""What `/openapi.json` says of parameters and headers: one rule for each name."""

import re
from collections.abc import Mapping
from typing import Any

from teamvars.domain.repeats import HEADER
from teamvars.web.http.idempotency import MAX_CHARACTERS
from teamvars.web.http.parameters import MAX_WORDS, Parameter
from teamvars.web.http.routes import Route

_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_DESCRIPTIONS = {
    HEADER: (
        "Sent again with the same key within a day, the request changes nothing and gets the "
        f"first answer. 1 to {MAX_CHARACTERS} visible ASCII characters, in quotes or without."
    ),
    "If-Match": "An entity tag: the request changes nothing unless the resource still has it.",
    "If-None-Match": "An entity tag: the answer is 304 while the resource still has it.",
    "X-Request-Id": (
        "Comes back with the answer, and is in log and audit trail: 1 to 128 visible ASCII "
        "characters. In the place of anything else a new one is made."
    ),
}
_STRING = {"type": "string"}
_RATE_LIMIT = {
    "X-RateLimit-Limit": ("integer", "Requests a second; sent where there is a limit."),
    "X-RateLimit-Remaining": ("integer", "How many may be made now; as the limit."),
    "X-RateLimit-Reset": ("number", "In how many seconds the next may be; as the limit."),
}
_NUMBERS = {"Retry-After": ("integer", "In seconds."), **_RATE_LIMIT}
_ALWAYS = ("X-Request-Id", "Cache-Control", "Vary", *_RATE_LIMIT)


def of_path(template: str, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """The parameters of a path, with an example of each."""
    return [_of_path(name, ids) for name in _PATH_PARAMETER.findall(template)]


def of_operation(one: Route) -> list[dict[str, Any]]:
    """The headers and query parameters that an operation reads."""
    headers = [] if one.public else ["X-Request-Id"]
    if one.precondition is not None:
        headers.append(one.precondition)
    if one.keyed:
        headers.append(HEADER)
    return [
        *(_parameter(name, "header", _STRING, _DESCRIPTIONS[name]) for name in headers),
        *map(_query, one.reads),
    ]


def response_headers(*names: str) -> dict[str, Any]:
    """The headers of every response, and those."""
    return {name: _header(name) for name in (*_ALWAYS, *names)}


def header(description: str) -> dict[str, Any]:
    """A header of a response; without a word on it where there is none."""
    return {"description": description, "schema": _STRING} if description else {"schema": _STRING}


def _of_path(name: str, ids: Mapping[str, str]) -> dict[str, Any]:
    said = {**_parameter(name, "path", _STRING), "required": True}
    return {**said, "example": ids[name]} if name in ids else said


def _query(parameter: Parameter) -> dict[str, Any]:
    said = _parameter(parameter.name, "query", parameter.schema, parameter.description)
    if parameter.is_list:
        items = {"type": "array", "items": parameter.schema, "maxItems": MAX_WORDS}
        said |= {"schema": items, "style": "form", "explode": False}
    return {**said, "required": parameter.required}


def _parameter(
    name: str, place: str, schema: Mapping[str, Any], description: str = ""
) -> dict[str, Any]:
    said = {"name": name, "in": place, "required": False, "schema": schema}
    return {**said, "description": description} if description else said


def _header(name: str) -> dict[str, Any]:
    if name in _NUMBERS:
        type_, description = _NUMBERS[name]
        return {"description": description, "schema": {"type": type_}}
    return {"schema": _STRING}
