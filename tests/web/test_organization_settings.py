"""What clients set of an organization is kept and shown, or refused: nothing is lost silently."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from teamvars.domain.organizations import SETTINGS
from tests.support.tenant import Tenant, faults
from tests.web.dialects import terraform

DOCS = Path(__file__).parents[2] / "docs"
KEPT: dict[str, Any] = {
    "default-execution-mode": "local",
    "cost-estimation-enabled": True,
    "send-passing-statuses-for-untriggered-speculative-plans": True,
    "aggregated-commit-status-enabled": False,
    "speculative-plan-management-enabled": False,
    "allow-force-delete-workspaces": True,
    "owners-team-saml-role-id": "größer",
    "stacks-enabled": True,
    "max-ttl-enabled": True,
    "registry-monorepo-support-enabled": True,
}
"""Of every setting that is kept another value than its default."""
NOT_OFFERED: dict[str, Any] = {
    "collaborator-auth-policy": "two_factor_mandatory",
    "assessments-enforced": True,
    "session-timeout": 3600,
    "session-remember": 0,
    "user-tokens-enabled": False,
    "enforce-hyok": True,
    "recoverable-items-enabled": True,
}
DEFAULTS: dict[str, Any] = {name: one.default for name, one in SETTINGS.by_name.items()}


def said(**attributes: Any) -> dict[str, Any]:
    return {"data": {"type": "organizations", "attributes": attributes}}


def its_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}"


async def shown(tenant: Tenant, who: str = "plain") -> dict[str, Any]:
    answer = await tenant.call(who, "GET", its_path(tenant))
    attributes: dict[str, Any] = answer.json()["data"]["attributes"]
    return attributes


def test_every_setting_is_in_one_of_the_tables() -> None:
    assert KEPT.keys() | NOT_OFFERED.keys() == SETTINGS.by_name.keys()


def test_the_document_names_every_setting() -> None:
    text = (DOCS / "api.md").read_text()
    section = text[text.index("**Settings of an organization.**") : text.index("Deleting an org")]
    assert all(f"`{name}`" in section for name in SETTINGS.by_name)


async def test_an_organization_has_what_clients_take_for_the_default(tenant: Tenant) -> None:
    assert DEFAULTS.items() <= (await shown(tenant)).items()
    name = f"made-{uuid4().hex}"
    made = await tenant.call(
        "admin", "POST", "/organizations", said(name=name, email="a@b.example")
    )
    assert DEFAULTS.items() <= made.json()["data"]["attributes"].items()
    again = await tenant.call("admin", "POST", "/organizations", said(name=f"{name}-2", **KEPT))
    assert KEPT.items() <= again.json()["data"]["attributes"].items()


async def test_every_setting_is_kept_as_it_was_sent_and_told_by_its_name(tenant: Tenant) -> None:
    changed = await tenant.call("owner", "PATCH", its_path(tenant), said(**KEPT))
    assert changed.status_code == 200, changed.text
    for seen in (changed.json()["data"]["attributes"], await shown(tenant)):
        assert KEPT.items() <= seen.items()
    listed = (await tenant.call("owner", "GET", "/organizations")).json()["data"]
    assert KEPT.items() <= listed[0]["attributes"].items()
    events = await tenant.call("owner", "GET", f"{its_path(tenant)}/audit-events")
    newest = events.json()["data"][0]["attributes"]
    assert newest["action"] == "organization.update"
    assert set(newest["details"]["changed"]) == KEPT.keys()
    assert "größer" not in events.text
    assert await tenant.deployment.audit_holds()


async def test_what_is_left_out_stays_and_a_default_can_be_said(tenant: Tenant) -> None:
    await tenant.call("owner", "PATCH", its_path(tenant), said(**KEPT))
    await tenant.call("owner", "PATCH", its_path(tenant), said(email="new@example.com"))
    assert KEPT.items() <= (await shown(tenant)).items()
    answer = await tenant.call("owner", "PATCH", its_path(tenant), said(**DEFAULTS))
    assert answer.status_code == 200, answer.text
    assert DEFAULTS.items() <= (await shown(tenant)).items()


async def test_what_promises_something_that_does_not_happen_is_refused_all_at_once(
    tenant: Tenant,
) -> None:
    name = f"refused-{uuid4().hex}"
    for who, method, where in (
        ("owner", "PATCH", its_path(tenant)),
        ("admin", "POST", "/organizations"),
    ):
        asked = said(**NOT_OFFERED, **{"default-execution-mode": "agent"}, name=name)
        pool = {"data": {"type": "agent-pools", "id": "apool-1"}}
        asked["data"]["relationships"] = {"default-agent-pool": pool}
        answer = await tenant.call(who, method, where, asked)
        assert sorted(faults(answer)) == sorted(
            ("422", "not_offered", f"/data/{at}")
            for at in (
                *(f"attributes/{one}" for one in NOT_OFFERED),
                "attributes/default-execution-mode",
                "relationships/default-agent-pool/data",
            )
        )
        # People sign in here, and their sessions are no organization's to change.
        told = {one["source"]["pointer"]: one["detail"] for one in answer.json()["errors"]}
        assert "30 minutes" in told["/data/attributes/session-timeout"]
    assert (await tenant.call("admin", "GET", f"/organizations/{name}")).status_code == 404
    half = said()
    half["data"]["relationships"] = {"default-agent-pool": {}}
    refused = await tenant.call("owner", "PATCH", its_path(tenant), half)
    at = "/data/relationships/default-agent-pool/data"
    assert faults(refused) == [("422", "missing_member", at)]
    no_pool = said()
    no_pool["data"]["relationships"] = {"default-agent-pool": {"data": None}}
    accepted = await tenant.call("owner", "PATCH", its_path(tenant), no_pool)
    assert accepted.status_code == 200, accepted.text


async def test_a_word_that_is_none_is_a_fault_of_its_own(tenant: Tenant) -> None:
    words = {"default-execution-mode": "magic", "collaborator-auth-policy": ""}
    answer = await tenant.call("owner", "PATCH", its_path(tenant), said(**words))
    assert sorted(faults(answer)) == sorted(
        ("422", "invalid_value", f"/data/attributes/{name}") for name in words
    )


async def test_a_setting_has_its_json_type(tenant: Tenant) -> None:
    wrong: dict[str, Any] = {name: [7] for name in SETTINGS.by_name}
    answer = await tenant.call("owner", "PATCH", its_path(tenant), said(**wrong))
    assert sorted(faults(answer)) == sorted(
        ("422", "wrong_type", f"/data/attributes/{name}") for name in wrong
    )


async def test_one_without_an_address_has_an_empty_one(tenant: Tenant) -> None:
    name = f"silent-{uuid4().hex}"
    made = await tenant.call("admin", "POST", "/organizations", said(name=name))
    listed = (await tenant.call("admin", "GET", f"/organizations?q={name}")).json()["data"]
    one = (await tenant.call("admin", "GET", f"/organizations/{name}")).json()["data"]
    for data in (made.json()["data"], one, *listed):
        assert data["attributes"]["email"] == ""


async def test_an_organization_is_found_by_a_part_of_its_address(tenant: Tenant) -> None:
    mark = uuid4().hex
    for name, email in (("red", f"X-{mark}@Example.com"), ("green", f"y-{mark}@a.example")):
        named = said(name=f"{name}-{mark}", email=email)
        await tenant.call("admin", "POST", "/organizations", named)

    async def found(query: str) -> list[str]:
        answer = await tenant.call("admin", "GET", f"/organizations?{query}")
        return [one["id"].partition("-")[0] for one in answer.json()["data"]]

    assert await found(f"q=x-{mark}%40example") == ["red"]
    assert await found(f"q[email]=X-{mark}") == ["red"]
    assert await found(f"q[email]={mark}") == ["green", "red"]
    assert await found(f"q[email]=red-{mark}") == []
    assert await found(f"q={mark}&q[name]=GREEN") == ["green"]


async def test_it_is_put_as_it_is_patched_where_clients_do_so(tenant: Tenant) -> None:
    async with terraform(tenant) as client:
        answer = await client.put(its_path(tenant), json=said(**KEPT))
        assert answer.status_code == 200, answer.text
        included = await client.get(f"{its_path(tenant)}?include=subscription,entitlement_set")
        assert (included.status_code, "included" in included.json()) == (200, False)
        assert (await client.get("/organizations?include=subscription")).status_code == 200
    assert KEPT.items() <= (await shown(tenant)).items()
    assert (await tenant.call("owner", "PUT", its_path(tenant), said())).status_code == 405
    refused = await tenant.call("owner", "GET", f"{its_path(tenant)}?include=subscription")
    assert refused.status_code == 400


@pytest.mark.parametrize("stored", ["{", "[]", '{"stacks-enabled": {}}', '{"later": 7}'])
async def test_stored_settings_that_cannot_be_read_hide_no_organization(
    tenant: Tenant, stored: str
) -> None:
    sql = "UPDATE organizations SET settings = $1 WHERE name = $2"
    await tenant.deployment.execute(sql, stored, tenant.organization)
    assert (await shown(tenant))["stacks-enabled"] is False
    answer = await tenant.call("owner", "PATCH", its_path(tenant), said(**KEPT))
    assert KEPT.items() <= answer.json()["data"]["attributes"].items()
