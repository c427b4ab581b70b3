"""What a command on the host is handed, and the receipt that stands before it is."""

import pytest

from teamvars.decisions.deliveries import HostDraft
from teamvars.domain.audit import AuditFilter
from teamvars.domain.errors import Refusal
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category
from tests.services.altered_trails import execute
from tests.services.calls import Calls, caller
from tests.support.deployment import operator


@pytest.fixture
async def filled(own_calls: Calls) -> Calls:
    """`network` has two variables."""
    await own_calls.create(key="region", value="eu")
    await own_calls.create(key="TOKEN", value="hunter2", sensitive=True, category=Category.ENV)
    return own_calls


async def handed(calls: Calls, *only: str, workspace: str = "network") -> list[Variable]:
    """What an operator's command gets."""
    draft = HostDraft(calls.tenant.organization, workspace, "ticket 4711", only)
    return [*await calls.services.host_deliveries.hand_out(operator(), draft)]


async def receipts(calls: Calls) -> list[dict[str, object] | None]:
    """What the trail of the organization says was handed out, newest first."""
    entries = await calls.services.audit.newest(10, AuditFilter(action="variable.deliver"))
    return [entry.read_details() for entry in entries]


async def head(calls: Calls) -> str:
    """The `ETag` of the list of `network`."""
    answer = await calls.tenant.call("owner", "GET", calls.tenant.vars_path())
    return answer.headers["ETag"]


async def test_all_values_are_handed_out_and_the_receipt_has_none(filled: Calls) -> None:
    before = await head(filled)
    found = {one.key: one.value for one in await handed(filled)}
    assert found == {"region": "eu", "TOKEN": "hunter2"}
    (receipt,) = await receipts(filled)
    assert receipt is not None
    assert receipt["reason"] == "ticket 4711"
    assert receipt["workspace"] == filled.tenant.workspaces["network"]
    assert "hunter2" not in str(receipt)
    assert str(receipt).count("version-id") == 2
    assert await head(filled) == before
    assert await filled.node.audit_holds()


async def test_what_the_globs_name_is_handed_out_and_nothing_else(filled: Calls) -> None:
    assert [one.key for one in await handed(filled, "TO*")] == ["TOKEN"]
    with pytest.raises(Refusal, match="invalid_value"):
        await handed(filled, "TO*", "NOTHING*")
    assert len(await receipts(filled)) == 1


async def test_nothing_is_handed_out_of_a_workspace_that_is_not_there(filled: Calls) -> None:
    with pytest.raises(Refusal, match="not_found"):
        await handed(filled, workspace="elsewhere")
    assert await receipts(filled) == []


async def test_without_a_receipt_nothing_is_handed_out(filled: Calls) -> None:
    owner = await filled.services.organizations.read(
        caller(filled.tenant, "owner"), filled.tenant.organization
    )
    touch = "UPDATE streams SET head = link WHERE id = $1"
    await execute(filled.services.database, owner.organization.id, touch)
    with pytest.raises(Refusal, match="trail_altered"):
        await handed(filled)


async def test_a_value_that_does_not_open_is_named_and_the_receipt_is_there(filled: Calls) -> None:
    touch = (
        "UPDATE variables SET sealed_value = substr(sealed_value, 1, 20) WHERE workspace_id = $1"
    )
    await execute(filled.services.database, filled.tenant.workspaces["network"], touch)
    with pytest.raises(Refusal, match="damaged_value"):
        await handed(filled)
    assert len(await receipts(filled)) == 1
