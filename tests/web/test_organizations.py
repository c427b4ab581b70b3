"""Organizations over HTTP: who has them, what a name may be, and what goes when one goes."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars import wiring
from teamvars.domain.audit import AuditEntry, AuditFilter
from teamvars.services.tokens import OwnerName
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.house import House, operator
from tests.web.dialects import terraform
from tests.world import World, faults, variable_document


def document(**attributes: Any) -> dict[str, Any]:
    """Creates an organization."""
    return {"data": {"type": "organizations", "attributes": attributes}}


async def create(world: World, name: str, who: str = "admin") -> httpx.Response:
    return await world.call(who, "POST", "/organizations", document(name=name, email="a@b.example"))


async def test_a_site_admin_who_makes_an_organization_owns_it_at_once(world: World) -> None:
    name = f"made-{uuid4().hex}"
    answer = await create(world, name)
    data = answer.json()["data"]
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v2/organizations/{name}"
    assert (data["id"], data["type"]) == (name, "organizations")
    assert data["attributes"]["name"] == name
    assert data["attributes"]["email"] == "a@b.example"
    assert data["attributes"]["permissions"]["can-create-workspace"] is True
    workspace = {"data": {"type": "workspaces", "attributes": {"name": "first"}}}
    made = await world.call("admin", "POST", f"/organizations/{name}/workspaces", workspace)
    assert made.status_code == 201
    variables = f"/workspaces/{made.json()['data']['id']}/vars"
    assert (await world.call("admin", "POST", variables, variable_document())).status_code == 201
    assert await world.house.audit_holds()


@pytest.mark.parametrize("who", ["owner", "plain", "organization-token", "owners-token"])
async def test_nobody_but_a_site_admin_makes_one_and_learns_nothing_of_names(
    world: World, who: str
) -> None:
    answers = [await create(world, name, who) for name in (world.other_organization, "n o")]
    assert [faults(one) for one in answers] == [[("403", "forbidden", None)]] * 2


async def test_a_name_is_taken_however_it_is_capitalised(world: World) -> None:
    name = f"taken-{uuid4().hex}"
    await create(world, name)
    answer = await create(world, name.upper())
    assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    assert await world.house.audit_holds()


@pytest.mark.parametrize("name", ["", "a/b", "a b", "größe", "世界", "a.b", "x" * 91, "../x"])
async def test_a_name_is_made_of_letters_digits_hyphens_and_underscores(
    world: World, name: str
) -> None:
    answer = await create(world, name)
    assert faults(answer) == [("422", "invalid_value", "/data/attributes/name")]


async def test_all_faults_are_told_at_once(world: World) -> None:
    bad = {
        "data": {
            "type": "workspaces",
            "id": "org-1",
            "attributes": {"email": "nobody", "name": "a/b", "unknown": "ignored"},
        }
    }
    answer = await world.call("admin", "POST", "/organizations", bad)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("403", "client_id_not_supported", "/data/id"),
        ("422", "invalid_value", "/data/attributes/email"),
        ("422", "invalid_value", "/data/attributes/name"),
    ]


async def test_members_of_the_document_have_their_json_types(world: World) -> None:
    wrong = {"data": {"type": "organizations", "attributes": {"name": 7, "email": None}}}
    answer = await world.call("admin", "POST", "/organizations", wrong)
    assert faults(answer) == [
        ("422", "wrong_type", "/data/attributes/name"),
        ("422", "wrong_type", "/data/attributes/email"),
    ]
    answer = await world.call("admin", "POST", "/organizations", {"data": {}})
    assert faults(answer) == [
        ("422", "missing_member", "/data/type"),
        ("422", "missing_member", "/data/attributes"),
    ]


async def test_unknown_attributes_of_real_clients_are_ignored(world: World) -> None:
    more = document(name=f"more-{uuid4().hex}", **{"collaborator-auth-policy": "password"})
    assert (await world.call("admin", "POST", "/organizations", more)).status_code == 201


async def test_members_see_it_as_members_and_owners_as_owners(world: World) -> None:
    path = f"/organizations/{world.organization.upper()}"
    found = {}
    for who in ("owner", "organization-token", "plain", "writers-token"):
        data = (await world.call(who, "GET", path)).json()["data"]
        assert data["id"] == world.organization
        found[who] = data["attributes"]["permissions"]["can-destroy"]
    assert found == {
        "owner": True,
        "organization-token": True,
        "plain": False,
        "writers-token": False,
    }


@pytest.mark.parametrize("name", ["no%2Fname", "gr%C3%B6%C3%9Fe", "x%00y", "no-organization"])
async def test_a_name_that_nothing_can_have_is_not_found(world: World, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = await world.call("owner", method, f"/organizations/{name}")
        assert faults(answer) == [("404", "not_found", None)]


async def test_clients_learn_that_operations_run_remotely_and_teams_exist(world: World) -> None:
    path = f"/organizations/{world.organization}/entitlement-set"
    attributes = (await world.call("plain", "GET", path)).json()["data"]["attributes"]
    assert attributes["operations"] is True
    assert attributes["teams"] is True
    assert attributes["state-storage"] is True


async def test_the_list_holds_those_the_caller_is_in_and_no_other(world: World) -> None:
    async def names(who: str) -> list[str]:
        answer = await world.call(who, "GET", "/organizations")
        return [one["id"] for one in answer.json()["data"]]

    mine = [world.organization]
    assert [await names(who) for who in ("owner", "plain", "writers-token")] == [mine] * 3
    assert await names("organization-token") == mine
    assert await names("outsider") == [world.other_organization]
    assert await names("invited") == []
    assert await names("admin") == []


async def test_pages_follow_each_other_and_one_past_the_end_is_empty(world: World) -> None:
    mark = uuid4().hex
    made = sorted(f"page-{n}-{mark}" for n in range(3))
    for name in made:
        await create(world, name)
    first = (await world.call("admin", "GET", "/organizations?page[size]=2&x=y")).json()
    assert [one["id"] for one in first["data"]] == made[:2]
    pagination = {
        "current-page": 1,
        "page-size": 2,
        "prev-page": None,
        "next-page": 2,
        "total-pages": 2,
        "total-count": 3,
    }
    assert first["meta"]["pagination"] == pagination
    assert first["links"]["prev"] is None
    assert first["links"]["next"] == first["links"]["last"]
    following = await world.call("admin", "GET", first["links"]["next"].removeprefix("/api/v2"))
    assert [one["id"] for one in following.json()["data"]] == made[2:]
    assert "x=y" in first["links"]["next"]
    past = (await world.call("admin", "GET", "/organizations?page[number]=9&page[size]=2")).json()
    assert past["data"] == []
    assert past["meta"]["pagination"]["current-page"] == 9
    assert past["meta"]["pagination"]["next-page"] is None


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9999999999999999999999x"])
@pytest.mark.parametrize("name", ["page[number]", "page[size]"])
async def test_a_page_that_is_no_number_is_a_fault_of_that_parameter(
    world: World, name: str, number: str
) -> None:
    answer = await world.call("owner", "GET", f"/organizations?{name}={number}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["source"]) == (400, {"parameter": name})


def its_path(world: World) -> str:
    return f"/organizations/{world.organization}"


async def update(world: World, who: str = "owner", **attributes: Any) -> httpx.Response:
    return await world.call(who, "PATCH", its_path(world), document(**attributes))


async def id_of(world: World) -> str:
    shown = await world.call("owner", "GET", its_path(world))
    id_: str = shown.json()["data"]["attributes"]["external-id"]
    return id_


async def history(house: House, id_: str) -> list[tuple[str, dict[str, Any]]]:
    """The last two changes of the organization itself, newest first, with their details."""

    async def body(tx: Transaction) -> list[AuditEntry]:
        return await streams.search(tx, AuditFilter(subject_ids=(id_,)), 2)

    entries = await house.services.database.read(body)
    return [(entry.action, entry.read_details() or {}) for entry in entries]


@pytest.mark.parametrize("who", ["owner", "owners-token", "organization-token"])
async def test_a_renamed_organization_is_found_and_shown_by_its_new_name_alone(
    world: World, who: str
) -> None:
    await world.make_variable()
    old, new = its_path(world), f"new-{uuid4().hex}"
    tag = (await world.call("reader", "GET", world.vars_path())).headers["ETag"]
    answer = await update(world, who, name=new, email="new@example.com")
    data = answer.json()["data"]
    assert (answer.status_code, data["id"], data["links"]["self"]) == (
        200,
        new,
        f"/api/v2/organizations/{new}",
    )
    assert data["attributes"]["email"] == "new@example.com"
    assert (await world.call("owner", "GET", old)).status_code == 404
    assert (await world.call("owner", "GET", f"/organizations/{new.upper()}")).json() == (
        answer.json()
    )
    # What was listed before is not shown to anybody again.
    known = {"If-None-Match": tag}
    listed = await world.call("reader", "GET", world.vars_path(), headers=known)
    assert listed.status_code == 200
    (variable,) = listed.json()["data"]
    related = variable["relationships"]["configurable"]["links"]["related"]
    assert related == f"/api/v2/organizations/{new}/workspaces/network"
    shown = await world.call("reader", "GET", related.removeprefix("/api/v2"))
    assert shown.json()["data"]["relationships"]["organization"]["data"]["id"] == new
    assert await world.house.audit_holds()


async def test_a_rename_moves_the_organizations_history_alone(world: World) -> None:
    id_ = await id_of(world)
    before = await sequences_of(world.house)
    await update(world, name=f"new-{uuid4().hex}")
    after = await sequences_of(world.house)
    assert {name for name, moved in after.items() if before[name] != moved} == {id_}
    assert after[id_] == before[id_] + 1


async def test_an_update_is_recorded_with_what_it_changed(world: World) -> None:
    new, id_ = f"new-{uuid4().hex}", await id_of(world)
    await update(world, email="one@example.com")
    same = document(name=world.organization, email="one@example.com")
    await world.call("owner", "PATCH", its_path(world), same)
    await update(world, email="one@example.com", name=new)
    renamed = {"name": new, "email": "one@example.com", "changed": ["name"]}
    mailed = {"name": world.organization, "email": "one@example.com", "changed": ["email"]}
    assert await history(world.house, id_) == [
        ("organization.update", {**renamed, "from": world.organization}),
        ("organization.update", mailed),
    ]


async def test_an_update_that_changes_nothing_writes_nothing(world: World) -> None:
    before = await sequences_of(world.house)
    same = document(name=world.organization)
    same["data"]["id"] = world.organization.upper()
    for nothing in (document(), same, {"data": {"type": "organizations"}}):
        assert (await world.call("owner", "PATCH", its_path(world), nothing)).status_code == 200
    assert await sequences_of(world.house) == before


async def test_an_organization_may_get_its_own_name_in_other_capitals(world: World) -> None:
    name = world.organization.upper()
    assert (await update(world, name=name)).json()["data"]["id"] == name


async def test_the_name_of_another_organization_cannot_be_taken(world: World) -> None:
    answer = await update(world, name=world.other_organization.upper(), email="new@example.com")
    assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    shown = (await world.call("owner", "GET", its_path(world))).json()["data"]
    assert shown["attributes"]["email"] != "new@example.com"
    assert await world.house.audit_holds()


async def test_all_faults_of_an_update_are_told_at_once_and_to_owners_alone(world: World) -> None:
    bad = document(email="nobody", name="a/b")
    bad["data"] |= {"type": "workspaces", "id": world.other_organization}
    answer = await world.call("owner", "PATCH", its_path(world), bad)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/email"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("409", "id_conflict", "/data/id"),
    ]
    wrong = await update(world, name=None, email=7)
    at = "/data/attributes"
    assert faults(wrong) == [
        ("422", "wrong_type", f"{at}/name"),
        ("422", "wrong_type", f"{at}/email"),
    ]
    others = [await world.call(who, "PATCH", its_path(world), bad) for who in ("plain", "outsider")]
    assert [one.status_code for one in others] == [403, 404]


async def test_racing_renames_to_one_name_have_one_winner(world: World) -> None:
    new = f"new-{uuid4().hex}"
    other = f"/organizations/{world.other_organization}"
    answers = await asyncio.gather(
        update(world, name=new), world.call("outsider", "PATCH", other, document(name=new))
    )
    assert sorted(one.status_code for one in answers) == [200, 422]
    assert await world.house.audit_holds()


async def test_an_organization_with_variables_is_deleted_only_when_that_is_forced(
    world: World,
) -> None:
    for key in ("one", "two"):
        await world.make_variable(key)
    refused = [
        await world.call("owner", "DELETE", its_path(world) + query)
        for query in ("", "?force=", "?force=false")
    ]
    for answer in refused:
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (409, "organization_not_empty")
        assert error["meta"] == {"variables": 2, "workspaces": 1}
        assert "2 variables" in error["detail"]
    unclear = await world.call("owner", "DELETE", f"{its_path(world)}?force=yes")
    assert unclear.json()["errors"][0]["source"] == {"parameter": "force"}
    assert (await world.call("plain", "DELETE", its_path(world))).status_code == 403
    assert len(await world.variables()) == 2
    answer = await world.call("owner", "DELETE", f"{its_path(world)}?force=true")
    assert answer.status_code == 204
    assert await world.house.audit_holds()


@pytest.mark.parametrize("variables", [0, 2])
async def test_clients_of_the_terraform_dialect_delete_it_unasked_and_the_count_is_recorded(
    world: World, variables: int
) -> None:
    id_ = await id_of(world)
    for number in range(variables):
        await world.make_variable(f"key-{number}")
    async with terraform(world) as client:
        assert (await client.delete(its_path(world))).status_code == 204
    recorded = await history(world.house, id_)
    found = {action: details["variables"] for action, details in recorded}
    assert found == {"organization.delete": variables, "organization.empty": variables}


async def test_organizations_are_looked_for_by_a_part_of_their_name(world: World) -> None:
    mark = uuid4().hex
    for name in (f"red-{mark}", f"green-{mark}"):
        await create(world, name)

    async def found(query: str) -> list[str]:
        answer = await world.call("admin", "GET", f"/organizations?{query}")
        return [one["id"].partition("-")[0] for one in answer.json()["data"]]

    assert await found(f"q={mark}") == ["green", "red"]
    assert await found(f"q=RED-{mark}") == ["red"]
    assert await found(f"q[name]=reen-{mark[:9]}") == ["green"]
    assert await found(f"q=red&q[name]={mark}") == ["red"]
    assert await found("q=%25") == []


async def test_deleting_takes_all_that_is_its_own_and_leaves_its_users(world: World) -> None:
    await world.make_variable()
    path = its_path(world)
    assert (await world.call("owner", "DELETE", f"{path}?force=true")).status_code == 204
    assert await world.house.audit_holds()
    gone = {"organization-token": 401, "writers-token": 401, "owners-token": 401, "owner": 404}
    for who, status in gone.items():
        assert (await world.call(who, "GET", path)).status_code == status
        assert (await world.call(who, "GET", world.vars_path())).status_code == status
    assert (await world.call("plain", "GET", "/organizations")).json()["data"] == []
    other = f"/organizations/{world.other_organization}"
    assert (await world.call("outsider", "GET", other)).status_code == 200
    left = await streams_of(world.house)
    assert not left & {*world.workspaces.values(), *world.teams.values()}


async def streams_of(house: House) -> set[str]:
    return set(await sequences_of(house))


async def sequences_of(house: House) -> dict[str, int]:
    """How many changes each stream has."""

    async def body(tx: Transaction) -> dict[str, int]:
        return {stream.id: stream.sequence for stream in await streams.every(tx)}

    return await house.services.database.read(body)


async def test_deleting_twice_finds_nothing_the_second_time(world: World) -> None:
    path = f"/organizations/{world.organization}"
    answers = [await world.call("owner", "DELETE", path) for _ in range(2)]
    assert [one.status_code for one in answers] == [204, 404]


async def test_the_name_of_a_deleted_one_can_be_had_again(world: World) -> None:
    name = f"again-{uuid4().hex}"
    first = (await create(world, name)).json()["data"]["attributes"]["external-id"]
    await world.call("admin", "DELETE", f"/organizations/{name}")
    again = await create(world, name)
    assert again.status_code == 201
    assert again.json()["data"]["attributes"]["external-id"] != first
    assert await world.house.audit_holds()


async def test_the_token_of_a_new_organization_manages_it(world: World) -> None:
    name = f"token-{uuid4().hex}"
    await create(world, name)
    owner = OwnerName(organization=name)
    secret = (await world.house.services.tokens.create(operator(), owner, None)).secret
    headers = {"Authorization": f"Bearer {secret}"}
    answer = await world.call(None, "DELETE", f"/organizations/{name}", headers=headers)
    assert answer.status_code == 204


async def test_the_directory_api_can_be_left_out(house: House) -> None:
    templates = {
        one.template for one in wiring.routes(house.services, house.keys, directory_api=False)
    }
    assert "/api/v2/organizations" not in templates
    assert "/.well-known/terraform.json" not in templates
    assert "/api/v2/workspaces/{workspace_id}/all-vars" not in templates
    assert "/api/v2/organizations/{organization}/workspaces/{workspace}" in templates
