"""The mode of a workspace: its own, or else the default of its organization as it is now."""

from typing import Any

import httpx
import pytest

from tests.support.tenant import Tenant, faults
from tests.web.test_workspaces import all_path, create

MODE, OVERWRITES = "execution-mode", "setting-overwrites"
INHERITS: dict[str, Any] = {OVERWRITES: {MODE: False}}
OWNS: dict[str, Any] = {OVERWRITES: {MODE: True}}


async def set_default(tenant: Tenant, mode: str) -> None:
    body = {"type": "organizations", "attributes": {"default-execution-mode": mode}}
    path = f"/organizations/{tenant.organization}"
    answer = await tenant.call("owner", "PATCH", path, {"data": body})
    assert answer.status_code == 200, answer.text


async def change(tenant: Tenant, name: str, attributes: dict[str, Any]) -> httpx.Response:
    body = {"data": {"type": "workspaces", "attributes": attributes}}
    return await tenant.call("owner", "PATCH", f"{all_path(tenant)}/{name}", body)


async def shown(tenant: Tenant, name: str) -> dict[str, Any]:
    answer = await tenant.call("owner", "GET", f"{all_path(tenant)}/{name}")
    data: dict[str, Any] = answer.json()["data"]
    return data


async def mode_of(tenant: Tenant, name: str) -> tuple[str, bool]:
    """The mode, and whether it is the workspace's own."""
    attributes = (await shown(tenant, name))["attributes"]
    assert attributes["operations"] is (attributes[MODE] != "local")
    return attributes[MODE], attributes[OVERWRITES][MODE]


async def test_a_workspace_without_a_mode_of_its_own_has_its_organizations(tenant: Tenant) -> None:
    await create(tenant, name="follows")
    await create(tenant, name="own", execution_mode="remote")
    await set_default(tenant, "local")
    assert await mode_of(tenant, "follows") == ("local", False)
    assert await mode_of(tenant, "own") == ("remote", True)
    assert await mode_of(tenant, "network") == ("remote", True)  # a directory file made it
    listed = await tenant.call("owner", "GET", all_path(tenant))
    modes = [one["attributes"][MODE] for one in listed.json()["data"]]
    assert modes == ["local", "remote", "remote", "remote"]
    made = await create(tenant, name="later")
    assert made.json()["data"]["attributes"][MODE] == "local"
    assert await mode_of(tenant, "later") == ("local", False)

    lock = f"/workspaces/{(await shown(tenant, 'follows'))['id']}/actions/lock"
    assert faults(await tenant.call("owner", "POST", lock)) == [("422", "not_offered", None)]
    await set_default(tenant, "remote")
    assert (await tenant.call("owner", "POST", lock)).status_code == 200
    assert await tenant.deployment.audit_holds()


async def test_a_workspace_makes_the_mode_that_counts_its_own_and_gives_it_up_again(
    tenant: Tenant,
) -> None:
    await set_default(tenant, "local")
    id_ = (await create(tenant, name="space")).json()["data"]["id"]
    assert (await change(tenant, "space", OWNS)).json()["data"]["attributes"][MODE] == "local"
    await set_default(tenant, "remote")
    assert await mode_of(tenant, "space") == ("local", True)
    given_up = await change(tenant, "space", INHERITS)
    assert given_up.json()["data"]["attributes"][MODE] == "remote"
    assert await mode_of(tenant, "space") == ("remote", False)
    events = await tenant.call("owner", "GET", f"/workspaces/{id_}/audit-events")
    told = [event["attributes"]["details"]["changed"] for event in events.json()["data"]]
    assert told == [[MODE, f"{OVERWRITES}/{MODE}"], [f"{OVERWRITES}/{MODE}"]]


async def test_a_mode_beside_the_word_that_another_counts_is_refused_and_what_is_shown_is_taken(
    tenant: Tenant,
) -> None:
    await create(tenant, name="space")
    for named in ({MODE: "local"}, {"operations": False}):
        at = f"/data/attributes/{min(named)}"
        body = {"type": "workspaces", "attributes": {"name": "made", **named, **INHERITS}}
        for answer in (
            await change(tenant, "space", {**named, **INHERITS}),
            await tenant.call("owner", "POST", all_path(tenant), {"data": body}),
        ):
            assert faults(answer) == [("422", "invalid_value", at)]
            assert "which is 'remote'" in answer.json()["errors"][0]["detail"]
    await set_default(tenant, "local")
    as_it_is = (await shown(tenant, "space"))["attributes"]
    assert (await change(tenant, "space", as_it_is)).status_code == 200
    assert await mode_of(tenant, "space") == ("local", False)


@pytest.mark.parametrize("stored", ["{", '{"default-execution-mode": "magic"}'])
async def test_a_damaged_default_is_the_one_of_a_new_organization(
    tenant: Tenant, stored: str
) -> None:
    await create(tenant, name="follows")

    sql = "UPDATE organizations SET settings = $1 WHERE name = $2"
    await tenant.deployment.execute(sql, stored, tenant.organization)
    assert await mode_of(tenant, "follows") == ("remote", False)
    organization = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    assert organization.json()["data"]["attributes"]["default-execution-mode"] == "remote"
