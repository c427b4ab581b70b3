"""Values reach the job that an approved runner means, and nobody else."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions.deliveries import NoTarget
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditFilter
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.domain.errors import Code, Refusal
from teamvars.domain.ids import new_id
from teamvars.protocol.bundles import JobKey
from teamvars.security import keyring
from teamvars.security.tokens import hash_token
from teamvars.storage import runners
from teamvars.storage.database import Row, Transaction
from tests.services.calls import count
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import MANY_INVITATIONS, open_deployment, operator
from tests.support.jobs import job_token
from tests.support.tenant import Tenant, build_tenant


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    """A job in an organization whose `network` has two variables."""
    await tenant.make_variable("region", value="eu")
    await tenant.make_variable("password", value="hunter2", sensitive=True, category="env")
    return Job(tenant, JobKey.generate())


async def test_an_approved_job_gets_every_value_and_leaves_a_receipt(
    tenant: Tenant, job: Job
) -> None:
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    issued = await job.exchange()
    assert (issued.runner_id, issued.version) == (runner_id, 1)
    assert 0 < issued.expires_in <= 900
    info, values = await job.deliver(issued)
    assert {each.key: each.value for each in values} == {"region": "eu", "password": "hunter2"}
    assert (info.workspace, info.runner) == (tenant.workspaces["network"], runner_id)
    (receipt, *_) = await tenant.deployment.services.audit.newest(
        5, AuditFilter(stream_id=runner_id)
    )
    assert receipt.action == "variable.deliver"
    assert "hunter2" not in repr(receipt)
    assert await tenant.deployment.audit_holds()


async def test_a_job_counts_among_those_of_its_organization_once_it_is_handed_its_values(
    tenant: Tenant, job: Job
) -> None:
    await approve(tenant, await propose(tenant))
    issued = await job.exchange()
    caller = Caller(hash_token(issued.token), new_id("req"))
    place, draft = tenant.workspaces["network"], DeliveryDraft(job.key.public)
    await tenant.deployment.services.deliveries.deliver(caller, place, draft)
    info, _ = await job.deliver(issued)
    assert caller.organization_id == info.organization


async def test_a_runner_that_nobody_approved_gets_nothing(tenant: Tenant, job: Job) -> None:
    runner_id = await propose(tenant)
    with pytest.raises(Refusal, match="invalid_target"):
        await job.exchange()
    await approve(tenant, runner_id)
    issued = await job.exchange()
    await tenant.deployment.services.approvals.revoke(operator(), runner_id)
    with pytest.raises(Refusal, match="unauthenticated"):
        await job.deliver(issued)


async def test_a_runner_that_meant_a_job_a_moment_ago_means_it_no_more_once_it_is_revoked(
    tenant: Tenant, job: Job
) -> None:
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    await job.exchange()
    await tenant.deployment.services.approvals.revoke(operator(), runner_id)
    for _ in range(2):
        with pytest.raises(NoTarget, match="invalid_target"):
            await job.exchange()
    await approve(tenant, runner_id)
    assert (await job.exchange()).runner_id == runner_id


async def test_what_an_issuer_says_is_good_once(tenant: Tenant, job: Job) -> None:
    await approve(tenant, await propose(tenant))
    token = job_token(job.key.thumbprint)
    await job.exchange(token)
    with pytest.raises(Refusal, match="invalid_request"):
        await job.exchange(token)


async def test_an_exchange_reads_no_runner_that_was_not_approved_for_the_workspace(
    tenant: Tenant,
) -> None:
    """There may be a hundred, each for hundreds of workspaces."""
    network, payments = tenant.workspaces["network"], tenant.workspaces["payments"]
    runner_ids = [await propose(tenant, name=name) for name in ("one", "two", "three")]
    other = await propose(tenant, workspace_ids=(payments,))
    for runner_id in (*runner_ids[1:], other):
        await approve(tenant, runner_id)
    query = tenant.deployment.services.database.query
    for workspace_id, approved in ((network, runner_ids[1:]), (payments, [other])):
        rows = await query(partial(_reaching, workspace_id))
        found = runners.reached(rows)
        assert found is not None
        assert [runner.id for runner in found[1]] == sorted(approved)


async def _reaching(workspace_id: str, tx: Transaction) -> Sequence[Row]:
    return await tx.look_up_all(runners.REACHING, workspace_id, b"once")


async def test_a_token_delivers_its_own_workspace_to_its_own_key(tenant: Tenant, job: Job) -> None:
    ids = tenant.workspaces["network"], tenant.workspaces["payments"]
    await approve(tenant, await propose(tenant, workspace_ids=ids))
    issued = await job.exchange()
    with pytest.raises(Refusal, match="unauthenticated"):
        await job.deliver(issued, workspace="payments")
    thief = Job(tenant, JobKey.generate())
    with pytest.raises(Refusal, match="invalid_value"):
        await thief.deliver(issued)


async def test_of_a_workspace_with_a_damaged_value_a_job_is_told_whose_it_is_and_handed_nothing(
    tenant: Tenant, job: Job
) -> None:
    damaged = (await tenant.make_variable("damaged", value="lost"))["id"]
    await approve(tenant, await propose(tenant))
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE variables SET sealed_value = substr(sealed_value, 2) WHERE id = $1", damaged
        )
    )
    issued = await job.exchange()
    with pytest.raises(Refusal) as refused:
        await job.deliver(issued)
    (fault,) = refused.value.faults
    assert fault.code is Code.DAMAGED_VALUE
    assert fault.meta is not None
    assert fault.meta["id"] == damaged


async def test_the_log_counts_the_refusals_of_some_runners_alone(
    tenant: Tenant, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamvars.services.deliveries._COUNTED_RUNNERS", 1)
    for name in ("one", "other"):
        await approve(tenant, await propose(tenant, name=name))
    token = job_token(job.key.thumbprint, sub="another")
    with pytest.raises(NoTarget) as refused:
        await job.exchange(token)
    why: Any = refused.value.why
    assert len(why["unmet"]) == 2
    assert list(why["refused"].values()) == [1]


async def test_a_node_that_has_no_address_gives_no_token(
    store_url: str, tenant: Tenant, job: Job
) -> None:
    await approve(tenant, await propose(tenant))
    nowhere = replace(MANY_INVITATIONS, service=None)
    async with open_deployment(store_url, keys=tenant.deployment.keys, setup=nowhere) as node:
        with pytest.raises(Refusal, match="invalid_request"):
            await job.on(node).exchange()


async def test_a_node_that_has_no_server_key_gives_no_token_and_no_value(own_url: str) -> None:
    """As on a store of an older release, which knows of no server key."""
    keys = keyring.generate()
    async with (
        open_deployment(own_url, keys=replace(keys, server=None)) as node,
        open_deployment(own_url, keys=keys) as whole,
    ):
        tenant = await build_tenant(whole)
        await approve(tenant, await propose(tenant))
        job = Job(tenant, JobKey.generate())
        with pytest.raises(Refusal, match="invalid_request"):
            await job.on(node).exchange()
        caller = Caller(hash_token((await job.exchange()).token), new_id("req"))
        wanted = tenant.workspaces["network"], DeliveryDraft(job.key.public)
        with pytest.raises(Refusal, match="unauthenticated"):
            await node.services.deliveries.deliver(caller, *wanted)


TABLES = {"runners": "id", "runner_tokens": "runner_id", "runner_deliveries": "runner_id"}


async def test_nothing_of_a_deleted_organization_is_left(tenant: Tenant) -> None:
    variable = await tenant.make_variable("region")
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    job = Job.new(tenant)
    await job.deliver(await job.exchange())
    of_variable = f"{tenant.vars_path()}/{variable['id']}"
    for kept, path in ((1, of_variable), (0, f"/organizations/{tenant.organization}")):
        assert (await tenant.call("owner", "DELETE", path)).status_code == 204
        for table, column in TABLES.items():
            asked = f"SELECT count(*) FROM {table} WHERE {column} = $1"  # noqa: S608
            assert await count(tenant.deployment.services.database, asked, runner_id) == kept
