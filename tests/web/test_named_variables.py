"""Variables where older clients find them: with the workspace named in the request, or not at all.

What comes of it is the same as at the workspace's own path, which the other tests are about.
"""

from typing import Any

import pytest

from teamvars.web.dialects import STANDARD
from tests.support.tenant import Tenant, faults, variable_document
from tests.web.dialects import terraform
from tests.web.test_openapi import document_in

AT = "/data/relationships/workspace"


def named(workspace: object, **attributes: Any) -> dict[str, Any]:
    """A document that creates a variable of a workspace; `workspace` is what stands as linkage."""
    document = variable_document(**attributes)
    document["data"]["relationships"] = {"workspace": {"data": workspace}}
    return document


def of(tenant: Tenant, workspace: str = "network") -> dict[str, str]:
    return {"type": "workspaces", "id": tenant.workspaces[workspace]}


def patch(variable_id: str, **attributes: Any) -> dict[str, Any]:
    return {"data": {"type": "vars", "id": variable_id, "attributes": attributes}}


async def test_variables_are_listed_by_the_names_of_their_workspace(tenant: Tenant) -> None:
    await tenant.make_variable("plain")
    own = await tenant.call("reader", "GET", tenant.vars_path())
    whose, name = f"filter[organization][name]={tenant.organization}", "filter[workspace][name]"
    answer = await tenant.call("reader", "GET", f"/vars?{whose}&{name}=NetWork")
    assert answer.json() == own.json()
    tag = answer.headers["ETag"]
    same = f"/vars?{whose}&{name}=network"
    known = await tenant.call("reader", "GET", same, headers={"If-None-Match": tag})
    assert known.status_code == 304
    assert (await tenant.call("reader", "GET", f"/vars?{whose}&{name}=payments")).status_code == 404
    lacking = await tenant.call("reader", "GET", f"/vars?{whose}")
    assert lacking.json()["errors"][0]["source"] == {"parameter": name}
    neither = (await tenant.call("reader", "GET", "/vars")).json()["errors"]
    assert [one["source"]["parameter"] for one in neither] == ["filter[organization][name]", name]


async def test_a_variable_is_made_in_the_workspace_that_its_document_names(tenant: Tenant) -> None:
    answer = await tenant.call("writer", "POST", "/vars", named(of(tenant)))
    assert answer.status_code == 201, answer.text
    (made,) = await tenant.variables()
    assert answer.json()["data"] == made
    assert answer.headers["Location"] == made["links"]["self"]
    assert made["links"]["self"] == f"/api/v2{tenant.vars_path()}/{made['id']}"
    again = await tenant.call("writer", "POST", "/vars", named(of(tenant)))
    assert faults(again) == [("422", "key_taken", "/data/attributes/key")]
    assert await tenant.deployment.audit_holds()


async def test_the_same_key_makes_one_variable_by_either_path(tenant: Tenant) -> None:
    key = {"Idempotency-Key": "named"}
    first = await tenant.call("writer", "POST", "/vars", named(of(tenant)), key)
    again = await tenant.call("writer", "POST", "/vars", named(of(tenant)), key)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert len(await tenant.variables()) == 1
    at_its_own = await tenant.call("writer", "POST", tenant.vars_path(), named(of(tenant)), key)
    assert faults(at_its_own) == [("422", "idempotency_key_reused", None)]


@pytest.mark.parametrize(
    ("workspace", "fault"),
    [
        (None, ("422", "wrong_type", f"{AT}/data")),
        ({}, ("422", "missing_member", f"{AT}/data/type")),
        ({"type": "workspaces"}, ("422", "missing_member", f"{AT}/data/id")),
        ({"type": "varsets", "id": "varset-1"}, ("409", "type_conflict", f"{AT}/data/type")),
    ],
)
async def test_whoever_names_no_workspace_is_told_so_with_all_else_that_is_wrong(
    tenant: Tenant, workspace: object, fault: tuple[str, str, str]
) -> None:
    answer = await tenant.call("writer", "POST", "/vars", named(workspace, key="a b", sensitve=1))
    found = faults(answer)
    assert fault in found
    assert ("422", "unknown_attribute", "/data/attributes/sensitve") in found
    assert ("422", "invalid_value", "/data/attributes/key") in found
    nobody = await tenant.call(None, "POST", "/vars", named(workspace))
    assert nobody.status_code == 401


async def test_a_document_without_relationships_names_no_workspace(tenant: Tenant) -> None:
    answer = await tenant.call("writer", "POST", "/vars", variable_document())
    assert faults(answer) == [("422", "missing_member", "/data/relationships")]


async def test_nobody_learns_of_a_workspace_by_naming_it(tenant: Tenant) -> None:
    hidden = await tenant.call("writer", "POST", "/vars", named(of(tenant, "payments"), key="a b"))
    missing = {"type": "workspaces", "id": "ws-1111111111111111"}
    absent = await tenant.call("writer", "POST", "/vars", named(missing, key="a b"))
    assert faults(hidden) == faults(absent) == [("404", "not_found", None)]
    reader = await tenant.call("reader", "POST", "/vars", named(of(tenant), key="a b"))
    assert faults(reader) == [("403", "forbidden", None)]


async def test_other_names_than_the_workspaces_are_refused_in_the_deprecated_filter(
    tenant: Tenant,
) -> None:
    document = named(of(tenant)) | {"filter": {"workspace": {"name": "payments"}}}
    answer = await tenant.call("writer", "POST", "/vars", document)
    assert faults(answer) == [("422", "invalid_value", "/filter/workspace/name")]
    document["filter"]["workspace"]["name"] = "network"
    answer = await tenant.call("writer", "POST", "/vars", document)
    assert answer.status_code == 201
    created = document_in(STANDARD)["paths"]["/api/v2/vars"]["post"]["responses"]["201"]
    for name in ("Deprecation", "Link"):
        assert name in answer.headers
        assert name in created["headers"]


async def test_a_variable_is_changed_and_deleted_by_its_id_alone(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    path = f"/vars/{made['id']}"
    answer = await tenant.call("writer", "PATCH", path, patch(made["id"], value="us"))
    assert answer.status_code == 200, answer.text
    (changed,) = await tenant.variables()
    assert answer.json()["data"] == changed
    assert changed["attributes"]["value"] == "us"
    stale = {"If-Match": f'"{made["attributes"]["version-id"]}"'}
    for method, document in ("PATCH", patch(made["id"])), ("DELETE", None):
        refused = await tenant.call("writer", method, path, document, stale)
        assert refused.status_code == 412
    assert (await tenant.call("writer", "DELETE", path)).status_code == 204
    assert await tenant.variables() == []
    assert (await tenant.call("writer", "DELETE", path)).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_a_change_that_names_another_workspace_is_refused(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    document = patch(made["id"], value="us")
    document["data"]["relationships"] = {"workspace": {"data": of(tenant, "payments")}}
    answer = await tenant.call("owner", "PATCH", f"/vars/{made['id']}", document)
    assert faults(answer) == [("409", "relationship_conflict", f"{AT}/data/id")]
    document["data"]["relationships"] = {"workspace": {"data": of(tenant)}}
    answer = await tenant.call("owner", "PATCH", f"/vars/{made['id']}", document)
    assert answer.status_code == 200


async def test_variables_of_sets_are_none_of_these(tenant: Tenant) -> None:
    attributes = {"name": "shared", "global": True}
    path = f"/organizations/{tenant.organization}/varsets"
    document = {"data": {"type": "varsets", "attributes": attributes}}
    made = (await tenant.call("owner", "POST", path, document)).json()["data"]["id"]
    vars_of = f"/varsets/{made}/relationships/vars"
    variable = (await tenant.call("owner", "POST", vars_of, variable_document())).json()["data"]
    by_id = f"/vars/{variable['id']}"
    answers = [
        await tenant.call("owner", "PATCH", by_id, patch(variable["id"])),
        await tenant.call("owner", "DELETE", by_id),
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert len((await tenant.call("owner", "GET", vars_of)).json()["data"]) == 1


async def test_clients_of_hcp_terraform_leave_out_what_they_usually_leave_out(
    tenant: Tenant,
) -> None:
    document = named(of(tenant), category="terraform")
    del document["data"]["attributes"]["description"]
    async with terraform(tenant) as client:
        made = await client.post("/vars", json=document)
        assert made.status_code == 201, made.text
        path = f"/vars/{made.json()['data']['id']}"
        changed = await client.patch(path, json={"data": {"type": "vars"}})
        assert changed.status_code == 200, changed.text
        before, after = (one.json()["data"]["attributes"]["version-id"] for one in (made, changed))
        assert before != after
        assert (await client.delete(path)).status_code == 204
