"""Jobs over HTTP: an exchange in OAuth's words, and values sealed to the key of the job."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from structlog.testing import capture_logs

from teamvars.protocol import decoded, encoded
from teamvars.protocol.bundles import Delivery, Info, received
from teamvars.protocol.job_keys import JobKey
from teamvars.security.tokens import RUNNER, new_token
from teamvars.services.deliveries import ACCESS_TOKEN_TYPE, GRANT_TYPE, SUBJECT_TYPES
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

    def opened(self, answer: httpx.Response) -> tuple[Info, dict[str, str]]:
        """What the answer holds."""
        assert answer.status_code == 200, answer.text
        sent = answer.json()["data"]["attributes"]
        delivery = Delivery(*(decoded(sent[name]) for name in ("info", "bundle", "signature")))
        server = self.tenant.deployment.keys.server
        assert server is not None
        signer = Ed25519PrivateKey.from_private_bytes(server.keys[server.active]).public_key()
        info, values = received(delivery, self.key, [signer])
        return info, {each.key: each.value for each in values}


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    await tenant.make_variable("region", value="eu")
    secret = variable_document(key="password", value=CANARY, sensitive=True, category="env")
    await tenant.call("owner", "POST", tenant.vars_path(), secret)
    document = runner_document(tenant.workspaces["network"])
    path = f"/organizations/{tenant.organization}/runners"
    runner = (await tenant.call("owner", "POST", path, document)).json()["data"]
    digest = runner["attributes"]["digest"]
    await tenant.deployment.services.approvals.approve(operator(), runner["id"], digest)
    return Job(tenant, JobKey.generate(), runner)


async def test_a_job_is_handed_the_values_sealed_to_its_key(job: Job) -> None:
    answer = await job.exchange()
    said = answer.json()
    assert said.pop("access_token").startswith("tvr_")
    assert 0 < said.pop("expires_in") <= 900
    assert said == {
        "issued_token_type": ACCESS_TOKEN_TYPE,
        "token_type": "Bearer",
        "runner": job.runner["id"],
        "version": 1,
    }
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    handed = await job.deliver(await job.token())
    assert handed.headers["cache-control"] == "private, no-store"
    info, values = job.opened(handed)
    assert values == {"region": "eu", "password": CANARY}
    assert info.workspace == job.tenant.workspaces["network"]
    assert CANARY not in handed.text
    assert await job.tenant.deployment.audit_holds()


async def test_a_job_is_handed_what_it_asks_for_alone(job: Job) -> None:
    attributes = {"public-key": encoded(job.key.public), "only": ["reg*", "none"]}
    _, values = job.opened(await job.deliver(await job.token(), attributes))
    assert values == {"region": "eu"}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"subject_token_type": "urn:x"}, "invalid_request"),
        ({"subject_token": "a.b.c"}, "invalid_request"),
        ({"subject_token": "x" * 20_000}, "invalid_request"),
        ({"resource": None}, "invalid_request"),
        ({"scope": "all"}, "invalid_scope"),
        ({"actor_token": "a"}, "invalid_request"),
        ({"requested_token_type": SUBJECT_TYPES[0]}, "invalid_request"),
        ({"audience": "others"}, "invalid_target"),
        ({"runner": "run-1111111111111111"}, "invalid_target"),
        ({"resource": "https://elsewhere.example/api/v2/workspaces/ws-x"}, "invalid_target"),
    ],
)
async def test_an_exchange_is_refused_in_the_words_of_oauth(
    job: Job, more: dict[str, object], error: str
) -> None:
    answer = await job.exchange(**more)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    said = answer.json()
    assert said.keys() == {"error", "error_description"}
    assert said["error"] == error
    assert all(" " <= letter <= "~" and letter not in '"\\' for letter in said["error_description"])


async def test_whatever_no_runner_means_is_refused_in_the_same_bytes(job: Job) -> None:
    base = f"{SERVICE}/api/v2/workspaces/"
    other = job.tenant.workspaces["payments"]
    tenant = job.tenant
    refused = [
        await job.exchange(resource=base + "ws-1111111111111111"),
        await job.exchange(resource=base + other),
        await job.exchange(resource=base + tenant.other_workspace),
        await job.exchange(resource=f"{base}{other}/"),
        await job.exchange(subject_token=job_token(job.key.thumbprint, sub="another")),
        await job.exchange(subject_token=job_token(None), thumbprint=job.key.thumbprint),
    ]
    await tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    refused.append(await job.exchange())
    await tenant.call("owner", "DELETE", f"/runners/{job.runner['id']}")
    refused.append(await job.exchange())
    assert {(one.status_code, one.content) for one in refused} == {(400, refused[0].content)}
    assert refused[0].json()["error"] == "invalid_target"


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("grant_type=a&grant_type=a", FORM_TYPE, 400),
        ("grant_type", FORM_TYPE, 400),
        ("grant_type=%ff", FORM_TYPE, 400),
        ("grant_type=a%00", FORM_TYPE, 400),
        (b"grant_type=\xff", FORM_TYPE, 400),
        ("", FORM_TYPE, 400),
        ("&".join(f"p{n}=1" for n in range(40)), FORM_TYPE, 400),
        ("grant_type=" + "x" * 70_000, FORM_TYPE, 413),
        ("{}", "application/json", 415),
        ("a=b", FORM_TYPE + "; charset=utf-16", 415),
    ],
)
async def test_what_is_no_form_is_refused(
    job: Job, body: str | bytes, content_type: str, status: int
) -> None:
    answer = await job.post(body, content_type)
    assert (answer.status_code, answer.json()["error"]) == (status, "invalid_request")


async def test_another_method_is_refused_in_the_words_of_oauth_as_well(job: Job) -> None:
    answer = await job.tenant.deployment.client.get(TOKEN_URL)
    assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")
    assert answer.json()["error"] == "invalid_request"


async def test_what_an_issuer_says_is_good_once(job: Job) -> None:
    token = job_token(job.key.thumbprint)
    assert (await job.exchange(subject_token=token)).status_code == 200
    again = await job.exchange(subject_token=token)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_request")


async def test_the_log_says_which_claims_no_runner_accepts_and_nothing_of_the_token(
    job: Job,
) -> None:
    token = job_token(job.key.thumbprint, sub="somebody-else")
    before = await job.tenant.deployment.services.audit.heads()
    with capture_logs() as lines:
        await job.exchange(subject_token=token)
        await job.exchange(subject_token=job_token(job.key.thumbprint, sub="somebody-else"))
    first, second = [line for line in lines if line["event"] == "no runner means this job"]
    runner_id = job.runner["id"]
    assert first["unmet"] == {runner_id: ["sub"]}
    assert (first["refused"], second["refused"]) == ({runner_id: 1}, {runner_id: 2})
    assert token not in str(lines)
    assert "somebody-else" not in str(lines)
    assert await job.tenant.deployment.services.audit.heads() == before


async def test_whatever_is_wrong_with_a_token_is_one_401(job: Job) -> None:
    token = await job.token()
    revoked = await job.token()
    answers = [
        await job.deliver("tvr_nonsense"),
        await job.deliver(new_token(RUNNER)),
        await job.deliver(token, workspace="payments"),
        await job.deliver(job.tenant.tokens["owner"]),
        await job.deliver(new_token(RUNNER), attributes={"only": 3}),
        await job.deliver(new_token(RUNNER), **{"Idempotency-Key": "a"}),
        await job.deliver(new_token(RUNNER), **{"Content-Type": "text/plain"}),
    ]
    await job.tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    answers.append(await job.deliver(revoked))
    answers.append(await job.deliver(revoked, attributes={"only": 3}))
    told = [{**one.json()["errors"][0], "id": None} for one in answers]
    assert all(one == told[0] for one in told)
    assert {one.status_code for one in answers} == {401}
    assert {one.headers["www-authenticate"] for one in answers} == {"Bearer"}


async def test_a_token_of_a_job_is_good_for_nothing_else(job: Job) -> None:
    token = await job.token()
    for method, path in (
        ("GET", job.tenant.vars_path()),
        ("GET", f"/runners/{job.runner['id']}"),
        ("GET", "/account/details"),
        ("OPTIONS", f"/workspaces/{job.tenant.workspaces['network']}/actions/deliver"),
        ("POST", job.tenant.vars_path()),
    ):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await job.tenant.call(None, method, path, None, headers)).status_code == 401
    job.opened(await job.deliver(token))


@pytest.mark.parametrize(
    ("attributes", "at"),
    [
        ({}, ["public-key"]),
        ({"public-key": 3, "only": "x", "ony": []}, ["public-key", "only", "ony"]),
        ({"public-key": "not base64!", "only": [1]}, ["public-key", "only/0"]),
        ({"public-key": "AAAA"}, ["public-key"]),
        ({"public-key": encoded(JobKey.generate().public)}, ["public-key"]),
        ({"public-key": "", "only": ["x" * 257]}, ["public-key", "only"]),
    ],
)
async def test_every_fault_of_a_delivery_is_told_at_once_and_nothing_is_recorded(
    job: Job, attributes: dict[str, object], at: list[str]
) -> None:
    token = await job.token()
    before = await job.tenant.deployment.services.audit.heads()
    answer = await job.deliver(token, attributes)
    found = [one["source"]["pointer"] for one in answer.json()["errors"]]
    assert answer.status_code == 422
    assert sorted(found) == sorted(f"/data/attributes/{name}" for name in at)
    assert await job.tenant.deployment.services.audit.heads() == before


async def test_a_delivery_takes_no_idempotency_key(job: Job) -> None:
    answer = await job.deliver(await job.token(), **{"Idempotency-Key": "again"})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["code"]) == (400, "invalid_header")
    assert error["source"] == {"header": "Idempotency-Key"}


async def test_a_delivery_takes_a_short_body_alone(job: Job) -> None:
    attributes = {"public-key": "A" * 20_000}
    assert (await job.deliver(await job.token(), attributes)).status_code == 413


async def receipts(job: Job) -> list[dict[str, Any]]:
    path = f"/organizations/{job.tenant.organization}/deliveries"
    listed: list[dict[str, Any]] = (await job.tenant.call("owner", "GET", path)).json()["data"]
    return listed


async def test_owners_see_which_runner_was_handed_what_and_what_became_of_it(job: Job) -> None:
    assert await receipts(job) == []
    variables = {one["id"]: one["attributes"]["version-id"] for one in await job.tenant.variables()}
    await job.deliver(await job.token())
    await job.deliver(await job.token())
    (one,) = await receipts(job)
    said, network = one["attributes"], job.tenant.workspaces["network"]
    assert said.pop("delivered-at")
    assert said == {
        "run-link": None,
        "runner-name": job.runner["attributes"]["name"],
        "runner-status": "approved",
        "workspace-name": "network",
        "versions": variables,
    }
    named = {name: found["data"]["id"] for name, found in one["relationships"].items()}
    assert named == {"runner": job.runner["id"], "workspace": network}
    await job.tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    assert [one["attributes"]["runner-status"] for one in await receipts(job)] == ["revoked"]
    await job.tenant.call("owner", "DELETE", f"/runners/{job.runner['id']}")
    (gone,) = await receipts(job)
    assert (gone["attributes"]["runner-status"], gone["attributes"]["runner-name"]) == (
        "deleted",
        None,
    )


async def test_every_delivery_is_in_the_trail_of_the_runner(job: Job) -> None:
    await job.deliver(await job.token())
    await job.deliver(await job.token())
    path = f"/runners/{job.runner['id']}/audit-events"
    found = (await job.tenant.call("owner", "GET", path)).json()["data"]
    assert [one["attributes"]["action"] for one in found] == ["variable.deliver"] * 2
    told = found[0]["attributes"]
    assert told["actor"] == {"id": job.runner["id"], "type": "runner"}
    assert {one["key"] for one in told["details"]["variables"]} == {"region", "password"}
    assert CANARY not in str(found)
