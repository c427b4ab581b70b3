"""A 404 says what something is called now, to whoever sees it, and nothing to anybody else."""

from typing import Any

import pytest

from teamvars.storage.database import Transaction
from tests.support.tenant import JSON_API, Tenant

NOBODYS = "It does not exist, or you may not see it."


async def rename(tenant: Tenant, path: str, name: str, type_: str) -> None:
    attributes = {"attributes": {"name": name}}
    answer = await tenant.call("owner", "PATCH", path, {"data": {"type": type_, **attributes}})
    assert answer.status_code == 200, answer.text


async def rename_workspace(tenant: Tenant, old: str, name: str) -> None:
    await rename(
        tenant, f"/organizations/{tenant.organization}/workspaces/{old}", name, "workspaces"
    )


async def rename_organization(tenant: Tenant) -> str:
    name = f"{tenant.organization}-new"
    await rename(tenant, f"/organizations/{tenant.organization}", name, "organizations")
    return name


async def told(tenant: Tenant, who: str, path: str, method: str = "GET") -> str:
    """The 404's detail; all else in it is what every 404 has."""
    document: dict[str, Any] | None = {"data": {}} if method == "POST" else None
    answer = await tenant.call(who, method, path, document, {"Accept": JSON_API})
    assert answer.status_code == 404, answer.text
    (error,) = answer.json()["errors"]
    detail: str = error.pop("detail")
    del error["id"]
    assert error == {"status": "404", "code": "not_found", "title": "Not found"}
    return detail


async def test_a_member_who_asks_for_an_organization_s_former_name_is_told_the_present_one(
    tenant: Tenant,
) -> None:
    name = await rename_organization(tenant)
    hint = f"{NOBODYS} The organization is called {name} now."
    old = f"/organizations/{tenant.organization.upper()}"
    for who in ("owner", "plain", "writers-token", "owners-token", "organization-token"):
        assert await told(tenant, who, old) == hint
    for below in ("/workspaces", "/workspaces/network", "/teams", "/vars", "/audit-events"):
        assert await told(tenant, "owner", old + below) == hint
    for below in ("/workspaces", "/teams"):
        assert await told(tenant, "owner", old + below, "POST") == hint


async def test_who_is_in_no_organization_of_that_name_is_told_nothing(tenant: Tenant) -> None:
    name = await rename_organization(tenant)
    for who in ("outsider", "admin", "invited", "other-organization-token"):
        for asked in (tenant.organization, name, "never-there"):
            for below in ("", "/workspaces/network", "/vars"):
                assert await told(tenant, who, f"/organizations/{asked}{below}") == NOBODYS


async def test_a_name_that_another_organization_has_taken_is_no_oracle(tenant: Tenant) -> None:
    """Whoever does not see that one hears the same as if it were not there."""
    name = await rename_organization(tenant)
    old = f"/organizations/{tenant.organization}"
    hint = f"{NOBODYS} The organization is called {name} now."
    asked = [old + below for below in ("", "/vars", "/workspaces/network")]
    assert [await told(tenant, "plain", path) for path in asked] == [hint] * 3
    made = await tenant.call(
        "admin",
        "POST",
        "/organizations",
        {
            "data": {
                "type": "organizations",
                "attributes": {"name": tenant.organization, "email": "a@example.com"},
            }
        },
    )
    assert made.status_code == 201, made.text
    workspace = {"data": {"type": "workspaces", "attributes": {"name": "network"}}}
    there = await tenant.call("admin", "POST", f"{old}/workspaces", workspace)
    assert there.status_code == 201, there.text
    assert [await told(tenant, "plain", path) for path in asked] == [hint] * 3
    assert (await tenant.call("admin", "GET", old)).json()["data"]["id"] == tenant.organization


async def test_who_reads_a_workspace_is_told_what_it_is_called_now(tenant: Tenant) -> None:
    await rename_workspace(tenant, "network", "middle")
    await rename_workspace(tenant, "middle", "Network-New")
    base = f"/organizations/{tenant.organization}/workspaces"
    for who in ("owner", "writer", "reader", "writers-token"):
        for old in ("network", "MIDDLE"):
            hint = f"{NOBODYS} The workspace is called Network-New now."
            assert await told(tenant, who, f"{base}/{old}") == hint
    for who in ("plain", "hidden", "manager", "outsider", "invited"):
        for asked in ("network", "Network-New", "never-there"):
            assert await told(tenant, who, f"{base}/{asked}") == NOBODYS


async def test_a_workspace_that_is_gone_leaves_no_hint(tenant: Tenant) -> None:
    await rename_workspace(tenant, "network", "network-new")
    path = f"/organizations/{tenant.organization}/workspaces"
    assert (await tenant.call("owner", "DELETE", f"{path}/network-new")).status_code == 204
    assert await told(tenant, "owner", f"{path}/network") == NOBODYS


@pytest.mark.parametrize("details", ["{", "[]", '{"from":1}', '{"name":"x"}'])
async def test_an_entry_that_somebody_has_touched_is_no_hint_and_no_fault(
    tenant: Tenant, details: str
) -> None:
    await rename_workspace(tenant, "network", "network-new")

    about = "WHERE action = 'workspace.rename' AND subject_id = $1"

    async def touch(tx: Transaction, text: str) -> str:
        """Writes other details into the entry; returns what they were."""
        id_ = tenant.workspaces["network"]
        row = await tx.fetch_one(f"SELECT details FROM audit_entries {about}", id_)  # noqa: S608
        await tx.execute(f"UPDATE audit_entries SET details = $2 {about}", id_, text)  # noqa: S608
        assert row is not None
        return str(row[0])

    database = tenant.deployment.services.database
    before = await database.write(lambda tx: touch(tx, details))
    path = f"/organizations/{tenant.organization}/workspaces/network"
    try:
        assert await told(tenant, "owner", path) == NOBODYS
    finally:
        await database.write(lambda tx: touch(tx, before))
