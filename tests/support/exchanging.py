"""A job that an approved runner means, as it asks for a token and for values over HTTP."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.metrics.exposition import PATH as METRICS
from teamvars.protocol import decoded, encoded
from teamvars.protocol.bundles import Delivery, Info, JobKey, received
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from teamvars.web.http.routes import Route
from tests.support.deployment import operator
from tests.support.jobs import SERVICE, job_token, runner_document
from tests.support.tenant import Tenant, variable_document

CANARY = "hunter2-canary"
TOKEN_URL = "http://teamvars.test/oauth/token"
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass
class Job:
    """A job with a key of its own that an approved runner means, in `network`."""

    tenant: Tenant
    key: JobKey
    runner: dict[str, Any]

    def form(self, **more: object) -> dict[str, object]:
        """What it asks for a token with; None: without that parameter."""
        said = {
            "grant_type": GRANT_TYPE,
            "subject_token": more.get("subject_token") or job_token(self.key.thumbprint),
            "subject_token_type": SUBJECT_TYPES[0],
            "resource": f"{SERVICE}/api/v2/workspaces/{self.tenant.workspaces['network']}",
            **more,
        }
        return {name: value for name, value in said.items() if value is not None}

    async def exchange(self, **more: object) -> httpx.Response:
        return await self.post(urlencode(self.form(**more)))

    async def post(self, body: str | bytes, content_type: str = FORM_TYPE) -> httpx.Response:
        headers = {"content-type": content_type}
        return await self.tenant.deployment.client.post(TOKEN_URL, content=body, headers=headers)

    async def token(self) -> str:
        answer = await self.exchange()
        assert answer.status_code == 200, answer.text
        text: str = answer.json()["access_token"]
        return text

    async def deliver(
        self,
        token: str,
        attributes: object = None,
        workspace: str = "network",
        **headers: str,
    ) -> httpx.Response:
        said = {"public-key": encoded(self.key.public)} if attributes is None else attributes
        path = f"/workspaces/{self.tenant.workspaces[workspace]}/actions/deliver"
        document = {"data": {"type": "deliveries", "attributes": said}}
        sent = {"Authorization": f"Bearer {token}", **headers}
        return await self.tenant.call(None, "POST", path, document, sent)

    def opened(self, answer: httpx.Response) -> tuple[Info, dict[str, str | None]]:
        """What the answer holds."""
        assert answer.status_code == 200, answer.text
        sent = answer.json()["data"]["attributes"]
        delivery = Delivery(*(decoded(sent[name]) for name in ("info", "bundle", "signature")))
        server = self.tenant.deployment.keys.server
        assert server is not None
        signer = Ed25519PrivateKey.from_private_bytes(server.keys[server.active]).public_key()
        info, values = received(delivery, self.key, [signer])
        return info, {each.key: each.value for each in values}


async def job_in(tenant: Tenant, **attributes: Any) -> Job:
    """A job in `network`, which has the readable `region` and the sensitive `password`; the
    attributes are those of its runner.
    """
    await tenant.make_variable("region", value="eu")
    secret = variable_document(key="password", value=CANARY, sensitive=True, category="env")
    await tenant.call("owner", "POST", tenant.vars_path(), secret)
    return Job(tenant, JobKey.generate(), await runner_in(tenant, **attributes))


async def runner_in(
    tenant: Tenant, workspace: str = "network", **attributes: Any
) -> dict[str, Any]:
    """An approved runner of a workspace."""
    document = runner_document(tenant.workspaces[workspace], **attributes)
    path = f"/organizations/{tenant.organization}/runners"
    runner: dict[str, Any] = (await tenant.call("owner", "POST", path, document)).json()["data"]
    digest = runner["attributes"]["digest"]
    await tenant.deployment.services.approvals.approve(operator(), runner["id"], digest)
    return runner


async def caller_of(tenant: Tenant, route: Route) -> tuple[Tenant, str]:
    """Who may call a route that reads: an owner, a site admin, or a job that has just got its
    token; and the tenant that knows them.
    """
    if not route.for_jobs:
        return tenant, "admin" if route.template == METRICS else "owner"
    job = Job(tenant, JobKey.generate(), await runner_in(tenant))
    return replace(tenant, tokens={**tenant.tokens, "job": await job.token()}), "job"
