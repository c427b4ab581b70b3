"""Jobs over HTTP: an exchange in OAuth's words, and values sealed to the key of the job."""

import asyncio
import time

import pytest
from structlog.typing import EventDict

from teamvars import pace
from teamvars.protocol import encoded
from teamvars.protocol.bundles import JobKey
from teamvars.security.tokens import RUNNER, new_token
from teamvars.services import deliveries
from teamvars.services.deliveries import ACCESS_TOKEN_TYPE, SUBJECT_TYPES
from teamvars.storage.effective import FEW_BYTES
from tests.support.counting import counting, told
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.exchanging import CANARY, FORM_TYPE, TOKEN_URL, Job, job_in
from tests.support.jobs import SERVICE, job_token
from tests.support.patience import until
from tests.support.tenant import Tenant
from tests.web.test_variable_sets import make_set, put


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    return await job_in(tenant)


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


async def test_jobs_are_counted_by_what_became_of_them(job: Job) -> None:
    with counting() as memory:
        await job.deliver(await job.token())
        await job.exchange(runner="run-1111111111111111")
        await job.exchange(subject_token="nobody's")
        counted = told(memory, deliveries.JOBS.name)
    outcomes = ("given a token", "handed values", "unmeant", "unproven")
    assert counted == {(outcome,): 1 for outcome in outcomes}


async def test_a_job_is_handed_what_it_asks_for_alone(job: Job) -> None:
    attributes = {"public-key": encoded(job.key.public), "only": ["reg*", "none"]}
    _, values = job.opened(await job.deliver(await job.token(), attributes))
    assert values == {"region": "eu"}


@ON_SQLITE
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


async def test_whoever_has_a_clock_that_is_wrong_is_told_where_to_look(job: Job) -> None:
    ended, early = -300, 600
    now = int(time.time())
    for off in (ended, early):
        token = job_token(job.key.thumbprint, iat=now + off, exp=now + off + 60)
        said = (await job.exchange(subject_token=token)).json()
        assert said["error"] == "invalid_request"
        assert "service's log says why" in said["error_description"]
        assert "a clock" in said["error_description"]


async def test_whatever_no_runner_means_is_refused_in_the_same_bytes(job: Job) -> None:
    base = f"{SERVICE}/api/v2/workspaces/"
    other = job.tenant.workspaces["payments"]
    tenant = job.tenant
    refused = [
        await job.exchange(resource=base + "ws-1111111111111111"),
        await job.exchange(resource=base + other),
        await job.exchange(resource=base + tenant.other_workspace),
        await job.exchange(resource=f"{base}{other}/"),
        await job.exchange(resource=f"/api/v2/workspaces/{tenant.workspaces['network']}"),
        await job.exchange(subject_token=job_token(job.key.thumbprint, sub="another")),
        await job.exchange(subject_token=job_token(None), thumbprint=job.key.thumbprint),
    ]
    await tenant.deployment.services.approvals.revoke(operator(), job.runner["id"])
    refused.append(await job.exchange())
    await tenant.call("owner", "DELETE", f"/runners/{job.runner['id']}")
    refused.append(await job.exchange())
    assert {(one.status_code, one.content) for one in refused} == {(400, refused[0].content)}
    assert refused[0].json()["error"] == "invalid_target"


@ON_SQLITE
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
    job: Job, log_lines: list[EventDict]
) -> None:
    token = job_token(job.key.thumbprint, sub="somebody-else")
    before = await job.tenant.deployment.services.audit.heads()
    await job.exchange(subject_token=token)
    await job.exchange(subject_token=job_token(job.key.thumbprint, sub="somebody-else"))
    await job.exchange(subject_token=job_token(job.key.thumbprint, exp=1))
    first, second, third = [line["why"] for line in log_lines]
    runner_id = job.runner["id"]
    assert (third, log_lines[2]["errors"]) == (
        {"reason": "expired, or no exp"},
        ("invalid_request",),
    )
    assert first["unmet"] == {runner_id: ["sub"]}
    assert (first["refused"], second["refused"]) == ({runner_id: 1}, {runner_id: 2})
    assert token not in str(log_lines)
    assert "somebody-else" not in str(log_lines)
    assert await job.tenant.deployment.services.audit.heads() == before


async def test_of_a_flood_of_refused_exchanges_the_log_has_as_much_as_of_other_requests(
    job: Job, log_lines: list[EventDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = job.tenant.deployment.services.deliveries
    monkeypatch.setattr("teamvars.services.deliveries._TOLD_A_MINUTE", 2)
    now = service._clock() + 3600 * 1_000_000
    own, other = job.tenant.workspaces["network"], job.tenant.other_workspace
    for later, workspace in ((0, own), (0, own), (0, own), (0, other), (61, own)):
        monkeypatch.setattr(service, "_clock", lambda at=now + later * 1_000_000: at)
        issued = now // 1_000_000
        token = job_token(job.key.thumbprint, sub="another", iat=issued, exp=issued + 300)
        resource = f"{SERVICE}/api/v2/workspaces/{workspace}"
        refused = await job.exchange(subject_token=token, resource=resource)
        assert refused.json()["error"] == "invalid_target"
    *first, flooded, elsewhere, last = [line["why"] for line in log_lines]
    assert elsewhere["workspace"] == job.tenant.other_workspace
    assert flooded == {"reason": "no runner means this job"}
    counts = [why["refused"][job.runner["id"]] for why in [*first, last]]
    assert counts == [1, 2, 4]


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


@ON_SQLITE
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


async def test_a_job_learns_what_is_there_that_its_runner_does_not_hand_out(
    tenant: Tenant,
) -> None:
    job = await job_in(tenant, include_sensitive=False)
    _, values = job.opened(await job.deliver(await job.token()))
    assert values == {"region": "eu", "password": None}
    _, some = job.opened(
        await job.deliver(
            await job.token(), {"public-key": encoded(job.key.public), "only": ["region"]}
        )
    )
    assert some == {"region": "eu"}
    events = f"/runners/{job.runner['id']}/audit-events"
    for one in (await tenant.call("owner", "GET", events)).json()["data"]:
        assert [each["key"] for each in one["attributes"]["details"]["variables"]] == ["region"]


async def test_what_sets_make_huge_is_looked_up_for_one_job_at_a_time(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = job.tenant
    services = tenant.deployment.services
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "more", "x" * FEW_BYTES)  # more than the store chooses from
    size = len("eu" + CANARY) + FEW_BYTES
    monkeypatch.setattr(deliveries, "_HUGE_BYTES", size - 1)
    turn = services.deliveries._one_huge
    async with turn:
        asked = asyncio.create_task(job.deliver(await job.token()))
        await until(lambda: waits_for(turn))
        monkeypatch.setattr(deliveries, "_HUGE_BYTES", size)
        assert (await job.deliver(await job.token())).status_code == 200
        assert not asked.done()
    _, values = job.opened(await asked)
    assert values["more"] == "x" * FEW_BYTES


async def test_a_slow_host_names_and_delivers_what_many_sets_bring(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives way to others wherever that is possible, and fails nowhere."""
    made = await make_set(job.tenant, "shared", "network")
    await put(job.tenant, made, "more", "x" * FEW_BYTES)
    monkeypatch.setattr(pace, "STEP_SECONDS", 0.0)
    token = await job.token()
    path = f"/workspaces/{job.tenant.workspaces['network']}/actions/deliver"
    headers = {"Authorization": f"Bearer {token}"}
    named = await job.tenant.call(None, "GET", path, headers=headers)
    assert named.status_code == 200
    assert (await job.deliver(token)).status_code == 200


async def waits_for(lock: asyncio.Lock) -> bool:
    return bool(lock._waiters)
