"""How a "no" looks on the wire: contract §3."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from structlog.typing import EventDict

from teamvars.domain.errors import OUTCOME_UNKNOWN, Code, Fault, Kind, Refusal, storage_unavailable
from teamvars.web.http import errors
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response
from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant, faults, linkage_document, variable_document


async def conflict(tenant: Tenant) -> httpx.Response:
    document = variable_document()
    document["data"]["type"] = "workspaces"
    return await tenant.call("writer", "POST", tenant.vars_path(), document)


async def client_id(tenant: Tenant) -> httpx.Response:
    document = variable_document()
    document["data"]["id"] = "var-1111111111111111"
    return await tenant.call("writer", "POST", tenant.vars_path(), document)


async def stale(tenant: Tenant) -> httpx.Response:
    path = f"{tenant.vars_path()}/{(await tenant.make_variable())['id']}"
    return await tenant.call("writer", "DELETE", path, headers={"If-Match": '"old"'})


async def too_large(tenant: Tenant) -> httpx.Response:
    document = variable_document(value="x" * 2**21)
    return await tenant.call("writer", "POST", tenant.vars_path(), document)


async def not_acceptable(tenant: Tenant) -> httpx.Response:
    return await tenant.call("writer", "GET", tenant.vars_path(), headers={"Accept": "text/html"})


async def unsupported(tenant: Tenant) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    return await tenant.call("writer", "POST", tenant.vars_path(), {}, headers)


async def malformed(tenant: Tenant) -> httpx.Response:
    return await tenant.call("writer", "POST", tenant.vars_path())


async def invalid_page(tenant: Tenant) -> httpx.Response:
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events?page[size]=0"
    return await tenant.call("writer", "GET", path)


async def invalid(tenant: Tenant) -> httpx.Response:
    return await tenant.call("writer", "POST", tenant.vars_path(), variable_document(key=""))


async def unauthenticated(tenant: Tenant) -> httpx.Response:
    return await tenant.call(None, "GET", tenant.vars_path())


async def forbidden(tenant: Tenant) -> httpx.Response:
    return await tenant.call("reader", "POST", tenant.vars_path(), variable_document())


async def not_found(tenant: Tenant) -> httpx.Response:
    return await tenant.call("plain", "GET", tenant.vars_path())


async def unknown_path(tenant: Tenant) -> httpx.Response:
    return await tenant.call("writer", "GET", "/nowhere")


async def wrong_method(tenant: Tenant) -> httpx.Response:
    return await tenant.call("writer", "PUT", tenant.vars_path())


ROWS: list[
    tuple[Callable[[Tenant], Awaitable[httpx.Response]], int, str, dict[str, str] | None]
] = [
    (malformed, 400, "malformed_document", None),
    (invalid_page, 400, "invalid_parameter", {"parameter": "page[size]"}),
    (unauthenticated, 401, "unauthenticated", None),
    (forbidden, 403, "forbidden", None),
    (client_id, 403, "client_id_not_supported", {"pointer": "/data/id"}),
    (not_found, 404, "not_found", None),
    (unknown_path, 404, "not_found", None),
    (wrong_method, 405, "method_not_allowed", None),
    (not_acceptable, 406, "not_acceptable", {"header": "Accept"}),
    (conflict, 409, "type_conflict", {"pointer": "/data/type"}),
    (stale, 412, "precondition_failed", {"header": "If-Match"}),
    (too_large, 413, "body_too_large", None),
    (unsupported, 415, "unsupported_media_type", {"header": "Content-Type"}),
    (invalid, 422, "invalid_value", {"pointer": "/data/attributes/key"}),
]


@ON_SQLITE
@pytest.mark.parametrize(("ask", "status", "code", "source"), ROWS)
async def test_each_row_of_the_table_has_its_status_code_and_source(
    tenant: Tenant,
    ask: Callable[[Tenant], Awaitable[httpx.Response]],
    status: int,
    code: str,
    source: dict[str, str] | None,
) -> None:
    answer = await ask(tenant)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == JSON_API
    assert answer.json().keys() == {"errors"}
    (error,) = answer.json()["errors"]
    assert (error["status"], error["code"], error.get("source")) == (str(status), code, source)
    assert error["title"]
    assert error["detail"]
    assert error["id"]
    assert error.keys() <= {"id", "status", "code", "title", "detail", "source"}


def test_every_kind_of_refusal_has_a_status() -> None:
    assert errors.STATUS.keys() == set(Kind)


def test_every_code_is_a_stable_snake_case_word_of_its_own() -> None:
    words = [code.word for code in Code]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", word) for word in words)


async def test_no_two_errors_have_the_same_id(tenant: Tenant) -> None:
    document = {"data": {"type": "vars", "attributes": {}}}
    answers = [await tenant.call("writer", "POST", tenant.vars_path(), document) for _ in "12"]
    ids = [error["id"] for answer in answers for error in answer.json()["errors"]]
    assert len(set(ids)) == len(ids) == 6


async def test_statuses_mixed_within_one_request_make_it_422_and_each_keeps_its_own(
    tenant: Tenant,
) -> None:
    document: dict[str, Any] = {
        "data": {
            "id": "var-1111111111111111",
            "attributes": {"key": "", "category": "env", "description": None},
            "type": "workspaces",
            "relationships": {"workspace": {"data": {"type": "workspaces", "id": "ws-other"}}},
        },
        "filter": {"organization": {"name": "nobody"}},
    }
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code == 422
    assert faults(answer) == [
        ("403", "client_id_not_supported", "/data/id"),
        ("422", "invalid_value", "/data/attributes/key"),
        ("422", "wrong_type", "/data/attributes/description"),
        ("409", "type_conflict", "/data/type"),
        ("409", "relationship_conflict", "/data/relationships/workspace/data/id"),
        ("422", "invalid_value", "/filter/organization/name"),
    ]
    assert await tenant.variables() == []


async def test_faults_of_one_status_keep_that_status(tenant: Tenant) -> None:
    document = variable_document()
    document["data"]["type"] = "workspaces"
    linkage = {"type": "teams", "id": "ws-other"}
    document["data"]["relationships"] = {"configurable": {"data": linkage}}
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code == 409
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("409", "relationship_conflict", "/data/relationships/configurable/data/type"),
        ("409", "relationship_conflict", "/data/relationships/configurable/data/id"),
    ]


async def test_missing_members_come_after_those_that_are_present_in_their_parent(
    tenant: Tenant,
) -> None:
    document = {"data": {"attributes": {"~/": 1, "value": 7, "category": "teapot"}}}
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert faults(answer) == [
        ("422", "unknown_attribute", "/data/attributes/~0~1"),
        ("422", "wrong_type", "/data/attributes/value"),
        ("422", "invalid_value", "/data/attributes/category"),
        ("422", "missing_member", "/data/attributes/key"),
        ("422", "missing_member", "/data/attributes/description"),
        ("422", "missing_member", "/data/type"),
    ]


@ON_SQLITE
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], [("422", "wrong_type", "")]),
        ("text", [("422", "wrong_type", "")]),
        (0, [("422", "wrong_type", "")]),
        ({}, [("422", "missing_member", "/data")]),
        ({"data": None}, [("422", "wrong_type", "/data")]),
        ({"data": []}, [("422", "wrong_type", "/data")]),
        (
            {"data": {}},
            [
                ("422", "missing_member", "/data/type"),
                ("422", "missing_member", "/data/attributes"),
            ],
        ),
        (
            {"data": {"type": 5, "attributes": []}},
            [("422", "wrong_type", "/data/type"), ("422", "wrong_type", "/data/attributes")],
        ),
    ],
)
async def test_a_document_of_another_shape_is_told_where(
    tenant: Tenant, document: object, expected: list[tuple[str, str, str]]
) -> None:
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code == 422
    assert faults(answer) == expected


async def test_the_json_null_is_a_document_of_another_shape(tenant: Tenant) -> None:
    headers = {"Authorization": f"Bearer {tenant.tokens['writer']}", "Content-Type": JSON_API}
    answer = await tenant.deployment.client.post(
        tenant.vars_path(), content=b"null", headers=headers
    )
    assert faults(answer) == [("422", "wrong_type", "")]


async def test_thousands_of_faults_are_answered_in_bounded_time_and_size(tenant: Tenant) -> None:
    attributes = {f"unknown-{n}": n for n in range(49_000)}
    document = variable_document(**attributes)
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    found = faults(answer)
    assert answer.status_code == 422
    assert len(answer.content) <= errors.MOST_BYTES
    assert len(found) + answer.json()["meta"]["omitted"] == len(attributes)
    assert found[0] == ("422", "unknown_attribute", "/data/attributes/unknown-0")
    assert found[-1][2] == f"/data/attributes/unknown-{len(found) - 1}"


async def test_a_refused_request_changes_nothing(tenant: Tenant) -> None:
    before = await tenant.make_variable("region")
    path = f"{tenant.vars_path()}/{before['id']}"
    attributes = {"value": "other", "description": "other", "hcl": "yes"}
    document = {"data": {"type": "vars", "id": before["id"], "attributes": attributes}}
    answer = await tenant.call("writer", "PATCH", path, document)
    assert answer.status_code == 422
    assert await tenant.variables() == [before]


async def test_no_error_or_log_line_repeats_what_was_sent(
    tenant: Tenant, log_lines: list[EventDict]
) -> None:
    secret = "hunter2" * 40_000
    document = variable_document(
        key="a=hunter2", value=secret, description=["hunter2"], category="hunter2"
    )
    document["data"]["type"] = "hunter2"
    document["data"]["id"] = "hunter2"
    document["filter"] = {"workspace": {"name": "hunter2"}}
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code == 422
    assert len(faults(answer)) == 7
    assert "hunter2" not in answer.text
    members = await tenant.call("owner", "POST", tenant.linkage_path(), linkage_document("hunter2"))
    assert "hunter2" not in members.text
    assert "hunter2" not in repr(log_lines)


async def answer_to(
    deployment: Deployment, handler: Callable[[Request], Awaitable[Response]]
) -> Any:
    """What the application answers when a handler does that."""
    routes = [Route("GET", "/here", handler, {200: None}, public=True)]
    application = Application(routes, deployment.services.sessions, ClientAddresses())
    async with InProcess(application) as client:
        return await client.get("http://teamvars.test/here")


async def test_a_bug_is_answered_with_a_bare_500_and_logged_by_request_id(
    deployment: Deployment, log_lines: list[EventDict]
) -> None:
    async def fail(_: Request) -> Response:
        raise RuntimeError("the value is hunter2")

    answer = await answer_to(deployment, fail)
    assert answer.status_code == 500
    assert faults(answer) == [("500", "internal_error", None)]
    assert answer.headers["Content-Type"] == JSON_API
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert [line["event"] for line in log_lines] == ["bug", "request"]
    assert {line["request_id"] for line in log_lines} == {answer.headers["X-Request-Id"]}


@ON_SQLITE
@pytest.mark.parametrize(
    ("method", "path", "type_"),
    [
        ("DELETE", "/organizations/{0}/tags", "tags"),
        ("DELETE", "/organizations/{0}/team-tokens", "authentication-tokens"),
        ("POST", "/projects/{1}/relationships/workspaces", "workspaces"),
        ("POST", "/teams/{2}/relationships/users", "users"),
    ],
)
async def test_an_empty_id_among_several_is_of_nothing_and_told(
    tenant: Tenant, method: str, path: str, type_: str
) -> None:
    project = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/projects")
    places = tenant.organization, project.json()["data"][0]["id"], tenant.teams["readers"]
    document = linkage_document("", type_=type_)
    answer = await tenant.call("owner", method, path.format(*places), document)
    assert faults(answer) == [("404", "not_found", "/data/0/id")]


async def test_unreachable_storage_says_when_to_try_again(deployment: Deployment) -> None:
    async def refuse(_: Request) -> Response:
        raise storage_unavailable()

    answer = await answer_to(deployment, refuse)
    assert answer.status_code == 503
    assert faults(answer) == [("503", "storage_unavailable", None)]
    assert answer.headers["Retry-After"].isdecimal()


async def test_an_unknown_outcome_does_not_say_to_try_again(deployment: Deployment) -> None:
    async def refuse(_: Request) -> Response:
        raise Refusal(OUTCOME_UNKNOWN)

    answer = await answer_to(deployment, refuse)
    assert answer.status_code == 503
    assert faults(answer) == [("503", "outcome_unknown", None)]
    assert "Retry-After" not in answer.headers


async def test_numbers_that_belong_to_an_error_are_in_its_meta(deployment: Deployment) -> None:
    async def refuse(_: Request) -> Response:
        place = {"line": 1, "column": 2}
        raise Refusal(Fault(Code.INVALID_VALUE, "Not so.", pointer="/data", meta=place))

    answer = await answer_to(deployment, refuse)
    assert answer.json()["errors"][0]["meta"] == {"line": 1, "column": 2}
