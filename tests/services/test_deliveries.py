"""Values reach the job that an approved runner means, and nobody else."""

import time
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditFilter
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.runners import RunnerDraft
from teamvars.protocol.bundles import Delivered, Info, received
from teamvars.protocol.job_keys import JobKey
from teamvars.security.tokens import hash_token
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES, ExchangeForm, IssuedToken
from tests.support.deployment import operator
from tests.support.jobs import ISSUER, SERVICE, job_token
from tests.support.tenant import Tenant

DAY = 24 * 3600 * 1_000_000


@dataclass
class Job:
    """A job that has a key of its own, and asks for the variables of `network`."""

    tenant: Tenant
    key: JobKey
    workspace: str = "network"

    async def exchange(self, token: str | None = None, **more: Any) -> IssuedToken:
        """A token for the workspace."""
        workspace_id = self.tenant.workspaces[self.workspace]
        form = ExchangeForm(
            **{
                "grant_type": GRANT_TYPE,
                "subject_token": token or job_token(self.key.thumbprint),
                "subject_token_type": SUBJECT_TYPES[0],
                "resource": f"{SERVICE}/api/v2/workspaces/{workspace_id}",
                **more,
            }
        )
        caller = Caller(b"", new_id("req"))
        return await self.tenant.deployment.services.deliveries.exchange(caller, form)

    async def deliver(
        self, issued: IssuedToken, *only: str, workspace: str = "network"
    ) -> tuple[Info, list[Delivered]]:
        """What the job gets with it."""
        deployment = self.tenant.deployment
        caller = Caller(hash_token(issued.token), new_id("req"))
        draft = DeliveryDraft(self.key.public, only)
        workspace_id = self.tenant.workspaces[workspace]
        delivery = await deployment.services.deliveries.deliver(caller, workspace_id, draft)
        server = deployment.keys.server
        assert server is not None
        seed = server.keys[server.active]
        signer = Ed25519PrivateKey.from_private_bytes(seed).public_key()
        return received(delivery, self.key, [signer])


def draft(**more: Any) -> RunnerDraft:
    """A runner of the issuer's jobs, in `network`."""
    at = time.time_ns() // 1000 + DAY
    return RunnerDraft(
        **{"name": "ci", "issuer": ISSUER, "conditions": {"sub": "job"}, "expires_at": at, **more}
    )


async def propose(tenant: Tenant, **more: Any) -> str:
    """A runner that the owner proposes."""
    more.setdefault("workspace_ids", (tenant.workspaces["network"],))
    owner = Caller(hash_token(tenant.tokens["owner"]), new_id("req"))
    runners = tenant.deployment.services.runners
    return (await runners.create(owner, tenant.organization, draft(**more))).runner.id


async def approve(tenant: Tenant, runner_id: str) -> None:
    """The operator approves what is there."""
    approvals = tenant.deployment.services.approvals
    (digest,) = [v.digest for v in await approvals.list(operator()) if v.runner.id == runner_id]
    await approvals.approve(operator(), runner_id, digest)


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


async def test_a_runner_that_nobody_approved_gets_nothing(tenant: Tenant, job: Job) -> None:
    runner_id = await propose(tenant)
    with pytest.raises(Refusal, match="invalid_target"):
        await job.exchange()
    await approve(tenant, runner_id)
    issued = await job.exchange()
    await tenant.deployment.services.approvals.revoke(operator(), runner_id)
    with pytest.raises(Refusal, match="unauthenticated"):
        await job.deliver(issued)


async def test_what_an_issuer_says_is_good_once(tenant: Tenant, job: Job) -> None:
    await approve(tenant, await propose(tenant))
    token = job_token(job.key.thumbprint)
    await job.exchange(token)
    with pytest.raises(Refusal, match="invalid_request"):
        await job.exchange(token)


async def test_a_token_delivers_its_own_workspace_to_its_own_key(tenant: Tenant, job: Job) -> None:
    ids = tenant.workspaces["network"], tenant.workspaces["payments"]
    await approve(tenant, await propose(tenant, workspace_ids=ids))
    issued = await job.exchange()
    with pytest.raises(Refusal, match="unauthenticated"):
        await job.deliver(issued, workspace="payments")
    thief = Job(tenant, JobKey.generate())
    with pytest.raises(Refusal, match="invalid_value"):
        await thief.deliver(issued)
