"""`/openapi.json`: the OpenAPI 3.1 document, made of the routes and types that serve."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from http import HTTPStatus
from typing import Any

import msgspec

from teamvars import __version__
from teamvars.domain.errors import Code
from teamvars.domain.idempotency import HEADER
from teamvars.services.rendered import Rendered
from teamvars.web.http.errors import STATUS, ErrorDocument
from teamvars.web.http.idempotency import MAX_CHARACTERS, PATTERN
from teamvars.web.http.negotiation import HTML, IF_MATCH, IF_NONE_MATCH, JSON, MEDIA_TYPE
from teamvars.web.http.parameters import FORM, MAX_WORDS, Parameter
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Handler, Route
from teamvars.web.http.sending import Response, split

PATH = "/openapi.json"

_ANY = {400, 401, 404, 406, 408, 413, 429, 500, 503}
_DOCUMENT = {409, 415, 422}
_ERROR_HEADERS = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_WORD = re.compile("[A-Z]?[a-z]+")
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
_HEADERS = {HEADER: {"type": "string", "pattern": PATTERN}}
_HEAD_TOO_LARGE = "431"
_RATE_LIMIT = {
    "X-RateLimit-Limit": ("integer", "Requests a second; sent where there is a limit."),
    "X-RateLimit-Remaining": ("integer", "How many may be made now; as the limit."),
    "X-RateLimit-Reset": ("number", "In how many seconds the next may be; as the limit."),
}
_NUMBERS = {"Retry-After": ("integer", "In seconds."), **_RATE_LIMIT}
_ALWAYS = ("X-Request-Id", "Cache-Control", "Vary", *_RATE_LIMIT)
_REF = "#/components/schemas/{name}"

Amend = Callable[[dict[str, Any]], None]


def route(
    routes: Iterable[Route], ids: Mapping[str, str], tags: Mapping[str, str], amend: Amend
) -> Route:
    """The route that serves the document of all the others and of itself.

    It is made once, for whoever asks first: that takes longer than all else a worker does before it
    serves, and most are never asked. Its pieces are the same for all: nobody has to be known to ask
    for it, and who does not read it would have memory of their own.
    """

    @cache
    def body() -> Rendered:
        whole = msgspec.json.encode(document([*routes, own], ids, tags, amend))
        return Rendered("", tuple(split([whole])))

    async def serve(_: Request) -> Response:
        """Read this document: OpenAPI 3.1, made of the code that serves."""
        return Response(200, body(), {"Content-Type": JSON})

    own = Route(
        "GET", PATH, serve, {200: dict}, media_type=JSON, public=True, name="describeService"
    )
    return own


def document(
    routes: Iterable[Route], ids: Mapping[str, str], tags: Mapping[str, str], amend: Amend
) -> dict[str, Any]:
    """The OpenAPI document of these routes.

    `ids` has an example for each parameter of a path, by name, and `tags` what each tag is about.
    `amend` adds to the schemas what the types do not say.
    """
    listed = list(routes)
    paths: dict[str, dict[str, Any]] = {}
    for one in listed:
        path = paths.setdefault(one.template, {"parameters": _path_parameters(one.template, ids)})
        path[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "teamvars",
            "version": __version__,
            "description": "The variables of workspaces and the members of teams (JSON:API 1.1).",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [
            {"name": tag, "description": tags[tag]} for tag in dict.fromkeys(map(_tag, listed))
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": _error_responses(),
            "schemas": _schemas(listed, amend),
        },
    }


def _operation(one: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": one.name,
        "tags": [_tag(one)],
        # `listVariables` lists variables.
        "summary": " ".join(_WORD.findall(one.name)).capitalize(),
        "description": one.text or (inspect.getdoc(_function(one)) or "").partition("\n")[0],
        "parameters": _parameters(one),
        "responses": _responses(one),
    }
    if one.public:
        operation["security"] = []
    if one.takes is not None:
        content = {"schema": _reference(one.takes.type), "example": one.takes.example}
        operation["requestBody"] = {
            "required": not one.takes.optional,
            "content": {FORM if one.takes.is_form else MEDIA_TYPE: content},
        }
    return operation


def _responses(one: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, type_ in one.responses.items():
        responses[str(status)] = _response(status, type_, one)
    if one.precondition == IF_NONE_MATCH:
        responses["304"] = {
            "description": "The client has it already.",
            "headers": _headers("ETag"),
        }
    for status in sorted(_error_statuses(one)):
        responses[str(status)] = (
            {"$ref": f"#/components/responses/{status}"}
            if one.errors is None
            else _own_error(status, one.errors.type)
        )
    responses[_HEAD_TOO_LARGE] = {"$ref": f"#/components/responses/{_HEAD_TOO_LARGE}"}
    return responses


def _own_error(status: int, type_: type) -> dict[str, Any]:
    return {
        "description": f"{HTTPStatus(status).phrase}.",
        "content": {JSON: {"schema": _reference(type_)}},
        "headers": _headers(*_ERROR_HEADERS.get(status, ())),
    }


def _error_responses() -> dict[str, Any]:
    # The server answers it before there is a request for us to answer.
    responses: dict[str, Any] = {
        _HEAD_TOO_LARGE: {"description": "The path, the query and the headers are too long."}
    }
    # What no operation of a path is, is said by none.
    for status in sorted(set(STATUS.values()) - {HTTPStatus.METHOD_NOT_ALLOWED}):
        codes = [code.word for code in Code if STATUS[code.kind] == status]
        responses[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}.",
            "content": {MEDIA_TYPE: {"schema": _reference(ErrorDocument)}},
            "headers": _headers(*_ERROR_HEADERS.get(status, ())),
        }
    return responses


def _response(status: int, type_: type | None, one: Route) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": HTTPStatus(status).phrase + ".",
        "headers": _headers(),
    }
    if type_ is not None:
        response["content"] = {one.media_type: {"schema": _reference(type_)}}
        if one.has_page:
            response["content"][HTML] = {"schema": {"type": "string"}}
    if one.has_entity_tag:
        response["headers"] |= _headers("ETag")
    if status in (HTTPStatus.CREATED, HTTPStatus.FOUND):
        response["headers"] |= _headers("Location")
    for name, text in one.sends.items():
        response["headers"][name] = ({"description": text} if text else {}) | {"schema": _STRING}
    return response


def _error_statuses(one: Route) -> set[int]:
    if one.public:
        return set(one.refuses)
    statuses = (_ANY if "{" in one.template else _ANY - {404}) | set(one.refuses)
    if one.is_plain:
        statuses.discard(406)
    if one.takes is not None or one.for_jobs:
        statuses |= _DOCUMENT
    if one.keyed:
        statuses |= {409, 422}
    if one.may_forbid:
        statuses.add(403)
    if one.precondition == IF_MATCH:
        statuses.add(412)
    return statuses


def _tag(one: Route) -> str:
    """What an operation is grouped with: its own tag, or the package its handler is in."""
    if one.public:
        return "Service"
    return one.tag or _function(one).__module__.split(".")[2].replace("_", " ").capitalize()


def _function(one: Route) -> Handler:
    return one.handler.func if isinstance(one.handler, partial) else one.handler


def _path_parameters(template: str, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """The parameters of a path, with an example of each."""
    found = []
    for name in _PATH_PARAMETER.findall(template):
        example = {"example": ids[name]} if name in ids else {}
        found.append({**_parameter(name, "path", _STRING), "required": True, **example})
    return found


def _parameters(one: Route) -> list[dict[str, Any]]:
    """The headers and query parameters that an operation reads."""
    headers = [] if one.public else ["X-Request-Id"]
    if one.precondition is not None:
        headers.append(one.precondition)
    if one.keyed:
        headers.append(HEADER)
    return [
        *(
            _parameter(name, "header", _HEADERS.get(name, _STRING), _DESCRIPTIONS[name])
            for name in headers
        ),
        *map(_query, one.reads),
    ]


def _headers(*names: str) -> dict[str, Any]:
    """The headers of every response, and those."""
    return {name: _header(name) for name in (*_ALWAYS, *names)}


def _query(parameter: Parameter) -> dict[str, Any]:
    said = _parameter(parameter.name, "query", parameter.schema, parameter.description)
    if parameter.is_list:
        word = {"minLength": 1, **parameter.schema}
        words = {"type": "array", "items": word, "maxItems": MAX_WORDS}
        said |= {"schema": words, "style": "form", "explode": False}
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


def _schemas(routes: Iterable[Route], amend: Amend) -> dict[str, Any]:
    """The schema of every document that any route takes or responds with."""
    types = {ErrorDocument: None} | {
        type_: None
        for one in routes
        for type_ in (
            one.takes and one.takes.type,
            one.errors and one.errors.type,
            *one.responses.values(),
        )
        if type_ is not None
    }
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    schemas["Error"]["properties"]["code"]["enum"] = [code.word for code in Code]
    amend(schemas)
    return schemas


@cache  # the same types come with many routes
def _reference(type_: type) -> Mapping[str, Any]:
    """What stands for the schema of that type."""
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REF)
    return schema
