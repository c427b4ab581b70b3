"""Jobs that ask for the values of a tenant's workspaces, and runners that mean them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.domain.access import Caller
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.domain.ids import new_id
from teamvars.domain.runners import RunnerDraft
from teamvars.protocol.bundles import Delivered, Info, JobKey, received
from teamvars.security.tokens import hash_token
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES, ExchangeForm, IssuedToken
from tests.support.deployment import Deployment, operator
from tests.support.jobs import ISSUER, SERVICE, job_token
from tests.support.tenant import Tenant

DAY = 24 * 3600 * 1_000_000


@dataclass
class Job:
    """A job that has a key of its own, and asks for the variables of `network`."""

    tenant: Tenant
    key: JobKey
    workspace: str = "network"
    node: Deployment | None = None

    @classmethod
    def new(cls, tenant: Tenant, node: Deployment | None = None) -> "Job":
        """One with a key that nobody else has."""
        return cls(tenant, JobKey.generate(), node=node)

    def on(self, node: Deployment) -> "Job":
        """The same job, which asks another node."""
        return replace(self, node=node)

    @property
    def deployment(self) -> Deployment:
        """The node that it asks."""
        return self.node or self.tenant.deployment

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
        caller, deliveries = Caller(b"", new_id("req")), self.deployment.services.deliveries
        return await deliveries.exchange(caller, await deliveries.proven(form, _at_once))

    async def deliver(
        self, issued: IssuedToken, *only: str, workspace: str = "network"
    ) -> tuple[Info, list[Delivered]]:
        """What the job gets with it."""
        deployment = self.deployment
        caller = Caller(hash_token(issued.token), new_id("req"))
        draft = DeliveryDraft(self.key.public, only)
        workspace_id = self.tenant.workspaces[workspace]
        delivery = await deployment.services.deliveries.deliver(caller, workspace_id, draft)
        server = deployment.keys.server
        assert server is not None
        seed = server.keys[server.active]
        signer = Ed25519PrivateKey.from_private_bytes(seed).public_key()
        return received(delivery, self.key, [signer])


async def _at_once(_: str, work: Callable[[], None]) -> None:
    """The check of a signature, without a queue."""
    work()


def draft(**more: Any) -> RunnerDraft:
    """A runner of the issuer's jobs, in `network`."""
    at = time.time_ns() // 1000 + DAY
    return RunnerDraft(
        **{"name": "ci", "issuer": ISSUER, "conditions": {"sub": "job"}, "expires_at": at, **more}
    )


async def propose(tenant: Tenant, **more: Any) -> str:
    """A runner that the owner proposes."""
    more.setdefault("workspace_ids", (tenant.workspaces["network"],))
    runners = tenant.deployment.services.runners
    return (await runners.create(_owner(tenant), tenant.organization, draft(**more))).runner.id


async def approve(tenant: Tenant, runner_id: str) -> None:
    """The operator approves what is there."""
    services = tenant.deployment.services
    there = await services.runners.read(_owner(tenant), runner_id)
    await services.approvals.approve(operator(), runner_id, there.digest)


def _owner(tenant: Tenant) -> Caller:
    return Caller(hash_token(tenant.tokens["owner"]), new_id("req"))
