"""Teams' access to workspaces over HTTP: contract §6, on both engines."""

from typing import Any

import pytest

from teamvars.storage.database import Transaction
from tests.support.tenant import Tenant, faults, variable_document
from tests.web.dialects import terraform

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
        ({"access": "read", "variables": "read"}, "read", (200, 403)),
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
    document = access_document(crew, tenant.other_workspace, access="some")
    assert faults(await tenant.call("owner", "POST", PATH, document)) == [
        ("422", "invalid_value", ACCESS),
        ("404", "not_found", WORKSPACE),
    ]


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


async def test_accesses_are_listed_of_all_that_the_caller_sees(tenant: Tenant) -> None:
    await make(tenant, "writers", access="read")
    secret = access_document(tenant.teams["secret"], tenant.workspaces["network"], access="read")
    await tenant.call("owner", "POST", PATH, secret)
    of_team = f"filter[team][id]={tenant.teams['writers']}"
    of_both = f"{of_team}&filter[workspace][id]={tenant.workspaces['network']}"

    async def listed(who: str, query: str = "") -> list[tuple[str, str]]:
        answer = await tenant.call(who, "GET", f"{PATH}?include=team,workspace&{query}")
        document = answer.json()
        assert document["meta"]["pagination"]["total-count"] == len(document["data"])
        names = {one["id"]: one["attributes"]["name"] for one in document["included"]}
        its = [one["relationships"] for one in document["data"]]
        return sorted(
            (names[one["team"]["data"]["id"]], names[one["workspace"]["data"]["id"]]) for one in its
        )

    visible = [("readers", "network"), ("writers", "network")]
    everything = sorted([*visible, ("secret", "network"), ("writers", "payments")])
    for who in ("owner", "owners-token", "organization-token"):
        assert await listed(who) == everything
    assert await listed("reader") == visible
    assert await listed("hidden") == [visible[0], ("secret", "network"), visible[1]]
    assert await listed("writer") == sorted([*visible, ("writers", "payments")])
    assert await listed("writers-token") == await listed("writer")
    for who in ("plain", "outsider", "invited", "admin", "other-organization-token"):
        assert await listed(who) == []
    assert await listed("owner", of_team) == [("writers", "network"), ("writers", "payments")]
    assert await listed("reader", of_team) == [("writers", "network")]
    assert await listed("owner", of_both) == [("writers", "network")]
    for who, query in (("outsider", of_team), ("plain", of_both), ("outsider", of_both)):
        assert (await tenant.call(who, "GET", f"{PATH}?{query}")).status_code == 404
    assert (await tenant.call(None, "GET", PATH)).status_code == 401


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


REPORTED: dict[str, tuple[str, str, str, str, bool, bool]] = {
    "read": ("read", "read", "read", "none", False, False),
    "plan": ("plan", "read", "read", "none", False, False),
    "write": ("apply", "write", "write", "read", True, False),
    "admin": ("apply", "write", "write", "read", True, True),
    "custom": ("read", "none", "none", "none", False, False),
}
MEMBERS = (
    "runs",
    "variables",
    "state-versions",
    "sentinel-mocks",
    "workspace-locking",
    "run-tasks",
)
CUSTOM: dict[str, Any] = {
    "runs": "plan",
    "variables": "read",
    "state-versions": "read-outputs",
    "sentinel-mocks": "read",
    "workspace-locking": False,
    "run-tasks": True,
    "policy-overrides": True,
}


@pytest.mark.parametrize("access", REPORTED)
async def test_an_access_reports_the_permissions_that_clients_know_it_by(
    tenant: Tenant, access: str
) -> None:
    reported = {**dict(zip(MEMBERS, REPORTED[access], strict=True)), "policy-overrides": False}
    made = await make(tenant, access=access)
    assert reported.items() <= made["attributes"].items()
    path = f"{PATH}/{made['id']}"
    repeated = await tenant.call("owner", "PATCH", path, changes(access=access, **reported))
    assert repeated.status_code == 200, repeated.text
    # What was changed to custom is so far what it was.
    custom = await tenant.call("owner", "PATCH", path, changes(access="custom"))
    assert reported.items() <= custom.json()["data"]["attributes"].items()


async def test_permissions_of_a_custom_access_are_kept_and_told_by_name(tenant: Tenant) -> None:
    made = await make(tenant, access="custom", **CUSTOM)
    path = f"{PATH}/{made['id']}"
    read = (await tenant.call("owner", "GET", path)).json()["data"]
    assert CUSTOM.items() <= made["attributes"].items()
    assert CUSTOM.items() <= read["attributes"].items()
    await tenant.call("owner", "PATCH", path, changes(runs="apply"))
    fixed = await tenant.call("owner", "PATCH", path, changes(access="read"))
    assert fixed.json()["data"]["attributes"]["policy-overrides"] is False
    events = f"/teams/{tenant.teams['crew']}/audit-events"
    told = [
        one["attributes"]["details"].get("changed")
        for one in (await tenant.call("owner", "GET", events)).json()["data"]
        if one["attributes"]["action"] == "grant.put"
    ]
    assert told == [["access"], ["runs"], None]
    assert await tenant.deployment.audit_holds()


async def test_whether_a_custom_access_locks_is_what_its_variables_say(tenant: Tenant) -> None:
    locking, at = "workspace-locking", "/data/attributes/workspace-locking"
    document = access_document(
        tenant.teams["crew"], tenant.workspaces["payments"], access="custom", variables="read"
    )
    document["data"]["attributes"][locking] = True
    answer = await tenant.call("owner", "POST", PATH, document)
    assert faults(answer) == [("422", "not_offered", at)]
    made = await make(tenant, access="custom", variables="write")
    path = f"{PATH}/{made['id']}"
    assert made["attributes"][locking] is True
    for said in ({locking: False}, {"variables": "read", locking: True}):
        answer = await tenant.call("owner", "PATCH", path, changes(**said))
        assert faults(answer) == [("422", "not_offered", at)]
    less = await tenant.call("owner", "PATCH", path, changes(variables="read"))
    assert less.json()["data"]["attributes"][locking] is False
    again = changes(variables="write", **{locking: True})
    more = await tenant.call("owner", "PATCH", path, again)
    assert more.json()["data"]["attributes"][locking] is True


async def test_a_permission_that_contradicts_the_access_is_refused_in_words_that_clients_know(
    tenant: Tenant,
) -> None:
    document = access_document(
        tenant.teams["crew"], tenant.workspaces["payments"], access="read", **CUSTOM
    )
    answer = await tenant.call("owner", "POST", PATH, document)
    assert sorted(faults(answer)) == sorted(
        ("422", "read_only", f"/data/attributes/{name}")
        for name in CUSTOM
        if name not in ("variables", "workspace-locking")  # as a reader's
    )
    (runs,) = [one for one in answer.json()["errors"] if one["source"]["pointer"].endswith("runs")]
    assert runs["title"] == "invalid attribute"
    assert runs["detail"] == (
        "Runs is read-only when access level is 'read'; use the 'custom' access level to set this "
        "attribute."
    )
    path = f"{PATH}/{(await make(tenant, access='write'))['id']}"
    answer = await tenant.call("owner", "PATCH", path, changes(variables="read"))
    assert faults(answer) == [("422", "read_only", VARIABLES)]
    answer = await tenant.call("owner", "PATCH", path, changes(access="custom", runs="all"))
    assert faults(answer) == [("422", "invalid_value", "/data/attributes/runs")]


async def test_clients_of_the_terraform_dialect_may_leave_out_the_type(tenant: Tenant) -> None:
    path = f"{PATH}/{(await make(tenant, access='read'))['id']}"
    said = {"data": {"attributes": {"access": "write"}}}
    async with terraform(tenant) as client:
        answer = await client.patch(path, json=said)
        assert (answer.status_code, answer.json()["data"]["attributes"]["access"]) == (200, "write")
        wrong = {"data": {"type": "teams", "attributes": {}}}
        assert faults(await client.patch(path, json=wrong)) == [
            ("409", "type_conflict", "/data/type")
        ]
    refused = await tenant.call("owner", "PATCH", path, said)
    assert faults(refused) == [("422", "missing_member", "/data/type")]


async def test_stored_permissions_of_an_access_that_is_custom_no_more_do_not_count(
    tenant: Tenant,
) -> None:
    made = await make(tenant, access="custom", **CUSTOM)

    async def by_an_older_node(tx: Transaction) -> None:
        sql = "UPDATE grants SET access = 'write', level = 2 WHERE id = $1"
        await tx.execute(sql, made["id"])

    await tenant.deployment.services.database.write(by_an_older_node)
    read = (await tenant.call("owner", "GET", f"{PATH}/{made['id']}")).json()["data"]
    assert (read["attributes"]["runs"], read["attributes"]["policy-overrides"]) == ("apply", False)
