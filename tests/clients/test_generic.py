"""JSON:API clients that know nothing of us, unmodified, do the main job against a real server."""

from typing import Any

import jsonapi_client
import jsonapi_requests
import pytest
import requests
from jsonapi_client.exceptions import DocumentError
from jsonapi_requests.request_factory import ApiClientError

from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import Tenant

# What `jsonapi-client` wants to know of a type: its attributes and relationships.
ATTRIBUTES = ("key", "value", "description", "category", "hcl", "sensitive", "version-id")
WORKSPACE = {"relation": "to-one", "resource": ["workspaces"]}
SCHEMA: dict[str, Any] = {
    "vars": {"properties": {**{name: {} for name in ATTRIBUTES}, "configurable": WORKSPACE}}
}


class Bearer(requests.auth.AuthBase):
    """How `requests` takes a token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@pytest.fixture
def api(served: ServedDeployment, served_tenant: Tenant) -> Any:
    """`jsonapi-requests` as the owner."""
    return jsonapi_requests.Api.config(
        {
            "API_ROOT": f"{served.server.url}/api/v2/",
            "AUTH": Bearer(served_tenant.tokens["owner"]),
            "VALIDATE_SSL": False,
            "TIMEOUT": 10,
        }
    )


def session(served: ServedDeployment, tenant: Tenant, who: str = "owner") -> Any:
    """`jsonapi-client` on the workspace `network`."""
    return jsonapi_client.Session(
        f"{served.server.url}/api/v2{tenant.vars_path().removesuffix('/vars')}",
        schema=SCHEMA,
        request_kwargs={"auth": Bearer(tenant.tokens[who])},
    )


def test_jsonapi_client_manages_variables(served: ServedDeployment, served_tenant: Tenant) -> None:
    with session(served, served_tenant) as api:
        made = api.create_and_commit(
            "vars", key="region", value="eu", description="where", category="env"
        )
        assert (made.key, made.value, made.sensitive) == ("region", "eu", False)
        owner = {"type": "workspaces", "id": served_tenant.workspaces["network"]}
        assert made.relationships.configurable.as_json_resource_identifiers == owner
        before = made["version-id"]
        made.value = "us"
        made.commit()
        assert made.value == "us"
        assert made["version-id"] != before
    with session(served, served_tenant, "reader") as api:
        listed = api.get("vars").resources
        assert [(one.key, one.value) for one in listed] == [("region", "us")]
        one = api.get("vars", listed[0].id).resource
        assert one.description == "where"
    api = session(served, served_tenant)
    (one,) = api.get("vars").resources
    one.delete()
    # It looks for JSON in every answer, in the empty one to a DELETE too: a mistake of its own.
    with pytest.raises(requests.JSONDecodeError):
        one.commit()
    api.close()
    with session(served, served_tenant) as api:
        assert api.get("vars").resources == []


def test_jsonapi_client_learns_why_something_is_refused(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    api = session(served, served_tenant)
    bad = api.create("vars", key="a b", description="", category="env")
    with pytest.raises(DocumentError) as refused:
        bad.commit()
    assert refused.value.response.json()["errors"][0]["code"] == "invalid_value"
    api.close()


def test_jsonapi_requests_manages_variables(api: Any, served_tenant: Tenant) -> None:
    path = served_tenant.vars_path().removeprefix("/")
    attributes = {"key": "secret", "value": "s3cr3t", "description": "", "category": "tool"}
    new = jsonapi_requests.JsonApiObject(type="vars", attributes={**attributes, "sensitive": True})
    made = api.endpoint(path).post(object=new)
    assert made.status_code == 201
    assert made.data.attributes["value"] is None
    change = jsonapi_requests.JsonApiObject(
        type="vars", id=made.data.id, attributes={"description": "changed"}
    )
    one = api.endpoint(f"{path}/{made.data.id}")
    assert one.patch(object=change).data.attributes["description"] == "changed"
    assert one.get().data.attributes["key"] == "secret"
    assert [listed.id for listed in api.endpoint(path).get().data] == [made.data.id]
    with pytest.raises(ApiClientError) as refused:
        api.endpoint(path).post(object=new)
    assert refused.value.status_code == 422
    assert b"key_taken" in refused.value.content
    assert one.delete().status_code == 204
    assert len(api.endpoint(path).get().data) == 0


async def test_jsonapi_requests_manages_members(api: Any, served_tenant: Tenant) -> None:
    for by, ids in (
        ("users", served_tenant.users),
        ("organization-memberships", served_tenant.memberships),
    ):
        endpoint = api.endpoint(served_tenant.linkage_path(by=by).removeprefix("/"))
        linkage = {"data": [{"type": by, "id": ids["plain"]}, {"type": by, "id": ids["reader"]}]}
        assert endpoint.post(json=linkage).status_code == 204
        listed = endpoint.get().data
        assert {(one.type, one.id) for one in listed} == {
            (by, one["id"]) for one in linkage["data"]
        }
        assert endpoint.delete(json=linkage).status_code == 204
        assert len(endpoint.get().data) == 0


def test_jsonapi_requests_models_variables_as_objects(api: Any, served_tenant: Tenant) -> None:
    orm = jsonapi_requests.orm.OrmApi(api)

    # The library has no types.
    class Variable(jsonapi_requests.orm.ApiModel):  # type: ignore[misc]
        class Meta:
            api = orm
            type = "vars"
            path = served_tenant.vars_path().removeprefix("/")

        key = jsonapi_requests.orm.AttributeField("key")
        value = jsonapi_requests.orm.AttributeField("value")
        description = jsonapi_requests.orm.AttributeField("description")
        category = jsonapi_requests.orm.AttributeField("category")

    made = Variable()
    made.key, made.value, made.description, made.category = "model", "one", "", "env"
    made.create()
    made.value = "two"
    made.update()
    assert [(one.key, one.value) for one in Variable.get_list()] == [("model", "two")]
    made.delete()
    assert Variable.get_list() == []
