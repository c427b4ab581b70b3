"""Workspaces over HTTP: created, changed, locked, listed and deleted as real clients do it."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars.storage import variables
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults
from tests.web.dialects import terraform


def document(**attributes: Any) -> dict[str, Any]:
    """Creates or changes a workspace; hyphens are written as underscores."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    return {"data": {"type": "workspaces", "attributes": named}}


def all_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/workspaces"


def path(tenant: Tenant, workspace: str = "network") -> str:
    return f"/workspaces/{tenant.workspaces[workspace]}"


async def create(tenant: Tenant, who: str = "owner", **attributes: Any) -> httpx.Response:
    return await tenant.call(who, "POST", all_path(tenant), document(**attributes))


async def attributes_of(tenant: Tenant, who: str = "owner") -> Any:
    return (await tenant.call(who, "GET", path(tenant))).json()["data"]["attributes"]


async def test_a_workspace_is_what_its_clients_expect(tenant: Tenant) -> None:
    answer = await create(tenant, name="fresh")
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
    }
    assert expected.items() <= attributes.items()
    assert data["links"]["self-html"] == f"/app/{tenant.organization}/workspaces/fresh"
    assert attributes["permissions"]["can-update-variable"] is True
    assert attributes["actions"] == {"is-destroyable": True}
    relationships = data["relationships"]
    organization = {"type": "organizations", "id": tenant.organization}
    assert relationships["organization"] == {"data": organization}
    related = f"/api/v2/workspaces/{data['id']}/vars"
    assert relationships["vars"] == {"data": [], "links": {"related": related}}
    assert "locked-by" not in relationships
    assert "included" not in answer.json()
    for same in (answer.headers["Location"].removeprefix("/api/v2"), f"/workspaces/{data['id']}"):
        assert (await tenant.call("owner", "GET", same)).json()["data"] == data
    assert await tenant.deployment.audit_holds()


async def test_its_mode_and_version_are_kept(tenant: Tenant) -> None:
    answer = await create(tenant, name="local", execution_mode="local", terraform_version="~> 1.5")
    attributes = answer.json()["data"]["attributes"]
    assert attributes["execution-mode"] == "local"
    assert attributes["operations"] is False
    assert attributes["terraform-version"] == "~> 1.5"


@ON_SQLITE
@pytest.mark.parametrize("name", ["", "a/b", "größe", "世界", "a b", "x" * 91])
async def test_a_name_is_made_of_letters_digits_hyphens_and_underscores(
    tenant: Tenant, name: str
) -> None:
    made = await create(tenant, name=name)
    renamed = await tenant.call("owner", "PATCH", path(tenant), document(name=name))
    for answer in (made, renamed):
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/name")]


async def test_a_name_is_taken_however_it_is_capitalised(tenant: Tenant) -> None:
    made = await create(tenant, name="NetWork")
    renamed = await tenant.call(
        "owner", "PATCH", path(tenant, "payments"), document(name="NETWORK")
    )
    for answer in (made, renamed):
        assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]
    assert await tenant.deployment.audit_holds()


async def test_the_same_name_is_free_in_another_organization(tenant: Tenant) -> None:
    other = f"/organizations/{tenant.other_organization}/workspaces"
    answer = await tenant.call("outsider", "POST", other, document(name="network"))
    assert answer.status_code == 201


async def test_all_faults_are_told_at_once(tenant: Tenant) -> None:
    bad = document(name="a/b", execution_mode="magic", terraform_version="a\nb")
    bad["data"]["type"] = "vars"
    bad["data"]["id"] = "ws-of-mine"
    assert faults(await tenant.call("owner", "POST", all_path(tenant), bad)) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("422", "invalid_value", "/data/attributes/execution-mode"),
        ("422", "invalid_value", "/data/attributes/terraform-version"),
        ("403", "client_id_not_supported", "/data/id"),
    ]
    assert faults(await tenant.call("owner", "PATCH", path(tenant), bad)) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/name"),
        ("422", "invalid_value", "/data/attributes/execution-mode"),
        ("422", "invalid_value", "/data/attributes/terraform-version"),
        ("409", "id_conflict", "/data/id"),
    ]


async def test_members_of_the_document_have_their_json_types(tenant: Tenant) -> None:
    wrong = document(name=None, execution_mode=True, terraform_version=1.5)
    at = "/data/attributes"
    expected = [
        ("422", "wrong_type", f"{at}/name"),
        ("422", "wrong_type", f"{at}/execution-mode"),
        ("422", "wrong_type", f"{at}/terraform-version"),
    ]
    assert faults(await tenant.call("owner", "POST", all_path(tenant), wrong)) == expected
    assert faults(await tenant.call("owner", "PATCH", path(tenant), wrong)) == expected
    empty = {"data": {"type": "workspaces"}}
    answer = await tenant.call("owner", "POST", all_path(tenant), empty)
    assert faults(answer) == [("422", "missing_member", at)]


async def test_a_fault_is_not_told_to_who_may_not_change_it(tenant: Tenant) -> None:
    bad = document(name="a/b")
    answers = [
        await tenant.call(who, "PATCH", path(tenant), bad) for who in ("reader", "writer", "plain")
    ]
    assert [one.status_code for one in answers] == [403, 403, 404]
    answers = [await create(tenant, who, name="a/b") for who in ("writer", "outsider")]
    assert [one.status_code for one in answers] == [403, 404]


async def test_a_renamed_workspace_is_found_by_its_new_name_and_shown_with_it(
    tenant: Tenant,
) -> None:
    made = await tenant.make_variable()
    before = await tenant.call("owner", "GET", tenant.vars_path())
    by_name = f"{all_path(tenant)}/network"
    answer = await tenant.call("owner", "PATCH", by_name, document(name="renamed"))
    assert answer.status_code == 200
    assert (await tenant.call("owner", "GET", by_name)).status_code == 404
    assert (await tenant.call("reader", "GET", f"{all_path(tenant)}/Renamed")).status_code == 200
    known = {"If-None-Match": before.headers["ETag"]}
    after = await tenant.call("owner", "GET", tenant.vars_path(), headers=known)
    assert after.status_code == 200
    (variable,) = after.json()["data"]
    related = variable["relationships"]["configurable"]["links"]["related"]
    assert related.endswith("/workspaces/renamed")
    assert variable["id"] == made["id"]
    assert await tenant.deployment.audit_holds()


async def test_a_workspace_may_get_its_own_name_in_other_capitals(tenant: Tenant) -> None:
    answer = await tenant.call("owner", "PATCH", path(tenant), document(name="NetWork"))
    assert answer.json()["data"]["attributes"]["name"] == "NetWork"


async def test_a_change_that_changes_nothing_writes_nothing(tenant: Tenant) -> None:
    tag = (await tenant.call("owner", "GET", tenant.vars_path())).headers["ETag"]
    for nothing in (document(), document(name="network"), {"data": {"type": "workspaces"}}):
        assert (await tenant.call("owner", "PATCH", path(tenant), nothing)).status_code == 200
    assert (await tenant.call("owner", "GET", tenant.vars_path())).headers["ETag"] == tag


async def test_the_variables_relation_is_newest_first_and_whole(tenant: Tenant) -> None:
    made = [(await tenant.make_variable(f"k{n}"))["id"] for n in (2, 0, 1)]
    for where in (path(tenant), f"{all_path(tenant)}/network"):
        data = (await tenant.call("reader", "GET", where)).json()["data"]
        ids = [one["id"] for one in data["relationships"]["vars"]["data"]]
        assert ids == made[::-1]
    listed = (await tenant.call("owner", "GET", all_path(tenant))).json()["data"]
    by_name = {one["attributes"]["name"]: one["relationships"]["vars"]["data"] for one in listed}
    assert [one["id"] for one in by_name["network"]] == made[::-1]
    assert by_name["payments"] == []


async def test_a_list_whose_workspaces_have_too_many_variables_leads_to_them(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("a", "b", "c"):
        await tenant.make_variable(key)
    whole = (await tenant.call("owner", "GET", all_path(tenant))).json()["data"]
    monkeypatch.setattr(variables, "MAX_LISTED_IDS", 3)
    assert (await tenant.call("owner", "GET", all_path(tenant))).json()["data"] == whole
    monkeypatch.setattr(variables, "MAX_LISTED_IDS", 2)
    fewer = (await tenant.call("owner", "GET", all_path(tenant))).json()["data"]
    for one in whole:
        del one["relationships"]["vars"]["data"]
    assert fewer == whole
    alone = (await tenant.call("owner", "GET", path(tenant))).json()["data"]
    assert len(alone["relationships"]["vars"]["data"]) == 3


async def test_all_vars_is_the_list_of_variables(tenant: Tenant) -> None:
    await tenant.make_variable("plain")
    await tenant.make_variable("hidden", sensitive=True)
    own = await tenant.call("reader", "GET", tenant.vars_path())
    answer = await tenant.call("reader", "GET", f"{path(tenant)}/all-vars?page[size]=1")
    assert answer.json() == own.json()
    assert answer.headers["ETag"] == own.headers["ETag"]


# What terraform 1.11.4 asks for in a workspace before it does what needs a state, and in the end.
STATE = ("GET", "current-state-version")
OUTPUTS = ("GET", "current-state-version-outputs")
LOCK = ("POST", "actions/lock")
SAVE = ("POST", "state-versions")
RUN = ("POST", "configuration-versions")
RECORDED = {
    "remote": {
        "init": [(*STATE, 404)],
        "plan": [(*RUN, 422)],
        "apply": [(*RUN, 422)],
        "import": [(*LOCK, 200), (*STATE, 404), ("GET", "vars", 200), (*STATE, 404), (*SAVE, 422)],
        "import -lock=false": [(*STATE, 404), ("GET", "vars", 200), (*STATE, 404), (*SAVE, 422)],
        "console": [(*LOCK, 200), (*STATE, 404), ("POST", "actions/unlock", 200)],
        "state pull": [(*STATE, 404)],
        "output": [(*OUTPUTS, 422)],
    },
    # Each command ends with what was refused first.
    "local": {
        "init": [(*STATE, 422)],
        "plan": [(*LOCK, 422)],
        "plan -lock=false": [(*STATE, 422)],
        "apply": [(*LOCK, 422)],
        "apply -lock=false": [(*STATE, 422)],
        "import": [(*LOCK, 422)],
        "console": [(*LOCK, 422)],
        "state pull": [(*STATE, 422)],
        "output": [(*OUTPUTS, 422)],
    },
}


@pytest.mark.parametrize("mode", RECORDED)
async def test_terraform_is_told_that_there_are_no_runs_and_starts_nothing_that_needs_a_state(
    tenant: Tenant, mode: str
) -> None:
    made = await tenant.call("owner", "PATCH", path(tenant), document(execution_mode=mode))
    assert made.json()["data"]["attributes"]["permissions"]["can-queue-run"] is True
    for command, made_requests in RECORDED[mode].items():
        for method, what, status in made_requests:
            answer = await tenant.call("writer", method, f"{path(tenant)}/{what}")
            assert answer.status_code == status, (command, method, what)
            if status == 422:
                (error,) = answer.json()["errors"]
                assert error["code"] == "not_offered"
                assert f"teamvars run -w {tenant.organization}/network" in error["detail"]
        await tenant.call("owner", "POST", f"{path(tenant)}/actions/force-unlock")


async def test_nobody_reads_a_state_that_is_not_kept(tenant: Tenant) -> None:
    where = f"{path(tenant)}/relationships/remote-state-consumers"
    answer = await tenant.call("reader", "GET", f"{where}?page[size]=100")
    assert (answer.json()["data"], answer.json()["meta"]["pagination"]["total-count"]) == ([], 0)
    some = {"data": [{"type": "workspaces", "id": tenant.workspaces["payments"]}]}
    for method in ("POST", "PATCH", "DELETE"):
        refused = await tenant.call("owner", method, where, some)
        assert faults(refused) == [("422", "not_offered", None)]


async def test_what_is_locked_already_can_be_unlocked_where_nothing_can_be_locked(
    tenant: Tenant,
) -> None:
    await act(tenant, "writer", "lock")
    await tenant.call("owner", "PATCH", path(tenant), document(execution_mode="local"))
    assert faults(await act(tenant, "owner", "lock")) == [("422", "not_offered", None)]
    assert (await act(tenant, "writer", "unlock")).status_code == 200


async def test_the_list_holds_what_the_caller_sees(tenant: Tenant) -> None:
    async def listed(who: str, query: str = "") -> list[tuple[str, bool]]:
        data = (await tenant.call(who, "GET", all_path(tenant) + query)).json()["data"]
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
    tenant: Tenant, wildcard: str, found: list[str]
) -> None:
    answer = await tenant.call(
        "owner", "GET", f"{all_path(tenant)}?search[wildcard-name]={wildcard}"
    )
    listed = answer.json()
    assert [one["attributes"]["name"] for one in listed["data"]] == found
    assert listed["meta"]["pagination"]["total-count"] == len(found)
    seen = await tenant.call(
        "writer", "GET", f"{all_path(tenant)}?search[wildcard-name]={wildcard}"
    )
    names = [one["attributes"]["name"] for one in seen.json()["data"]]
    assert names == [name for name in found if name == "network"]


async def test_many_asterisks_are_looked_for_within_the_time_of_one_statement(
    tenant: Tenant,
) -> None:
    await create(tenant, name="a" * 90)
    for wildcard in ("a*" * 100 + "b", "*a" * 127 + "_", "*" * 256):
        answer = await tenant.call(
            "owner", "GET", f"{all_path(tenant)}?search[wildcard-name]={wildcard}"
        )
        assert len(answer.json()["data"]) == (3 if set(wildcard) == {"*"} else 0)


@pytest.mark.parametrize(("who", "owns"), [("owner", True), ("reader", False)])
async def test_a_workspace_is_shown_with_its_organization_on_request(
    tenant: Tenant, who: str, owns: bool
) -> None:
    own = (await tenant.call(who, "GET", f"/organizations/{tenant.organization}")).json()["data"]
    assert own["attributes"]["permissions"]["can-update"] is owns
    for where in (path(tenant), f"{all_path(tenant)}/network", all_path(tenant)):
        answer = await tenant.call(who, "GET", f"{where}?include=organization")
        assert answer.json()["included"] == [own]
    none = await tenant.call(
        who, "GET", f"{all_path(tenant)}?include=organization&search[name]=zzz"
    )
    assert (none.json()["data"], none.json()["included"]) == ([], [])


async def test_what_cannot_be_included_is_refused_but_by_the_dialect_whose_clients_send_it(
    tenant: Tenant,
) -> None:
    wanted = "include=organization,current_run,locked_by"
    for where in (path(tenant), f"{all_path(tenant)}/network", all_path(tenant)):
        answer = await tenant.call("owner", "GET", f"{where}?{wanted}")
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["source"]) == (400, {"parameter": "include"})
        async with terraform(tenant) as client:
            shown = await client.get(f"{where}?{wanted}")
        assert [one["type"] for one in shown.json()["included"]] == ["organizations"]


async def test_pages_follow_each_other_and_one_past_the_end_is_empty(tenant: Tenant) -> None:
    where = all_path(tenant)
    first = (await tenant.call("owner", "GET", f"{where}?page[size]=1&search[name]=e")).json()
    assert [one["attributes"]["name"] for one in first["data"]] == ["network"]
    assert first["meta"]["pagination"]["total-count"] == 2
    following = first["links"]["next"].removeprefix("/api/v2")
    second = (await tenant.call("owner", "GET", following)).json()
    assert [one["attributes"]["name"] for one in second["data"]] == ["payments"]
    assert second["links"]["next"] is None
    past = (await tenant.call("owner", "GET", f"{where}?page[number]=7&page[size]=500")).json()
    assert past["data"] == []
    assert past["meta"]["pagination"]["current-page"] == 7
    assert past["meta"]["pagination"]["page-size"] == 100
    assert past["meta"]["pagination"]["total-count"] == 2
    answer = await tenant.call("owner", "GET", f"{where}?page[size]=x")
    (error,) = answer.json()["errors"]
    assert (error["status"], error["source"]) == ("400", {"parameter": "page[size]"})


async def test_a_list_costs_the_same_number_of_statements_whatever_its_length(
    tenant: Tenant, statements: list[str]
) -> None:
    async def cost() -> int:
        statements.clear()
        assert (await tenant.call("owner", "GET", all_path(tenant))).status_code == 200
        return len(statements)

    few = await cost()
    for n in range(15):
        await create(tenant, name=f"more-{n}")
    assert (few, await cost()) == (few, few)
    assert 0 < few < 9


async def test_a_workspace_says_how_many_variables_it_has(tenant: Tenant) -> None:
    async def counts(who: str) -> list[int]:
        listed = (await tenant.call(who, "GET", all_path(tenant))).json()["data"]
        by_name = await tenant.call(who, "GET", f"{all_path(tenant)}/network")
        by_id = await tenant.call(who, "GET", path(tenant))
        (network,) = [one for one in listed if one["attributes"]["name"] == "network"]
        shown = [network, by_name.json()["data"], by_id.json()["data"]]
        return [one["attributes"]["variables-count"] for one in shown]

    for who in ("owner", "reader"):
        assert await counts(who) == [0] * 3
    ids = [(await tenant.make_variable(f"key-{number}"))["id"] for number in range(3)]
    await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{ids[0]}")
    for who in ("owner", "reader"):
        assert await counts(who) == [2] * 3
    locked = await tenant.call("writer", "POST", f"{path(tenant)}/actions/lock")
    assert locked.json()["data"]["attributes"]["variables-count"] == 2
    made = await create(tenant, name="empty")
    assert made.json()["data"]["attributes"]["variables-count"] == 0


@pytest.mark.parametrize("by", ["id", "name"])
@pytest.mark.parametrize("safely", [False, True])
async def test_deleting_takes_its_variables_and_grants_and_finds_nothing_a_second_time(
    tenant: Tenant, by: str, safely: bool
) -> None:
    await tenant.make_variable()
    where = path(tenant) if by == "id" else f"{all_path(tenant)}/network"
    method, target = ("POST", f"{where}/actions/safe-delete") if safely else ("DELETE", where)
    answers = [await tenant.call("owner", method, target) for _ in range(2)]
    assert [one.status_code for one in answers] == [204, 404]
    assert (await tenant.call("owner", "GET", tenant.vars_path())).status_code == 404
    assert (await tenant.call("reader", "GET", where)).status_code == 404
    assert (await create(tenant, name="network")).status_code == 201
    assert (await tenant.call("writer", "GET", f"{all_path(tenant)}/network")).status_code == 404
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("name", ["a%2Fb", "gr%C3%B6%C3%9Fe", "no-workspace", "x%00y"])
async def test_a_name_that_nothing_can_have_is_not_found(tenant: Tenant, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = await tenant.call("owner", method, f"{all_path(tenant)}/{name}")
        assert faults(answer) == [("404", "not_found", None)]


async def act(tenant: Tenant, who: str, action: str) -> httpx.Response:
    return await tenant.call(who, "POST", f"{path(tenant)}/actions/{action}")


async def test_a_locked_workspace_is_unlocked_by_who_locked_it(tenant: Tenant) -> None:
    locked = await act(tenant, "writer", "lock")
    assert locked.status_code == 200
    assert locked.json()["data"]["attributes"]["locked"] is True
    assert (await attributes_of(tenant))["locked"] is True
    unlocked = await act(tenant, "writer", "unlock")
    assert unlocked.status_code == 200
    assert unlocked.json()["data"]["attributes"]["locked"] is False
    assert await tenant.deployment.audit_holds()


async def test_a_lock_of_another_is_neither_taken_nor_opened(tenant: Tenant) -> None:
    await act(tenant, "writer", "lock")
    for who in ("owner", "writers-token"):
        for action in ("lock", "unlock"):
            answer = await act(tenant, who, action)
            assert faults(answer) == [("409", "workspace_locked", None)]
    assert (await act(tenant, "writer", "unlock")).status_code == 200


async def test_who_has_locked_a_workspace_is_told_in_the_words_clients_look_for(
    tenant: Tenant,
) -> None:
    username = f"writer-{tenant.organization.removeprefix('org-')}"
    holders = {
        "writer": (f"User {username}", {"type": "users", "id": tenant.users["writer"]}),
        "writers-token": ("Team writers", {"type": "teams", "id": tenant.teams["writers"]}),
        "organization-token": (
            "User (the organization's token)",
            {"type": "organizations", "id": tenant.organization},
        ),
    }
    for who, (name, holder) in holders.items():
        locked = (await act(tenant, who, "lock")).json()["data"]
        assert locked["relationships"]["locked-by"] == {"data": holder}
        for where in (path(tenant), f"{all_path(tenant)}/network"):
            shown = (await tenant.call("reader", "GET", where)).json()["data"]
            assert shown["relationships"]["locked-by"] == {"data": holder}
        for action in ("lock", "unlock", "safe-delete"):
            (error,) = (await act(tenant, "owner", action)).json()["errors"]
            assert error["detail"] == f"Workspace network is locked by {name}."
        unlocked = (await act(tenant, "owner", "force-unlock")).json()["data"]
        assert "locked-by" not in unlocked["relationships"]


async def test_a_secret_team_that_holds_a_lock_is_named_to_owners_alone(tenant: Tenant) -> None:
    await act(tenant, "writers-token", "lock")
    hide = {"data": {"type": "teams", "attributes": {"visibility": "secret"}}}
    team = tenant.teams["writers"]
    await tenant.call("owner", "PATCH", f"/teams/{team}", hide)
    for who, name in (("owner", "writers"), ("writer", team)):
        (error,) = (await act(tenant, who, "unlock")).json()["errors"]
        assert error["detail"] == f"Workspace network is locked by Team {name}."


async def test_whoever_locked_a_workspace_and_has_left_is_known_by_an_id(tenant: Tenant) -> None:
    await act(tenant, "writer", "lock")
    gone = tenant.memberships["writer"]
    await tenant.call("owner", "DELETE", f"/organization-memberships/{gone}")
    (error,) = (await act(tenant, "owner", "unlock")).json()["errors"]
    assert error["detail"] == f"Workspace network is locked by User {tenant.users['writer']}."


async def test_a_lock_is_taken_once_even_by_whoever_has_it(tenant: Tenant) -> None:
    """Two runs with one token are two."""
    assert (await act(tenant, "writer", "lock")).status_code == 200
    assert faults(await act(tenant, "writer", "lock")) == [("409", "workspace_locked", None)]
    assert (await act(tenant, "writer", "unlock")).status_code == 200


async def test_what_is_not_locked_cannot_be_unlocked(tenant: Tenant) -> None:
    for action in ("unlock", "force-unlock"):
        answer = await act(tenant, "owner", action)
        assert faults(answer) == [("409", "workspace_not_locked", None)]


async def test_an_owner_may_force_open_the_lock_of_another(tenant: Tenant) -> None:
    await act(tenant, "writer", "lock")
    assert (await act(tenant, "writer", "force-unlock")).status_code == 403
    assert (await act(tenant, "owner", "force-unlock")).status_code == 200
    assert (await attributes_of(tenant))["locked"] is False


async def test_a_lock_does_not_keep_variables_from_being_changed(tenant: Tenant) -> None:
    await act(tenant, "owner", "lock")
    assert (await tenant.make_variable())["attributes"]["key"] == "region"


async def test_a_safe_delete_spares_what_somebody_has_locked(tenant: Tenant) -> None:
    await act(tenant, "writer", "lock")
    answer = await act(tenant, "owner", "safe-delete")
    assert faults(answer) == [("409", "workspace_locked", None)]
    assert (await tenant.call("owner", "DELETE", path(tenant))).status_code == 204


async def test_locks_are_part_of_the_workspaces_history(tenant: Tenant) -> None:
    await act(tenant, "writer", "lock")
    await act(tenant, "owner", "force-unlock")
    events = (await tenant.call("owner", "GET", f"{path(tenant)}/audit-events")).json()["data"]
    assert [one["attributes"]["action"] for one in events[:2]] == [
        "workspace.unlock",
        "workspace.lock",
    ]
    assert events[1]["attributes"]["actor"]["id"] == tenant.users["writer"]


async def test_the_body_of_a_lock_has_an_empty_type_and_is_ignored(tenant: Tenant) -> None:
    """As go-tfe sends it."""
    body = {"data": {"type": "", "attributes": {"reason": "console"}}}
    answer = await tenant.call("writer", "POST", f"{path(tenant)}/actions/lock", body)
    assert answer.status_code == 200


async def test_racing_creations_of_one_name_have_one_winner(tenant: Tenant) -> None:
    name = uuid4().hex
    answers = await asyncio.gather(*(create(tenant, name=name) for _ in range(3)))
    assert sorted(one.status_code for one in answers) == [201, 422, 422]
    assert await tenant.deployment.audit_holds()


async def test_an_organization_is_deleted_once_however_many_ask(tenant: Tenant) -> None:
    where = f"/organizations/{tenant.organization}"
    answers = await asyncio.gather(
        *(tenant.call("owner", "DELETE", where) for _ in range(3)),
        *(create(tenant, name=f"late-{n}") for n in range(3)),
    )
    assert sorted(one.status_code for one in answers[:3]) == [204, 404, 404]
    assert {one.status_code for one in answers[3:]} <= {201, 404}
    assert await tenant.deployment.audit_holds()
