"""A service that jobs are handed secrets by, with a proxy before it that terminates TLS."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import httpx

from teamvars.domain.ids import new_id
from teamvars.protocol import bundles, decoded, encoded
from teamvars.protocol.bundles import Delivered, Delivery, Info, JobKey, received
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.jobs import ISSUER, ISSUERS, job_token, runner_document
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import JSON_API, Tenant, build_tenant
from tests.support.terminating_proxy import TerminatingProxy

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class JobService:
    """A served store, and a proxy, which is what its jobs know as the service.

    `runner` is for jobs of the issuer, bound and unbound, `machine` for the machine of `desk`; both
    are approved for `network` and `payments`.
    """

    served: ServedDeployment
    tenant: Tenant
    proxy: TerminatingProxy
    pinned: str
    desk: Desk
    runner: str
    machine: str

    def workspace(self, name: str = "network") -> str:
        """The id of a workspace."""
        return self.tenant.workspaces[name]

    async def put(self, secrets: Mapping[str, str], workspace: str = "network") -> None:
        """Makes or changes sensitive variables by key, for the environment if it has capitals."""
        items = [
            {"key": key, "value": value, "category": "env" if key.isupper() else "tool"}
            for key, value in secrets.items()
        ]
        path = f"/workspaces/{self.workspace(workspace)}/actions/apply"
        data = [{"type": "vars", "attributes": {**item, "sensitive": True}} for item in items]
        answer = await self.tenant.call("owner", "POST", path, {"data": data})
        assert answer.status_code == 200, answer.text

    def form(self, key: JobKey, workspace: str = "network", **more: str) -> dict[str, str]:
        """What a job of the issuer asks for a token with."""
        audience = f"{self.proxy.url}#{key.thumbprint}"
        return {
            "grant_type": GRANT_TYPE,
            "subject_token": job_token(None, aud=audience),
            "subject_token_type": SUBJECT_TYPES[0],
            "resource": f"{self.proxy.url}/api/v2/workspaces/{self.workspace(workspace)}",
            **more,
        }

    def opened(self, content: bytes, key: JobKey) -> tuple[Info, list[Delivered]]:
        """What an answer delivers to that key. Raises Malformed."""
        said = json.loads(content)["data"]["attributes"]
        delivery = Delivery(*(decoded(said[name]) for name in Delivery.__struct_fields__))
        return received(delivery, key, bundles.read_keys(self.pinned))

    async def token(self, client: httpx.AsyncClient, key: JobKey) -> str:
        """A token for a job of the issuer with that key."""
        asked = urlencode(self.form(key)).encode()
        answer = await client.post("/oauth/token", content=asked, headers=FORM)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token

    def delivering(self, token: str, key: JobKey) -> tuple[str, dict[str, str], bytes]:
        """Path, headers and body of a request for the values of `network`."""
        document = {"type": "deliveries", "attributes": {"public-key": encoded(key.public)}}
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": JSON_API,
            "X-Request-Id": new_id("req"),
        }
        path = f"/api/v2/workspaces/{self.workspace()}/actions/deliver"
        return path, headers, json.dumps({"data": document}).encode()


@asynccontextmanager
async def open_job_service(host: Host, *options: object) -> AsyncIterator[JobService]:
    """One on the host's store, served with these options."""
    (home := host.folder / "home").mkdir()
    (keys := host.folder / "issuer.json").write_bytes(ISSUERS[0].keys or b"")
    with TerminatingProxy(host.folder) as proxy:
        host = host.having(public_url=proxy.url, issuers=f"{ISSUER}={keys}")
        async with serve_deployment(host, *options) as served:
            proxy.target = served.server.url
            yield await _prepared(served, proxy, home)


async def _prepared(served: ServedDeployment, proxy: TerminatingProxy, home: Path) -> JobService:
    tenant = await build_tenant(served)
    pinned = served.host.succeed("server-key", "show").out.strip()
    desk = Desk(home, home=home).having(
        address=proxy.url, workspace=tenant.workspaces["network"], server_key=pinned
    )
    made = desk.succeed("runner", "init", "--json", "--server-key", pinned)
    machine = made.json["public-key"]
    reached = tenant.workspaces["network"], tenant.workspaces["payments"]
    documents = (
        runner_document(*reached, allow_unbound=True),
        runner_document(*reached, issuer=None, conditions=None, public_key=machine),
    )
    ids = []
    for document in documents:
        path = f"/organizations/{tenant.organization}/runners"
        runner = (await tenant.call("owner", "POST", path, document)).json()["data"]
        named = f"{runner['id']}@{runner['attributes']['digest']}"
        served.host.succeed("approvals", "approve", named)
        ids.append(runner["id"])
    return JobService(served, tenant, proxy, pinned, desk, *ids)
