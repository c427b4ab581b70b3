"""What real clients send that a careful reader of the documents would not: one test each."""

from typing import Any

import httpx
import pytest

from tests.support.engines import ON_SQLITE
from tests.support.tenant import JSON_API, Tenant, faults, variable_document

pytestmark = ON_SQLITE


async def raw(
    tenant: Tenant, method: str, path: str, headers: dict[str, str], content: bytes | None = None
) -> httpx.Response:
    """A request with exactly these headers and that body."""
    sent = {"Authorization": f"Bearer {tenant.tokens['owner']}", **headers}
    return await tenant.deployment.client.request(method, path, headers=sent, content=content)


def workspace(tenant: Tenant) -> str:
    return f"/workspaces/{tenant.workspaces['network']}"


@pytest.mark.parametrize("content_type", [JSON_API, "application/json", "text/plain"])
async def test_a_content_type_without_a_body_says_nothing(
    tenant: Tenant, content_type: str
) -> None:
    headers = {"Content-Type": content_type}
    assert (await raw(tenant, "GET", workspace(tenant), headers)).status_code == 200
    lock = await raw(tenant, "POST", f"{workspace(tenant)}/actions/lock", headers)
    assert lock.status_code == 200


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/*", JSON_API])
async def test_these_accept_headers_admit_the_answer(tenant: Tenant, accept: str) -> None:
    answer = await raw(tenant, "GET", "/organizations", {"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == JSON_API


async def test_a_trailing_slash_is_as_none(tenant: Tenant) -> None:
    for path in (workspace(tenant), f"/organizations/{tenant.organization}", "/ping"):
        with_slash = await raw(tenant, "GET", f"{path}/", {})
        without = await raw(tenant, "GET", path, {})
        assert without.is_success
        assert (with_slash.status_code, with_slash.content) == (
            without.status_code,
            without.content,
        )


@pytest.mark.parametrize("content", [None, b"", b"null"])
async def test_a_delete_may_have_an_empty_body_or_null(
    tenant: Tenant, content: bytes | None
) -> None:
    made = await tenant.make_variable()
    headers = {"Content-Type": JSON_API}
    if not content:
        headers["Content-Length"] = "0"
    for path in (made["links"]["self"].removeprefix("/api/v2"), workspace(tenant)):
        answer = await raw(tenant, "DELETE", path, headers, content)
        assert answer.status_code == 204


async def test_a_patch_of_a_workspace_may_have_neither_id_nor_attributes(tenant: Tenant) -> None:
    answer = await tenant.call(
        "owner", "PATCH", workspace(tenant), {"data": {"type": "workspaces"}}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("asked", [True, "true", None])
async def test_who_asks_for_a_dry_run_where_there_is_none_changes_nothing(
    tenant: Tenant, asked: object
) -> None:
    made = await tenant.make_variable()
    changed = {**made, "attributes": {"value": "other"}}
    renamed = {"type": "workspaces", "attributes": {"name": "other"}}
    members = [{"type": "users", "id": tenant.users["writer"]}]
    requests = {
        ("POST", tenant.vars_path()): variable_document(key="more")["data"],
        ("PATCH", made["links"]["self"].removeprefix("/api/v2")): changed,
        ("PATCH", workspace(tenant)): renamed,
        ("POST", tenant.linkage_path()): members,
        ("POST", f"/organizations/{tenant.organization}/teams"): {"type": "teams"},
    }
    for (method, path), data in requests.items():
        document = {"data": data, "meta": {"dry-run": asked, "other": 1}}
        answer = await tenant.call("owner", method, path, document)
        assert ("422", "not_offered", "/meta/dry-run") in faults(answer), path
    assert await tenant.variables() == [made]
    said = {"data": {"type": "workspaces"}, "meta": {"dry-run": False, "other": 1}}
    answer = await tenant.call("owner", "PATCH", workspace(tenant), said)
    assert answer.status_code == 200


@pytest.mark.parametrize("text", ["false", "true", ""])
@pytest.mark.parametrize("attribute", ["hcl", "sensitive"])
async def test_a_string_is_no_boolean(tenant: Tenant, attribute: str, text: str) -> None:
    document = variable_document(**{attribute: text})
    answer = await tenant.call("owner", "POST", tenant.vars_path(), document)
    assert faults(answer) == [("422", "wrong_type", f"/data/attributes/{attribute}")]


async def test_a_user_without_an_id_is_the_clients_fault(tenant: Tenant) -> None:
    """Clients repeat a request that was answered 5xx for minutes."""
    document = {"data": [{"type": "users"}]}
    answer = await tenant.call("owner", "POST", tenant.linkage_path(), document)
    assert faults(answer) == [("422", "missing_member", "/data/0/id")]


@pytest.mark.parametrize(
    ("method", "path", "document"),
    [
        ("GET", "/nothing", None),
        ("PUT", "/organizations", None),
        ("GET", "/workspaces/ws-1", None),
        ("POST", "/organizations", {}),
        ("GET", "/organizations?page[size]=x", None),
    ],
)
async def test_every_error_has_a_json_body_and_its_status_is_a_string(
    tenant: Tenant, method: str, path: str, document: Any
) -> None:
    answer = await tenant.call("admin", method, path, document)
    errors = answer.json()["errors"]
    assert answer.headers["Content-Type"] == JSON_API
    assert {type(one["status"]) for one in errors} == {str}
    assert {one["status"] for one in errors} == {str(answer.status_code)}


async def test_headers_that_clients_read_as_numbers_are_numbers(tenant: Tenant) -> None:
    """A word there ends go-tfe; a limit of 3 or less stalls it."""
    answers = [
        await raw(tenant, "GET", path, {}) for path in ("/ping", "/organizations", "/nothing")
    ]
    for answer in answers:
        for name, value in answer.headers.items():
            if name.startswith("x-ratelimit") or name == "retry-after":
                assert float(value) >= 0
        assert int(answer.headers.get("x-ratelimit-limit", "30")) >= 30


async def test_the_ping_says_which_version_of_the_api_this_is_and_needs_no_token(
    tenant: Tenant,
) -> None:
    answer = await tenant.call(None, "GET", "/ping")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["TFP-API-Version"] == "2.6"
    assert answer.headers["TFP-AppName"] == "teamvars"
    assert answer.headers["X-TFE-Current-Version"] == "2.0.1"


async def test_discovery_needs_no_token_and_every_path_ends_in_a_slash(tenant: Tenant) -> None:
    origin = str(tenant.deployment.client.base_url).removesuffix("/api/v2/")
    answer = await tenant.deployment.client.get(f"{origin}/.well-known/terraform.json")
    assert answer.headers["Content-Type"] == "application/json"
    found = answer.json()
    assert found.keys() == {"tfe.v2", "tfe.v2.1", "tfe.v2.2", "modules.v1"}
    assert all(path.startswith("/") and path.endswith("/") for path in found.values())
    assert found["tfe.v2"] == "/api/v2/"
