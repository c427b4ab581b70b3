"""No sealed value opens anywhere but in its own row."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from structlog.testing import capture_logs

from teamvars.storage.database import Transaction
from tests.faults.canaries import canary, finds
from tests.support.tenant import Tenant, variable_document


@dataclass(frozen=True)
class Row:
    """A variable as one of the tests of tampering makes it."""

    path: str
    id: str
    value: str


async def make(tenant: Tenant, path: str, who: str = "owner", **attributes: Any) -> Row:
    value = canary()
    document = variable_document(key=f"key-{uuid4()}", value=value, **attributes)
    made = await tenant.call(who, "POST", path, document)
    return Row(path, made.json()["data"]["id"], value)


async def give_sealed_value(tenant: Tenant, source: Row, target: Row) -> None:
    await tenant.deployment.execute(
        "UPDATE variables SET sealed_value = "
        "(SELECT sealed_value FROM variables WHERE id = $1) WHERE id = $2",
        source.id,
        target.id,
    )


async def refuses_to_show(tenant: Tenant, row: Row, *secrets: str, who: str = "owner") -> None:
    """Reading is an honest 500 that names the variable, in the log too, and tells no value."""
    for path in (f"{row.path}/{row.id}", row.path):
        with capture_logs() as logged:
            answer = await tenant.call(who, "GET", path)
        assert answer.status_code == 500
        (error,) = answer.json()["errors"]
        assert (error["code"], error["meta"]["id"]) == ("damaged_value", row.id)
        assert [line["variables"] for line in logged] == [[row.id]]
        assert not finds(answer.content + repr(logged).encode(), row.value, *secrets)


async def opens_no_data_key(tenant: Tenant, row: Row, hidden: Row) -> None:
    """Each value that does not open for it is named, what shows none is read, and none is made."""
    await refuses_to_show(tenant, row)
    sensitive = f"{row.path}/{hidden.id}"
    assert (await tenant.call("owner", "GET", sensitive)).status_code == 200
    with capture_logs() as logged:
        made = await tenant.call("owner", "POST", row.path, variable_document())
    assert [error["code"] for error in made.json()["errors"]] == ["internal_error"]
    assert any("data key" in line["event"] for line in logged)
    assert not finds(made.content + repr(logged).encode(), row.value)


async def test_a_sealed_value_opens_in_no_other_row(tenant: Tenant) -> None:
    here = tenant.vars_path()
    elsewhere = f"/workspaces/{tenant.other_workspace}/vars"
    sources = [
        await make(tenant, here),
        await make(tenant, here, sensitive=True),
        await make(tenant, tenant.vars_path("payments")),
        await make(tenant, elsewhere, who="outsider"),
    ]
    for source in sources:
        target = await make(tenant, here)
        await give_sealed_value(tenant, source, target)
        await refuses_to_show(tenant, target, source.value)
        await tenant.deployment.execute("DELETE FROM variables WHERE id = $1", target.id)


async def test_a_flag_flipped_behind_our_back_shows_no_secret(tenant: Tenant) -> None:
    secret = await make(tenant, tenant.vars_path(), sensitive=True)
    await tenant.deployment.execute("UPDATE variables SET sensitive = 0 WHERE id = $1", secret.id)
    await refuses_to_show(tenant, secret)


async def test_a_row_moved_to_another_workspace_or_given_another_id_does_not_open(
    tenant: Tenant,
) -> None:
    moved = await make(tenant, tenant.vars_path("payments"))
    await tenant.deployment.execute(
        "UPDATE variables SET workspace_id = $1, organization_id = NULL, workspace_name = NULL "
        "WHERE id = $2",
        tenant.workspaces["network"],
        moved.id,
    )
    await refuses_to_show(tenant, Row(tenant.vars_path(), moved.id, moved.value))
    renamed = await make(tenant, tenant.vars_path("payments"))
    await tenant.deployment.execute(
        "UPDATE variables SET id = $1 WHERE id = $2", "var-other", renamed.id
    )
    await refuses_to_show(tenant, Row(renamed.path, "var-other", renamed.value))


async def organization_of(tenant: Tenant, workspace_id: str) -> str:
    async def body(tx: Transaction) -> str:
        sql = "SELECT organization_id FROM workspaces WHERE id = $1"
        row = await tx.fetch_one(sql, workspace_id)
        assert row is not None
        found: str = row[0]
        return found

    return await tenant.deployment.services.database.read(body)


async def test_a_data_key_opens_in_no_other_organization(tenant: Tenant) -> None:
    row, hidden = [await make(tenant, tenant.vars_path(), sensitive=one) for one in (False, True)]
    await tenant.deployment.execute(
        "UPDATE data_keys SET wrapped = "
        "(SELECT wrapped FROM data_keys WHERE organization_id = $1) WHERE organization_id = $2",
        await organization_of(tenant, tenant.other_workspace),
        await organization_of(tenant, tenant.workspaces["network"]),
    )
    await opens_no_data_key(tenant, row, hidden)


async def test_a_data_key_opens_under_no_other_version(tenant: Tenant) -> None:
    row, hidden = [await make(tenant, tenant.vars_path(), sensitive=one) for one in (False, True)]
    mine = await organization_of(tenant, tenant.workspaces["network"])
    await tenant.deployment.execute(
        "UPDATE data_keys SET version = 2 WHERE organization_id = $1", mine
    )
    await tenant.deployment.execute(
        "UPDATE organizations SET data_key_version = 2 WHERE id = $1", mine
    )
    await opens_no_data_key(tenant, row, hidden)


async def test_a_value_that_does_not_open_keeps_no_other_from_being_read_and_can_be_deleted(
    tenant: Tenant,
) -> None:
    """A list is whole or refused: one that leaves a variable out would be taken for the truth."""
    path = tenant.vars_path()
    good, broken = await make(tenant, path), await make(tenant, path)
    await give_sealed_value(tenant, good, broken)
    await refuses_to_show(tenant, broken, good.value)
    answer = await tenant.call("reader", "GET", f"{path}/{good.id}")
    assert answer.json()["data"]["attributes"]["value"] == good.value
    assert (await tenant.call("owner", "DELETE", f"{path}/{broken.id}")).status_code == 204
    listed = await tenant.variables()
    assert [variable["attributes"]["value"] for variable in listed] == [good.value]
