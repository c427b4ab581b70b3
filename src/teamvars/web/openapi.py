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
from teamvars.web import paging
from teamvars.web.dialects import Dialect
from teamvars.web.documents import VariableDocument
from teamvars.web.errors import STATUS, ErrorDocument
from teamvars.web.examples import OF_THE_DIRECTORY
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.negotiation import IF_MATCH, IF_NONE_MATCH, JSON, MEDIA_TYPE
from teamvars.web.organization_documents import (
    ChangedOrganizationDocument,
    NewOrganizationDocument,
)
from teamvars.web.requests import (
    ChangedVariableDocument,
    MembershipsDocument,
    NewVariableDocument,
    UsersDocument,
    ValueCheckDocument,
)
from teamvars.web.resources import Route
from teamvars.web.workspace_documents import ChangedWorkspaceDocument, NewWorkspaceDocument

PATH = "/openapi.json"

_REF = "#/components/schemas/{name}"
_ANY = {400, 401, 404, 406, 408, 413, 429, 503}
_DOCUMENT = {409, 415, 422}
_HEADERS = ("X-Request-Id", "Cache-Control", "Vary")
_ERROR_HEADERS = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


def example_of(document: type[msgspec.Struct], dialect: Dialect) -> dict[str, Any] | None:
    """A document of that type that a server accepts, with ids in the place of `{…}`."""
    tool, env = dialect.categories.values()
    attributes = {
        "key": "some_key",
        "value": "some_value",
        "description": "some description",
        "category": tool,
        "hcl": False,
        "sensitive": False,
    }
    changed = {"key": "OTHER_KEY", "value": "secret", "category": env, "sensitive": True}
    examples: dict[type[msgspec.Struct], dict[str, Any]] = {
        NewVariableDocument: {"data": {"type": "vars", "attributes": attributes}},
        ChangedVariableDocument: {
            "data": {"id": "{variable_id}", "type": "vars", "attributes": changed}
        },
        ValueCheckDocument: {
            "data": {
                "type": "value-checks",
                "attributes": {"value": '{ size = 2 * 3, name = "a" }', "hcl": True},
            }
        },
        UsersDocument: {"data": [{"type": "users", "id": "{user_id}"}]},
        MembershipsDocument: {
            "data": [{"type": "organization-memberships", "id": "{organization_membership_id}"}]
        },
        NewOrganizationDocument: {
            "data": {
                "type": "organizations",
                "attributes": {"name": "{new_name}", "email": "admin@example.com"},
            }
        },
        ChangedOrganizationDocument: {
            "data": {"type": "organizations", "attributes": {"email": "admin@example.com"}}
        },
        NewWorkspaceDocument: {
            "data": {"type": "workspaces", "attributes": {"name": "{new_name}"}},
        },
        ChangedWorkspaceDocument: {
            "data": {"type": "workspaces", "attributes": {"terraform-version": "1.11.4"}},
        },
        **OF_THE_DIRECTORY,
    }
    return examples.get(document)


def route(routes: Iterable[Route], dialect: Dialect) -> Route:
    """The route that serves the document of all the others and of itself."""

    async def serve(_: Exchange) -> Answer:
        """Read this document."""
        return Answer(200, body, {"Content-Type": JSON})

    own = Route("GET", PATH, serve, {200: dict}, media_type=JSON, public=True)
    body = msgspec.json.encode(document([*routes, own], dialect))
    return own


def document(routes: Iterable[Route], dialect: Dialect) -> dict[str, Any]:
    """The OpenAPI document of these routes."""
    listed = list(routes)
    paths: dict[str, dict[str, Any]] = {}
    for one in listed:
        path = paths.setdefault(one.template, _path_item(one.template))
        path[one.method.lower()] = _operation(one, dialect)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "teamvars",
            "version": __version__,
            "description": "The variables of workspaces and the members of teams (JSON:API 1.1).",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": _error_responses(),
            "schemas": _schemas(listed, dialect),
        },
    }


def _schemas(routes: Iterable[Route], dialect: Dialect) -> dict[str, Any]:
    types = {ErrorDocument: None} | {
        type_: None
        for one in routes
        for type_ in (one.takes, *one.answers.values())
        if type_ is not None
    }
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    words = list(dialect.categories.values())
    for name in ("NewVariableAttributes", "VariableChanges", "VariableAttributes"):
        if name in schemas:
            schemas[name]["properties"]["category"]["enum"] = words
    schemas["Error"]["properties"]["code"]["enum"] = [code.word for code in Code]
    return schemas


def _path_item(template: str) -> dict[str, Any]:
    names = _PATH_PARAMETER.findall(template)
    return {"parameters": [_parameter(name, "path", required=True) for name in names]}


def _operation(one: Route, dialect: Dialect) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(one),
        "summary": _summary(one),
        "parameters": _parameters(one),
        "responses": _responses(one),
    }
    if one.public:
        operation["security"] = []
    if one.takes is not None:
        content: dict[str, Any] = {"schema": _schema(one.takes)}
        if (example := example_of(one.takes, dialect)) is not None:
            content["example"] = example
        operation["requestBody"] = {"required": not one.may_lack, "content": {MEDIA_TYPE: content}}
    return operation


def _responses(one: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, type_ in one.answers.items():
        responses[str(status)] = _response(status, type_, one)
    if IF_NONE_MATCH in one.reads:
        responses["304"] = {
            "description": "The client has it already.",
            "headers": _headers("ETag"),
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
            "content": {MEDIA_TYPE: {"schema": _schema(ErrorDocument)}},
            "headers": _headers(*_ERROR_HEADERS.get(status, ())),
        }
    return responses


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"schema": {"type": "string"}} for name in (*_HEADERS, *names)}


def _response(status: int, type_: type | None, one: Route) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": HTTPStatus(status).phrase + ".",
        "headers": _headers(),
    }
    if type_ is not None:
        response["content"] = {one.media_type: {"schema": _schema(type_)}}
    if VariableDocument in one.answers.values() or IF_NONE_MATCH in one.reads:
        response["headers"] |= _headers("ETag")
    if status == HTTPStatus.CREATED:
        response["headers"] |= _headers("Location")
    response["headers"] |= _headers(*one.sends)
    if one.takes is NewVariableDocument:
        for name in ("Deprecation", "Link"):
            text = "Sent when the request has the deprecated filter."
            response["headers"][name] = {"description": text, "schema": {"type": "string"}}
    return response


def _error_statuses(one: Route) -> set[int]:
    if one.public:
        return {503} if one.template == "/readyz" else set()
    statuses = (_ANY if "{" in one.template else _ANY - {404}) | set(one.refuses)
    if one.takes is not None:
        statuses |= _DOCUMENT
    if one.may_forbid:
        statuses.add(403)
    if IF_MATCH in one.reads:
        statuses.add(412)
    return statuses


def _parameters(one: Route) -> list[dict[str, Any]]:
    parameters = [] if one.public else [_parameter("X-Request-Id", "header", pattern=_VISIBLE)]
    headers = [_parameter(name, "header") for name in one.reads if name.startswith("If-")]
    queries = [_query(name) for name in one.reads if not name.startswith("If-")]
    return [*parameters, *headers, *queries]


_VISIBLE = "^[!-~]{1,128}$"


def _parameter(
    name: str, place: str, *, required: bool = False, type_: str = "string", **rules: Any
) -> dict[str, Any]:
    schema = {"type": type_, **rules}
    return {"name": name, "in": place, "required": required, "schema": schema}


def _query(name: str) -> dict[str, Any]:
    if name in paging.PARAMETERS:
        return _parameter(name, "query", type_="integer", minimum=1)
    return _parameter(name, "query")


def _schema(type_: type) -> Mapping[str, Any]:
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REF)
    return schema


def _summary(one: Route) -> str:
    bound = one.handler
    function = bound.func if isinstance(bound, partial) else bound
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _operation_id(one: Route) -> str:
    words = re.sub(r"[{}]", "", one.template).replace("/api/v2/", "").strip("/")
    return f"{one.method.lower()}-{re.sub(r'[^a-z]+', '-', words)}"
