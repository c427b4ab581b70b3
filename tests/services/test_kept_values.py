"""What was handed out is handed out again from memory, where it is what there still is."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from teamvars.domain.access import Caller
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.domain.effective import Holdings
from teamvars.domain.ids import new_id
from teamvars.domain.keys import Sealed
from teamvars.domain.variables import StoredVariable
from teamvars.security.tokens import RUNNER, hash_token, new_token
from teamvars.services.deliveries import KeptValues
from tests.security.samples import VARIABLE
from tests.services.altered_trails import execute
from tests.services.calls import Calls, refusal_of
from tests.services.jobs import Job, approve, propose
from tests.services.test_data_keys import use_another
from tests.services.test_data_keys_rewrapped import rewrap
from tests.support.deployment import Deployment, operator
from tests.support.tenant import Tenant, variable_document
from tests.web.test_variable_sets import attach, changed, make_set, put

ROOM = 3 * 2 * 1024
"""Of three workspaces with one variable."""


def having(variables: int = 1, value_bytes: int = 0) -> Holdings:
    """What a workspace has."""
    stored = StoredVariable(VARIABLE, Sealed(b"sealed", 1), value_bytes)
    return Holdings(b"head", ("ws-1:00",), (stored,) * variables)


def kept_of(kept: KeptValues, *ids: str) -> list[str]:
    return [id_ for id_ in ids if kept.find(id_) is not None]


def test_the_workspace_that_was_delivered_longest_ago_goes_first() -> None:
    kept, ids = KeptValues(ROOM), ("ws-1", "ws-2", "ws-3", "ws-4")
    for id_ in ids[:3]:
        kept.keep_values(id_, having(), b"keys")
    assert kept_of(kept, "ws-1") == ["ws-1"]
    kept.keep_values("ws-4", having(), b"keys")
    assert kept_of(kept, *ids) == ["ws-1", "ws-3", "ws-4"]


def test_what_takes_more_than_there_is_room_for_is_not_kept_and_takes_nothing_from_others() -> None:
    kept = KeptValues(ROOM)
    kept.keep_values("ws-1", having(), b"keys")
    for too_large in (having(value_bytes=ROOM), having(variables=6)):
        kept.keep_values("ws-2", too_large, b"keys")
        assert kept_of(kept, "ws-1", "ws-2") == ["ws-1"]
    kept.keep_values("ws-1", having(value_bytes=ROOM), b"keys")  # in place of what it had
    assert kept_of(kept, "ws-1") == []


def test_a_workspace_that_is_kept_again_takes_its_room_once() -> None:
    kept = KeptValues(ROOM)
    for _ in range(9):
        kept.keep_values("ws-1", having(), b"keys")
    kept.keep_values("ws-2", having(), b"keys")
    assert kept_of(kept, "ws-1", "ws-2") == ["ws-1", "ws-2"]


async def ready(tenant: Tenant, node: Deployment) -> Job:
    """A job that was handed all there is by a node, which keeps it."""
    await tenant.make_variable("region")
    await tenant.make_variable("password", value="hunter2", sensitive=True, category="env")
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant, node)
    assert await handed(job) == {"region": "eu", "password": "hunter2"}
    return job


async def handed(job: Job, *only: str) -> Mapping[str, str | None]:
    _, variables = await job.deliver(await job.exchange(), *only)
    return {one.key: one.value for one in variables}


async def test_what_has_not_changed_is_not_read_again(
    tenant: Tenant, second_node: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await ready(tenant, second_node)
    monkeypatch.setattr("teamvars.storage.effective.sealed_for_job", None)  # and would fail
    assert await handed(job) == {"region": "eu", "password": "hunter2"}
    assert await handed(job, "reg*") == {"region": "eu"}


async def _value(tenant: Tenant) -> Mapping[str, str]:
    await tenant.call("owner", "POST", tenant.vars_path(), variable_document(key="more"))
    return {"more": "eu"}


async def _set(tenant: Tenant) -> Mapping[str, str]:
    await put(tenant, await make_set(tenant, "shared", "network"), "of-set")
    return {"of-set": "eu"}


async def _of_set(tenant: Tenant) -> Mapping[str, str]:
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "region", "of the set")
    assert (await changed(tenant, made, priority=True)).is_success
    return {"region": "of the set"}


async def _deleted(tenant: Tenant) -> Mapping[str, str]:
    for one in await tenant.variables():
        if one["attributes"]["key"] == "region":
            await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{one['id']}")
    return {"region": ""}


@pytest.mark.parametrize("change", [_value, _set, _of_set, _deleted])
async def test_what_has_changed_on_another_node_is_handed_out_as_it_is_now(
    tenant: Tenant,
    second_node: Deployment,
    change: Callable[[Tenant], Awaitable[Mapping[str, str]]],
) -> None:
    job = await ready(tenant, second_node)
    new = await change(tenant)
    expected = {"region": "eu", "password": "hunter2", **new}
    now = {key: value for key, value in expected.items() if value}
    assert await handed(job) == now
    assert await handed(job) == now  # which is kept in its turn


async def test_a_set_that_was_detached_is_handed_out_no_more(
    tenant: Tenant, second_node: Deployment
) -> None:
    made = await make_set(tenant, "shared", "network")
    job = await ready(tenant, second_node)
    await put(tenant, made, "of-set")
    assert "of-set" in await handed(job)
    assert (await attach(tenant, made, "network", method="DELETE")).is_success
    assert "of-set" not in await handed(job)


async def test_another_history_of_a_workspace_is_not_taken_for_the_one_that_was_handed_out(
    tenant: Tenant,
) -> None:
    """As after a failover to a server that was behind: numbers come again, heads do not."""
    job = await ready(tenant, tenant.deployment)
    id_, database = tenant.workspaces["network"], tenant.deployment.services.database
    other = "UPDATE streams SET head = link WHERE id = $1"
    await execute(database, id_, other, "DELETE FROM variables WHERE workspace_id = $1")
    assert await handed(job) == {}


async def test_a_value_that_was_sealed_anew_opens_once_its_former_key_is_gone(
    own_calls: Calls,
) -> None:
    job = await ready(own_calls.tenant, own_calls.tenant.deployment)
    await use_another(own_calls)
    assert await handed(job) == {"region": "eu", "password": "hunter2"}
    await rewrap(own_calls)
    await own_calls.services.data_keys.retire(operator(), "data-1")
    assert await handed(job) == {"region": "eu", "password": "hunter2"}


async def test_only_what_has_opened_is_kept(own_calls: Calls) -> None:
    tenant = own_calls.tenant
    made = await tenant.make_variable("region")
    await tenant.make_variable("password", value="hunter2", sensitive=True)
    await approve(tenant, await propose(tenant))
    job, database = Job.new(tenant), own_calls.services.database

    async def store(sealed: bytes) -> None:
        sql = "UPDATE variables SET sealed_value = $2 WHERE id = $1"
        await database.write(lambda tx: tx.execute(sql, made["id"], sealed))

    sql = "SELECT sealed_value FROM variables WHERE id = $1"
    row = await database.read(lambda tx: tx.fetch_one(sql, made["id"]))
    assert row is not None
    await store(b"damaged")
    assert await handed(job, "pass*") == {"password": "hunter2"}
    assert await refusal_of(job.deliver(await job.exchange())) == "damaged_value"
    await store(row[0])
    assert await handed(job) == {"region": "eu", "password": "hunter2"}


async def test_strangers_stay_out_of_the_queue_of_writers(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, services = await ready(tenant, tenant.deployment), tenant.deployment.services
    stranger = Caller(hash_token(new_token(RUNNER)), new_id("req"))
    issued = await job.exchange()

    async def unexpected(*_: Any, **__: Any) -> None:
        raise AssertionError

    draft, id_ = DeliveryDraft(job.key.public), tenant.workspaces["network"]
    with monkeypatch.context() as watched:
        watched.setattr(services.changes.database, "batch", unexpected)
        assert await refusal_of(services.deliveries.deliver(stranger, id_, draft)) == (
            "unauthenticated"
        )
        with pytest.raises(AssertionError):  # the control
            await job.deliver(issued)
