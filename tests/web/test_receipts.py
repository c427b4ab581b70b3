"""Receipts: which runner was handed what, when and in which run, for owners and readers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from teamvars.changes.making import Changes
from teamvars.decisions import Found
from teamvars.domain.access import Caller
from teamvars.protocol import encoded
from tests.support.deployment import operator
from tests.support.exchanging import CANARY, Job, job_in, runner_in
from tests.support.tenant import Tenant, linkage_document
from tests.web.test_variable_sets import make_set, put


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    return await job_in(tenant)


async def receipts(job: Job, query: str = "", who: str = "owner") -> list[dict[str, Any]]:
    path = f"/organizations/{job.tenant.organization}/deliveries{query}"
    return await listed(job, path, who)


async def listed(job: Job, path: str, who: str = "owner") -> list[dict[str, Any]]:
    answer = await job.tenant.call(who, "GET", path)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


async def hand_out(job: Job, *only: str) -> None:
    """A delivery of what those globs name; none: of all."""
    attributes = {"public-key": encoded(job.key.public), "only": [*only]}
    assert (await job.deliver(await job.token(), attributes)).status_code == 200


async def ids_of(job: Job) -> Mapping[str, str]:
    """The ids of the variables by their keys."""
    return {one["attributes"]["key"]: one["id"] for one in await job.tenant.variables()}


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
        "earlier": {},
        "to-rotate": [],
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


async def test_what_was_handed_out_before_is_remembered_when_a_job_takes_less(job: Job) -> None:
    ids = await ids_of(job)
    await hand_out(job)
    (first,) = await receipts(job)
    await hand_out(job, "region")
    (one,) = await receipts(job)
    said = one["attributes"]
    assert said["versions"].keys() == {ids["region"]}
    assert said["earlier"] == {
        ids["password"]: {
            "version-id": first["attributes"]["versions"][ids["password"]],
            "delivered-at": first["attributes"]["delivered-at"],
            "run-link": None,
        }
    }
    await hand_out(job, "region")
    assert (await receipts(job))[0]["attributes"]["earlier"] == said["earlier"]
    await job.tenant.call("owner", "DELETE", f"{job.tenant.vars_path()}/{ids['password']}")
    await hand_out(job, "none")
    (last,) = await receipts(job)
    assert last["attributes"]["earlier"].keys() == {ids["region"]}


@pytest.mark.parametrize("ends", ["revoked", "deleted"])
async def test_what_a_runner_had_that_is_one_no_more_is_to_be_rotated_until_it_is(
    job: Job, ends: str
) -> None:
    tenant, ids = job.tenant, await ids_of(job)
    await hand_out(job, "password")
    await hand_out(job, "region")
    if ends == "revoked":
        await tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    else:
        await tenant.call("owner", "DELETE", f"/runners/{job.runner['id']}")
    (one,) = await receipts(job)
    named = {"id": ids["password"], "key": "password", "category": "env"}
    assert (one["attributes"]["runner-status"], one["attributes"]["to-rotate"]) == (ends, [named])
    assert CANARY not in str(one)
    path = f"{tenant.vars_path()}/{ids['password']}"
    data = {"id": ids["password"], "type": "vars", "attributes": {"value": "another"}}
    assert (await tenant.call("owner", "PATCH", path, {"data": data})).status_code == 200
    assert (await receipts(job))[0]["attributes"]["to-rotate"] == []


async def test_a_secret_of_a_set_that_is_attached_no_more_is_to_be_rotated_all_the_same(
    job: Job,
) -> None:
    tenant, ids = job.tenant, await ids_of(job)
    shared = await make_set(tenant, "shared", "network")
    secret = await put(tenant, shared, "aws_key", CANARY, sensitive=True)
    await hand_out(job)
    path = f"/varsets/{shared}/relationships/workspaces"
    detached = linkage_document(tenant.workspaces["network"], type_="workspaces")
    assert (await tenant.call("owner", "DELETE", path, detached)).status_code == 204
    for _ in range(2):
        await hand_out(job)
    assert (await receipts(job))[0]["attributes"]["versions"].keys() == set(ids.values())
    await tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    (one,) = await receipts(job, f"?filter[variable]={secret['id']}")
    named = {"id": secret["id"], "key": "aws_key", "category": "tool"}
    assert one["attributes"]["to-rotate"] == [named]


async def test_receipts_are_narrowed_by_workspace_runner_and_variable(job: Job) -> None:
    ids, name = await ids_of(job), job.runner["attributes"]["name"]
    other = await runner_in(job.tenant, name="Other")
    await hand_out(job, "password")
    token = (await job.exchange(runner=other["id"])).json()["access_token"]
    attributes = {"public-key": encoded(job.key.public), "only": ["region"]}
    await job.deliver(token, attributes)
    network = job.tenant.workspaces["network"]
    runners = {
        "": ["Other", name],
        f"?filter[workspace]={network}": ["Other", name],
        "?filter[workspace]=NETWORK": ["Other", name],
        "?filter[workspace]=payments": [],
        "?filter[runner]=oTHER": ["Other"],
        f"?filter[runner]={job.runner['id']}": [name],
        f"?filter[runner]={name}&filter[workspace]=network": [name],
        "?filter[runner]=nobody": [],
        f"?filter[variable]={ids['password']}": [name],
        "?filter[variable]=": ["Other", name],
        "?filter[variable]=var-%25": [],
        "?page[size]=1": ["Other"],
        "?page[size]=1&page[number]=2": [name],
    }
    for query, names in runners.items():
        found = await receipts(job, query)
        assert [one["attributes"]["runner-name"] for one in found] == names, query
    (one,) = await receipts(job, f"?filter[variable]={ids['region']}")
    assert one["attributes"]["versions"].keys() == {ids["region"]}


async def test_readers_see_the_receipts_of_their_workspace_alone(job: Job) -> None:
    await hand_out(job)
    network, payments = (job.tenant.workspaces[name] for name in ("network", "payments"))
    for who in ("reader", "writer", "owner"):
        (one,) = await listed(job, f"/workspaces/{network}/deliveries", who)
        assert one["relationships"]["workspace"]["data"]["id"] == network
    assert await listed(job, f"/workspaces/{payments}/deliveries") == []
    path = f"/workspaces/{payments}/deliveries"
    assert (await job.tenant.call("reader", "GET", path)).status_code == 404
    refused = await job.tenant.call(
        "reader", "GET", f"/workspaces/{network}/deliveries?filter[workspace]=payments"
    )
    assert refused.status_code == 400


async def test_what_was_looked_up_before_is_never_told_after_what_was_handed_out_since(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    glance, has_looked, go_on = Changes.glance, asyncio.Event(), asyncio.Event()

    async def slow(self: Changes, caller: Caller, see: Callable[[Found], Any]) -> Any:
        seen = await glance(self, caller, see)
        if not has_looked.is_set():
            has_looked.set()
            await go_on.wait()
        return seen

    tokens = [await job.token(), await job.token()]
    monkeypatch.setattr(Changes, "glance", slow)
    first = asyncio.create_task(job.deliver(tokens[0]))
    await has_looked.wait()
    password = (await ids_of(job))["password"]
    where = f"/workspaces/{job.tenant.workspaces['network']}/vars/{password}"
    said = {"data": {"type": "vars", "id": password, "attributes": {"value": "newer"}}}
    assert (await job.tenant.call("owner", "PATCH", where, said)).status_code == 200
    assert (await job.deliver(tokens[1])).status_code == 200
    go_on.set()
    assert (await first).status_code == 200
    await job.tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    (one,) = await receipts(job)
    assert [each["key"] for each in one["attributes"]["to-rotate"]] == ["password"]
