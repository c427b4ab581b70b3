"""Workspaces over HTTP: created, changed, locked, listed and deleted as real clients do it."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.web.dialects import terraform
from tests.world import World, faults


def document(**attributes: Any) -> dict[str, Any]:
    """Creates or changes a workspace; hyphens are written as underscores."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    return {"data": {"type": "workspaces", "attributes": named}}


def all_path(world: World) -> str:
    return f"/organizations/{world.organization}/workspaces"


def path(world: World, workspace: str = "network") -> str:
    return f"/workspaces/{world.workspaces[workspace]}"


async def create(world: World, who: str = "owner", **attributes: Any) -> httpx.Response:
    return await world.call(who, "POST", all_path(world), document(**attributes))


async def attributes_of(world: World, who: str = "owner") -> Any:
    return (await world.call(who, "GET", path(world))).json()["data"]["attributes"]


async def test_a_workspace_is_what_its_clients_expect(world: World) -> None:
    answer = await create(world, name="fresh")
    data = answer.json()["data"]
    assert answer.status_code == 201
    assert answer.headers["Location"] == data["links"]["self"]
    assert data["links"]["self"].endswith("/workspaces/fresh")
    attributes = data["attributes"]
    expected = {
        "name": "fresh",
        "execution-mode": "remote",
        "operations": True,
        "terraform-version": "latest",
        "locked": False,
        "auto-apply": False,
        "source": "tfe-api",
        "setting-overwrites": {"execution-mode": True, "agent-pool": True},
    }
    assert expected.items() <= attributes.items()
    assert data["links"]["self-html"] == f"/app/{world.organization}/workspaces/fresh"
    assert attributes["permissions"]["can-update-variable"] is True
    assert attributes["actions"] == {"is-destroyable": True}
    relationships = data["relationships"]
    organization = {"type": "organizations", "id": world.organization}
    assert relationships["organization"] == {"data": organization}
    related = f"/api/v2/workspaces/{data['id']}/vars"
    assert relationships["vars"] == {"data": [], "links": {"related": related}}
    assert "locked-by" not in relationships
    assert "included" not in answer.json()
    for same in (answer.headers["Location"].removeprefix("/api/v2"), f"/workspaces/{data['id']}"):
        assert (await world.call("owner", "GET", same)).json()["data"] == data
    assert await world.house.audit_holds()


async def test_its_settings_are_kept_and_those_of_other_services_ignored(world: World) -> None:
    answer = await create(
        world,
        name="local",
        execution_mode="local",
        terraform_version="~> 1.5",
        auto_apply="whatever",
        working_directory=7,
    )
    attributes = answer.json()["data"]["attributes"]
    assert attributes["execution-mode"] == "local"
    assert attributes["operations"] is False
    assert attributes["terraform-version"] == "~> 1.5"
    assert attributes["auto-apply"] is False


async def test_a_relation_to_a_project_is_ignored(world: World) -> None:
    related = document(name="in-project")
    project = {"data": {"type": "projects", "id": "prj-1"}}
    related["data"]["relationships"] = {"project": project}
    assert (await world.call("owner", "POST", all_path(world), related)).status_code == 201


@pytest.mark.parametrize("name", ["", "a/b", "größe", "世界", "a b", "x" * 91])
async def test_a_name_is_made_of_letters_digits_hyphens_and_underscores(
    world: World, name: str
) -> None:
    made = await create(world, name=name)
    renamed = await world.call("owner", "PATCH", path(world), document(name=name))
    for answer in (made, renamed):
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/name")]


async def test_a_name_is_taken_however_it_is_capitalised(world: World) -> None:
    made = await create(world, name="NetWork")
    renamed = await world.call("owner", "PATCH", path(world, "payments"), document(name="NETWORK"))
    for answer in (made, renamed):
        assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    assert await world.house.audit_holds()


async def test_the_same_name_is_free_in_another_organization(world: World) -> None:
    other = f"/organizations/{world.other_organization}/workspaces"
    answer = await world.call("outsider", "POST", other, document(name="network"))
    assert answer.status_code == 201


async def test_all_faults_are_told_at_once(world: World) -> None:
    bad = document(name="a/b", execution_mode="magic", terraform_version="a\nb")
    bad["data"]["type"] = "vars"
    bad["data"]["id"] = "ws-of-mine"
    assert faults(await world.call("owner", "POST", all_path(world), bad)) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("422", "invalid_value", "/data/attributes/execution-mode"),
        ("422", "invalid_value", "/data/attributes/terraform-version"),
        ("403", "client_id_not_supported", "/data/id"),
    ]
    assert faults(await world.call("owner", "PATCH", path(world), bad)) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("422", "invalid_value", "/data/attributes/execution-mode"),
        ("422", "invalid_value", "/data/attributes/terraform-version"),
        ("409", "id_conflict", "/data/id"),
    ]


async def test_members_of_the_document_have_their_json_types(world: World) -> None:
    wrong = document(name=None, execution_mode=True, terraform_version=1.5)
    at = "/data/attributes"
    expected = [
        ("422", "wrong_type", f"{at}/name"),
        ("422", "wrong_type", f"{at}/execution-mode"),
        ("422", "wrong_type", f"{at}/terraform-version"),
    ]
    assert faults(await world.call("owner", "POST", all_path(world), wrong)) == expected
    assert faults(await world.call("owner", "PATCH", path(world), wrong)) == expected
    empty = {"data": {"type": "workspaces"}}
    answer = await world.call("owner", "POST", all_path(world), empty)
    assert faults(answer) == [("422", "missing_member", at)]


async def test_a_fault_is_not_told_to_who_may_not_change_it(world: World) -> None:
    bad = document(name="a/b")
    answers = [
        await world.call(who, "PATCH", path(world), bad) for who in ("reader", "writer", "plain")
    ]
    assert [one.status_code for one in answers] == [403, 403, 404]
    answers = [await create(world, who, name="a/b") for who in ("writer", "outsider")]
    assert [one.status_code for one in answers] == [403, 404]


async def test_a_renamed_workspace_is_found_by_its_new_name_and_shown_with_it(
    world: World,
) -> None:
    made = await world.make_variable()
    before = await world.call("owner", "GET", world.vars_path())
    by_name = f"{all_path(world)}/network"
    answer = await world.call("owner", "PATCH", by_name, document(name="renamed"))
    assert answer.status_code == 200
    assert (await world.call("owner", "GET", by_name)).status_code == 404
    assert (await world.call("reader", "GET", f"{all_path(world)}/Renamed")).status_code == 200
    known = {"If-None-Match": before.headers["ETag"]}
    after = await world.call("owner", "GET", world.vars_path(), headers=known)
    assert after.status_code == 200
    (variable,) = after.json()["data"]
    related = variable["relationships"]["configurable"]["links"]["related"]
    assert related.endswith("/workspaces/renamed")
    assert variable["id"] == made["id"]
    assert await world.house.audit_holds()


async def test_a_workspace_may_get_its_own_name_in_other_capitals(world: World) -> None:
    answer = await world.call("owner", "PATCH", path(world), document(name="NetWork"))
    assert answer.json()["data"]["attributes"]["name"] == "NetWork"


async def test_a_change_that_changes_nothing_writes_nothing(world: World) -> None:
    tag = (await world.call("owner", "GET", world.vars_path())).headers["ETag"]
    for nothing in (document(), document(name="network"), {"data": {"type": "workspaces"}}):
        assert (await world.call("owner", "PATCH", path(world), nothing)).status_code == 200
    assert (await world.call("owner", "GET", world.vars_path())).headers["ETag"] == tag


async def test_the_variables_relation_is_newest_first_and_whole(world: World) -> None:
    made = [(await world.make_variable(f"k{n}"))["id"] for n in (2, 0, 1)]
    for where in (path(world), f"{all_path(world)}/network"):
        data = (await world.call("reader", "GET", where)).json()["data"]
        ids = [one["id"] for one in data["relationships"]["vars"]["data"]]
        assert ids == made[::-1]
    listed = (await world.call("owner", "GET", all_path(world))).json()["data"]
    by_name = {one["attributes"]["name"]: one["relationships"]["vars"]["data"] for one in listed}
    assert [one["id"] for one in by_name["network"]] == made[::-1]
    assert by_name["payments"] == []


async def test_all_vars_is_the_list_of_variables(world: World) -> None:
    await world.make_variable("plain")
    await world.make_variable("hidden", sensitive=True)
    own = await world.call("reader", "GET", world.vars_path())
    answer = await world.call("reader", "GET", f"{path(world)}/all-vars?page[size]=1")
    assert answer.json() == own.json()
    assert answer.headers["ETag"] == own.headers["ETag"]


async def test_there_is_no_state_and_none_is_taken(world: World) -> None:
    answer = await world.call("owner", "GET", f"{path(world)}/current-state-version")
    assert faults(answer) == [("404", "not_found", None)]
    state = {"data": {"type": "state-versions", "attributes": {"serial": 1}}}
    answer = await world.call("owner", "POST", f"{path(world)}/state-versions", state)
    assert faults(answer) == [("403", "forbidden", None)]


async def test_the_list_holds_what_the_caller_sees(world: World) -> None:
    async def listed(who: str, query: str = "") -> list[tuple[str, bool]]:
        data = (await world.call(who, "GET", all_path(world) + query)).json()["data"]
        return [
            (one["attributes"]["name"], one["attributes"]["permissions"]["can-update-variable"])
            for one in data
        ]

    both = [("network", True), ("payments", True)]
    assert [await listed(who) for who in ("owner", "organization-token")] == [both] * 2
    assert [await listed(who) for who in ("writer", "writers-token")] == [both[:1]] * 2
    assert await listed("reader") == [("network", False)]
    assert await listed("plain") == []
    assert await listed("owner", "?search[name]=PAY") == both[1:]
    assert await listed("owner", "?search[name]=_") == []
    assert await listed("owner", "?search[name]=%25") == []
    assert await listed("reader", "?search[name]=pay") == []
    assert await listed("owner", "?include=organization") == both
    assert await listed("owner", "?include=&filter[other]=&search[tags]=") == both


@pytest.mark.parametrize(
    ("wildcard", "found"),
    [
        ("*", ["network", "payments"]),
        ("NET*", ["network"]),
        ("*ents", ["payments"]),
        ("*W*", ["network"]),
        ("n*t*k", ["network"]),
        ("network", ["network"]),
        ("**network**", ["network"]),
        ("net", []),
        ("*net", []),
        ("n_twork", []),
        ("n%", []),
        ("!*", []),
        ("*e*&search[name]=pay", ["payments"]),
        ("net*&search[name]=pay", []),
    ],
)
async def test_an_asterisk_stands_for_any_characters_of_a_name(
    world: World, wildcard: str, found: list[str]
) -> None:
    answer = await world.call("owner", "GET", f"{all_path(world)}?search[wildcard-name]={wildcard}")
    listed = answer.json()
    assert [one["attributes"]["name"] for one in listed["data"]] == found
    assert listed["meta"]["pagination"]["total-count"] == len(found)
    seen = await world.call("writer", "GET", f"{all_path(world)}?search[wildcard-name]={wildcard}")
    names = [one["attributes"]["name"] for one in seen.json()["data"]]
    assert names == [name for name in found if name == "network"]


async def test_many_asterisks_are_looked_for_within_the_time_of_one_statement(
    world: World,
) -> None:
    await create(world, name="a" * 90)
    for wildcard in ("a*" * 100 + "b", "*a" * 127 + "_", "*" * 256):
        answer = await world.call(
            "owner", "GET", f"{all_path(world)}?search[wildcard-name]={wildcard}"
        )
        assert len(answer.json()["data"]) == (3 if set(wildcard) == {"*"} else 0)


@pytest.mark.parametrize(("who", "owns"), [("owner", True), ("reader", False)])
async def test_a_workspace_is_shown_with_its_organization_on_request(
    world: World, who: str, owns: bool
) -> None:
    own = (await world.call(who, "GET", f"/organizations/{world.organization}")).json()["data"]
    assert own["attributes"]["permissions"]["can-update"] is owns
    for where in (path(world), f"{all_path(world)}/network", all_path(world)):
        answer = await world.call(who, "GET", f"{where}?include=organization")
        assert answer.json()["included"] == [own]
    none = await world.call(who, "GET", f"{all_path(world)}?include=organization&search[name]=zzz")
    assert (none.json()["data"], none.json()["included"]) == ([], [])


async def test_what_cannot_be_included_is_refused_but_by_the_dialect_whose_clients_send_it(
    world: World,
) -> None:
    wanted = "include=organization,current_run,locked_by"
    for where in (path(world), f"{all_path(world)}/network", all_path(world)):
        answer = await world.call("owner", "GET", f"{where}?{wanted}")
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["source"]) == (400, {"parameter": "include"})
        async with terraform(world) as client:
            shown = await client.get(f"{where}?{wanted}")
        assert [one["type"] for one in shown.json()["included"]] == ["organizations"]


async def test_pages_follow_each_other_and_one_past_the_end_is_empty(world: World) -> None:
    where = all_path(world)
    first = (await world.call("owner", "GET", f"{where}?page[size]=1&search[name]=e")).json()
    assert [one["attributes"]["name"] for one in first["data"]] == ["network"]
    assert first["meta"]["pagination"]["total-count"] == 2
    following = first["links"]["next"].removeprefix("/api/v2")
    second = (await world.call("owner", "GET", following)).json()
    assert [one["attributes"]["name"] for one in second["data"]] == ["payments"]
    assert second["links"]["next"] is None
    past = (await world.call("owner", "GET", f"{where}?page[number]=7&page[size]=500")).json()
    assert past["data"] == []
    assert past["meta"]["pagination"]["current-page"] == 7
    assert past["meta"]["pagination"]["page-size"] == 100
    assert past["meta"]["pagination"]["total-count"] == 2
    answer = await world.call("owner", "GET", f"{where}?page[size]=x")
    (error,) = answer.json()["errors"]
    assert (error["status"], error["source"]) == ("400", {"parameter": "page[size]"})


async def test_a_list_costs_the_same_number_of_statements_whatever_its_length(
    world: World, statements: list[str]
) -> None:
    async def cost() -> int:
        statements.clear()
        assert (await world.call("owner", "GET", all_path(world))).status_code == 200
        return len(statements)

    few = await cost()
    for n in range(15):
        await create(world, name=f"more-{n}")
    assert (few, await cost()) == (few, few)
    assert 0 < few < 8


@pytest.mark.parametrize("by", ["id", "name"])
@pytest.mark.parametrize("safely", [False, True])
async def test_deleting_takes_its_variables_and_grants_and_finds_nothing_a_second_time(
    world: World, by: str, safely: bool
) -> None:
    await world.make_variable()
    where = path(world) if by == "id" else f"{all_path(world)}/network"
    method, target = ("POST", f"{where}/actions/safe-delete") if safely else ("DELETE", where)
    answers = [await world.call("owner", method, target) for _ in range(2)]
    assert [one.status_code for one in answers] == [204, 404]
    assert (await world.call("owner", "GET", world.vars_path())).status_code == 404
    assert (await world.call("reader", "GET", where)).status_code == 404
    assert (await create(world, name="network")).status_code == 201
    assert (await world.call("writer", "GET", f"{all_path(world)}/network")).status_code == 404
    assert await world.house.audit_holds()


@pytest.mark.parametrize("name", ["a%2Fb", "gr%C3%B6%C3%9Fe", "no-workspace", "x%00y"])
async def test_a_name_that_nothing_can_have_is_not_found(world: World, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = await world.call("owner", method, f"{all_path(world)}/{name}")
        assert faults(answer) == [("404", "not_found", None)]


async def act(world: World, who: str, action: str) -> httpx.Response:
    return await world.call(who, "POST", f"{path(world)}/actions/{action}")


async def test_a_locked_workspace_is_unlocked_by_who_locked_it(world: World) -> None:
    locked = await act(world, "writer", "lock")
    assert locked.status_code == 200
    assert locked.json()["data"]["attributes"]["locked"] is True
    assert (await attributes_of(world))["locked"] is True
    unlocked = await act(world, "writer", "unlock")
    assert unlocked.status_code == 200
    assert unlocked.json()["data"]["attributes"]["locked"] is False
    assert await world.house.audit_holds()


async def test_a_lock_of_another_is_neither_taken_nor_opened(world: World) -> None:
    await act(world, "writer", "lock")
    for who in ("owner", "writers-token"):
        for action in ("lock", "unlock"):
            answer = await act(world, who, action)
            assert faults(answer) == [("409", "workspace_locked", None)]
    assert (await act(world, "writer", "unlock")).status_code == 200


async def test_who_has_locked_a_workspace_is_told_in_the_words_clients_look_for(
    world: World,
) -> None:
    username = f"writer-{world.organization.removeprefix('org-')}"
    holders = {
        "writer": (f"User {username}", {"type": "users", "id": world.users["writer"]}),
        "writers-token": ("Team writers", {"type": "teams", "id": world.teams["writers"]}),
        "organization-token": (
            "User (the organization's token)",
            {"type": "organizations", "id": world.organization},
        ),
    }
    for who, (name, holder) in holders.items():
        locked = (await act(world, who, "lock")).json()["data"]
        assert locked["relationships"]["locked-by"] == {"data": holder}
        for where in (path(world), f"{all_path(world)}/network"):
            shown = (await world.call("reader", "GET", where)).json()["data"]
            assert shown["relationships"]["locked-by"] == {"data": holder}
        for action in ("lock", "unlock", "safe-delete"):
            (error,) = (await act(world, "owner", action)).json()["errors"]
            assert error["detail"] == f"Workspace network is locked by {name}."
        unlocked = (await act(world, "owner", "force-unlock")).json()["data"]
        assert "locked-by" not in unlocked["relationships"]


async def test_a_secret_team_that_holds_a_lock_is_named_to_owners_alone(world: World) -> None:
    await act(world, "writers-token", "lock")
    hide = {"data": {"type": "teams", "attributes": {"visibility": "secret"}}}
    team = world.teams["writers"]
    await world.call("owner", "PATCH", f"/teams/{team}", hide)
    for who, name in (("owner", "writers"), ("writer", team)):
        (error,) = (await act(world, who, "unlock")).json()["errors"]
        assert error["detail"] == f"Workspace network is locked by Team {name}."


async def test_whoever_locked_a_workspace_and_has_left_is_known_by_an_id(world: World) -> None:
    await act(world, "writer", "lock")
    gone = world.memberships["writer"]
    await world.call("owner", "DELETE", f"/organization-memberships/{gone}")
    (error,) = (await act(world, "owner", "unlock")).json()["errors"]
    assert error["detail"] == f"Workspace network is locked by User {world.users['writer']}."


async def test_a_lock_of_ones_own_may_be_taken_again(world: World) -> None:
    """A client whose run broke off must not be locked out by itself."""
    assert (await act(world, "writer", "lock")).status_code == 200
    assert (await act(world, "writer", "lock")).status_code == 200
    assert (await act(world, "writer", "unlock")).status_code == 200


async def test_what_is_not_locked_cannot_be_unlocked(world: World) -> None:
    for action in ("unlock", "force-unlock"):
        answer = await act(world, "owner", action)
        assert faults(answer) == [("409", "workspace_not_locked", None)]


async def test_an_owner_may_force_open_the_lock_of_another(world: World) -> None:
    await act(world, "writer", "lock")
    assert (await act(world, "writer", "force-unlock")).status_code == 403
    assert (await act(world, "owner", "force-unlock")).status_code == 200
    assert (await attributes_of(world))["locked"] is False


async def test_a_lock_does_not_keep_variables_from_being_changed(world: World) -> None:
    await act(world, "owner", "lock")
    assert (await world.make_variable())["attributes"]["key"] == "region"


async def test_a_safe_delete_spares_what_somebody_has_locked(world: World) -> None:
    await act(world, "writer", "lock")
    answer = await act(world, "owner", "safe-delete")
    assert faults(answer) == [("409", "workspace_locked", None)]
    assert (await world.call("owner", "DELETE", path(world))).status_code == 204


async def test_locks_are_part_of_the_workspaces_history(world: World) -> None:
    await act(world, "writer", "lock")
    await act(world, "owner", "force-unlock")
    events = (await world.call("owner", "GET", f"{path(world)}/audit-events")).json()["data"]
    assert [one["attributes"]["action"] for one in events[:2]] == [
        "workspace.unlock",
        "workspace.lock",
    ]
    assert events[1]["attributes"]["actor"]["id"] == world.users["writer"]


async def test_the_body_of_a_lock_has_an_empty_type_and_is_ignored(world: World) -> None:
    """As go-tfe sends it."""
    body = {"data": {"type": "", "attributes": {"reason": "console"}}}
    answer = await world.call("writer", "POST", f"{path(world)}/actions/lock", body)
    assert answer.status_code == 200


async def test_racing_creations_of_one_name_have_one_winner(world: World) -> None:
    name = uuid4().hex
    answers = await asyncio.gather(*(create(world, name=name) for _ in range(3)))
    assert sorted(one.status_code for one in answers) == [201, 422, 422]
    assert await world.house.audit_holds()


async def test_an_organization_is_deleted_once_however_many_ask(world: World) -> None:
    where = f"/organizations/{world.organization}"
    answers = await asyncio.gather(
        *(world.call("owner", "DELETE", where) for _ in range(3)),
        *(create(world, name=f"late-{n}") for n in range(3)),
    )
    assert sorted(one.status_code for one in answers[:3]) == [204, 404, 404]
    assert {one.status_code for one in answers[3:]} <= {201, 404}
    assert await world.house.audit_holds()
