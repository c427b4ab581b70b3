"""Whoever proves nothing makes nobody wait for long: not whom it names, nor its neighbours."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from teamvars import wiring
from teamvars.domain.errors import Refusal
from teamvars.protocol import encoded
from teamvars.security.tokens import RUNNER, new_token
from teamvars.time_limits import TimeLimits
from teamvars.web.http import admission
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.admission import Admission
from teamvars.web.http.app import Application
from tests.services.jobs import Job, approve, propose
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant

MANY = 200
NAT, ELSEWHERE = "203.0.113.9", "198.51.100.7"
LIMIT = 30
SHORT, LONG = admission.SHORT_BYTES, admission.SHORT_BYTES + 1


class Wrong(Exception):
    """What a check raises that does not hold."""


@pytest.fixture
def gate() -> Admission:
    """That of a worker whom nobody has asked yet."""
    return Admission(cast(Any, None), TimeLimits(), 0)


def request(address: str) -> Any:
    """A request from there, that has no slot."""
    return SimpleNamespace(client=address, party=None, slots=None, give_room_back=lambda: None)


async def checked(
    gate: Admission, address: str, name: str, done: list[str], body_bytes: int = LONG
) -> Any:
    """A request whose signature was checked."""
    made = request(address)
    async with gate.unproven(made, body_bytes) as check:
        await check(name, lambda: done.append(name))
    return made


async def in_order(*waits: Any) -> None:
    """Begins each, one behind the other, and waits for all."""
    await asyncio.gather(*(asyncio.create_task(one) for one in waits))


async def test_signatures_are_checked_in_turns_of_addresses(gate: Admission) -> None:
    done: list[str] = []
    flood = [checked(gate, NAT, f"name-{n}", done) for n in range(MANY)]
    await in_order(*flood, checked(gate, ELSEWHERE, "job", done))
    assert done.index("job") <= 2
    assert len(done) == MANY + 1


async def test_whoever_uses_the_name_of_a_job_makes_it_wait_no_longer(gate: Admission) -> None:
    done: list[str] = []
    flood = [checked(gate, NAT, ("job", f"name-{n}")[n % 2], done) for n in range(MANY)]
    await in_order(*flood, checked(gate, NAT, "the job itself", done))
    assert done.index("the job itself") == MANY


async def test_one_long_body_is_read_in_each_iteration(gate: Admission) -> None:
    read: list[str] = []

    async def reading() -> None:
        async with gate.unproven(request(NAT), LONG):
            read.append(NAT)

    flood = asyncio.gather(*(reading() for _ in range(MANY)))
    while not flood.done():
        before = len(read)
        await asyncio.sleep(0)
        assert len(read) <= before + 1
    assert len(read) == MANY


async def test_a_short_body_is_read_at_once(gate: Admission) -> None:
    async with gate.unproven(request(NAT), LONG):  # whose turn it is
        reading = gate.unproven(request(NAT), SHORT).__aenter__()
        with pytest.raises(StopIteration):
            reading.send(None)


@pytest.mark.parametrize("body_bytes", [SHORT, LONG])
async def test_one_signature_is_checked_in_each_iteration(gate: Admission, body_bytes: int) -> None:
    done: list[str] = []
    flood = asyncio.gather(*(checked(gate, NAT, "name", done, body_bytes) for _ in range(MANY)))
    while not flood.done():
        before = len(done)
        await asyncio.sleep(0)
        assert len(done) <= before + 1
    assert len(done) == MANY


async def test_what_holds_is_counted_as_whom_it_names_and_what_does_not_as_a_stranger(
    gate: Admission,
) -> None:
    done: list[str] = []
    one, same, other = [await checked(gate, NAT, name, done) for name in ("job", "job", "other")]
    assert one.party is same.party
    assert one.party is not other.party
    wrong = request(NAT)

    def fail() -> None:
        raise Wrong

    with pytest.raises(Wrong):
        async with gate.unproven(wrong, LONG) as check:
            await check("job", fail)
    assert wrong.party is None


async def test_so_many_may_be_unproven_at_a_time(gate: Admission) -> None:
    done: list[str] = []
    some = [checked(gate, NAT, "job", done) for _ in range(admission.UNPROVEN + 1)]
    refused = await asyncio.gather(*some, return_exceptions=True)
    assert [type(one) for one in refused if isinstance(one, Exception)] == [Refusal]
    assert len(done) == admission.UNPROVEN
    await checked(gate, NAT, "job", done)


async def test_refusals_are_told_one_in_each_iteration_and_addresses_take_turns(
    gate: Admission,
) -> None:
    told: list[str] = []

    async def refuse(address: str) -> None:
        await gate.pace(request(address))
        told.append(address)

    flood = asyncio.gather(*(refuse(NAT) for _ in range(MANY)), refuse(ELSEWHERE))
    while not flood.done():
        before = len(told)
        await asyncio.sleep(0)
        assert len(told) <= before + 1
    assert told.index(ELSEWHERE) <= 2
    assert len(told) == MANY + 1


@pytest.fixture
async def limited(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """A worker with a limit, whom nobody has asked yet; no bucket fills while the test runs."""
    still = admission.RateLimits(LIMIT, lambda: 123_456_789_012_345)
    monkeypatch.setattr(admission, "RateLimits", lambda _: still)
    deployment = tenant.deployment
    application = Application(
        wiring.routes(deployment.services),
        deployment.services.sessions,
        ClientAddresses(deployment.config.trusted_proxies),
        rate_limit=LIMIT,
    )
    async with InProcess(application, peer="192.0.2.1") as client:
        yield client


async def test_tokens_that_are_guessed_at_its_address_cost_a_job_nothing(
    limited: httpx.AsyncClient, tenant: Tenant
) -> None:
    await tenant.make_variable("region", value="eu")
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    issued = await job.exchange()  # at another worker
    path = f"/workspaces/{tenant.workspaces['network']}/actions/deliver"
    attributes = {"public-key": encoded(job.key.public)}
    document = {"data": {"type": "deliveries", "attributes": attributes}}

    async def deliver(token: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": NAT}
        headers["Content-Type"] = JSON_API
        return await limited.post(path, json=document, headers=headers)

    guessed = {(await deliver(new_token(RUNNER))).status_code for _ in range(4 * LIMIT)}
    assert guessed == {401, 429}
    answer = await deliver(issued.token)
    assert answer.status_code == 200, answer.text
    assert answer.headers["X-RateLimit-Remaining"] == str(admission.BURST_SECONDS * LIMIT - 1)
