"""Rate limits: what a bucket holds, whose it is, and what every answer says of it."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from teamvars import wiring
from teamvars.security.tokens import new_token
from teamvars.web.http import admission
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.admission import BURST_SECONDS, Allowance, RateLimits
from teamvars.web.http.app import Application
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant, faults, variable_document

SECOND = 1_000_000_000
LIMIT = 30
BURST = BURST_SECONDS * LIMIT
ALICE, BOB = ("user", "alice"), ("user", "bob")
FIELDS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 123_456_789_012_345

    def __call__(self) -> int:
        return self.now


def taken(limits: RateLimits, requests: int) -> int:
    return sum(limits.take(ALICE) for _ in range(requests))


def test_a_full_bucket_is_a_burst_and_fills_at_the_rate() -> None:
    limits = RateLimits(LIMIT, clock := Clock())
    assert limits.look(ALICE) == Allowance(BURST, 0)
    assert taken(limits, BURST + 5) == BURST
    clock.now += SECOND
    assert taken(limits, BURST) == LIMIT
    clock.now += 1000 * SECOND
    assert taken(limits, BURST + 5) == BURST


@pytest.mark.parametrize("per_second", [30, 37, 1_000, 999_983])
def test_who_waits_as_long_as_it_says_is_let_in_for_ever_without_drift(per_second: int) -> None:
    limits = RateLimits(per_second, clock := Clock())
    begun = clock.now
    taken(limits, BURST_SECONDS * per_second)
    for _ in range(10_000):
        wait = limits.look(ALICE).reset
        clock.now += wait - 1
        assert not limits.take(ALICE)
        clock.now += 1
        assert limits.take(ALICE)
    assert abs((clock.now - begun) - 10_000 * SECOND / per_second) <= 10_000


def test_buckets_are_each_principals_own_and_the_least_used_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "REMEMBERED_BUCKETS", 2)
    limits = RateLimits(LIMIT, Clock())
    assert taken(limits, BURST) == BURST
    assert limits.take(BOB)
    assert not limits.take(ALICE)
    limits.take(("user", "carol"))
    assert limits.look(BOB).remaining == BURST - 1
    assert limits.look(ALICE).remaining == BURST


@pytest.fixture
async def limited(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """The deployment of the tenant with a limit, where no bucket fills while the test runs."""
    monkeypatch.setattr(admission, "RateLimits", lambda limit: RateLimits(limit, Clock()))
    deployment = tenant.deployment
    routes = wiring.routes(deployment.services)
    addresses = ClientAddresses(deployment.config.trusted_proxies)
    application = Application(
        routes, deployment.services.sessions, addresses, frozenset(), rate_limit=LIMIT
    )
    async with InProcess(application, peer="192.0.2.1") as client:
        yield client


def as_caller(tenant: Tenant, who: str, address: str = "198.51.100.7") -> dict[str, str]:
    return {"Authorization": f"Bearer {tenant.tokens[who]}", "X-Forwarded-For": address}


async def until_limited(
    client: httpx.AsyncClient, path: str, headers: dict[str, str]
) -> list[httpx.Response]:
    """Answers up to the first 429."""
    answers: list[httpx.Response] = []
    while not answers or answers[-1].status_code != 429:
        answers.append(await client.get(path, headers=headers))
        assert len(answers) < 100 * BURST
    return answers


async def test_who_asks_too_often_is_told_when_to_ask_again_and_nobody_else_is(
    limited: httpx.AsyncClient, tenant: Tenant
) -> None:
    path = tenant.vars_path()
    *served, refused = await until_limited(limited, path, as_caller(tenant, "reader"))
    assert len(served) >= BURST
    assert {answer.status_code for answer in served} == {200}
    assert faults(refused) == [("429", "rate_limited", None)]
    assert refused.headers["Retry-After"] == "1"
    assert refused.headers["X-RateLimit-Limit"] == str(LIMIT)
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert 0 < float(refused.headers["X-RateLimit-Reset"]) <= 1 / LIMIT + 0.001
    other = await limited.get(path, headers=as_caller(tenant, "owner"))
    assert other.status_code == 200
    assert int(other.headers["X-RateLimit-Remaining"]) > 0
    assert other.headers["X-RateLimit-Reset"] == "0.000"


async def test_the_tokens_of_a_principal_share_its_bucket(
    limited: httpx.AsyncClient, tenant: Tenant
) -> None:
    path = f"/users/{tenant.users['reader']}/authentication-tokens"
    body = {"data": {"type": "authentication-tokens", "attributes": {"description": "another"}}}
    made = await tenant.call("reader", "POST", path, body)
    assert made.status_code == 201, made.text
    second = {"Authorization": f"Bearer {made.json()['data']['attributes']['token']}"}
    assert (await limited.get(tenant.vars_path(), headers=second)).status_code == 200
    await until_limited(limited, tenant.vars_path(), as_caller(tenant, "reader"))
    answer = await limited.get(tenant.vars_path(), headers=second)
    # It fills while a busy host lets us wait; one of its own would be nearly full.
    assert int(answer.headers["X-RateLimit-Remaining"]) < BURST // 2


def requests(tenant: Tenant) -> Iterator[tuple[str, str, str | None, int]]:
    """A request for each kind of answer: its method, path, caller and status."""
    path = tenant.vars_path()
    yield "GET", path, "reader", 200
    yield "HEAD", path, "reader", 200
    yield "OPTIONS", path, "reader", 204
    yield "POST", path, "owner", 400
    yield "POST", path, None, 401
    yield "GET", path, "outsider", 404
    yield "GET", "/nowhere", "reader", 404
    yield "PUT", path, "reader", 405
    yield "GET", "http://teamvars.test/healthz", None, 200
    yield "GET", "http://teamvars.test/openapi.json", None, 200
    yield "GET", "/ping", None, 204


async def test_every_answer_says_what_the_limit_is(
    limited: httpx.AsyncClient, tenant: Tenant
) -> None:
    for method, path, who, status in requests(tenant):
        headers = {} if who is None else as_caller(tenant, who)
        answer = await limited.request(method, path, headers=headers)
        assert (method, path, answer.status_code) == (method, path, status)
        limit, remaining, reset = (answer.headers[name] for name in FIELDS)
        assert (limit, remaining.isdecimal(), float(reset) >= 0) == (str(LIMIT), True, True)


async def test_an_unmodified_list_says_so_too(limited: httpx.AsyncClient, tenant: Tenant) -> None:
    headers = as_caller(tenant, "reader")
    first = await limited.get(tenant.vars_path(), headers=headers)
    again = {**headers, "If-None-Match": first.headers["ETag"]}
    answer = await limited.get(tenant.vars_path(), headers=again)
    assert answer.status_code == 304
    assert answer.headers["X-RateLimit-Limit"] == str(LIMIT)


async def test_strangers_share_the_bucket_of_their_address_and_take_from_no_other(
    limited: httpx.AsyncClient, tenant: Tenant
) -> None:
    path = tenant.vars_path()
    await until_limited(limited, path, {"X-Forwarded-For": "203.0.113.9"})
    forged = {"Authorization": f"Bearer {new_token('user')}", "X-Forwarded-For": "203.0.113.9"}
    assert (await limited.get(path, headers=forged)).status_code == 429
    known = as_caller(tenant, "reader", "203.0.113.9")
    assert (await limited.get(path, headers=known)).status_code == 200
    elsewhere = {"X-Forwarded-For": "203.0.113.10"}
    assert (await limited.get(path, headers=elsewhere)).status_code == 401


async def test_health_is_told_to_whoever_asks_however_often(limited: httpx.AsyncClient) -> None:
    for _ in range(2 * BURST):
        answer = await limited.get("http://teamvars.test/healthz")
        assert answer.status_code == 200


async def test_a_refused_change_is_not_made(limited: httpx.AsyncClient, tenant: Tenant) -> None:
    headers = as_caller(tenant, "owner")
    await until_limited(limited, tenant.vars_path(), headers)
    headers["Content-Type"] = JSON_API
    made: set[str] = set()
    refused = 0
    while not refused:
        document = variable_document(key=(key := f"key_{len(made)}"))
        answer = await limited.post(tenant.vars_path(), json=document, headers=headers)
        refused += answer.status_code == 429
        made |= {key} if answer.status_code == 201 else set()
        assert len(made) < 100 * BURST
    assert {one["attributes"]["key"] for one in await tenant.variables()} == made


async def test_without_a_limit_no_answer_speaks_of_one(tenant: Tenant) -> None:
    answer = await tenant.call("reader", "GET", tenant.vars_path())
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]
