"""`GET …/audit-events`: who sees which changes, newest first and paged (contract §7)."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

from typing import Any

import httpx
import pytest

from teamvars import wiring
from teamvars.domain.audit import AuditEntry, AuditFilter
from teamvars.storage.database import Transaction
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant, faults, linkage_document, variable_document


async def events(tenant: Tenant, who: str, path: str, query: str = "") -> httpx.Response:
    return await tenant.call(who, "GET", f"{path}/audit-events{query}")


def of_workspace(tenant: Tenant) -> str:
    return f"/workspaces/{tenant.workspaces['network']}"


def of_team(tenant: Tenant, team: str = "crew") -> str:
    return f"/teams/{tenant.teams[team]}"


async def test_a_change_of_a_variable_is_shown_with_who_did_it_and_never_with_a_value(
    tenant: Tenant,
) -> None:
    made = await tenant.make_variable("told", value="s3cr3t-value")
    answer = await events(tenant, "reader", of_workspace(tenant))
    assert answer.status_code == 200
    assert "s3cr3t-value" not in answer.text
    (event,) = answer.json()["data"]
    assert event["type"] == "audit-events"
    attributes = event["attributes"]
    assert attributes["action"] == "variable.create"
    assert attributes["actor"] == {"type": "user", "id": tenant.users["owner"]}
    assert attributes["subject"] == {"type": "vars", "id": made["id"]}
    assert attributes["sequence"] == 1
    assert attributes["details"]["key"] == "told"


async def test_pages_are_numbered_from_the_newest_and_say_how_many_there_are(
    tenant: Tenant,
) -> None:
    for number in range(5):
        await tenant.make_variable(f"key-{number}")
    found: list[Any] = []
    for page in (1, 2, 3):
        query = f"?page[number]={page}&page[size]=2"
        document = (await events(tenant, "owner", of_workspace(tenant), query)).json()
        assert document["meta"]["pagination"] == {
            "current-page": page,
            "page-size": 2,
            "prev-page": page - 1 or None,
            "next-page": page + 1 if page < 3 else None,
            "total-pages": 3,
            "total-count": 5,
        }
        found += [one["attributes"]["details"]["key"] for one in document["data"]]
    assert found == [f"key-{number}" for number in (4, 3, 2, 1, 0)]
    beyond = await events(tenant, "owner", of_workspace(tenant), "?page[number]=9")
    assert beyond.json()["data"] == []


@ON_SQLITE
@pytest.mark.parametrize("number", ["-1", "x", "1.5", "²", "9" * 30 + "x"])
async def test_what_is_no_page_is_refused_by_the_name_of_its_parameter(
    tenant: Tenant, number: str
) -> None:
    for name in ("page[number]", "page[size]"):
        answer = await events(tenant, "owner", of_workspace(tenant), f"?{name}={number}")
        assert answer.status_code == 400
        assert faults(answer) == [("400", "invalid_parameter", None)]
        assert answer.json()["errors"][0]["source"] == {"parameter": name}


WORKSPACE_READERS = {
    "owner": 200,
    "organization-token": 200,
    "owners-token": 200,
    "writer": 200,
    "writers-token": 200,
    "reader": 200,
    "manager": 404,
    "plain": 404,
    "invited_writer": 404,
    "outsider": 404,
    "admin": 404,
    None: 401,
}


@pytest.mark.parametrize("who", WORKSPACE_READERS)
async def test_whoever_reads_the_variables_sees_the_changes_of_a_workspace(
    tenant: Tenant, who: str | None
) -> None:
    answer = await tenant.call(who, "GET", f"{of_workspace(tenant)}/audit-events")
    assert answer.status_code == WORKSPACE_READERS[who]


TEAM_READERS = {
    "owner": 200,
    "organization-token": 200,
    "owners-token": 200,
    "manager": 200,
    "writer": 403,
    "plain": 403,
    "writers-token": 403,
    "invited": 404,
    "outsider": 404,
    None: 401,
}


@pytest.mark.parametrize("who", TEAM_READERS)
async def test_owners_and_who_manages_membership_see_the_changes_of_a_team(
    tenant: Tenant, who: str | None
) -> None:
    answer = await tenant.call(who, "GET", f"{of_team(tenant)}/audit-events")
    assert answer.status_code == TEAM_READERS[who]


async def test_a_secret_team_s_changes_are_hidden_like_the_team(tenant: Tenant) -> None:
    expected = {"owner": 200, "hidden": 403, "manager": 404, "plain": 404}
    for who, status in expected.items():
        answer = await events(tenant, who, of_team(tenant, "secret"))
        assert answer.status_code == status, who


async def test_a_team_s_changes_name_the_memberships(tenant: Tenant) -> None:
    document = linkage_document(tenant.users["plain"])
    await tenant.call("manager", "POST", tenant.linkage_path(), document)
    newest = (await events(tenant, "manager", of_team(tenant))).json()["data"][0]["attributes"]
    assert newest["action"] == "member.add"
    assert newest["actor"]["id"] == tenant.users["manager"]
    assert newest["details"] == {"organization-memberships": [tenant.memberships["plain"]]}


@pytest.mark.parametrize(
    "edit",
    [
        "details = '['",
        "details = '[]'",
        "details = '{\"a\": NaN}'",
        "at = 9223372036854775807",
        "at = -9223372036854775807",
    ],
)
async def test_a_touched_entry_hides_no_other(tenant: Tenant, edit: str) -> None:
    for number in range(3):
        await tenant.make_variable(f"key-{number}")
    workspace_id = tenant.workspaces["network"]
    where = f"WHERE stream_id = '{workspace_id}' AND sequence = 2"

    async def touch(tx: Transaction) -> tuple[object, ...]:
        (before,) = await tx.fetch(f"SELECT at, details FROM audit_entries {where}")
        await tx.execute(f"UPDATE audit_entries SET {edit} {where}")
        return tuple(before)

    async def mend(tx: Transaction) -> None:
        await tx.execute(f"UPDATE audit_entries SET at = $1, details = $2 {where}", *before)

    before = await tenant.deployment.services.database.write(touch)
    answer = await events(tenant, "owner", of_workspace(tenant))
    await tenant.deployment.services.database.write(mend)
    assert answer.status_code == 200
    shown = answer.json()["data"]
    assert [one["attributes"]["sequence"] for one in shown] == [3, 2, 1]
    assert isinstance(shown[1]["attributes"]["details"], dict)
    assert shown[0]["attributes"]["details"]["key"] == "key-2"


async def created_from(tenant: Tenant, *, audit_addresses: bool = True) -> tuple[AuditEntry, str]:
    """A variable made through a proxy: its entry, and what the owner is shown of that."""
    services, config = tenant.deployment.services, tenant.deployment.config
    application = Application(
        wiring.routes(services),
        services.sessions,
        ClientAddresses(config.trusted_proxies, are_audited=audit_addresses),
    )
    headers = {
        "Authorization": f"Bearer {tenant.tokens['owner']}",
        "Content-Type": JSON_API,
        "X-Forwarded-For": "198.51.100.1, 203.0.113.9",
    }
    async with InProcess(application, peer="192.0.2.7", headers=headers) as client:
        answer = await client.post(tenant.vars_path(), json=variable_document())
        assert answer.status_code == 201, answer.text
        shown = await client.get(f"{of_workspace(tenant)}/audit-events")
    wanted = AuditFilter(stream_id=tenant.workspaces["network"])
    (entry,) = await services.audit.newest(1, wanted)
    assert entry.action == "variable.create"
    return entry, shown.text


async def test_an_entry_has_the_address_that_the_log_shows_and_nobody_sees_it_over_http(
    tenant: Tenant,
) -> None:
    entry, shown = await created_from(tenant)
    assert entry.address == "203.0.113.9"
    assert entry.subject_id in shown
    assert "address" not in shown
    assert "203.0.113.9" not in shown


async def test_addresses_are_left_out_where_an_operator_says_so(tenant: Tenant) -> None:
    entry, _ = await created_from(tenant, audit_addresses=False)
    assert entry.address is None
    assert await tenant.deployment.audit_holds()


async def test_every_change_over_http_has_an_address_and_an_operator_s_has_none(
    tenant: Tenant,
) -> None:
    document = linkage_document(tenant.users["plain"])
    await tenant.call("manager", "POST", tenant.linkage_path(), document)
    await tenant.call(
        "owner",
        "PATCH",
        of_team(tenant),
        {"data": {"type": "teams", "attributes": {"visibility": "secret"}}},
    )
    entries = await tenant.deployment.services.audit.newest(
        10, AuditFilter(stream_id=tenant.teams["crew"])
    )
    by_action = {entry.action: entry.address for entry in entries}
    assert by_action["team.update"] == by_action["member.add"] == "127.0.0.1"
    (made,) = await tenant.deployment.services.audit.newest(
        1, AuditFilter(subject_ids=[tenant.teams["crew"]], action="team.create")
    )
    assert (made.actor_kind, made.address) == ("operator", None)


@ON_SQLITE  # which takes bytes into a column of text
async def test_a_token_whose_description_is_no_text_hides_no_event(tenant: Tenant) -> None:
    await tenant.make_variable("told")
    path = f"/users/{tenant.users['writer']}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {"description": "x"}}}
    made = (await tenant.call("writer", "POST", path, document)).json()["data"]
    bearer = {"Authorization": f"Bearer {made['attributes']['token']}"}
    variables = tenant.vars_path()
    assert (
        await tenant.call(None, "POST", variables, variable_document(key="by"), bearer)
    ).status_code == 201
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute("UPDATE tokens SET description = $1 WHERE id = $2", b"", made["id"])
    )
    answer = await events(tenant, "reader", of_workspace(tenant))
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["data"]) == 2
