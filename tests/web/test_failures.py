"""Failed authentications: addresses that try too many tokens, and who is none of theirs."""

from collections.abc import AsyncIterator

import httpx
import pytest

from teamvars import wiring
from teamvars.security.tokens import new_token
from teamvars.web.http import admission
from teamvars.web.http.addresses import ClientAddresses, counted_address
from teamvars.web.http.admission import PERIOD_SECONDS, Failures
from teamvars.web.http.app import Application
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant, faults

MOST = 20
GUESSER = "203.0.113.9"


@pytest.fixture(autouse=True)
def as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many failures as the service forgives."""
    monkeypatch.setattr(admission, "MOST_FAILURES", MOST)


@pytest.fixture
async def client(tenant: Tenant) -> AsyncIterator[httpx.AsyncClient]:
    """An application whom nobody has asked yet, behind a proxy that it trusts."""
    deployment = tenant.deployment
    application = Application(
        wiring.routes(deployment.services),
        deployment.services.sessions,
        ClientAddresses(deployment.config.trusted_proxies),
    )
    async with InProcess(application, peer="192.0.2.1") as client:
        yield client


async def guess(client: httpx.AsyncClient, path: str, address: str = GUESSER) -> httpx.Response:
    headers = {"Authorization": f"Bearer {new_token('user')}", "X-Forwarded-For": address}
    return await client.get(path, headers=headers)


async def test_an_address_may_fail_so_often_and_is_then_told_to_wait(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    path = tenant.vars_path()
    answers = [await guess(client, path) for _ in range(MOST)]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    refused = await guess(client, path)
    assert faults(refused) == [("429", "too_many_requests", None)]
    assert 1 <= int(refused.headers["Retry-After"]) <= PERIOD_SECONDS
    assert "WWW-Authenticate" not in refused.headers
    assert (await guess(client, path, "203.0.113.10")).status_code == 401


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE", "OPTIONS"])
async def test_who_has_a_token_is_let_in_whatever_others_at_its_address_do(
    client: httpx.AsyncClient, tenant: Tenant, method: str
) -> None:
    path = tenant.vars_path()
    for _ in range(2 * MOST):
        await guess(client, path)
    token = tenant.tokens["owner"]  # which this worker has never seen
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": GUESSER}
    answer = await client.request(method, path, headers=headers)
    assert answer.status_code not in (401, 429)


async def test_what_has_not_the_form_of_a_token_is_no_failure(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"}):
        for _ in range(2 * MOST):
            headers = {**header, "X-Forwarded-For": GUESSER}
            answer = await client.get(tenant.vars_path(), headers=headers)
            assert answer.status_code == 401
    assert (await guess(client, tenant.vars_path())).status_code == 401


async def test_a_network_of_ipv6_is_one_address(client: httpx.AsyncClient, tenant: Tenant) -> None:
    path = tenant.vars_path()
    for number in range(MOST):
        answer = await guess(client, path, f"2001:db8:1:2::{number:x}")
        assert answer.status_code == 401
    assert (await guess(client, path, "2001:db8:1:2:ffff::")).status_code == 429
    assert (await guess(client, path, "2001:db8:1:3::1")).status_code == 401


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", ""),
        (None, ""),
    ],
)
def test_what_an_address_counts_as(address: str | None, counted: str) -> None:
    assert counted_address(address) == counted


def test_failures_are_forgiven_when_the_period_is_over() -> None:
    counts = Failures()
    waits = [counts.note(GUESSER, 1000.0 + number) for number in range(MOST + 2)]
    assert waits == [None] * MOST + [PERIOD_SECONDS - MOST, PERIOD_SECONDS - MOST - 1]
    assert counts.note(GUESSER, 1000.0 + PERIOD_SECONDS) is None


def test_so_many_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "REMEMBERED_ADDRESSES", 2)
    counts = Failures()
    for _ in range(MOST):
        counts.note("198.51.100.1", 0.0)
    counts.note("198.51.100.2", 0.0)
    assert counts.note("198.51.100.1", 1.0) is not None
    counts.note("198.51.100.3", 0.0)
    assert counts.note("198.51.100.1", 1.0) is None


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_nothing_of_a_guessers_body_is_read(
    client: httpx.AsyncClient, tenant: Tenant, method: str
) -> None:
    for _ in range(MOST):
        await guess(client, tenant.vars_path())

    async def body() -> AsyncIterator[bytes]:
        pytest.fail("It is read.")
        yield b""

    headers = {
        "Authorization": f"Bearer {new_token('user')}",
        "X-Forwarded-For": GUESSER,
        "Content-Type": JSON_API,
        "Content-Length": "1000",
    }
    path = tenant.vars_path()
    answer = await client.request(method, path, headers=headers, content=body())
    assert answer.status_code == 429
    assert answer.headers["Connection"] == "close"
