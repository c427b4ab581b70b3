"""Teams' access to workspaces over HTTP: contract §6, on both engines."""

from typing import Any

import pytest

from tests.support.tenant import Tenant, faults, variable_document

PATH = "/team-workspaces"
ACCESS = "/data/attributes/access"
VARIABLES = "/data/attributes/variables"
TEAM = "/data/relationships/team/data/id"
WORKSPACE = "/data/relationships/workspace/data/id"


def access_document(team_id: str, workspace_id: str, **attributes: object) -> dict[str, Any]:
    """A document that gives a team access."""
    data = {
        "type": "team-workspaces",
        "attributes": attributes,
        "relationships": {
            "team": {"data": {"type": "teams", "id": team_id}},
            "workspace": {"data": {"type": "workspaces", "id": workspace_id}},
        },
    }
    return {"data": data}


def changes(**attributes: object) -> dict[str, Any]:
    return {"data": {"type": "team-workspaces", "attributes": attributes}}


async def make(tenant: Tenant, team: str = "crew", **attributes: object) -> dict[str, Any]:
    """An access to `payments`, made by the owner; returns its resource object."""
    document = access_document(tenant.teams[team], tenant.workspaces["payments"], **attributes)
    answer = await tenant.call("owner", "POST", PATH, document)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def rights(tenant: Tenant, who: str = "writer") -> tuple[int, int]:
    """What reading and writing the variables of `payments` is answered with."""
    path = tenant.vars_path("payments")
    read = await tenant.call(who, "GET", path)
    write = await tenant.call(who, "POST", path, variable_document())
    return read.status_code, write.status_code


@pytest.mark.parametrize(
    ("attributes", "level", "expected"),
    [
        ({"access": "read"}, "read", (200, 403)),
        ({"access": "plan", "runs": "plan"}, "read", (200, 403)),
        ({"access": "write"}, "write", (200, 201)),
        ({"access": "admin"}, "write", (200, 201)),
        ({"access": "custom"}, "none", (404, 404)),
        ({"access": "custom", "variables": "read"}, "read", (200, 403)),
        ({"access": "custom", "variables": "write"}, "write", (200, 201)),
        ({"access": "read", "variables": "write"}, "read", (200, 403)),
    ],
)
async def test_an_access_does_to_variables_what_its_name_says(
    tenant: Tenant, attributes: dict[str, object], level: str, expected: tuple[int, int]
) -> None:
    made = await make(tenant, "writers", **attributes)
    assert made["attributes"]["access"] == attributes["access"]
    assert made["attributes"]["variables"] == level
    assert await rights(tenant) == expected
    assert await tenant.deployment.audit_holds()


async def test_a_changed_access_counts_by_the_next_request(tenant: Tenant) -> None:
    path = f"{PATH}/{(await make(tenant, 'writers', access='read'))['id']}"
    assert (await tenant.call("owner", "PATCH", path, changes(access="admin"))).is_success
    assert await rights(tenant) == (200, 201)
    kept = await tenant.call("owner", "PATCH", path, changes(access="custom"))
    assert kept.json()["data"]["attributes"]["variables"] == "write"
    await tenant.call("owner", "PATCH", path, changes(variables="none"))
    assert await rights(tenant) == (404, 404)
    assert await tenant.deployment.audit_holds()


async def test_an_access_is_deleted_once(tenant: Tenant) -> None:
    path = f"{PATH}/{(await make(tenant, 'writers', access='write'))['id']}"
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
    assert await rights(tenant) == (404, 404)
    assert (await tenant.call("owner", "DELETE", path)).status_code == 404
    assert (await tenant.call("owner", "PATCH", path, changes())).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_a_team_has_one_access_to_a_workspace(tenant: Tenant) -> None:
    await make(tenant, access="read")
    document = access_document(tenant.teams["crew"], tenant.workspaces["payments"], access="write")
    answer = await tenant.call("owner", "POST", PATH, document)
    assert faults(answer) == [("422", "grant_taken", TEAM)]


async def test_owners_need_no_access(tenant: Tenant) -> None:
    document = access_document(tenant.teams["owners"], tenant.workspaces["payments"], access="x")
    answer = await tenant.call("owner", "POST", PATH, document)
    assert faults(answer) == [
        ("422", "invalid_value", ACCESS),
        ("422", "owners_is_permanent", TEAM),
    ]


async def test_team_and_workspace_are_of_one_organization(tenant: Tenant) -> None:
    crew, payments = tenant.teams["crew"], tenant.workspaces["payments"]
    for team, workspace, where in (
        (crew, tenant.other_workspace, WORKSPACE),
        (tenant.other_team, payments, TEAM),
        (crew, "ws-1111111111111111", WORKSPACE),
        ("team-1111111111111111", payments, TEAM),
    ):
        document = access_document(team, workspace, access="read")
        answer = await tenant.call("owner", "POST", PATH, document)
        assert (answer.status_code, faults(answer)) == (404, [("404", "not_found", where)])


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, [("422", "missing_member", "/data")]),
        (
            {"data": {"type": "teams", "attributes": {"variables": True}, "relationships": {}}},
            [
                ("409", "type_conflict", "/data/type"),
                ("422", "wrong_type", VARIABLES),
                ("422", "missing_member", ACCESS),
                ("422", "missing_member", "/data/relationships/team"),
                ("422", "missing_member", "/data/relationships/workspace"),
            ],
        ),
    ],
)
async def test_every_fault_of_a_new_access_is_named_at_once(
    tenant: Tenant, document: object, expected: list[object]
) -> None:
    assert faults(await tenant.call("owner", "POST", PATH, document)) == expected


async def test_every_fault_of_a_change_is_named_at_once(tenant: Tenant) -> None:
    path = f"{PATH}/{(await make(tenant, access='read'))['id']}"
    document = changes(access="all", variables="some")
    document["data"]["id"] = "tws-1111111111111111"
    answer = await tenant.call("owner", "PATCH", path, document)
    assert sorted(faults(answer), key=str) == [
        ("409", "id_conflict", "/data/id"),
        ("422", "invalid_value", ACCESS),
        ("422", "invalid_value", VARIABLES),
    ]


async def test_accesses_are_listed_by_workspace_to_whoever_reads_its_variables(
    tenant: Tenant,
) -> None:
    path = f"{PATH}?filter[workspace][id]={tenant.workspaces['network']}"
    secret = access_document(tenant.teams["secret"], tenant.workspaces["network"], access="read")
    await tenant.call("owner", "POST", PATH, secret)
    counts = {}
    for who in ("owner", "hidden", "reader"):
        document = (await tenant.call(who, "GET", path)).json()
        counts[who] = (len(document["data"]), document["meta"]["pagination"]["total-count"])
    assert counts == {"owner": (3, 3), "hidden": (3, 3), "reader": (2, 2)}
    answer = await tenant.call("owner", "GET", PATH)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["source"] == {"parameter": "filter[workspace][id]"}


async def test_accesses_of_a_team_are_listed_as_far_as_one_reads_the_workspaces(
    tenant: Tenant,
) -> None:
    await make(tenant, "writers", access="read")
    path = f"/teams/{tenant.teams['writers']}/team-workspaces?include=workspace"
    seen = {}
    for who in ("owner", "writer", "reader", "plain", "writers-token"):
        document = (await tenant.call(who, "GET", path)).json()
        names = [one["attributes"]["name"] for one in document["included"]]
        seen[who] = (names, document["meta"]["pagination"]["total-count"])
    assert seen == {
        "owner": (["network", "payments"], 2),
        "writer": (["network", "payments"], 2),
        "reader": (["network"], 1),
        "plain": ([], 0),
        "writers-token": (["network", "payments"], 2),
    }
    (second,) = (await tenant.call("owner", "GET", f"{path}&page[size]=1&page[number]=2")).json()[
        "data"
    ]
    assert second["attributes"]["access"] == "read"
    secret = f"/teams/{tenant.teams['secret']}/team-workspaces"
    assert (await tenant.call("reader", "GET", secret)).status_code == 404
    assert (await tenant.call("outsider", "GET", path)).status_code == 404


async def test_names_of_teams_and_workspaces_come_with_accesses(tenant: Tenant) -> None:
    path = f"{PATH}?filter[workspace][id]={tenant.workspaces['network']}&include=team,workspace"
    document = (await tenant.call("reader", "GET", path)).json()
    names = {(one["type"], one["attributes"]["name"]) for one in document["included"]}
    assert names == {("teams", "writers"), ("teams", "readers"), ("workspaces", "network")}
    assert {one["id"] for one in document["included"]} == {
        item[kind]["data"]["id"]
        for item in (one["relationships"] for one in document["data"])
        for kind in ("team", "workspace")
    }
    refused = await tenant.call("reader", "GET", path.replace("=team", "=users"))
    assert refused.status_code == 400


async def test_the_access_of_a_secret_team_is_there_for_who_sees_the_team(tenant: Tenant) -> None:
    document = access_document(tenant.teams["secret"], tenant.workspaces["network"], access="read")
    made = (await tenant.call("owner", "POST", PATH, document)).json()["data"]
    for who, status in {"owner": 200, "hidden": 200, "reader": 404, "writer": 404}.items():
        answer = await tenant.call(who, "GET", f"{PATH}/{made['id']}")
        assert answer.status_code == status, who
