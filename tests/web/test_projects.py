"""Projects over HTTP: made, changed, listed, deleted, and what workspaces are moved between."""

import asyncio
from typing import Any

import httpx
import pytest

from teamvars.domain.projects import DEFAULT_NAME
from teamvars.domain.tags import MAX_TAGS
from teamvars.storage.database import Transaction
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults
from tests.web.test_organization_access import give
from tests.web.test_tags import bind, bound
from tests.web.test_workspaces import all_path, document, path

NAME, DATA = "/data/attributes/name", "/data/relationships/project/data"


def project_document(**attributes: Any) -> dict[str, Any]:
    """Creates or changes a project; hyphens are written as underscores."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    return {"data": {"type": "projects", "attributes": named}}


def projects_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/projects"


def moved(*workspace_ids: str) -> dict[str, Any]:
    return {"data": [{"type": "workspaces", "id": id_} for id_ in workspace_ids]}


def related(project_id: str | None, **attributes: Any) -> dict[str, Any]:
    said = document(**attributes)
    data = None if project_id is None else {"type": "projects", "id": project_id}
    said["data"]["relationships"] = {"project": {"data": data}}
    return said


async def create(tenant: Tenant, who: str = "owner", **attributes: Any) -> httpx.Response:
    return await tenant.call(who, "POST", projects_path(tenant), project_document(**attributes))


async def make(tenant: Tenant, name: str = "shop", **attributes: Any) -> str:
    """The id of a new project."""
    answer = await create(tenant, name=name, **attributes)
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


async def move(
    tenant: Tenant, project_id: str, *workspaces: str, who: str = "owner"
) -> httpx.Response:
    where = f"/projects/{project_id}/relationships/workspaces"
    ids = [tenant.workspaces.get(name, name) for name in workspaces]
    return await tenant.call(who, "POST", where, moved(*ids))


async def project_of(tenant: Tenant, workspace: str = "network") -> str:
    """The id of the project that a workspace is in."""
    answer = await tenant.call("owner", "GET", path(tenant, workspace))
    linkage = answer.json()["data"]["relationships"]["project"]["data"]
    assert linkage["type"] == "projects"
    id_: str = linkage["id"]
    return id_


async def names_of(tenant: Tenant, who: str = "owner", query: str = "") -> list[str]:
    answer = await tenant.call(who, "GET", f"{projects_path(tenant)}?{query}")
    assert answer.status_code == 200, answer.text
    return [one["attributes"]["name"] for one in answer.json()["data"]]


async def newest(tenant: Tenant, where: str) -> Any:
    events = await tenant.call("owner", "GET", f"{where}/audit-events")
    return events.json()["data"][0]["attributes"]


async def test_an_organization_has_a_default_project_with_all_its_workspaces(
    tenant: Tenant,
) -> None:
    assert await names_of(tenant) == [DEFAULT_NAME]
    found = (await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")).json()
    linked = found["data"]["relationships"]["default-project"]["data"]
    assert linked == {"type": "projects", "id": tenant.project}
    assert await project_of(tenant) == await project_of(tenant, "payments") == tenant.project
    shown = (await tenant.call("owner", "GET", f"/projects/{tenant.project}")).json()["data"]
    assert shown["attributes"]["workspace-count"] == 2
    assert shown["attributes"]["permissions"]["can-destroy"] is False
    organization = {"data": {"type": "organizations", "id": tenant.organization}}
    assert shown["relationships"]["organization"] == organization


async def test_the_default_project_stays_and_can_be_renamed(tenant: Tenant) -> None:
    where = f"/projects/{tenant.project}"
    answer = await tenant.call("owner", "DELETE", where)
    assert faults(answer) == [("422", "default_project_stays", None)]
    renamed = await tenant.call("owner", "PATCH", where, project_document(name="Everything else"))
    assert renamed.json()["data"]["attributes"]["name"] == "Everything else"
    assert await names_of(tenant) == ["Everything else"]
    assert await make(tenant, DEFAULT_NAME) != tenant.project
    assert await project_of(tenant) == tenant.project
    told = await newest(tenant, f"/organizations/{tenant.organization}")
    assert told["action"] == "project.create"
    assert await tenant.deployment.audit_holds()


async def test_a_project_is_what_its_clients_expect(tenant: Tenant) -> None:
    answer = await create(tenant, name="shop", description="What is sold.")
    data = answer.json()["data"]
    assert (answer.status_code, answer.headers["Location"]) == (
        201,
        f"/api/v2/projects/{data['id']}",
    )
    assert data["links"] == {"self": f"/api/v2/projects/{data['id']}"}
    attributes = data["attributes"]
    permissions = attributes.pop("permissions")
    assert attributes.pop("created-at").endswith("Z")
    assert attributes == {
        "name": "shop",
        "description": "What is sold.",
        "workspace-count": 0,
        "team-count": 0,
        "is-unified": False,
        "default-execution-mode": "remote",
        "auto-destroy-activity-duration": None,
        "setting-overwrites": {"default-execution-mode": False, "default-agent-pool": False},
    }
    assert (
        permissions.pop("can-move-stack") is permissions.pop("can-deploy-no-code-modules") is False
    )
    assert all(permissions.values())
    told = await newest(tenant, f"/organizations/{tenant.organization}")
    assert (told["action"], told["details"]) == ("project.create", {"name": "shop"})


async def test_a_project_is_changed_by_what_is_said_alone(tenant: Tenant) -> None:
    where = f"/projects/{await make(tenant, description='old')}"
    said = project_document(name="store", description=None)
    assert (await tenant.call("owner", "PATCH", where, said)).is_success
    told = await newest(tenant, f"/organizations/{tenant.organization}")
    expected = {"name": "store", "from": "shop", "changed": ["name", "description"]}
    assert (told["action"], told["details"]) == ("project.update", expected)
    again = await tenant.call("owner", "PATCH", where, project_document())
    assert again.json()["data"]["attributes"]["name"] == "store"
    assert await tenant.deployment.audit_holds()


async def test_a_mode_is_the_projects_own_once_it_is_named_and_else_its_organizations(
    tenant: Tenant,
) -> None:
    where = f"/projects/{await make(tenant)}"

    async def shown(**said: Any) -> tuple[str, bool]:
        answer = await tenant.call("owner", "PATCH", where, project_document(**said))
        attributes = answer.json()["data"]["attributes"]
        own: bool = attributes["setting-overwrites"]["default-execution-mode"]
        return attributes["default-execution-mode"], own

    of_organization = {
        "data": {"type": "organizations", "attributes": {"default-execution-mode": "local"}}
    }
    await tenant.call("owner", "PATCH", f"/organizations/{tenant.organization}", of_organization)
    assert await shown() == ("local", False)
    assert await shown(default_execution_mode="remote") == ("remote", True)
    no_more = {"default-execution-mode": False, "default-agent-pool": False}
    assert await shown(setting_overwrites=no_more) == ("local", False)
    answer = await tenant.call(
        "owner", "PATCH", where, project_document(default_execution_mode="agent")
    )
    assert faults(answer) == [("422", "not_offered", "/data/attributes/default-execution-mode")]


async def test_a_workspace_without_a_mode_has_that_of_its_project_wherever_it_is_moved(
    tenant: Tenant,
) -> None:
    shop = await make(tenant, default_execution_mode="local")
    made = await tenant.call("owner", "POST", all_path(tenant), related(shop, name="follows"))
    assert made.json()["data"]["attributes"]["execution-mode"] == "local"
    space = f"/workspaces/{made.json()['data']['id']}"
    own = await tenant.call("owner", "PATCH", path(tenant), related(shop))
    assert own.json()["data"]["attributes"]["execution-mode"] == "remote"

    async def mode() -> str:
        shown = (await tenant.call("owner", "GET", space)).json()["data"]["attributes"]
        found: str = shown["execution-mode"]
        return found

    beside = related(tenant.project, operations=False, setting_overwrites={"execution-mode": False})
    answer = await tenant.call("owner", "PATCH", space, beside)
    assert faults(answer) == [("422", "invalid_value", "/data/attributes/operations")]
    moved = await tenant.call(
        "owner", "PATCH", space, related(tenant.project, terraform_version="1.5")
    )
    assert moved.json()["data"]["attributes"]["execution-mode"] == await mode() == "remote"
    default = f"/projects/{tenant.project}"
    await tenant.call("owner", "PATCH", default, project_document(default_execution_mode="local"))
    assert await mode() == "local"
    later = await tenant.call("owner", "POST", all_path(tenant), document(name="later"))
    assert later.json()["data"]["attributes"]["execution-mode"] == "local"


@ON_SQLITE
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [("422", "missing_member", NAME)]),
        ({"name": " shop"}, [("422", "invalid_value", NAME)]),
        ({"name": "x" * 91}, [("422", "invalid_value", NAME)]),
        ({"name": "größe"}, [("422", "invalid_value", NAME)]),
        (
            {
                "name": "",
                "auto_destroy_activity_duration": "1d",
                "default_agent_pool_id": "apool-1",
            },
            [
                ("422", "invalid_value", NAME),
                ("422", "not_offered", "/data/attributes/auto-destroy-activity-duration"),
                ("422", "not_offered", "/data/attributes/default-agent-pool-id"),
            ],
        ),
    ],
)
async def test_every_fault_of_a_new_project_is_named_at_once(
    tenant: Tenant, attributes: dict[str, Any], expected: list[object]
) -> None:
    assert faults(await create(tenant, **attributes)) == expected


async def test_a_name_is_given_once_however_it_is_capitalised(tenant: Tenant) -> None:
    id_ = await make(tenant, "My Shop")
    for name in ("MY SHOP", "default project"):
        assert faults(await create(tenant, name=name)) == [("422", "name_taken", NAME)]
    answer = await tenant.call(
        "owner", "PATCH", f"/projects/{id_}", project_document(name="Default project")
    )
    assert faults(answer) == [("422", "name_taken", NAME)]
    answers = await asyncio.gather(*(create(tenant, name="raced") for _ in range(4)))
    assert sorted(one.status_code for one in answers) == [201, 422, 422, 422]
    assert await tenant.deployment.audit_holds()


async def test_projects_are_listed_by_name_searched_and_paged(tenant: Tenant) -> None:
    for name in ("beta", "Alpha", "gamma"):
        await make(tenant, name)
    every = ["Alpha", "beta", DEFAULT_NAME, "gamma"]
    assert await names_of(tenant) == every
    assert await names_of(tenant, query="sort=-name") == every[::-1]
    assert await names_of(tenant, query="filter[names]=BETA,gamma,none") == ["beta", "gamma"]
    assert await names_of(tenant, query="q=A") == every
    assert await names_of(tenant, query="q=mm") == ["gamma"]
    page = await tenant.call("owner", "GET", f"{projects_path(tenant)}?page[size]=2&page[number]=2")
    assert [one["attributes"]["name"] for one in page.json()["data"]] == every[2:]
    assert page.json()["meta"]["pagination"]["total-count"] == 4


async def test_whoever_sees_a_workspace_sees_its_project_and_counts_what_they_see(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    assert await names_of(tenant, "reader") == [DEFAULT_NAME]
    assert await names_of(tenant, "plain") == []
    seen = await tenant.call("reader", "GET", f"/projects/{tenant.project}")
    assert seen.json()["data"]["attributes"]["workspace-count"] == 1
    assert (await tenant.call("reader", "GET", f"/projects/{shop}")).status_code == 404
    assert (await move(tenant, shop, "network")).status_code == 204
    assert await names_of(tenant, "reader") == ["shop"]
    assert (await tenant.call("reader", "GET", f"/projects/{tenant.project}")).status_code == 404
    await give(tenant, "plain", "read-projects")
    assert await names_of(tenant, "plain") == [DEFAULT_NAME, "shop"]
    counted = await tenant.call("plain", "GET", f"/projects/{shop}")
    assert counted.json()["data"]["attributes"]["workspace-count"] == 0
    await give(tenant, "manager", "read-workspaces")
    empty = await make(tenant, "empty")
    assert await names_of(tenant, "manager") == [DEFAULT_NAME, "shop"]
    assert (await tenant.call("manager", "GET", f"/projects/{empty}")).status_code == 404


async def test_manage_projects_makes_changes_and_deletes_projects(tenant: Tenant) -> None:
    await give(tenant, "plain", "manage-projects")
    answer = await create(tenant, "plain", name="theirs")
    where = f"/projects/{answer.json()['data']['id']}"
    permissions = answer.json()["data"]["attributes"]["permissions"]
    assert (permissions["can-update"], permissions["can-move-workspace"]) == (True, False)
    assert (await tenant.call("plain", "PATCH", where, project_document(name="x"))).is_success
    assert (await tenant.call("plain", "DELETE", where)).status_code == 204
    assert (await tenant.call("plain", "GET", where)).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_a_project_with_workspaces_is_not_deleted(tenant: Tenant) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network", "payments")
    answer = await tenant.call("owner", "DELETE", f"/projects/{shop}")
    assert faults(answer) == [("409", "project_not_empty", None)]
    assert "still has 2 workspaces" in answer.text
    await move(tenant, tenant.project, "network", "payments")
    assert (await tenant.call("owner", "DELETE", f"/projects/{shop}")).status_code == 204


async def test_workspaces_are_moved_all_or_none_and_each_move_is_recorded(tenant: Tenant) -> None:
    shop = await make(tenant)
    answer = await move(tenant, shop, "network", "ws-1111111111111111", tenant.other_workspace)
    assert faults(answer) == [
        ("404", "not_found", "/data/1/id"),
        ("404", "not_found", "/data/2/id"),
    ]
    assert await project_of(tenant) == tenant.project
    assert (await move(tenant, shop, "network", "payments", "network")).status_code == 204
    assert await project_of(tenant) == await project_of(tenant, "payments") == shop
    told = await newest(tenant, path(tenant))
    expected = {"name": "network", "project": shop, "former-project": tenant.project}
    assert (told["action"], told["details"]) == ("workspace.move", expected)
    sequence = told["sequence"]
    assert (await move(tenant, shop, "network")).status_code == 204
    assert (await newest(tenant, path(tenant)))["sequence"] == sequence
    assert (await move(tenant, tenant.other_project, "network")).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_moving_takes_an_owner_or_two_rights(tenant: Tenant) -> None:
    shop = await make(tenant)
    await give(tenant, "plain", "manage-projects", name="projects")
    await give(tenant, "hidden", "manage-workspaces", name="spaces")
    for who in ("plain", "hidden"):
        answer = await move(tenant, tenant.project, "network", who=who)
        assert faults(answer) == [("403", "forbidden", None)]
    in_place = await tenant.call("hidden", "PATCH", path(tenant), related(tenant.project))
    assert in_place.is_success
    await give(tenant, "hidden", "read-projects", name="seeing")
    for method, where, name in (("PATCH", path(tenant), "net"), ("POST", all_path(tenant), "new")):
        answer = await tenant.call("hidden", method, where, related(shop, name=name))
        assert faults(answer) == [("403", "forbidden", None)]
    await give(tenant, "hidden", "manage-projects", name="moving")
    assert (await move(tenant, shop, "network", who="hidden")).status_code == 204
    assert await project_of(tenant) == shop


async def test_a_workspace_is_made_in_a_project_or_put_into_it_by_a_change(tenant: Tenant) -> None:
    shop = await make(tenant)
    made = await tenant.call("owner", "POST", all_path(tenant), related(shop, name="till"))
    linkage = {"data": {"type": "projects", "id": shop}}
    assert made.json()["data"]["relationships"]["project"] == linkage
    changed = await tenant.call("owner", "PATCH", path(tenant), related(shop, name="net"))
    assert changed.json()["data"]["relationships"]["project"] == linkage
    events = await tenant.call("owner", "GET", f"{path(tenant)}/audit-events")
    actions = [one["attributes"]["action"] for one in events.json()["data"]][:2]
    assert actions == ["workspace.update", "workspace.move"]
    back = await tenant.call("owner", "PATCH", path(tenant), related(None))
    assert back.json()["data"]["relationships"]["project"]["data"]["id"] == tenant.project
    assert await tenant.deployment.audit_holds()


async def test_a_project_that_is_not_there_is_named_beside_other_faults(tenant: Tenant) -> None:
    for method, where in (("POST", all_path(tenant)), ("PATCH", path(tenant))):
        for missing in ("prj-1111111111111111", tenant.other_project, "prj", ""):
            answer = await tenant.call("owner", method, where, related(missing, name="a b"))
            named = [("422", "invalid_value", NAME), ("404", "not_found", f"{DATA}/id")]
            assert faults(answer) == named
        wrong = related(tenant.project, name="right")
        wrong["data"]["relationships"]["project"]["data"]["type"] = "teams"
        answer = await tenant.call("owner", method, where, wrong)
        assert faults(answer) == [("409", "type_conflict", f"{DATA}/type")]


async def test_workspaces_are_found_by_their_project_and_shown_with_it(tenant: Tenant) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")

    async def listed(project_id: str, who: str = "owner") -> list[str]:
        query = f"filter[project][id]={project_id}"
        answer = await tenant.call(who, "GET", f"{all_path(tenant)}?{query}")
        return [one["attributes"]["name"] for one in answer.json()["data"]]

    assert await listed(shop) == await listed(shop, "reader") == ["network"]
    assert await listed(tenant.project) == ["payments"]
    assert await listed(tenant.project, "reader") == await listed("prj-1") == []
    whole = await tenant.call("owner", "GET", f"{all_path(tenant)}?include=project")
    names = [one["attributes"]["name"] for one in whole.json()["included"]]
    assert sorted(names) == [DEFAULT_NAME, "shop"]
    one = await tenant.call("reader", "GET", f"{path(tenant)}?include=project,organization")
    assert {item["type"] for item in one.json()["included"]} == {"projects", "organizations"}


async def test_an_organization_of_an_older_release_has_a_default_project_all_the_same(
    tenant: Tenant,
) -> None:
    """Such a node makes no row for it."""

    async def forget(tx: Transaction) -> None:
        await tx.execute("DELETE FROM projects WHERE id = $1", tenant.project)

    await tenant.deployment.services.database.write(forget)
    assert await names_of(tenant) == [DEFAULT_NAME]
    shown = await tenant.call("reader", "GET", f"/projects/{tenant.project}")
    assert shown.json()["data"]["attributes"]["name"] == DEFAULT_NAME
    assert faults(await create(tenant, name=DEFAULT_NAME)) == [("422", "name_taken", NAME)]
    shop = await make(tenant)
    await move(tenant, shop, "network")
    assert (await move(tenant, tenant.project, "network")).status_code == 204
    await tenant.deployment.services.database.write(forget)
    renamed = await tenant.call(
        "owner", "PATCH", f"/projects/{tenant.project}", project_document(name="Rest")
    )
    assert renamed.is_success
    assert await names_of(tenant) == ["Rest", "shop"]


async def test_no_project_goes_while_a_workspace_comes(tenant: Tenant) -> None:
    for round_ in range(6):
        shop = await make(tenant, f"shop-{round_}")
        going, coming, made = await asyncio.gather(
            tenant.call("owner", "DELETE", f"/projects/{shop}"),
            move(tenant, shop, "network"),
            tenant.call("owner", "POST", all_path(tenant), related(shop, name=f"new-{round_}")),
        )
        if going.status_code == 204:
            assert (coming.status_code, made.status_code) == (404, 404)
        else:
            assert (going.status_code, made.status_code) == (409, 201)
            assert await project_of(tenant) == shop
    assert await tenant.deployment.audit_holds()


async def test_an_organization_is_deleted_with_its_projects(tenant: Tenant) -> None:
    shop = await make(tenant)
    await move(tenant, shop, "network")
    where = f"/organizations/{tenant.organization}?force=true"
    assert (await tenant.call("owner", "DELETE", where)).status_code == 204

    async def left(tx: Transaction) -> int:
        sql = "SELECT count(*) FROM projects WHERE id = $1 OR id = $2"
        return await tx.count(sql, tenant.project, shop)

    assert await tenant.deployment.services.database.read(left) == 0


async def test_tags_of_a_project_are_set_by_key_and_inherited_by_its_workspaces(
    tenant: Tenant,
) -> None:
    shop = await make(tenant)
    where = f"/projects/{shop}"
    set_ = await tenant.call("owner", "PATCH", f"{where}/tag-bindings", bound(env="eu", team="a"))
    assert {
        one["attributes"]["key"]: one["attributes"]["value"] for one in set_.json()["data"]
    } == {
        "env": "eu",
        "team": "a",
    }
    told = await newest(tenant, f"/organizations/{tenant.organization}")
    assert (told["action"], told["details"]["changed"]) == ("project.update", ["tag-bindings"])
    await bind(tenant, env="us", own="1")
    await move(tenant, shop, "network")

    async def effective(who: str = "reader") -> dict[str, tuple[str, str | None]]:
        answer = await tenant.call(who, "GET", f"{path(tenant)}/effective-tag-bindings")
        return {
            one["attributes"]["key"]: (
                one["attributes"]["value"],
                one.get("links", {}).get("inherited-from"),
            )
            for one in answer.json()["data"]
        }

    inherited = f"/api/v2{where}"
    expected = {"env": ("us", None), "own": ("1", None), "team": ("a", inherited)}
    assert await effective() == expected
    own = await tenant.call("reader", "GET", f"{path(tenant)}/tag-bindings")
    assert [one["attributes"]["key"] for one in own.json()["data"]] == ["env", "own"]
    included = await tenant.call("reader", "GET", f"{path(tenant)}?include=effective_tag_bindings")
    origins = [one.get("relationships") for one in included.json()["included"]]
    from_shop = {"inherited-from": {"data": {"id": shop, "type": "projects"}}}
    assert origins == [None, None, from_shop]
    linked = f"{where}/relationships/tag-bindings"
    assert (await tenant.call("owner", "POST", linked, bound(env="de"))).status_code == 204
    assert (await tenant.call("owner", "PATCH", linked, bound(region="x"))).status_code == 204
    assert await effective() == {
        "env": ("us", None),
        "own": ("1", None),
        "region": ("x", inherited),
    }
    assert await tenant.deployment.audit_holds()


async def test_a_workspace_has_the_tags_of_a_project_in_the_answer_that_puts_it_there(
    tenant: Tenant,
) -> None:
    ids = await make(tenant), await make(tenant, "bank")
    for project_id, key in zip(ids, ("till", "vault"), strict=True):
        await tenant.call(
            "owner", "PATCH", f"/projects/{project_id}/tag-bindings", bound(**{key: ""})
        )
    made = await tenant.call("owner", "POST", all_path(tenant), related(ids[0], name="till"))
    where = f"/workspaces/{made.json()['data']['id']}"
    assert made.json() == (await tenant.call("owner", "GET", where)).json()
    changed = await tenant.call("owner", "PATCH", where, related(ids[1]))
    assert changed.json() == (await tenant.call("owner", "GET", where)).json()
    shown = [
        one.json()["data"]["relationships"]["effective-tag-bindings"]["data"]
        for one in (made, changed)
    ]
    assert [len(one) for one in shown] == [1, 1]
    assert shown[0] != shown[1]


async def test_too_many_bindings_of_a_project_are_told_beside_all_else(tenant: Tenant) -> None:
    many = {"tag-bindings": bound(**{f"k{n}": "" for n in range(MAX_TAGS + 1)})}
    said = project_document(name=" ")
    said["data"]["relationships"] = many
    expected = [
        ("422", "invalid_value", NAME),
        ("422", "too_many_items", "/data/relationships/tag-bindings/data"),
    ]
    assert faults(await tenant.call("owner", "POST", projects_path(tenant), said)) == expected
    where = f"/projects/{await make(tenant)}"
    assert faults(await tenant.call("owner", "PATCH", where, said)) == expected
    twice = {"data": [*many["tag-bindings"]["data"], *bound(k0="other")["data"]]}
    assert faults(await tenant.call("owner", "PATCH", f"{where}/tag-bindings", twice)) == [
        ("422", "too_many_items", "/data"),
        ("422", "invalid_value", f"/data/{MAX_TAGS + 1}/attributes/key"),
    ]


async def test_workspaces_and_projects_are_found_by_the_tags_of_projects(tenant: Tenant) -> None:
    shop = await make(tenant)
    said = project_document(name="tagged")
    said["data"]["relationships"] = {"tag-bindings": bound(env="eu")}
    made = (await tenant.call("owner", "POST", projects_path(tenant), said)).json()["data"]
    await move(tenant, made["id"], "network", "payments")
    await bind(tenant, "payments", env="us")

    async def spaces(query: str) -> list[str]:
        answer = await tenant.call("owner", "GET", f"{all_path(tenant)}?{query}")
        return [one["attributes"]["name"] for one in answer.json()["data"]]

    keyed = "filter[tagged][0][key]=env"
    assert await spaces(keyed) == ["network", "payments"]
    assert await spaces(f"{keyed}&filter[tagged][0][value]=eu") == ["network"]
    assert await spaces(f"{keyed}&filter[tagged][0][value]=us") == ["payments"]
    assert await spaces("search[tags]=ENV") == ["network", "payments"]
    assert await spaces("search[exclude-tags]=env") == []
    assert await names_of(tenant, query=keyed) == ["tagged"]
    assert await names_of(tenant, query=f"{keyed}&filter[tagged][0][value]=us") == []
    whole = await tenant.call(
        "owner", "GET", f"{projects_path(tenant)}?include=effective_tag_bindings"
    )
    assert [one["attributes"] for one in whole.json()["included"]] == [
        {"key": "env", "value": "eu"}
    ]
    said = project_document()
    said["data"]["relationships"] = {"tag-bindings": bound()}
    await tenant.call("owner", "PATCH", f"/projects/{made['id']}", said)
    assert await names_of(tenant, query=keyed) == []
    assert await spaces(keyed) == ["payments"]
    del said["data"]["relationships"]
    one = await tenant.call("owner", "GET", f"/projects/{shop}?include=effective_tag_bindings")
    assert one.json()["included"] == []


async def test_tags_of_a_project_are_changed_by_whoever_manages_projects(tenant: Tenant) -> None:
    await give(tenant, "plain", "manage-projects")
    for who, status in (("plain", 200), ("reader", 403), ("manager", 404)):
        where = f"/projects/{tenant.project}/tag-bindings"
        answer = await tenant.call(who, "PATCH", where, bound(env="eu"))
        assert answer.status_code == status, who
    where = f"/projects/{tenant.project}/tag-bindings"
    answer = await tenant.call("owner", "PATCH", where, bound(**{"=": "x"}))
    assert faults(answer) == [("422", "invalid_value", "/data/0/attributes/key")]
