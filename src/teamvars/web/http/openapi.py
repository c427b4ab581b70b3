"""`/openapi.json`: the OpenAPI 3.1 document, made of the routes and types that serve."""

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from teamvars import __version__
from teamvars.domain.errors import Code
from teamvars.web.http import openapi_parameters as parameters
from teamvars.web.http import openapi_schemas as schemas
from teamvars.web.http.errors import STATUS, ErrorDocument
from teamvars.web.http.negotiation import HTML, IF_MATCH, IF_NONE_MATCH, JSON, MEDIA_TYPE
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Handler, RequestBody, Route

PATH = "/openapi.json"

_ANY = {400, 401, 404, 406, 408, 413, 429, 503}
_DOCUMENT = {409, 415, 422}
_ERROR_HEADERS = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_WORD = re.compile("[A-Z]?[a-z]+")


def route(routes: Iterable[Route], ids: Mapping[str, str], amend: schemas.Amend) -> Route:
    """The route that serves the document of all the others and of itself."""

    async def serve(_: Request) -> Response:
        """Read this document: OpenAPI 3.1, made of the code that serves."""
        return Response(200, body, {"Content-Type": JSON})

    own = Route(
        "GET", PATH, serve, {200: dict}, media_type=JSON, public=True, name="describeService"
    )
    body = msgspec.json.encode(document([*routes, own], ids, amend))
    return own


def document(
    routes: Iterable[Route], ids: Mapping[str, str], amend: schemas.Amend
) -> dict[str, Any]:
    """The OpenAPI document of these routes.

    `ids` has an example for each parameter of a path, by name. `amend` adds to the schemas what
    the types do not say.
    """
    listed = list(routes)
    paths: dict[str, dict[str, Any]] = {}
    for one in listed:
        path = paths.setdefault(one.template, {"parameters": parameters.of_path(one.template, ids)})
        path[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "teamvars",
            "version": __version__,
            "description": "The variables of workspaces and the members of teams (JSON:API 1.1).",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(map(_tag, listed))],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": _error_responses(),
            "schemas": schemas.components(listed, amend),
        },
    }


def _operation(one: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": one.name,
        "tags": [_tag(one)],
        "summary": _name(one),
        "description": _description(one),
        "parameters": parameters.of_operation(one),
        "responses": _responses(one),
    }
    if one.public:
        operation["security"] = []
    if one.takes is not None:
        operation["requestBody"] = _request_body(one.takes)
    return operation


def _request_body(body: RequestBody) -> dict[str, Any]:
    content = {"schema": schemas.reference(body.type), "example": body.example}
    return {"required": not body.optional, "content": {MEDIA_TYPE: content}}


def _responses(one: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, type_ in one.responses.items():
        responses[str(status)] = _response(status, type_, one)
    if one.precondition == IF_NONE_MATCH:
        responses["304"] = {
            "description": "The client has it already.",
            "headers": parameters.response_headers("ETag"),
        }
    for status in sorted(_error_statuses(one)):
        responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
    return responses


def _error_responses() -> dict[str, Any]:
    responses = {}
    for status in sorted(set(STATUS.values())):
        codes = [code.word for code in Code if STATUS[code.kind] == status]
        responses[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}.",
            "content": {MEDIA_TYPE: {"schema": schemas.reference(ErrorDocument)}},
            "headers": parameters.response_headers(*_ERROR_HEADERS.get(status, ())),
        }
    return responses


def _response(status: int, type_: type | None, one: Route) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": HTTPStatus(status).phrase + ".",
        "headers": parameters.response_headers(),
    }
    if type_ is not None:
        response["content"] = {one.media_type: {"schema": schemas.reference(type_)}}
        if one.has_page:
            response["content"][HTML] = {"schema": {"type": "string"}}
    if one.has_entity_tag:
        response["headers"] |= parameters.response_headers("ETag")
    if status in (HTTPStatus.CREATED, HTTPStatus.FOUND):
        response["headers"] |= parameters.response_headers("Location")
    for name, text in one.sends.items():
        response["headers"][name] = parameters.header(text)
    return response


def _error_statuses(one: Route) -> set[int]:
    if one.public:
        return set(one.refuses)
    statuses = (_ANY if "{" in one.template else _ANY - {404}) | set(one.refuses)
    if one.takes is not None:
        statuses |= _DOCUMENT
    if one.keyed:
        statuses |= {409, 422}
    if one.may_forbid:
        statuses.add(403)
    if one.precondition == IF_MATCH:
        statuses.add(412)
    return statuses


def _name(one: Route) -> str:
    """The name of an operation in words: `listVariables` lists variables."""
    return " ".join(_WORD.findall(one.name)).capitalize()


def _tag(one: Route) -> str:
    """What an operation is grouped with: its own tag, or the package its handler is in."""
    if one.public:
        return "Service"
    return one.tag or _function(one).__module__.split(".")[2].replace("_", " ").capitalize()


def _description(one: Route) -> str:
    return one.text or (inspect.getdoc(_function(one)) or "").partition("\n")[0]


def _function(one: Route) -> Handler:
    return one.handler.func if isinstance(one.handler, partial) else one.handler
