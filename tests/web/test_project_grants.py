"""Teams' access to projects over HTTP: contract §6, on both engines."""

import asyncio
from typing import Any

import pytest

from teamvars.storage.access_by_name import MAX_LISTED
from teamvars.storage.database import Transaction, each
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.support.turns import turns_of_others
from tests.web.dialects import terraform
from tests.web.test_authorization import apply
from tests.web.test_organization_access import give
from tests.web.test_projects import make, move, moved, names_of, newest
from tests.web.test_workspaces import all_path

PATH = "/team-projects"
TEAM, PROJECT = "/data/relationships/team/data/id", "/data/relationships/project/data/id"
AT = "/data/attributes"


def access_document(team_id: str, project_id: str, **attributes: object) -> dict[str, Any]:
    """A document that gives a team access; hyphens are written as underscores."""
    data = {
        "type": "team-projects",
        "attributes": {name.replace("_", "-"): value for name, value in attributes.items()},
        "relationships": {
            "team": {"data": {"type": "teams", "id": team_id}},
            "project": {"data": {"type": "projects", "id": project_id}},
        },
    }
    return {"data": data}


def changes(**attributes: object) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    return {"data": {"type": "team-projects", "attributes": named}}


async def grant(
    tenant: Tenant, project_id: str, team: str = "crew", **attributes: object
) -> dict[str, Any]:
    """An access, given by the owner; returns its resource object."""
    document = access_document(tenant.teams[team], project_id, **attributes)
    answer = await tenant.call("owner", "POST", PATH, document)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    assert answer.headers["Location"] == data["links"]["self"]
    return data


async def rights(
    tenant: Tenant, who: str = "writer", workspace: str = "payments"
) -> tuple[int, int]:
    """What reading and writing the variables of a workspace is answered with."""
    path = tenant.vars_path(workspace)
    read = await tenant.call(who, "GET", path)
    write = await tenant.call(who, "POST", path, variable_document())
    return read.status_code, write.status_code


async def seen_by(tenant: Tenant, who: str) -> list[str]:
    listed = (await tenant.call(who, "GET", all_path(tenant))).json()["data"]
    return [one["attributes"]["name"] for one in listed]


@pytest.mark.parametrize(
    ("attributes", "level", "expected"),
    [
        ({"access": "read"}, "read", (200, 403)),
        ({"access": "write"}, "write", (200, 201)),
        ({"access": "maintain"}, "write", (200, 201)),
        ({"access": "admin"}, "write", (200, 201)),
        ({"access": "custom"}, "none", (404, 404)),
        ({"access": "custom", "workspace-access": {"variables": "read"}}, "read", (200, 403)),
        (
            {"access": "custom", "workspace-access": {"variables": "write", "locking": True}},
            "write",
            (200, 201),
        ),
    ],
)
async def test_an_access_does_to_variables_what_its_name_says_in_every_workspace(
    tenant: Tenant, attributes: dict[str, object], level: str, expected: tuple[int, int]
) -> None:
    made = await grant(tenant, tenant.project, "writers", **attributes)
    shown = made["attributes"]
    assert (shown["access"], shown["workspace-access"]["variables"]) == (
        attributes["access"],
        level,
    )
    assert await rights(tenant) == expected
    assert await rights(tenant, "writers-token") == (
        expected[0],
        422 if expected[1] == 201 else expected[1],
    )
    assert await seen_by(tenant, "writer") == (
        ["network"] if level == "none" else ["network", "payments"]
    )
    told = await newest(tenant, f"/teams/{tenant.teams['writers']}")
    assert told["action"] == "project-grant.put"
    assert await tenant.deployment.audit_holds()


async def test_what_comes_into_a_project_is_reached_and_what_leaves_it_is_not(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await grant(tenant, shop, "readers", access="write")
    assert await rights(tenant, "reader") == (404, 404)
    assert await names_of(tenant, "reader") == ["Default Project", "shop"]
    await move(tenant, shop, "payments")
    assert await rights(tenant, "reader") == (200, 201)
    await move(tenant, tenant.project, "payments")
    assert await rights(tenant, "reader") == (404, 404)


async def test_the_higher_of_both_grants_counts(tenant: Tenant) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    made = await grant(tenant, shop, "writers", access="read")
    assert (await rights(tenant, "writer", "network"))[1] == 201
    path = f"{PATH}/{made['id']}"
    await tenant.call("owner", "PATCH", path, changes(access="custom"))
    shown = (await tenant.call("owner", "GET", path)).json()["data"]["attributes"]
    assert shown["workspace-access"]["variables"] == "read"
    reader = await grant(tenant, shop, "readers", access="write")
    assert (await rights(tenant, "reader", "network")) == (200, 422)  # the key is there by now
    assert (await tenant.call("owner", "DELETE", f"{PATH}/{reader['id']}")).status_code == 204
    assert (await rights(tenant, "reader", "network")) == (200, 403)


async def test_everywhere_variables_are_listed_those_of_the_project_are_found(
    tenant: Tenant,
) -> None:
    await grant(tenant, tenant.project, "readers", access="read")
    path = tenant.vars_path("payments")
    await tenant.call("owner", "POST", path, variable_document(key="found"))
    for query in ("", "?workspace=payments"):
        answer = await tenant.call(
            "reader", "GET", f"/organizations/{tenant.organization}/vars{query}"
        )
        keys = [one["attributes"]["key"] for one in answer.json()["data"]]
        assert keys == ["found"], answer.text
    tagged = {"data": [{"type": "tags", "attributes": {"name": "live"}}]}
    tags = f"/workspaces/{tenant.workspaces['payments']}/relationships/tags"
    await tenant.call("owner", "POST", tags, tagged)
    listed = await tenant.call("reader", "GET", f"/organizations/{tenant.organization}/tags")
    assert [one["attributes"]["name"] for one in listed.json()["data"]] == ["live"]
    accesses = await tenant.call(
        "owner", "GET", f"/workspaces/{tenant.workspaces['payments']}/access"
    )
    ways = {
        one["attributes"]["name"]: one["attributes"]["through"] for one in accesses.json()["data"]
    }
    name = f"reader-{tenant.organization.removeprefix('org-')}"
    assert ways[name] == [{"team": "readers", "access": "read"}]


async def test_of_many_workspaces_those_of_the_project_are_searched(tenant: Tenant) -> None:
    """More than a search goes through one by one."""
    shop = await make(tenant)

    many = tuple(f"many-{n}" for n in range(MAX_LISTED + 1))
    await apply(tenant, workspaces=many)

    async def fill(tx: Transaction) -> None:
        sql = (
            "UPDATE workspaces SET project_id = $1 WHERE name IN {each $2} AND organization_id = "
            "(SELECT organization_id FROM projects WHERE id = $1)"
        )
        await tx.execute(sql, shop, each(many))

    await tenant.deployment.services.database.write(fill)
    await tenant.call("owner", "POST", tenant.vars_path("payments"), variable_document(key="b"))
    await tenant.make_variable("a")
    await grant(tenant, shop, "readers", access="read")
    where = f"/organizations/{tenant.organization}/vars"
    keys = [
        one["attributes"]["key"]
        for one in (await tenant.call("reader", "GET", where)).json()["data"]
    ]
    assert keys == ["a"]  # by the grant on `network`
    await move(tenant, shop, "payments")
    found = (await tenant.call("reader", "GET", where)).json()["data"]
    assert [one["attributes"]["key"] for one in found] == ["a", "b"]


async def test_whoever_reads_a_workspace_by_its_project_sees_the_sets_that_reach_it(
    tenant: Tenant,
) -> None:
    shop, where = await make(tenant), f"/organizations/{tenant.organization}/varsets"
    await move(tenant, shop, "payments")
    data: dict[str, Any] = {"type": "varsets", "attributes": {"name": "shared"}}
    data["relationships"] = {
        "workspaces": linkage_document(tenant.workspaces["payments"], type_="workspaces")
    }
    id_ = (await tenant.call("owner", "POST", where, {"data": data})).json()["data"]["id"]

    async def seen() -> tuple[int, int, int]:
        one = await tenant.call("plain", "GET", f"/varsets/{id_}")
        listed = (await tenant.call("plain", "GET", where)).json()["data"]
        count = sum(each["attributes"]["workspace-count"] for each in listed)
        return one.status_code, len(listed), count

    assert await seen() == (404, 0, 0)
    await give(tenant, "plain", name="merchants", visibility="organization")
    teams = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/teams")
    (team,) = (
        each["id"] for each in teams.json()["data"] if each["attributes"]["name"] == "merchants"
    )
    document = access_document(team, shop, access="read")
    assert (await tenant.call("owner", "POST", PATH, document)).status_code == 201
    assert await seen() == (200, 1, 1)


async def test_a_changed_access_counts_by_the_next_request_and_is_deleted_once(
    tenant: Tenant,
) -> None:
    path = f"{PATH}/{(await grant(tenant, tenant.project, 'writers', access='read'))['id']}"
    assert (await tenant.call("owner", "PATCH", path, changes(access="admin"))).is_success
    assert await rights(tenant) == (200, 201)
    kept = await tenant.call("owner", "PATCH", path, changes(access="custom"))
    assert kept.json()["data"]["attributes"]["workspace-access"]["variables"] == "write"
    none = changes(workspace_access={"variables": "none"})
    told = await tenant.call("owner", "PATCH", path, none)
    assert told.json()["data"]["attributes"]["workspace-access"]["locking"] is False
    assert await rights(tenant) == (404, 404)
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
    assert (await tenant.call("owner", "DELETE", path)).status_code == 404
    told = await newest(tenant, f"/teams/{tenant.teams['writers']}")
    expected = {"projects": [tenant.project]}
    assert (told["action"], told["details"]) == ("project-grant.remove", expected)
    assert await tenant.deployment.audit_holds()


async def test_a_team_has_one_access_to_a_project_and_owners_need_none(tenant: Tenant) -> None:
    await grant(tenant, tenant.project, access="read")
    document = access_document(tenant.teams["crew"], tenant.project, access="write")
    answer = await tenant.call("owner", "POST", PATH, document)
    assert faults(answer) == [("422", "grant_taken", TEAM)]
    document = access_document(tenant.teams["owners"], tenant.project, access="plan")
    answer = await tenant.call("owner", "POST", PATH, document)
    assert faults(answer) == [
        ("422", "invalid_value", f"{AT}/access"),
        ("422", "owners_is_permanent", TEAM),
    ]


async def test_team_and_project_are_of_one_organization(tenant: Tenant) -> None:
    crew = tenant.teams["crew"]
    for team, project, where in (
        (crew, tenant.other_project, PROJECT),
        (tenant.other_team, tenant.project, TEAM),
        (crew, "prj-1111111111111111", PROJECT),
        ("team-1111111111111111", tenant.project, TEAM),
    ):
        document = access_document(team, project, access="read")
        answer = await tenant.call("owner", "POST", PATH, document)
        assert (answer.status_code, faults(answer)) == (404, [("404", "not_found", where)])
    document = access_document(crew, tenant.other_project, access="some")
    assert faults(await tenant.call("owner", "POST", PATH, document)) == [
        ("422", "invalid_value", f"{AT}/access"),
        ("404", "not_found", PROJECT),
    ]


@ON_SQLITE
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [("422", "missing_member", f"{AT}/access")]),
        (
            {"access": "read", "workspace-access": {"variables": "write", "runs": "apply"}},
            [
                ("422", "read_only", f"{AT}/workspace-access/variables"),
                ("422", "read_only", f"{AT}/workspace-access/runs"),
            ],
        ),
        (
            {
                "access": "custom",
                "project-access": {
                    "settings": "delete",
                    "teams": "manage",
                    "variable-sets": "all",
                },
                "workspace-access": {"create": True, "move": True, "delete": True, "runs": "all"},
            },
            [
                ("422", "not_offered", f"{AT}/project-access/settings"),
                ("422", "not_offered", f"{AT}/project-access/teams"),
                ("422", "invalid_value", f"{AT}/project-access/variable-sets"),
                ("422", "not_offered", f"{AT}/workspace-access/create"),
                ("422", "not_offered", f"{AT}/workspace-access/move"),
                ("422", "not_offered", f"{AT}/workspace-access/delete"),
                ("422", "invalid_value", f"{AT}/workspace-access/runs"),
            ],
        ),
        (
            {"access": "custom", "workspace-access": {"variables": "read", "locking": True}},
            [("422", "not_offered", f"{AT}/workspace-access/locking")],
        ),
        (
            {"access": "custom", "project-access": "all", "workspace-access": {"variables": 1}},
            [
                ("422", "wrong_type", f"{AT}/project-access"),
                ("422", "wrong_type", f"{AT}/workspace-access/variables"),
            ],
        ),
    ],
)
async def test_every_fault_of_a_new_access_is_named_at_once(
    tenant: Tenant, attributes: dict[str, Any], expected: list[object]
) -> None:
    document = access_document(tenant.teams["crew"], tenant.project, **attributes)
    assert faults(await tenant.call("owner", "POST", PATH, document)) == expected


async def test_every_fault_of_a_change_is_named_at_once(tenant: Tenant) -> None:
    path = f"{PATH}/{(await grant(tenant, tenant.project, access='read'))['id']}"
    document = changes(access="plan", workspace_access={"variables": "all"})
    document["data"]["id"] = "tprj-1111111111111111"
    answer = await tenant.call("owner", "PATCH", path, document)
    assert faults(answer) == [
        ("422", "invalid_value", f"{AT}/access"),
        ("422", "invalid_value", f"{AT}/workspace-access/variables"),
        ("409", "id_conflict", "/data/id"),
    ]


async def test_clients_of_the_terraform_dialect_may_leave_out_the_type(tenant: Tenant) -> None:
    path = f"{PATH}/{(await grant(tenant, tenant.project, access='read'))['id']}"
    said = {"data": {"attributes": {"access": "write"}}}
    async with terraform(tenant) as client:
        answer = await client.patch(path, json=said)
        assert (answer.status_code, answer.json()["data"]["attributes"]["access"]) == (200, "write")
    refused = await tenant.call("owner", "PATCH", path, said)
    assert faults(refused) == [("422", "missing_member", "/data/type")]


async def test_only_owners_give_access_to_a_project(tenant: Tenant) -> None:
    rights = "manage-projects", "manage-workspaces", "manage-teams"
    await give(tenant, "plain", *rights, visibility="organization")
    path = f"{PATH}/{(await grant(tenant, tenant.project, 'readers', access='read'))['id']}"
    document = access_document(tenant.teams["crew"], tenant.project, access="read")
    for method, where, said in (
        ("POST", PATH, document),
        ("PATCH", path, changes(access="write")),
        ("DELETE", path, None),
    ):
        answer = await tenant.call("plain", method, where, said)
        assert faults(answer) == [("403", "forbidden", None)]


async def test_an_access_is_seen_by_whoever_sees_the_team_and_the_project(tenant: Tenant) -> None:
    shop = await make(tenant)
    await grant(tenant, shop, "readers", access="read")
    await grant(tenant, shop, "secret", access="read")
    default = await grant(tenant, tenant.project, "crew", access="read")
    expected = {"owner": 3, "reader": 2, "hidden": 2, "writer": 1, "plain": 0}
    for who, count in expected.items():
        listed = (await tenant.call(who, "GET", PATH)).json()["data"]
        assert len(listed) == count, who
    narrowed = await tenant.call("owner", "GET", f"{PATH}?filter[project][id]={shop}")
    assert len(narrowed.json()["data"]) == 2
    by_team = await tenant.call("owner", "GET", f"{PATH}?filter[team][id]={tenant.teams['crew']}")
    assert [one["id"] for one in by_team.json()["data"]] == [default["id"]]
    for who, query in (
        ("plain", f"[project][id]={shop}"),
        ("writer", f"[team][id]={tenant.teams['secret']}"),
    ):
        assert (await tenant.call(who, "GET", f"{PATH}?filter{query}")).status_code == 404
    counted = [
        (await tenant.call(who, "GET", f"/projects/{shop}")).json()["data"]["attributes"][
            "team-count"
        ]
        for who in ("owner", "reader", "hidden")
    ]
    assert counted == [2, 1, 2]


async def test_names_of_teams_and_projects_come_with_accesses(tenant: Tenant) -> None:
    shop = await make(tenant)
    await grant(tenant, shop, "readers", access="read")
    path = f"{PATH}?filter[project][id]={shop}&include=team,project"
    document = (await tenant.call("reader", "GET", path)).json()
    names = {(one["type"], one["id"], one["attributes"]["name"]) for one in document["included"]}
    assert names == {("teams", tenant.teams["readers"], "readers"), ("projects", shop, "shop")}
    refused = await tenant.call("reader", "GET", path.replace("=team", "=users"))
    assert refused.status_code == 400


async def test_a_grant_on_a_project_is_one_that_whoever_gives_its_rights_on_must_have(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await grant(tenant, shop, "crew", access="write")
    await give(tenant, "plain", "manage-teams", visibility="organization")
    join = linkage_document(tenant.users["plain"])
    answer = await tenant.call("plain", "POST", tenant.linkage_path("crew"), join)
    assert answer.status_code == 403
    listed = await tenant.call("plain", "GET", f"/organizations/{tenant.organization}/teams")
    may = {
        one["attributes"]["name"]: one["attributes"]["permissions"]["can-update-membership"]
        for one in listed.json()["data"]
    }
    assert may["crew"] is False
    # What a team has on the project, it has in each workspace; not the other way round.
    await move(tenant, shop, "network")
    joined = await tenant.call("owner", "POST", tenant.linkage_path("writers"), join)
    assert joined.status_code == 204
    answer = await tenant.call("plain", "POST", tenant.linkage_path("crew"), join)
    assert answer.status_code == 403
    await grant(tenant, shop, "writers", access="write")
    answer = await tenant.call("plain", "POST", tenant.linkage_path("crew"), join)
    assert answer.status_code == 204
    await grant(tenant, tenant.project, "readers", access="read")
    answer = await tenant.call("plain", "POST", tenant.linkage_path("readers"), join)
    assert answer.status_code == 403
    await grant(tenant, tenant.project, "writers", access="read")
    answer = await tenant.call("plain", "POST", tenant.linkage_path("readers"), join)
    assert answer.status_code == 204


async def test_an_access_goes_with_its_project_and_its_team(tenant: Tenant) -> None:
    shop = await make(tenant)
    path = f"{PATH}/{(await grant(tenant, shop, access='read'))['id']}"
    assert (await tenant.call("owner", "DELETE", f"/projects/{shop}")).status_code == 204
    assert (await tenant.call("owner", "GET", path)).status_code == 404
    path = f"{PATH}/{(await grant(tenant, tenant.project, access='read'))['id']}"
    await tenant.call("owner", "DELETE", f"/teams/{tenant.teams['crew']}")
    assert (await tenant.call("owner", "GET", path)).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_no_access_stays_to_a_project_that_goes_meanwhile(tenant: Tenant) -> None:
    for round_ in range(4):
        shop = await make(tenant, f"shop-{round_}")
        document = access_document(tenant.teams["crew"], shop, access="read")
        given, gone = await asyncio.gather(
            tenant.call("owner", "POST", PATH, document),
            tenant.call("owner", "DELETE", f"/projects/{shop}"),
        )
        assert (given.status_code, gone.status_code) in ((201, 204), (404, 204))
    assert (await tenant.call("owner", "GET", PATH)).json()["data"] == []
    assert await tenant.deployment.audit_holds()


async def test_access_to_the_default_project_of_an_older_releases_organization_makes_its_row(
    tenant: Tenant,
) -> None:
    async def forget(tx: Transaction) -> None:
        await tx.execute("DELETE FROM projects WHERE id = $1", tenant.project)

    await tenant.deployment.services.database.write(forget)
    await grant(tenant, tenant.project, "writers", access="write")
    assert await rights(tenant) == (200, 201)


async def test_a_dry_run_says_who_would_gain_and_lose_access_and_moves_nothing(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    await grant(tenant, shop, "crew", access="write")
    await grant(tenant, shop, "writers", access="read")  # which has more on `network`
    await grant(tenant, shop, "secret", access="read")
    await grant(tenant, tenant.project, "readers", access="write")

    async def asked(who: str, *workspaces: str) -> Any:
        ids = [tenant.workspaces[name] for name in workspaces]
        document = {**moved(*ids), "meta": {"dry-run": True}}
        path = f"/projects/{shop}/relationships/workspaces"
        answer = await tenant.call(who, "POST", path, document)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def told(team: str, before: str, after: str, workspaces: int) -> dict[str, Any]:
        attributes = {"team": team, "before": before, "after": after, "workspaces": workspaces}
        return {"id": tenant.teams[team], "type": "access-changes", "attributes": attributes}

    foreseen = await asked("owner", "network", "payments")
    assert foreseen["data"] == [
        told("crew", "none", "write", 2),
        told("readers", "write", "none", 1),
        told("readers", "write", "read", 1),
        told("secret", "none", "read", 2),
        told("writers", "none", "read", 1),
    ]
    nothing: dict[str, list[str]] = {"gained-varsets": [], "lost-varsets": [], "runners": []}
    meta = {"dry-run": True, "workspaces": 2, "unseen-teams": 0, **nothing}
    assert foreseen["meta"] == meta
    await give(tenant, "plain", "manage-projects", "manage-workspaces", visibility="organization")
    theirs = await asked("plain", "payments")
    names = [one["attributes"]["team"] for one in theirs["data"]]
    assert (names, theirs["meta"]["unseen-teams"]) == (["crew", "readers", "writers"], 1)
    assert (await rights(tenant, "reader")) == (200, 201)
    assert (await move(tenant, shop, "network")).status_code == 204
    assert (await asked("owner", "network"))["meta"]["workspaces"] == 0


@ON_SQLITE
async def test_others_have_their_turns_between_what_a_dry_run_looks_up(tenant: Tenant) -> None:
    shop = await make(tenant)
    document = {**moved(*tenant.workspaces.values()), "meta": {"dry-run": True}}
    path = f"/projects/{shop}/relationships/workspaces"
    answer, turns = await turns_of_others(tenant.call("owner", "POST", path, document))
    assert answer.status_code == 200, answer.text
    assert turns > 5


async def test_a_dry_run_leaves_its_idempotency_key_to_the_move(tenant: Tenant) -> None:
    shop = await make(tenant)
    path = f"/projects/{shop}/relationships/workspaces"
    document = moved(tenant.workspaces["network"])
    dry = {**document, "meta": {"dry-run": True}}
    for asked, status in ((dry, 200), (dry, 200), (document, 204), (document, 204)):
        answer = await tenant.call("owner", "POST", path, asked, {"Idempotency-Key": "to-the-shop"})
        assert answer.status_code == status, answer.text


async def test_a_dry_run_is_refused_as_the_move_would_be(tenant: Tenant) -> None:
    path = f"/projects/{tenant.project}/relationships/workspaces"
    document = {**moved("ws-1111111111111111"), "meta": {"dry-run": True, "dryrun": 1}}
    answer = await tenant.call("owner", "POST", path, document)
    assert faults(answer) == [
        ("404", "not_found", "/data/0/id"),
        ("422", "unknown_attribute", "/meta/dryrun"),
    ]
    document = {**moved(tenant.workspaces["network"]), "meta": {"dry-run": True}}
    assert (await tenant.call("reader", "POST", path, document)).status_code == 403
