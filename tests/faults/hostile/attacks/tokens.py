"""Tokens of jobs that prove nothing, or not enough, beside a job that has a right to its values.

All come from one address. The job is never refused, whatever the others are told.
"""

import asyncio
import json
from collections.abc import Callable, Sequence

from joserfc.jwk import ECKey

from teamvars.protocol import encoded
from teamvars.security.tokens import RUNNER, new_token
from teamvars.web.http.parameters import MAX_FORM_BYTES
from tests.faults.hostile.attack import BOTH, GAVE_UP, UNKNOWN, Attack
from tests.faults.hostile.flooder import NEW_KEY, flood
from tests.faults.hostile.jobs import FORM_TYPE, UNREACHABLE, Machine, form, machine
from tests.faults.hostile.target import Target
from tests.faults.hostile.wire import CLOSED, PATIENCE, Answer, ask, repeat, together
from tests.support.jobs import job_token

CONNECTIONS = 256
SLOW_CONNECTIONS = 400
"""More than there is room for while their bodies arrive."""
LARGE_CONNECTIONS = 64
_STRANGERS_KEY = ECKey.generate_key("P-256", {"kid": "strange"})

Ask = Callable[[Target, Machine, int], bytes]
"""What the connection of a number asks, beside the job of that machine."""


def _exchange(target: Target, body: bytes, announced: int = 0) -> bytes:
    sent = target.request("POST", "/oauth/token", None, body, announced)
    return sent.replace(b"application/vnd.api+json", FORM_TYPE.encode(), 1)


def _unsigned(token: str) -> str:
    """The token with a signature that is another one each time, and none of its issuer's."""
    return f"{token.rpartition('.')[0]}.{NEW_KEY}{'A' * (86 - len(NEW_KEY))}"


def wrong_signatures(target: Target, beside: Machine, number: int) -> bytes:
    """Some in the name of the job itself, others each in another name."""
    token = beside.token()
    if number % 2:
        token = job_token(beside.job.thumbprint, sub=f"job-{number}")
    return _exchange(target, form(_unsigned(token), beside.workspace_id))


def what_is_seen_without_a_key(target: Target, beside: Machine, number: int) -> bytes:
    """Keys that nobody has, issuers that nobody trusts or reaches, other audiences, times gone."""
    thumbprint = beside.job.thumbprint
    token = (
        job_token(thumbprint, key=_STRANGERS_KEY),
        job_token(thumbprint, issuer="https://evil.example"),
        job_token(thumbprint, issuer=UNREACHABLE),
        job_token(thumbprint, aud="https://elsewhere.example"),
        job_token(thumbprint, exp=1),
        "x" * 16_000,
    )[number % 6]
    return _exchange(target, form(token, beside.workspace_id))


def jobs_of_others(target: Target, beside: Machine, number: int) -> bytes:
    """Signed by an issuer that is trusted, for a job that no runner means: each again and again."""
    token = job_token(beside.job.thumbprint, sub=f"stranger-{number}", padding="x" * 4000)
    return _exchange(target, form(token, beside.workspace_id))


def forged_deliveries(target: Target, beside: Machine, _: int) -> bytes:
    """Each with another token of the right form, and a key that is none or is the job's."""
    path = f"/api/v2/workspaces/{beside.workspace_id}/actions/deliver"
    token = new_token(RUNNER)
    return target.request("POST", path, token[: -len(NEW_KEY)] + NEW_KEY, beside.wanted())


def random_keys(target: Target, beside: Machine, number: int) -> bytes:
    """By members of the organization, whose tokens deliver nothing."""
    attributes = {"public-key": encoded(number.to_bytes(1216, "big"))}
    body = json.dumps({"data": {"type": "deliveries", "attributes": attributes}}).encode()
    path = f"/api/v2/workspaces/{beside.workspace_id}/actions/deliver"
    return target.request("POST", path, (target.owner, target.foreigner)[number % 2], body)


async def _beside_a_job(target: Target, seconds: float, ask: Ask) -> Sequence[Answer]:
    beside = await machine(target.tenant)
    requests = [ask(target, beside, number) for number in range(CONNECTIONS)]
    flooding = asyncio.create_task(flood(target.port, seconds, requests))
    worked = await beside.work(target.served, seconds)
    return [*await flooding, *worked]


async def _of_bytes(
    target: Target, seconds: float, sent: bytes, connections: int, patience: float
) -> Sequence[Answer]:
    """The same, on a connection of its own each time."""
    beside = await machine(target.tenant)

    async def once() -> Answer:
        return await ask(target.port, sent, patience=patience)

    flooding = asyncio.create_task(together(connections, lambda: repeat(seconds, once)))
    worked = await beside.work(target.served, seconds)
    return [*await flooding, *worked]


async def unfinished(target: Target, seconds: float) -> Sequence[Answer]:
    """Each sends all of a form but its end, and waits."""
    sent = _exchange(target, b"x" * (MAX_FORM_BYTES - 1), MAX_FORM_BYTES)
    return await _of_bytes(target, seconds, sent, SLOW_CONNECTIONS, seconds)


async def tokens_of_a_mebibyte(target: Target, seconds: float) -> Sequence[Answer]:
    """Announced, and sent."""
    sent = _exchange(target, form("x" * (1 << 20), target.tenant.workspaces["network"]))
    return await _of_bytes(target, seconds, sent, LARGE_CONNECTIONS, PATIENCE)


def _attack(name: str, ask: Ask, told: frozenset[int]) -> Attack:
    async def run(target: Target, seconds: float) -> Sequence[Answer]:
        return await _beside_a_job(target, seconds, ask)

    return Attack(name, run, told | {200}, frozenset({200}), flood=True, engines=BOTH)


_BAD = frozenset({400})

ATTACKS = [
    _attack("exchanges, wrong signatures", wrong_signatures, _BAD),
    _attack("exchanges, wrong in other ways", what_is_seen_without_a_key, _BAD),
    _attack("exchanges, jobs of others", jobs_of_others, _BAD),
    _attack("deliveries, forged tokens", forged_deliveries, UNKNOWN),
    _attack("deliveries, random keys, tokens of members", random_keys, UNKNOWN),
    Attack(
        f"{LARGE_CONNECTIONS} x exchanges of 1 MiB",
        tokens_of_a_mebibyte,
        frozenset({200, 413, CLOSED}),
        frozenset({200}),
        flood=True,
        engines=BOTH,
    ),
    Attack(
        f"{SLOW_CONNECTIONS} unfinished exchanges",
        unfinished,
        frozenset({200, 503, CLOSED}) | GAVE_UP,
        frozenset({200}),
        flood=True,
        engines=BOTH,
    ),
]
