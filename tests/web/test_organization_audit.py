"""`GET /organizations/:organization/audit-events`: all changes of an organization (contract §7)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import quote

import pytest

from teamvars import wiring
from teamvars.domain.audit import AuditEntry
from teamvars.services import audit_pages
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web.organization_audit import (
    change,
    change_much,
    change_much_more,
    ids,
    make,
    page,
    path,
    resource,
    told,
    walk,
)


async def entries(tenant: Tenant) -> list[AuditEntry]:
    """The entries of every stream that the organization has or had, in order."""
    listed = await tenant.deployment.services.audit.newest(1_000_000)
    own = {one.subject_id for one in listed if said(one) == tenant.organization}
    births = ("team.create", "workspace.create")
    own |= {one.subject_id for one in listed if one.stream_id in own and one.action in births}
    return [one for one in listed if one.stream_id in own]


def said(entry: AuditEntry) -> str | None:
    """The name of the organization that the entry is the birth of."""
    details = entry.read_details() or {}
    return details["name"] if entry.action == "organization.create" else None


async def test_a_walk_has_every_change_of_every_stream_once_newest_first(tenant: Tenant) -> None:
    await change_much(tenant)
    expected = [f"{one.stream_id}.{one.sequence}" for one in await entries(tenant)]
    assert len(expected) > 20
    for size in (1, 7, 100):
        assert ids(await walk(tenant, f"page[size]={size}")) == expected


async def test_changes_at_the_same_time_are_each_shown_once_and_to_their_organization(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stopped_clock(tenant, monkeypatch) as still:
        await change_much(still)
        there = f"/organizations/{tenant.other_organization}"
        team = resource("teams", name="at-the-same-time")
        assert (await still.call("outsider", "POST", f"{there}/teams", team)).status_code == 201
    found = await walk(tenant, "page[size]=3")
    assert len({event["attributes"]["created-at"] for event in found}) < len(found) / 2
    assert ids(found) == [f"{one.stream_id}.{one.sequence}" for one in await entries(tenant)]
    beside = (await tenant.call("outsider", "GET", f"{there}/audit-events")).json()["data"]
    assert beside[0]["attributes"]["details"]["name"] == "at-the-same-time"
    assert not set(ids(found)) & set(ids(beside))


@asynccontextmanager
async def stopped_clock(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Tenant]:
    """The same tenant in the same store, served where it is always now."""
    deployment, now = tenant.deployment, wiring.clock()
    monkeypatch.setattr(deployment.services.database, "now", lambda: now)
    config, keys = deployment.config, deployment.keys
    services = wiring.services(deployment.services.database, keys, config.quota)
    application = Application(
        wiring.routes(services), services.sessions, ClientAddresses(config.trusted_proxies)
    )
    async with InProcess(application) as client:
        yield replace(tenant, deployment=replace(deployment, services=services, client=client))
    await services.code.close()


async def test_a_change_says_where_it_was_and_who_made_it(tenant: Tenant) -> None:
    made = await tenant.make_variable("told", value="s3cr3t-value")
    document = await page(tenant, "page[size]=1")
    (event,) = document["data"]
    shown = await tenant.call(
        "owner", "GET", f"/workspaces/{tenant.workspaces['network']}/audit-events"
    )
    (alike,) = shown.json()["data"]
    stream = {"type": "workspaces", "id": tenant.workspaces["network"]}
    alike["attributes"] |= {"stream": stream, "stream-name": "network"}
    assert event == alike
    assert event["attributes"]["subject"]["id"] == made["id"]
    assert event["attributes"]["actor-name"].startswith("owner-")
    assert "s3cr3t-value" not in str(document)
    assert "127.0.0.1" not in str(document)


async def test_teams_and_what_is_gone_are_named_by_what_they_are(tenant: Tenant) -> None:
    gone = await make(tenant, "workspaces", "gone")
    await change(tenant, "POST", f"{gone}/actions/lock")
    await change(tenant, "DELETE", gone)
    document = linkage_document(tenant.users["plain"])
    await change(tenant, "POST", tenant.linkage_path(), document)
    joined, deleted, locked = (await page(tenant, "page[size]=3"))["data"]
    found = [
        (e["attributes"]["stream"]["type"], e["attributes"]["stream-name"])
        for e in (joined, deleted, locked)
    ]
    assert found == [
        ("teams", "crew"),
        ("organizations", tenant.organization),
        ("workspaces", None),
    ]


async def test_a_part_is_of_keys_and_not_of_what_else_was_renamed(tenant: Tenant) -> None:
    for type_ in ("teams", "workspaces"):
        path = await make(tenant, type_, "sought")
        await change(tenant, "PATCH", path, resource(type_, name="other"))
    await change(tenant, "POST", tenant.vars_path(), variable_document(key="SOUGHT"))
    assert told(await walk(tenant, "q=sought")) == ["variable.create SOUGHT"]


async def test_a_walk_goes_on_as_if_nothing_had_come_meanwhile(tenant: Tenant) -> None:
    await change_much(tenant)
    expected = ids(await walk(tenant))
    first = await page(tenant, "page[size]=5")
    await change_much_more(tenant)
    assert ids(await walk(tenant, first=first)) == expected
    again = await tenant.call("owner", "GET", first["links"]["first"].removeprefix("/api/v2"))
    assert ids(again.json()["data"]) != expected[:5]


async def test_a_request_looks_at_so_many_changes_and_its_next_link_goes_on(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    sought = variable_document(key="sought")
    made = await tenant.call("writer", "POST", tenant.vars_path(), sought)
    assert made.status_code == 201
    quiet = await make(tenant, "workspaces", "quiet")
    await change(tenant, "POST", f"{quiet}/vars", variable_document(key="there"))
    await change_much(tenant)
    await change_much_more(tenant)
    everything = len(await walk(tenant))
    monkeypatch.setattr(audit_pages, "_PIECE", 2)
    monkeypatch.setattr(audit_pages, "MOST_SEARCHED", 6)
    for asked, found in {
        "filter[key]=sought": ["variable.create sought"],
        "q=OUGHT": ["variable.create sought"],
        "q=ther&filter[workspace]=quiet": ["variable.create there"],
        f"filter[actor]={tenant.users['writer']}": ["variable.create sought"],
        "filter[workspace]=quiet": ["variable.create there", "workspace.create"],
    }.items():
        first = await page(tenant, asked)
        assert (first["data"], everything > 6) == ([], True)
        assert told(await walk(tenant, first=first)) == found
        statements.clear()
        await page(tenant, asked)
        assert len(statements) <= 4 + 3 * 3  # names are looked for in as many pieces
        assert ids(await walk(tenant, f"{asked}&page[size]=1")) == ids(await walk(tenant, asked))


async def test_a_page_that_is_full_has_no_further_changes_looked_at(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    await change_much(tenant)
    monkeypatch.setattr(audit_pages, "_PIECE", 2)
    monkeypatch.setattr(audit_pages, "MOST_SEARCHED", 6)
    costs = []
    for size in (1, 3, 5, 7):  # and whether one more follows is seen as well
        statements.clear()
        asked = f"filter[actor]={tenant.users['owner']}&page[size]={size}"
        assert len((await page(tenant, asked))["data"]) == min(size, 6)
        costs.append(len(statements))
    of_a_piece = costs[1] - costs[0]
    assert costs == [costs[0], costs[0] + of_a_piece, *[costs[0] + 2 * of_a_piece] * 2]
    assert of_a_piece > 0


async def test_a_page_ends_where_the_details_are_too_many(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change_much(tenant)
    expected = ids(await walk(tenant))
    monkeypatch.setattr(audit_pages, "_MOST_DETAILS", 100)
    assert len((await page(tenant))["data"]) < 5
    assert ids(await walk(tenant)) == expected


NO_TIMES = (
    "yesterday",
    "2030-01-01",
    "2030-01-01T00:00:00",
    "2030-02-30T00:00:00Z",
    "2030-01-01 00:00:00Z",
    "2030-01-01T24:00:01Z",
    "2030-01-01T00:00:00+25:00",
    "20300101T000000Z",
    "1893456000",
    "\u0662030-01-01T00:00:00Z",
)


@ON_SQLITE
@pytest.mark.parametrize("text", NO_TIMES)
async def test_what_is_no_time_is_refused_by_the_name_of_its_parameter(
    tenant: Tenant, text: str
) -> None:
    answer = await tenant.call("owner", "GET", path(tenant, f"filter[since]={quote(text)}"))
    assert faults(answer) == [("400", "invalid_parameter", None)]
    assert answer.json()["errors"][0]["source"] == {"parameter": "filter[since]"}


async def test_a_cursor_that_is_none_is_refused_by_the_name_of_its_parameter(
    tenant: Tenant,
) -> None:
    answer = await tenant.call("owner", "GET", path(tenant, "page[after]=next"))
    assert answer.json()["errors"][0]["source"] == {"parameter": "page[after]"}


async def test_times_are_any_that_rfc_3339_has(tenant: Tenant) -> None:
    for text in (
        "0001-01-01T00:00:00Z",
        "9999-12-31t23:59:59.123456789z",
        "2020-01-01T00:00:00-12:30",
    ):
        await page(tenant, f"filter[since]={quote(text)}")
