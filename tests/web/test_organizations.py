"""Organizations over HTTP: who has them, what a name may be, and what goes when one goes."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars import wiring
from teamvars.domain.audit import AuditEntry, AuditFilter
from teamvars.domain.tokens import OwnerName
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from teamvars.storage.engines.sqlite import SqliteDatabase
from tests.services.calls import caller
from tests.support.deployment import Deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults, variable_document
from tests.web.dialects import terraform
from tests.web.test_applies import apply, item


def document(**attributes: Any) -> dict[str, Any]:
    """Creates an organization."""
    return {"data": {"type": "organizations", "attributes": attributes}}


async def create(tenant: Tenant, name: str, who: str = "admin") -> httpx.Response:
    return await tenant.call(
        who, "POST", "/organizations", document(name=name, email="a@b.example")
    )


async def test_a_site_admin_who_makes_an_organization_owns_it_at_once(tenant: Tenant) -> None:
    name = f"made-{uuid4().hex}"
    answer = await create(tenant, name)
    data = answer.json()["data"]
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v2/organizations/{name}"
    assert (data["id"], data["type"]) == (name, "organizations")
    assert data["attributes"]["name"] == name
    assert data["attributes"]["email"] == "a@b.example"
    assert data["attributes"]["permissions"]["can-create-workspace"] is True
    workspace = {"data": {"type": "workspaces", "attributes": {"name": "first"}}}
    made = await tenant.call("admin", "POST", f"/organizations/{name}/workspaces", workspace)
    assert made.status_code == 201
    variables = f"/workspaces/{made.json()['data']['id']}/vars"
    assert (await tenant.call("admin", "POST", variables, variable_document())).status_code == 201
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("who", ["owner", "plain", "organization-token", "owners-token"])
async def test_nobody_but_a_site_admin_makes_one_and_learns_nothing_of_names(
    tenant: Tenant, who: str
) -> None:
    answers = [await create(tenant, name, who) for name in (tenant.other_organization, "n o")]
    assert [faults(one) for one in answers] == [[("403", "forbidden", None)]] * 2


async def test_a_name_is_taken_however_it_is_capitalised(tenant: Tenant) -> None:
    name = f"taken-{uuid4().hex}"
    await create(tenant, name)
    answer = await create(tenant, name.upper())
    assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    assert await tenant.deployment.audit_holds()


@ON_SQLITE
@pytest.mark.parametrize("name", ["", "a/b", "a b", "größe", "世界", "a.b", "x" * 91, "../x"])
async def test_a_name_is_made_of_letters_digits_hyphens_and_underscores(
    tenant: Tenant, name: str
) -> None:
    answer = await create(tenant, name)
    assert faults(answer) == [("422", "invalid_value", "/data/attributes/name")]


async def test_all_faults_are_told_at_once(tenant: Tenant) -> None:
    bad = {
        "data": {
            "type": "workspaces",
            "id": "org-1",
            "attributes": {"email": "nobody", "name": "a/b", "unknown": "ignored"},
        }
    }
    answer = await tenant.call("admin", "POST", "/organizations", bad)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("403", "client_id_not_supported", "/data/id"),
        ("422", "invalid_value", "/data/attributes/email"),
        ("422", "invalid_value", "/data/attributes/name"),
    ]


async def test_members_of_the_document_have_their_json_types(tenant: Tenant) -> None:
    wrong = {"data": {"type": "organizations", "attributes": {"name": 7, "email": None}}}
    answer = await tenant.call("admin", "POST", "/organizations", wrong)
    assert faults(answer) == [
        ("422", "wrong_type", "/data/attributes/name"),
        ("422", "wrong_type", "/data/attributes/email"),
    ]
    answer = await tenant.call("admin", "POST", "/organizations", {"data": {}})
    assert faults(answer) == [
        ("422", "missing_member", "/data/type"),
        ("422", "missing_member", "/data/attributes"),
    ]


async def test_unknown_attributes_of_real_clients_are_ignored(tenant: Tenant) -> None:
    more = document(name=f"more-{uuid4().hex}", **{"collaborator-auth-policy": "password"})
    assert (await tenant.call("admin", "POST", "/organizations", more)).status_code == 201


async def test_members_see_it_as_members_and_owners_as_owners(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization.upper()}"
    found = {}
    for who in ("owner", "organization-token", "plain", "writers-token"):
        data = (await tenant.call(who, "GET", path)).json()["data"]
        assert data["id"] == tenant.organization
        found[who] = data["attributes"]["permissions"]["can-destroy"]
    assert found == {
        "owner": True,
        "organization-token": True,
        "plain": False,
        "writers-token": False,
    }


@pytest.mark.parametrize("name", ["no%2Fname", "gr%C3%B6%C3%9Fe", "x%00y", "no-organization"])
async def test_a_name_that_nothing_can_have_is_not_found(tenant: Tenant, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = await tenant.call("owner", method, f"/organizations/{name}")
        assert faults(answer) == [("404", "not_found", None)]


async def test_clients_learn_that_operations_run_remotely_and_teams_exist(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization}/entitlement-set"
    attributes = (await tenant.call("plain", "GET", path)).json()["data"]["attributes"]
    assert attributes["operations"] is True
    assert attributes["teams"] is True
    assert attributes["state-storage"] is True


async def test_the_list_holds_those_the_caller_is_in_and_no_other(tenant: Tenant) -> None:
    async def names(who: str) -> list[str]:
        answer = await tenant.call(who, "GET", "/organizations")
        return [one["id"] for one in answer.json()["data"]]

    mine = [tenant.organization]
    assert [await names(who) for who in ("owner", "plain", "writers-token")] == [mine] * 3
    assert await names("organization-token") == mine
    assert await names("outsider") == [tenant.other_organization]
    assert await names("invited") == []
    assert await names("admin") == []


async def test_pages_follow_each_other_and_one_past_the_end_is_empty(tenant: Tenant) -> None:
    mark = uuid4().hex
    made = sorted(f"page-{n}-{mark}" for n in range(3))
    for name in made:
        await create(tenant, name)
    first = (await tenant.call("admin", "GET", "/organizations?page[size]=2&x=y")).json()
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
    following = await tenant.call("admin", "GET", first["links"]["next"].removeprefix("/api/v2"))
    assert [one["id"] for one in following.json()["data"]] == made[2:]
    assert "x=y" in first["links"]["next"]
    past = (await tenant.call("admin", "GET", "/organizations?page[number]=9&page[size]=2")).json()
    assert past["data"] == []
    assert past["meta"]["pagination"]["current-page"] == 9
    assert past["meta"]["pagination"]["next-page"] is None
    assert past["meta"]["pagination"]["prev-page"] == 2
    assert past["links"]["prev"] == past["links"]["last"]


@ON_SQLITE
@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9999999999999999999999x"])
@pytest.mark.parametrize("name", ["page[number]", "page[size]"])
async def test_a_page_that_is_no_number_is_a_fault_of_that_parameter(
    tenant: Tenant, name: str, number: str
) -> None:
    answer = await tenant.call("owner", "GET", f"/organizations?{name}={number}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["source"]) == (400, {"parameter": name})


def its_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}"


async def update(tenant: Tenant, who: str = "owner", **attributes: Any) -> httpx.Response:
    return await tenant.call(who, "PATCH", its_path(tenant), document(**attributes))


async def id_of(tenant: Tenant) -> str:
    shown = await tenant.call("owner", "GET", its_path(tenant))
    id_: str = shown.json()["data"]["attributes"]["external-id"]
    return id_


async def history(deployment: Deployment, id_: str) -> list[tuple[str, dict[str, Any]]]:
    """The last two changes of the organization itself, newest first, with their details."""

    async def body(tx: Transaction) -> list[AuditEntry]:
        return await streams.search(tx, AuditFilter(subject_ids=(id_,)), 2)

    entries = await deployment.services.database.read(body)
    return [(entry.action, entry.read_details() or {}) for entry in entries]


@pytest.mark.parametrize("who", ["owner", "owners-token", "organization-token"])
async def test_a_renamed_organization_is_found_and_shown_by_its_new_name_alone(
    tenant: Tenant, who: str
) -> None:
    await tenant.make_variable()
    old, new = its_path(tenant), f"new-{uuid4().hex}"
    tag = (await tenant.call("reader", "GET", tenant.vars_path())).headers["ETag"]
    answer = await update(tenant, who, name=new, email="new@example.com")
    data = answer.json()["data"]
    assert (answer.status_code, data["id"], data["links"]["self"]) == (
        200,
        new,
        f"/api/v2/organizations/{new}",
    )
    assert data["attributes"]["email"] == "new@example.com"
    assert (await tenant.call("owner", "GET", old)).status_code == 404
    assert (await tenant.call("owner", "GET", f"/organizations/{new.upper()}")).json() == (
        answer.json()
    )
    # What was listed before is not shown to anybody again.
    known = {"If-None-Match": tag}
    listed = await tenant.call("reader", "GET", tenant.vars_path(), headers=known)
    assert listed.status_code == 200
    (variable,) = listed.json()["data"]
    related = variable["relationships"]["configurable"]["links"]["related"]
    assert related == f"/api/v2/organizations/{new}/workspaces/network"
    shown = await tenant.call("reader", "GET", related.removeprefix("/api/v2"))
    assert shown.json()["data"]["relationships"]["organization"]["data"]["id"] == new
    assert await tenant.deployment.audit_holds()


async def test_a_rename_moves_the_organizations_history_alone(tenant: Tenant) -> None:
    id_ = await id_of(tenant)
    before = await sequences_of(tenant.deployment)
    await update(tenant, name=f"new-{uuid4().hex}")
    after = await sequences_of(tenant.deployment)
    assert {name for name, moved in after.items() if before[name] != moved} == {id_}
    assert after[id_] == before[id_] + 1


async def test_an_update_is_recorded_with_what_it_changed(tenant: Tenant) -> None:
    new, id_ = f"new-{uuid4().hex}", await id_of(tenant)
    await update(tenant, email="one@example.com")
    same = document(name=tenant.organization, email="one@example.com")
    await tenant.call("owner", "PATCH", its_path(tenant), same)
    await update(tenant, email="one@example.com", name=new)
    renamed = {"name": new, "email": "one@example.com", "changed": ["name"]}
    mailed = {"name": tenant.organization, "email": "one@example.com", "changed": ["email"]}
    assert await history(tenant.deployment, id_) == [
        ("organization.update", {**renamed, "from": tenant.organization}),
        ("organization.update", mailed),
    ]


async def test_an_address_is_taken_away_by_an_empty_one(tenant: Tenant) -> None:
    await update(tenant, email="one@example.com")
    answer = await update(tenant, email="")
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["attributes"]["email"] == ""
    shown = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    assert shown.json()["data"]["attributes"]["email"] == ""


async def test_an_update_that_changes_nothing_writes_nothing(tenant: Tenant) -> None:
    before = await sequences_of(tenant.deployment)
    same = document(name=tenant.organization)
    same["data"]["id"] = tenant.organization.upper()
    for nothing in (document(), same, {"data": {"type": "organizations"}}):
        assert (await tenant.call("owner", "PATCH", its_path(tenant), nothing)).status_code == 200
    assert await sequences_of(tenant.deployment) == before


async def test_an_organization_may_get_its_own_name_in_other_capitals(tenant: Tenant) -> None:
    name = tenant.organization.upper()
    assert (await update(tenant, name=name)).json()["data"]["id"] == name


async def test_the_name_of_another_organization_cannot_be_taken(tenant: Tenant) -> None:
    answer = await update(tenant, name=tenant.other_organization.upper(), email="new@example.com")
    assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    shown = (await tenant.call("owner", "GET", its_path(tenant))).json()["data"]
    assert shown["attributes"]["email"] != "new@example.com"
    assert await tenant.deployment.audit_holds()


async def test_all_faults_of_an_update_are_told_at_once_and_to_owners_alone(tenant: Tenant) -> None:
    bad = document(email="nobody", name="a/b")
    bad["data"] |= {"type": "workspaces", "id": tenant.other_organization}
    answer = await tenant.call("owner", "PATCH", its_path(tenant), bad)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/email"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("409", "id_conflict", "/data/id"),
    ]
    wrong = await update(tenant, name=None, email=7)
    at = "/data/attributes"
    assert faults(wrong) == [
        ("422", "wrong_type", f"{at}/name"),
        ("422", "wrong_type", f"{at}/email"),
    ]
    others = [
        await tenant.call(who, "PATCH", its_path(tenant), bad) for who in ("plain", "outsider")
    ]
    assert [one.status_code for one in others] == [403, 404]


async def test_racing_renames_to_one_name_have_one_winner(tenant: Tenant) -> None:
    new = f"new-{uuid4().hex}"
    other = f"/organizations/{tenant.other_organization}"
    answers = await asyncio.gather(
        update(tenant, name=new), tenant.call("outsider", "PATCH", other, document(name=new))
    )
    assert sorted(one.status_code for one in answers) == [200, 422]
    assert await tenant.deployment.audit_holds()


# On PostgreSQL rows go in a process of the server.
@ON_SQLITE
async def test_others_go_on_while_the_rows_of_an_organization_are_deleted(tenant: Tenant) -> None:
    for name in tenant.workspaces:
        made = [item(f"k{n}", "env") for n in range(20)]
        assert (await apply(tenant, *made, who="owner", workspace=name)).is_success
    services = tenant.deployment.services
    assert isinstance(services.database, SqliteDatabase)
    with threads_that_delete("variables", services.database) as threads:
        await services.organizations.delete(
            caller(tenant, "owner"), tenant.organization, force=True
        )
    assert len(threads) == 20 * len(tenant.workspaces)
    assert threading.get_ident() not in threads


@contextmanager
def threads_that_delete(table: str, database: SqliteDatabase) -> Iterator[list[int]]:
    """The thread of each row that is deleted meanwhile."""
    writer, threads = database._writer.connection(), list[int]()

    def noted(*_: object) -> None:
        threads.append(threading.get_ident())

    writer.create_scalar_function("noted", noted, 0)
    writer.execute(
        f"CREATE TEMP TRIGGER noting BEFORE DELETE ON main.{table} BEGIN SELECT noted(); END"
    )
    try:
        yield threads
    finally:
        writer.execute("DROP TRIGGER noting")


async def test_an_organization_with_variables_is_deleted_only_when_that_is_forced(
    tenant: Tenant,
) -> None:
    for key in ("one", "two"):
        await tenant.make_variable(key)
    refused = [
        await tenant.call("owner", "DELETE", its_path(tenant) + query)
        for query in ("", "?force=", "?force=false")
    ]
    for answer in refused:
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (409, "organization_not_empty")
        assert error["meta"] == {"variables": 2, "workspaces": 1, "varsets": 0}
        assert "2 variables" in error["detail"]
    unclear = await tenant.call("owner", "DELETE", f"{its_path(tenant)}?force=yes")
    assert unclear.json()["errors"][0]["source"] == {"parameter": "force"}
    assert (await tenant.call("plain", "DELETE", its_path(tenant))).status_code == 403
    assert len(await tenant.variables()) == 2
    answer = await tenant.call("owner", "DELETE", f"{its_path(tenant)}?force=true")
    assert answer.status_code == 204
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("variables", [0, 2])
async def test_clients_of_the_terraform_dialect_delete_it_unasked_and_the_count_is_recorded(
    tenant: Tenant, variables: int
) -> None:
    id_ = await id_of(tenant)
    for number in range(variables):
        await tenant.make_variable(f"key-{number}")
    async with terraform(tenant) as client:
        assert (await client.delete(its_path(tenant))).status_code == 204
    recorded = await history(tenant.deployment, id_)
    found = {action: details["variables"] for action, details in recorded}
    assert found == {"organization.delete": variables, "organization.empty": variables}


async def test_organizations_are_looked_for_by_a_part_of_their_name(tenant: Tenant) -> None:
    mark = uuid4().hex
    for name in (f"red-{mark}", f"green-{mark}"):
        await create(tenant, name)

    async def found(query: str) -> list[str]:
        answer = await tenant.call("admin", "GET", f"/organizations?{query}")
        return [one["id"].partition("-")[0] for one in answer.json()["data"]]

    assert await found(f"q={mark}") == ["green", "red"]
    assert await found(f"q=RED-{mark}") == ["red"]
    assert await found(f"q[name]=reen-{mark[:9]}") == ["green"]
    assert await found(f"q=red&q[name]={mark}") == ["red"]
    assert await found("q=%25") == []


async def test_deleting_takes_all_that_is_its_own_and_leaves_its_users(tenant: Tenant) -> None:
    await tenant.make_variable()
    path = its_path(tenant)
    assert (await tenant.call("owner", "DELETE", f"{path}?force=true")).status_code == 204
    assert await tenant.deployment.audit_holds()
    gone = {"organization-token": 401, "writers-token": 401, "owners-token": 401, "owner": 404}
    for who, status in gone.items():
        assert (await tenant.call(who, "GET", path)).status_code == status
        assert (await tenant.call(who, "GET", tenant.vars_path())).status_code == status
    assert (await tenant.call("plain", "GET", "/organizations")).json()["data"] == []
    other = f"/organizations/{tenant.other_organization}"
    assert (await tenant.call("outsider", "GET", other)).status_code == 200
    left = await streams_of(tenant.deployment)
    assert not left & {*tenant.workspaces.values(), *tenant.teams.values()}


async def streams_of(deployment: Deployment) -> set[str]:
    return set(await sequences_of(deployment))


async def sequences_of(deployment: Deployment) -> dict[str, int]:
    """How many changes each stream has."""

    async def body(tx: Transaction) -> dict[str, int]:
        return {stream.id: stream.sequence for stream in await streams.every(tx)}

    return await deployment.services.database.read(body)


async def test_deleting_twice_finds_nothing_the_second_time(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization}"
    answers = [await tenant.call("owner", "DELETE", path) for _ in range(2)]
    assert [one.status_code for one in answers] == [204, 404]


async def test_the_name_of_a_deleted_one_can_be_had_again(tenant: Tenant) -> None:
    name = f"again-{uuid4().hex}"
    first = (await create(tenant, name)).json()["data"]["attributes"]["external-id"]
    await tenant.call("admin", "DELETE", f"/organizations/{name}")
    again = await create(tenant, name)
    assert again.status_code == 201
    assert again.json()["data"]["attributes"]["external-id"] != first
    assert await tenant.deployment.audit_holds()


async def test_the_token_of_a_new_organization_manages_it(tenant: Tenant) -> None:
    name = f"token-{uuid4().hex}"
    await create(tenant, name)
    owner = OwnerName(organization=name)
    secret = (await tenant.deployment.services.tokens.create(operator(), owner, None)).secret
    headers = {"Authorization": f"Bearer {secret}"}
    answer = await tenant.call(None, "DELETE", f"/organizations/{name}", headers=headers)
    assert answer.status_code == 204


async def test_the_directory_api_can_be_left_out(deployment: Deployment) -> None:
    templates = {one.template for one in wiring.routes(deployment.services, directory_api=False)}
    assert "/api/v2/organizations" not in templates
    assert "/.well-known/terraform.json" not in templates
    assert "/api/v2/varsets/{varset_id}" not in templates
    assert "/api/v2/workspaces/{workspace_id}/all-vars" in templates  # what runs ask for
    assert "/api/v2/organizations/{organization}/workspaces/{workspace}" in templates
