"""Teams' access to workspaces over HTTP: contract §6, on both engines."""

from typing import Any

import pytest

from tests.world import World, faults, variable_document

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


async def make(world: World, team: str = "crew", **attributes: object) -> dict[str, Any]:
    """An access to `payments`, made by the owner; returns its resource object."""
    document = access_document(world.teams[team], world.workspaces["payments"], **attributes)
    answer = await world.call("owner", "POST", PATH, document)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def rights(world: World, who: str = "writer") -> tuple[int, int]:
    """What reading and writing the variables of `payments` is answered with."""
    path = world.vars_path("payments")
    read = await world.call(who, "GET", path)
    write = await world.call(who, "POST", path, variable_document())
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
    world: World, attributes: dict[str, object], level: str, expected: tuple[int, int]
) -> None:
    made = await make(world, "writers", **attributes)
    assert made["attributes"]["access"] == attributes["access"]
    assert made["attributes"]["variables"] == level
    assert await rights(world) == expected
    assert await world.house.audit_holds()


async def test_a_changed_access_counts_by_the_next_request(world: World) -> None:
    path = f"{PATH}/{(await make(world, 'writers', access='read'))['id']}"
    assert (await world.call("owner", "PATCH", path, changes(access="admin"))).is_success
    assert await rights(world) == (200, 201)
    kept = await world.call("owner", "PATCH", path, changes(access="custom"))
    assert kept.json()["data"]["attributes"]["variables"] == "write"
    await world.call("owner", "PATCH", path, changes(variables="none"))
    assert await rights(world) == (404, 404)
    assert await world.house.audit_holds()


async def test_an_access_is_deleted_once(world: World) -> None:
    path = f"{PATH}/{(await make(world, 'writers', access='write'))['id']}"
    assert (await world.call("owner", "DELETE", path)).status_code == 204
    assert await rights(world) == (404, 404)
    assert (await world.call("owner", "DELETE", path)).status_code == 404
    assert (await world.call("owner", "PATCH", path, changes())).status_code == 404
    assert await world.house.audit_holds()


async def test_a_team_has_one_access_to_a_workspace(world: World) -> None:
    await make(world, access="read")
    document = access_document(world.teams["crew"], world.workspaces["payments"], access="write")
    answer = await world.call("owner", "POST", PATH, document)
    assert faults(answer) == [("422", "grant_taken", TEAM)]


async def test_owners_need_no_access(world: World) -> None:
    document = access_document(world.teams["owners"], world.workspaces["payments"], access="x")
    answer = await world.call("owner", "POST", PATH, document)
    assert faults(answer) == [
        ("422", "invalid_value", ACCESS),
        ("422", "owners_is_permanent", TEAM),
    ]


async def test_team_and_workspace_are_of_one_organization(world: World) -> None:
    crew, payments = world.teams["crew"], world.workspaces["payments"]
    for team, workspace, where in (
        (crew, world.other_workspace, WORKSPACE),
        (world.other_team, payments, TEAM),
        (crew, "ws-1111111111111111", WORKSPACE),
        ("team-1111111111111111", payments, TEAM),
    ):
        document = access_document(team, workspace, access="read")
        answer = await world.call("owner", "POST", PATH, document)
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
    world: World, document: object, expected: list[object]
) -> None:
    assert faults(await world.call("owner", "POST", PATH, document)) == expected


async def test_every_fault_of_a_change_is_named_at_once(world: World) -> None:
    path = f"{PATH}/{(await make(world, access='read'))['id']}"
    document = changes(access="all", variables="some")
    document["data"]["id"] = "tws-1111111111111111"
    answer = await world.call("owner", "PATCH", path, document)
    assert sorted(faults(answer), key=str) == [
        ("409", "id_conflict", "/data/id"),
        ("422", "invalid_value", ACCESS),
        ("422", "invalid_value", VARIABLES),
    ]


async def test_accesses_are_listed_by_workspace_to_whoever_reads_its_variables(
    world: World,
) -> None:
    path = f"{PATH}?filter[workspace][id]={world.workspaces['network']}"
    secret = access_document(world.teams["secret"], world.workspaces["network"], access="read")
    await world.call("owner", "POST", PATH, secret)
    counts = {}
    for who in ("owner", "hidden", "reader"):
        document = (await world.call(who, "GET", path)).json()
        counts[who] = (len(document["data"]), document["meta"]["pagination"]["total-count"])
    assert counts == {"owner": (3, 3), "hidden": (3, 3), "reader": (2, 2)}
    answer = await world.call("owner", "GET", PATH)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["source"] == {"parameter": "filter[workspace][id]"}
