"""Of several things that are wrong with a request, the contract's order (§2) says which is told.

Nothing about the target or the body is told before it is settled that the caller may know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from teamvars.domain.tokens import OwnerName
from teamvars.web.http.request import MAX_BODY_BYTES
from tests.support.deployment import Deployment, operator
from tests.support.tenant import (
    JSON_API,
    Tenant,
    build_tenant,
    faults,
    linkage_document,
    variable_document,
)

MISSING = "1111111111111111"
TOO_LARGE = b" " * (MAX_BODY_BYTES + 1)
NO_JSON = b"{"
FAULTY = b'{"data": {"type": "workspaces", "attributes": {"key": 1, "sensitve": true}}}'
STALE = '"000000000000000000000000000000000000"'


@pytest.fixture(scope="module")
async def tenant(deployment: Deployment) -> Tenant:
    """One for all tests here: every request of theirs is refused."""
    return await build_tenant(deployment)


@dataclass(frozen=True)
class Wrong:
    """A request with more than one thing wrong."""

    method: str
    path: str
    who: str | None = "writer"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


ALL_HEADERS_WRONG = {"Accept": "text/html", "Content-Type": "text/plain", "If-Match": STALE}
ROWS: list[tuple[str, Wrong, int]] = [
    ("an unknown path before everything", Wrong("POST", "/nowhere", None, TOO_LARGE), 404),
    (
        "a wrong method before the token",
        Wrong("PUT", "{vars}", None, NO_JSON, ALL_HEADERS_WRONG),
        405,
    ),
    (
        "a wrong method before the host",
        Wrong("PUT", "{vars}", None, NO_JSON, {"Host": ""}),
        405,
    ),
    ("the host before the token", Wrong("POST", "{vars}", None, NO_JSON, {"Host": ""}), 400),
    (
        "the token before the headers",
        Wrong("POST", "{vars}", None, NO_JSON, ALL_HEADERS_WRONG),
        401,
    ),
    (
        "a revoked token before the headers",
        Wrong("POST", "{vars}", "revoked", NO_JSON, ALL_HEADERS_WRONG),
        401,
    ),
    ("a revoked token before the body", Wrong("POST", "{vars}", "revoked", NO_JSON), 401),
    ("a revoked token before the size", Wrong("POST", "{vars}", "revoked", TOO_LARGE), 401),
    ("a revoked token before the target", Wrong("GET", "/workspaces/ws-1/vars", "revoked"), 401),
    (
        "a revoked token before the page",
        Wrong("GET", "{workspace}/audit-events?page[size]=x", "revoked"),
        401,
    ),
    (
        "Accept before Content-Type",
        Wrong("POST", "{vars}", "writer", TOO_LARGE, ALL_HEADERS_WRONG),
        406,
    ),
    (
        "Content-Type before the size",
        Wrong("POST", "{vars}", "writer", TOO_LARGE, {"Content-Type": "text/plain"}),
        415,
    ),
    (
        "Content-Type before the document",
        Wrong("POST", "{vars}", "writer", NO_JSON, {"Content-Type": "text/plain"}),
        415,
    ),
    ("the size before the document", Wrong("POST", "{vars}", "writer", TOO_LARGE), 413),
    ("the size before the target", Wrong("POST", "/workspaces/ws-1/vars", "x", TOO_LARGE), 413),
    ("no document before the target", Wrong("POST", "/workspaces/ws-1/vars", "x", NO_JSON), 400),
    ("no document before the right", Wrong("POST", "{vars}", "reader", NO_JSON), 400),
    ("no document before the version", Wrong("PATCH", "{one}", "x", b"", {"If-Match": STALE}), 400),
    ("a hidden target before the faults", Wrong("POST", "{vars}", "plain", FAULTY), 404),
    ("a hidden team before the faults", Wrong("POST", "{secret}", "manager", FAULTY), 404),
    ("another's target before the faults", Wrong("POST", "{vars}", "outsider", FAULTY), 404),
    (
        "a missing variable before a missing right",
        Wrong("DELETE", "{vars}/var-" + MISSING, "reader"),
        404,
    ),
    (
        "a missing variable before the faults",
        Wrong("PATCH", "{vars}/var-" + MISSING, "writer", FAULTY, {"If-Match": STALE}),
        404,
    ),
    ("a variable elsewhere before a missing right", Wrong("DELETE", "{payments}", "reader"), 404),
    ("a missing right before the faults", Wrong("POST", "{vars}", "reader", FAULTY), 403),
    ("a missing right before a bad update", Wrong("PATCH", "{one}", "reader", FAULTY), 403),
    ("a missing right before bad members", Wrong("POST", "{crew}", "plain", FAULTY), 403),
    (
        "a missing right before the version",
        Wrong("PATCH", "{one}", "reader", FAULTY, {"If-Match": STALE}),
        403,
    ),
    (
        "a missing right before the version of a deletion",
        Wrong("DELETE", "{one}", "reader", headers={"If-Match": STALE}),
        403,
    ),
    (
        "the version before the faults",
        Wrong("PATCH", "{one}", "writer", FAULTY, {"If-Match": STALE}),
        412,
    ),
    (
        "a hidden target before what the client has",
        Wrong("GET", "{vars}", "plain", headers={"If-None-Match": "*"}),
        404,
    ),
    ("the faults, mixed, last", Wrong("PATCH", "{one}", "writer", FAULTY), 422),
]


async def send(tenant: Tenant, wrong: Wrong) -> httpx.Response:
    token = tenant.tokens.get(wrong.who or "", tenant.tokens["writer"])
    if wrong.who == "revoked":
        services = tenant.deployment.services
        owner = OwnerName(organization=tenant.organization)
        made = await services.tokens.create(operator(), owner, None)
        await services.issued_tokens.revoke(operator(), made.token.id)
        token = made.secret
    headers = {"Content-Type": JSON_API, **wrong.headers}
    if wrong.who is not None:
        headers["Authorization"] = f"Bearer {token}"
    path = wrong.path
    if "{one}" in path:
        path = path.replace("{one}", f"{tenant.vars_path()}/{await one_variable(tenant)}")
    path = path.format(
        vars=tenant.vars_path(),
        workspace=f"/workspaces/{tenant.workspaces['network']}",
        payments=f"{tenant.vars_path('payments')}/{await one_variable(tenant)}",
        crew=tenant.linkage_path(),
        secret=tenant.linkage_path("secret"),
    )
    return await tenant.deployment.client.request(
        wrong.method, path, content=wrong.body, headers=headers
    )


async def one_variable(tenant: Tenant) -> str:
    """The id of the one variable of `network`."""
    variables = await tenant.variables() or [await tenant.make_variable()]
    id_: str = variables[0]["id"]
    return id_


@pytest.mark.parametrize(("wrong", "status"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
async def test_the_first_check_that_fails_is_the_one_that_is_told(
    tenant: Tenant, wrong: Wrong, status: int
) -> None:
    answer = await send(tenant, wrong)
    assert answer.status_code == status
    if status != 422:
        assert [fault[0] for fault in faults(answer)] == [str(status)]


@pytest.mark.parametrize("who", ["reader", "plain", "outsider", "invited", "admin"])
async def test_the_answer_to_a_good_body_and_to_a_bad_one_is_the_same_without_the_right(
    tenant: Tenant, who: str
) -> None:
    """Else a caller could learn of keys and versions by trying."""
    await one_variable(tenant)
    taken = variable_document()
    free = variable_document(key="free")
    bad: dict[str, Any] = {"data": {"type": "vars", "id": "var-x", "attributes": {"sensitve": 1}}}
    bodies: list[object] = [taken, free, bad, {"filter": {"workspace": {"name": "network"}}}, []]
    answers = [await tenant.call(who, "POST", tenant.vars_path(), body) for body in bodies]
    assert len({answer.status_code for answer in answers}) == 1
    assert len({str(without_ids(answer)) for answer in answers}) == 1
    assert not any("Deprecation" in answer.headers for answer in answers)


@pytest.mark.parametrize("who", ["plain", "reader", "writers-token"])
async def test_the_answer_about_members_is_the_same_whoever_they_are_without_the_right(
    tenant: Tenant, who: str
) -> None:
    documents: list[object] = [
        linkage_document(tenant.users["plain"]),
        linkage_document(tenant.users["invited"]),
        linkage_document(tenant.users["outsider"]),
        linkage_document("nobody", type_="organization-memberships"),
        {},
    ]
    answers = [await tenant.call(who, "POST", tenant.linkage_path(), one) for one in documents]
    assert {answer.status_code for answer in answers} == {403}
    assert len({str(without_ids(answer)) for answer in answers}) == 1


def without_ids(answer: httpx.Response) -> list[dict[str, Any]]:
    """The errors but for the id each occurrence has of its own."""
    return [{**error, "id": None} for error in answer.json()["errors"]]
