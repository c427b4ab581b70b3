"""A job that means well beside an attack: a machine that exchanges a token and is handed values."""

import json
import secrets
import time
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.protocol import MACHINE, encoded
from teamvars.protocol.bundles import JobKey
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from tests.faults.hostile.wire import PATIENCE, Answer
from tests.services.jobs import approve
from tests.support.commands import Host
from tests.support.jobs import ISSUER, ISSUERS, SERVICE, runner_document
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import JSON_API, Tenant

FORM_TYPE = "application/x-www-form-urlencoded"
REFUSED_JOB = 599
"""The status of an answer that a job with a right got, whatever else it was instead of 200."""
UNREACHABLE = "https://127.0.0.1:9"
"""An issuer whose keys nobody can have."""


def for_jobs(host: Host) -> Host:
    """The host as one that exchanges tokens: of an issuer whose keys it has, and of another."""
    file = host.folder / "issuer.jwks"
    file.write_bytes(ISSUERS[0].keys or b"")
    return host.having(public_url=SERVICE, issuers=f"{ISSUER}={file},{UNREACHABLE}")


def form(token: str, workspace_id: str) -> bytes:
    """What asks for a token with that one."""
    said = {
        "grant_type": GRANT_TYPE,
        "subject_token": token,
        "subject_token_type": SUBJECT_TYPES[0],
        "resource": f"{SERVICE}/api/v2/workspaces/{workspace_id}",
    }
    return urlencode(said).encode()


@dataclass(frozen=True)
class Machine:
    """A machine with a key that an approved runner means, and the key of its jobs."""

    key: Ed25519PrivateKey
    job: JobKey
    workspace_id: str

    @property
    def issuer(self) -> str:
        """What its tokens have as `iss`."""
        return MACHINE + encoded(self.key.public_key().public_bytes_raw())

    def token(self) -> str:
        """What it says of itself."""
        now = int(time.time())
        audience = f"{SERVICE}#{self.job.thumbprint}"
        claims = {"iss": self.issuer, "aud": audience, "sub": "machine", "jti": secrets.token_hex()}
        times = {"iat": now, "exp": now + 300}
        parts = {"alg": "Ed25519"}, claims | times
        signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{encoded(self.key.sign(signed.encode()))}"

    def wanted(self) -> bytes:
        """The document that asks for the values."""
        attributes = {"public-key": encoded(self.job.public)}
        return json.dumps({"data": {"type": "deliveries", "attributes": attributes}}).encode()

    async def run(self, client: httpx.AsyncClient) -> Answer:
        """An exchange and a delivery: 200 if both are, and the seconds they took. A 503 is one that
        came too late.
        """
        begun = time.monotonic()
        body, headers = form(self.token(), self.workspace_id), {"Content-Type": FORM_TYPE}
        try:
            answer = await client.post("/oauth/token", content=body, headers=headers)
            if answer.status_code == 200:
                token = answer.json()["access_token"]
                headers = {"Content-Type": JSON_API, "Authorization": f"Bearer {token}"}
                path = f"/api/v2/workspaces/{self.workspace_id}/actions/deliver"
                answer = await client.post(path, content=self.wanted(), headers=headers)
            status = answer.status_code
        except httpx.TransportError:
            status = REFUSED_JOB
        answered = Answer(status, 0, time.monotonic() - begun)
        if status == 200 or answered.came_too_late:
            return answered
        return replace(answered, status=REFUSED_JOB)

    async def work(self, served: ServedDeployment, seconds: float) -> list[Answer]:
        """One job after another for so long, and one at least."""
        server = served.server
        async with httpx.AsyncClient(
            base_url=server.url, timeout=PATIENCE, verify=server.trust
        ) as client:
            end = time.monotonic() + seconds
            answers = [await self.run(client)]
            while time.monotonic() < end:
                answers.append(await self.run(client))
        return answers


async def machine(tenant: Tenant) -> Machine:
    """Enrols one, which is handed the variables of `network`."""
    key, workspace_id = Ed25519PrivateKey.generate(), tenant.workspaces["network"]
    public = encoded(key.public_key().public_bytes_raw())
    document = runner_document(workspace_id, issuer=None, conditions=None, public_key=public)
    path = f"/organizations/{tenant.organization}/runners"
    answer = await tenant.call("owner", "POST", path, document)
    assert answer.status_code == 201, answer.text
    await approve(tenant, answer.json()["data"]["id"])
    return Machine(key, JobKey.generate(), workspace_id)
