"""How long tokens live at most, as their organization says it: new ones, and those there are."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from teamvars.storage.database import Body
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults
from tests.web.test_tokens import (
    described,
    ending,
    made,
    organization_path,
    status,
    team_path,
    touch,
    user_path,
)

DAY_MS = 86_400_000
TWO_YEARS = 730 * DAY_MS
LIVES_24_MONTHS = timedelta(days=730), timedelta(days=731)


def path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/token-ttl-policies"


def limits(**kinds: object) -> dict[str, Any]:
    said = [{"token-type": kind, "max-ttl-ms": most} for kind, most in kinds.items()]
    attributes = {"token-ttl-policies": said}
    return {"data": {"type": "organization-token-ttl-policies", "attributes": attributes}}


async def limit(tenant: Tenant, **kinds: object) -> dict[str, int]:
    answer = await tenant.call("owner", "PATCH", path(tenant), limits(**kinds))
    assert answer.status_code == 200, answer.text
    listed = await tenant.call("owner", "GET", path(tenant))
    assert listed.json() == answer.json()
    found = [one["attributes"] for one in answer.json()["data"]]
    return {one["token-type"]: one["max-ttl-ms"] for one in found}


async def enable(tenant: Tenant, *, on: bool = True) -> None:
    said = {"data": {"type": "organizations", "attributes": {"max-ttl-enabled": on}}}
    answer = await tenant.call("owner", "PATCH", f"/organizations/{tenant.organization}", said)
    assert answer.json()["data"]["attributes"]["max-ttl-enabled"] is on


def lives(token: dict[str, Any]) -> timedelta:
    begins, ends = (
        datetime.fromisoformat(token["attributes"][name]) for name in ("created-at", "expired-at")
    )
    return ends - begins


async def test_new_tokens_live_no_longer_than_the_limit_while_it_counts(tenant: Tenant) -> None:
    assert await limit(tenant, team=DAY_MS) == {"team": DAY_MS}
    assert lives(await made(tenant, "owner", team_path(tenant))) in LIVES_24_MONTHS
    await enable(tenant)
    assert lives(await made(tenant, "owner", team_path(tenant))) == timedelta(days=1)
    assert lives(await made(tenant, "owner", f"{team_path(tenant)}s", described("ci"))) == (
        timedelta(days=1)
    )
    later = await tenant.call("owner", "POST", team_path(tenant), ending("2999-01-01T00:00:00Z"))
    assert faults(later) == [("422", "invalid_value", "/data/attributes/expired-at")]
    assert "The organization limits" in later.json()["errors"][0]["detail"]
    # Of the others the default counts, and a user's tokens are no organization's.
    of_organization = organization_path(tenant)
    later = await tenant.call("owner", "POST", of_organization, ending("2999-01-01T00:00:00Z"))
    assert later.status_code == 422
    assert lives(await made(tenant, "owner", of_organization)) in LIVES_24_MONTHS
    await made(tenant, "owner", user_path(tenant, "owner"), ending("2999-01-01T00:00:00Z"))
    await enable(tenant, on=False)
    await made(tenant, "owner", team_path(tenant), ending("2999-01-01T00:00:00Z"))
    assert await tenant.deployment.audit_holds()


@ON_SQLITE
async def test_a_limit_gives_no_token_another_end_that_ended_by_no_time(tenant: Tenant) -> None:
    """PostgreSQL has no words there."""
    one = await made(tenant, "owner", f"{team_path(tenant)}s", described("ci"))
    await touch(tenant, "UPDATE tokens SET expires_at = $2 WHERE id = $1", one["id"], "2030-01-01")
    await enable(tenant)
    await limit(tenant, team=DAY_MS)
    secret = one["attributes"]["token"]
    assert await status(tenant, secret, f"/organizations/{tenant.organization}") == 401


async def test_tokens_that_live_longer_are_shortened_at_once_and_grow_no_more(
    tenant: Tenant,
) -> None:
    target = f"/organizations/{tenant.organization}"
    long = await made(tenant, "owner", f"{team_path(tenant)}s", described("ci"))
    secret = long["attributes"]["token"]

    async def shown() -> timedelta:
        one = f"/authentication-tokens/{long['id']}"
        return lives((await tenant.call("owner", "GET", one)).json()["data"])

    await limit(tenant, team=30 * DAY_MS)
    assert await shown() in LIVES_24_MONTHS
    await enable(tenant)
    assert await shown() == timedelta(days=30)
    assert await limit(tenant, team=7 * DAY_MS, organization=TWO_YEARS) == {
        "organization": TWO_YEARS,
        "team": 7 * DAY_MS,
    }
    assert await shown() == timedelta(days=7)
    await limit(tenant, team=30 * DAY_MS)
    assert await shown() == timedelta(days=7)
    assert await status(tenant, secret, target) == 200
    # Those that had no end have one now.
    for who in ("owners-token", "organization-token"):
        assert (await tenant.call(who, "GET", target)).is_success
    listed = await tenant.call("owner", "GET", f"{target}/team-tokens")
    assert {lives(one) for one in listed.json()["data"]} == {timedelta(days=7)}
    assert await tenant.deployment.audit_holds()


async def test_the_trail_tells_of_each_limit_that_changes(tenant: Tenant) -> None:
    await limit(tenant, team=DAY_MS, organization=DAY_MS)
    await limit(tenant, team=DAY_MS, organization=2 * DAY_MS)
    events = await tenant.call(
        "owner", "GET", f"/organizations/{tenant.organization}/audit-events?page[size]=3"
    )
    told = [
        (one["attributes"]["action"], one["attributes"]["details"]) for one in events.json()["data"]
    ]
    assert [details["max-ttl-ms"] for _, details in told] == [2 * DAY_MS, DAY_MS, DAY_MS]
    assert {action for action, _ in told} == {"organization.limit-tokens"}


async def test_what_is_not_limited_here_has_its_default_alone(tenant: Tenant) -> None:
    others = {"user": TWO_YEARS, "audit_trails": TWO_YEARS}
    assert await limit(tenant, team=DAY_MS, **others) == {"team": DAY_MS}
    at = "/data/attributes/token-ttl-policies"
    bad = limits(user=DAY_MS, team=59_999, nobody=DAY_MS, organization=TWO_YEARS * 60)
    bad["data"]["attributes"]["token-ttl-policies"] += [
        7,
        {"token-type": "team", "max-ttl-ms": "1"},
        {"max-ttl-ms": DAY_MS},
    ]
    answer = await tenant.call("owner", "PATCH", path(tenant), bad)
    assert sorted(faults(answer), key=str) == sorted(
        [
            ("422", "not_offered", f"{at}/0/max-ttl-ms"),
            ("422", "invalid_value", f"{at}/1/max-ttl-ms"),
            ("422", "invalid_value", f"{at}/2/token-type"),
            ("422", "invalid_value", f"{at}/3/max-ttl-ms"),
            ("422", "wrong_type", f"{at}/4"),
            ("422", "wrong_type", f"{at}/5/max-ttl-ms"),
            ("422", "missing_member", f"{at}/6/token-type"),
        ],
        key=str,
    )
    assert (await tenant.call("owner", "GET", path(tenant))).json()["data"][0]["attributes"][
        "max-ttl-ms"
    ] == DAY_MS


async def test_a_kind_has_one_limit(tenant: Tenant) -> None:
    said = limits(team=DAY_MS)
    items = said["data"]["attributes"]["token-ttl-policies"]
    items += [{**items[0], "max-ttl-ms": 2 * DAY_MS}, items[0]]
    answer = await tenant.call("owner", "PATCH", path(tenant), said)
    at = "/data/attributes/token-ttl-policies/1/token-type"
    assert faults(answer) == [("422", "invalid_value", at)]
    del items[1]
    answer = await tenant.call("owner", "PATCH", path(tenant), said)
    assert [one["attributes"]["max-ttl-ms"] for one in answer.json()["data"]] == [DAY_MS]


@pytest.mark.parametrize("turn", range(5))
async def test_no_token_slips_past_a_limit_that_is_set_meanwhile(tenant: Tenant, turn: int) -> None:
    await enable(tenant)
    made_meanwhile = [
        tenant.call("owner", "POST", f"{team_path(tenant)}s", described(f"{turn}-{n}"))
        for n in range(4)
    ]
    setting = tenant.call("owner", "PATCH", path(tenant), limits(team=DAY_MS))
    answers = await asyncio.gather(*made_meanwhile[:2], setting, *made_meanwhile[2:])
    assert all(answer.is_success for answer in answers)
    listed = (await tenant.call("owner", "GET", f"{team_path(tenant)}s")).json()["data"]
    assert len(listed) == 4
    assert all(lives(one) <= timedelta(days=1) for one in listed)


async def test_many_tokens_are_shortened_beside_what_others_do(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tenant.deployment.services.database
    write_in_turns, turns = database.write_in_turns, []

    async def noted(body: Body[Any], **more: Any) -> Any:
        turns.append(body)
        return await write_in_turns(body, **more)

    monkeypatch.setattr(database, "write_in_turns", noted)
    await enable(tenant)
    assert len(turns) == 1
    await limit(tenant, team=DAY_MS)
    assert len(turns) == 2


@pytest.mark.parametrize("stored", ["{", "[]", '{"max-ttl-enabled": "no"}'])
async def test_limits_count_where_nobody_can_read_whether_they_do(
    tenant: Tenant, stored: str
) -> None:
    await limit(tenant, team=DAY_MS)

    sql = "UPDATE organizations SET settings = $1 WHERE name = $2"
    await tenant.deployment.execute(sql, stored, tenant.organization)
    assert lives(await made(tenant, "owner", team_path(tenant))) == timedelta(days=1)
    later = await tenant.call("owner", "POST", team_path(tenant), ending("2999-01-01T00:00:00Z"))
    assert faults(later) == [("422", "invalid_value", "/data/attributes/expired-at")]
    shown = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    assert shown.json()["data"]["attributes"]["max-ttl-enabled"] is True
    await enable(tenant, on=False)
    await made(tenant, "owner", team_path(tenant), ending("2999-01-01T00:00:00Z"))
