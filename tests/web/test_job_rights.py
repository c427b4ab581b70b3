"""What the token of a job is good for, at every route there is: a new one needs a verdict here."""

import re

import pytest

from teamvars.security.tokens import RUNNER, new_token
from tests.support.deployment import operator
from tests.support.exchanging import CANARY, Job, job_in
from tests.support.ids import filled, ids_of
from tests.support.tenant import Tenant
from tests.web.test_authorization import all_routes

WORKSPACE = "/api/v2/workspaces/{workspace_id}"
GOOD_FOR = {("POST", f"{WORKSPACE}/actions/deliver"), ("GET", f"{WORKSPACE}/actions/deliver")}
"""To deliver the workspace, and to name what is in it."""
OF_ANYBODY = {
    ("GET", "/"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/docs/deprecations"),
    ("GET", "/api/v2/ping"),
    ("GET", "/.well-known/terraform.json"),
    ("GET", "/invitations"),
    ("POST", "/api/v2/invitations/actions/show"),
    ("POST", "/api/v2/invitations/actions/accept"),
    ("POST", "/oauth/token"),
    ("POST", "/oauth/device_authorization"),
    ("POST", "/oauth/revoke"),
}
"""Where nobody asks whose token it is."""


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    return await job_in(tenant)


async def names(job: Job, token: str, workspace: str = "network") -> tuple[int, object]:
    """The status, and what is told of the variables; of a refusal, what it says."""
    path = f"/workspaces/{job.tenant.workspaces[workspace]}/actions/deliver"
    answer = await job.tenant.call(None, "GET", path, None, {"Authorization": f"Bearer {token}"})
    assert CANARY not in answer.text
    if answer.status_code != 200:
        (error,) = answer.json()["errors"]
        return answer.status_code, {**error, "id": None}
    return 200, {
        one["attributes"].pop("key"): (one["type"], one["attributes"])
        for one in answer.json()["data"]
    }


async def test_a_token_of_a_job_is_like_no_token_at_every_other_route(job: Job) -> None:
    token, unknown = await job.token(), new_token(RUNNER)
    routes = set(all_routes())
    assert routes >= GOOD_FOR | OF_ANYBODY
    ids = {**await ids_of(job.tenant), "runner_id": job.runner["id"], "token_id": "at-1"}
    before = await job.tenant.deployment.services.audit.heads()
    for method, template in sorted(routes - OF_ANYBODY - GOOD_FOR):
        ids = {name: ids.get(name, "1") for name in re.findall(r"{(\w+)}", template)} | ids
        path = filled(template, ids).removeprefix("/api/v2")
        if not template.startswith("/api/v2"):
            path = f"http://teamvars.test{path}"
        answers = [
            await job.tenant.call(
                None,
                method,
                path,
                {} if method != "GET" else None,
                {"Authorization": f"Bearer {one}"},
            )
            for one in (token, unknown)
        ]
        told = [(one.status_code, {**one.json()["errors"][0], "id": None}) for one in answers]
        assert told[0] == told[1], f"{method} {template}"
        assert told[0][0] == 401, f"{method} {template}"
    assert await job.tenant.deployment.services.audit.heads() == before
    job.opened(await job.deliver(token))


async def test_a_job_reads_the_names_of_its_workspace_and_no_value(job: Job) -> None:
    status, told = await names(job, await job.token())
    assert status == 200
    variables = {
        one["attributes"]["key"]: one["attributes"] for one in await job.tenant.variables()
    }
    assert told == {
        key: (
            "deliverables",
            {
                "category": said["category"],
                "sensitive": said["sensitive"],
                "version-id": said["version-id"],
                "handed-out": True,
            },
        )
        for key, said in variables.items()
    }


async def test_a_job_is_told_which_names_it_is_not_handed(tenant: Tenant) -> None:
    job = await job_in(tenant, include_sensitive=False)
    _, told = await names(job, await job.token())
    assert isinstance(told, dict)
    handed = {key: said["handed-out"] for key, (_, said) in told.items()}
    assert handed == {"region": True, "password": False}


async def test_whatever_is_wrong_with_a_token_reads_no_names_and_looks_alike(job: Job) -> None:
    token, gone = await job.token(), await job.token()
    told = [
        await names(job, new_token(RUNNER)),
        await names(job, "tvr_nonsense"),
        await names(job, token, "payments"),
        await names(job, job.tenant.tokens["owner"]),
    ]
    await job.tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    told.append(await names(job, gone))
    await job.tenant.call("owner", "DELETE", f"/runners/{job.runner['id']}")
    told.append(await names(job, gone))
    assert all(one == told[0] for one in told)
    assert told[0][0] == 401


async def test_names_are_read_without_a_receipt(job: Job) -> None:
    before = await job.tenant.deployment.services.audit.heads()
    assert (await names(job, await job.token()))[0] == 200
    assert await job.tenant.deployment.services.audit.heads() == before
