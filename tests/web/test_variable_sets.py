"""Variable sets: made, changed, attached, and their variables, which are as all others are."""

from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from teamvars import settings
from teamvars.domain.variable_sets import MAX_VALUE_BYTES, SetLimits
from teamvars.storage import variables
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web.test_quota import limited

VARSETS = "/varsets"


def set_document(name: str = "shared", *, workspaces: Iterable[str] = (), **said: Any) -> Any:
    """A document that creates a set, attached to workspaces with these ids."""
    data: dict[str, Any] = {"type": "varsets", "attributes": {"name": name, **said}}
    if workspaces:
        data["relationships"] = {"workspaces": linkage_document(*workspaces, type_="workspaces")}
    return {"data": data}


def as_global(*, is_: bool = True) -> dict[str, Any]:
    """What a document says of a set that is global, or is not."""
    return {"global": is_}


async def make_set(
    tenant: Tenant, name: str = "shared", *workspaces: str, who: str = "owner", **said: Any
) -> str:
    """The id of a new set that is attached to these workspaces, by name."""
    ids = [tenant.workspaces[one] for one in workspaces]
    path = f"/organizations/{tenant.organization}/varsets"
    answer = await tenant.call(who, "POST", path, set_document(name, workspaces=ids, **said))
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


def vars_of(set_id: str) -> str:
    return f"/varsets/{set_id}/relationships/vars"


async def put(tenant: Tenant, set_id: str, key: str, value: str = "eu", **said: Any) -> Any:
    """A new variable of a set."""
    document = variable_document(key=key, value=value, **said)
    answer = await tenant.call("owner", "POST", vars_of(set_id), document)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


async def changed(tenant: Tenant, set_id: str, who: str = "owner", **said: Any) -> httpx.Response:
    document = {"data": {"type": "varsets", "id": set_id, "attributes": said}}
    return await tenant.call(who, "PATCH", f"/varsets/{set_id}", document)


async def attach(
    tenant: Tenant, set_id: str, *workspaces: str, method: str = "POST", who: str = "owner"
) -> httpx.Response:
    ids = [tenant.workspaces[one] for one in workspaces]
    path = f"/varsets/{set_id}/relationships/workspaces"
    return await tenant.call(who, method, path, linkage_document(*ids, type_="workspaces"))


async def names(tenant: Tenant, path: str, who: str = "owner") -> list[str]:
    answer = await tenant.call(who, "GET", path)
    assert answer.status_code == 200, answer.text
    return [one["attributes"]["name"] for one in answer.json()["data"]]


async def test_a_set_is_shown_as_hcp_terraform_shows_it(tenant: Tenant) -> None:
    made = await make_set(tenant, "Shared keys", "network", description="d", priority=True)
    variable = await put(tenant, made, "region")
    answer = await tenant.call("owner", "GET", f"/varsets/{made}")
    data = answer.json()["data"]
    assert data["attributes"].pop("updated-at").endswith("Z")
    assert data == {
        "id": made,
        "type": "varsets",
        "attributes": {
            "name": "Shared keys",
            "description": "d",
            "global": False,
            "priority": True,
            "var-count": 1,
            "workspace-count": 1,
            "project-count": 0,
            "permissions": {"can-update": True},
        },
        "relationships": {
            "organization": {"data": {"id": tenant.organization, "type": "organizations"}},
            "parent": {"data": {"id": tenant.organization, "type": "organizations"}},
            "vars": {
                "data": [{"id": variable["id"], "type": "vars"}],
                "links": {"related": f"/api/v2{vars_of(made)}"},
            },
            "workspaces": {"data": [{"id": tenant.workspaces["network"], "type": "workspaces"}]},
            "projects": {"data": []},
        },
        "links": {"self": f"/api/v2/varsets/{made}"},
    }


async def test_a_list_of_sets_with_too_many_variables_leads_to_them(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, _ = await make_set(tenant, "full"), await make_set(tenant, "void")
    made = [(await put(tenant, full, key))["id"] for key in ("b", "a")]

    async def told(path: str) -> list[tuple[Any, Any]]:
        data = (await tenant.call("owner", "GET", path)).json()["data"]
        return [
            (one["attributes"]["var-count"], one["relationships"]["vars"].get("data"))
            for one in (data if isinstance(data, list) else [data])
        ]

    path = f"/organizations/{tenant.organization}/varsets"
    its = linkage_document(*made[::-1], type_="vars")
    monkeypatch.setattr(variables, "MAX_LISTED_IDS", 2)
    assert await told(path) == [(2, its["data"]), (0, [])]
    monkeypatch.setattr(variables, "MAX_LISTED_IDS", 1)
    assert await told(path) == [(2, None), (0, None)]
    assert await told(f"/varsets/{full}") == [(2, its["data"])]


async def test_a_variable_of_a_set_is_as_any_other_but_for_where_it_is(tenant: Tenant) -> None:
    made = await make_set(tenant)
    variable = await put(tenant, made, "token", "canary", sensitive=True, category="env")
    path = f"/api/v2/varsets/{made}/relationships/vars/{variable['id']}"
    assert variable["attributes"]["value"] is None
    assert variable["links"] == {"self": path}
    owner = {
        "data": {"id": made, "type": "varsets"},
        "links": {"related": f"/api/v2/varsets/{made}"},
    }
    assert variable["relationships"] == {"varset": owner}
    one = f"{vars_of(made)}/{variable['id']}"
    version = variable["attributes"]["version-id"]
    patch = {"data": {"type": "vars", "id": variable["id"], "attributes": {"sensitive": False}}}
    answer = await tenant.call("owner", "PATCH", one, patch)
    assert faults(answer) == [("422", "sensitive_is_permanent", "/data/attributes/sensitive")]
    patch["data"]["attributes"] = {"key": "TOKEN"}
    answer = await tenant.call("owner", "PATCH", one, patch, {"If-Match": '"old"'})
    assert answer.status_code == 412
    answer = await tenant.call("owner", "PATCH", one, patch, {"If-Match": f'"{version}"'})
    assert answer.json()["data"]["attributes"]["key"] == "TOKEN"
    listed = (await tenant.call("owner", "GET", vars_of(made))).json()["data"]
    assert [item["id"] for item in listed] == [variable["id"]]
    assert (await tenant.call("owner", "GET", one)).json()["data"] == listed[0]
    assert (await tenant.call("owner", "DELETE", one)).status_code == 204
    assert (await tenant.call("owner", "GET", one)).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_a_variable_of_a_set_is_in_no_workspace(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    document = variable_document(key="zone")
    linkage = {"type": "workspaces", "id": tenant.workspaces["network"]}
    document["data"]["relationships"] = {"workspace": {"data": linkage}}
    answer = await tenant.call("owner", "POST", vars_of(made), document)
    at = "/data/relationships/workspace/data"
    conflict = "409", "relationship_conflict"
    assert faults(answer) == [(*conflict, f"{at}/type"), (*conflict, f"{at}/id")]


async def test_a_value_that_is_to_be_code_is_checked_in_sets_too(tenant: Tenant) -> None:
    made = await make_set(tenant)
    document = variable_document(key="k", value="{", hcl=True)
    answer = await tenant.call("owner", "POST", vars_of(made), document)
    assert faults(answer) == [("422", "hcl_syntax", "/data/attributes/value")]
    answer = await tenant.call("owner", "POST", vars_of(made), variable_document(hcl="yes"))
    assert faults(answer) == [("422", "wrong_type", "/data/attributes/hcl")]


async def test_a_key_is_once_in_a_set_and_once_in_all_that_are_global(tenant: Tenant) -> None:
    first, second = await make_set(tenant, "first"), await make_set(tenant, "second")
    await put(tenant, first, "region")
    await put(tenant, second, "region")
    again = await tenant.call("owner", "POST", vars_of(first), variable_document())
    assert faults(again) == [("422", "key_taken", "/data/attributes/key")]
    assert (await changed(tenant, first, **as_global())).status_code == 200
    refused = await changed(tenant, second, **as_global())
    assert faults(refused) == [("422", "key_taken", "/data/attributes/global")]
    assert "region" in refused.json()["errors"][0]["detail"]
    other = await make_set(tenant, "other", **as_global())
    taken = await tenant.call("owner", "POST", vars_of(other), variable_document())
    assert faults(taken) == [("422", "key_taken", "/data/attributes/key")]
    await put(tenant, other, "region", category="env")
    # One that is global no more leaves room.
    assert (await changed(tenant, first, **as_global(is_=False))).status_code == 200
    assert (await changed(tenant, second, **as_global())).status_code == 200
    assert await tenant.deployment.audit_holds()


async def test_workspaces_are_attached_all_or_none(tenant: Tenant) -> None:
    made = await make_set(tenant)
    path = f"/varsets/{made}/relationships/workspaces"
    ids = tenant.workspaces["network"], tenant.other_workspace
    answer = await tenant.call("owner", "POST", path, linkage_document(*ids, type_="workspaces"))
    assert faults(answer) == [("404", "not_found", "/data/1/id")]
    assert await names(tenant, f"/workspaces/{ids[0]}/varsets") == []
    assert (await attach(tenant, made, "network", "payments")).status_code == 204
    assert (await attach(tenant, made, "network")).status_code == 204
    for workspace in ("network", "payments"):
        assert await names(tenant, f"/workspaces/{tenant.workspaces[workspace]}/varsets") == [
            "shared"
        ]
    assert (await attach(tenant, made, "network", method="DELETE")).status_code == 204
    assert await names(tenant, f"/workspaces/{ids[0]}/varsets") == []
    # As clients do that name all of them.
    document: Any = {"data": {"type": "varsets", "attributes": {"global": False}}}
    linked = linkage_document(ids[0], type_="workspaces")
    document["data"]["relationships"] = {"workspaces": linked}
    answer = await tenant.call("owner", "PATCH", f"/varsets/{made}?include=", document)
    assert answer.json()["data"]["relationships"]["workspaces"] == linked
    assert await names(tenant, f"/workspaces/{tenant.workspaces['payments']}/varsets") == []
    assert await tenant.deployment.audit_holds()


@ON_SQLITE
@pytest.mark.parametrize("kind", ["workspaces", "projects"])
async def test_an_empty_id_is_of_nothing_and_detaches_no_set(tenant: Tenant, kind: str) -> None:
    one = await make_set(tenant, "shared", "network")
    empty = linkage_document("", type_=kind)
    data = {"type": "varsets", "relationships": {kind: empty}}
    answer = await tenant.call("owner", "PATCH", f"/varsets/{one}", {"data": data})
    place = f"/data/relationships/{kind}/data/0/id"
    assert faults(answer) == [("404", "not_found", place)]
    answer = await tenant.call("owner", "POST", f"/varsets/{one}/relationships/{kind}", empty)
    assert faults(answer) == [("404", "not_found", "/data/0/id")]
    whole = (await tenant.call("owner", "GET", f"/varsets/{one}")).json()["data"]
    assert whole["attributes"]["workspace-count"] == 1


async def test_a_workspace_that_goes_is_attached_to_nothing(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network", "payments")
    await tenant.call("owner", "DELETE", f"/workspaces/{tenant.workspaces['payments']}")
    answer = await tenant.call("owner", "GET", f"/varsets/{made}")
    linked = answer.json()["data"]["relationships"]["workspaces"]["data"]
    assert [one["id"] for one in linked] == [tenant.workspaces["network"]]
    assert (await tenant.call("owner", "DELETE", f"/varsets/{made}")).status_code == 204
    assert (await tenant.call("owner", "GET", f"/varsets/{made}")).status_code == 404
    assert await tenant.deployment.audit_holds()


async def test_readers_see_the_sets_that_reach_what_they_read_and_nothing_of_others(
    tenant: Tenant,
) -> None:
    reaching = await make_set(tenant, "reaching", "network", "payments")
    beside = await make_set(tenant, "beside", "payments")
    lonely = await make_set(tenant, "lonely")
    await put(tenant, reaching, "region")
    listed = f"/organizations/{tenant.organization}/varsets"
    assert await names(tenant, listed) == ["beside", "lonely", "reaching"]
    assert await names(tenant, listed, "reader") == ["reaching"]
    assert await names(tenant, listed, "plain") == []
    assert await names(tenant, f"{listed}?q=LON") == ["lonely"]
    for who, statuses in {"reader": (200, 404, 404), "plain": (404, 404, 404)}.items():
        for set_id, status in zip((reaching, beside, lonely), statuses, strict=True):
            for path in (f"/varsets/{set_id}", vars_of(set_id)):
                assert (await tenant.call(who, "GET", path)).status_code == status
    shown = (await tenant.call("reader", "GET", f"/varsets/{reaching}")).json()["data"]
    assert shown["attributes"]["workspace-count"] == 1
    linked = shown["relationships"]["workspaces"]["data"]
    assert [one["id"] for one in linked] == [tenant.workspaces["network"]]
    # One that is global reaches what every reader reads.
    assert (await changed(tenant, lonely, **as_global())).status_code == 200
    assert await names(tenant, listed, "reader") == ["lonely", "reaching"]
    assert (await tenant.call("reader", "GET", f"/varsets/{lonely}")).status_code == 200
    assert (await tenant.call("plain", "GET", f"/varsets/{lonely}")).status_code == 404


@pytest.mark.parametrize("who", ["reader", "writer", "manager"])
async def test_who_lacks_a_right_changes_no_set(tenant: Tenant, who: str) -> None:
    made = await make_set(tenant, "shared", "network")
    status = 404 if who == "manager" else 403
    path = f"/organizations/{tenant.organization}/varsets"
    assert (await tenant.call(who, "POST", path, set_document("own"))).status_code == 403
    assert (await changed(tenant, made, who, name="mine")).status_code == status
    assert (await attach(tenant, made, "network", who=who, method="DELETE")).status_code == status
    assert (await tenant.call(who, "DELETE", f"/varsets/{made}")).status_code == status
    answer = await tenant.call(who, "POST", vars_of(made), variable_document())
    assert answer.status_code == status


async def rights(tenant: Tenant, team: str, *names: str) -> None:
    """Gives a team these rights in the organization."""
    access = {"organization-access": dict.fromkeys(names, True)}
    document = {"data": {"type": "teams", "attributes": access}}
    answer = await tenant.call("owner", "PATCH", f"/teams/{tenant.teams[team]}", document)
    assert answer.status_code == 200, answer.text


async def may_change(tenant: Tenant, set_id: str, who: str) -> tuple[bool, bool]:
    """What the organization and the set say of that, which clients ask before they offer it."""
    paths = f"/organizations/{tenant.organization}", f"/varsets/{set_id}"
    of_all, of_one = [
        (await tenant.call(who, "GET", path)).json()["data"]["attributes"]["permissions"]
        for path in paths
    ]
    return of_all["can-manage-varsets"], of_one["can-update"]


async def test_both_rights_together_change_sets_and_neither_alone(tenant: Tenant) -> None:
    shown = await make_set(tenant, "shown", "network")
    assert await may_change(tenant, shown, "owner") == (True, True)
    for given in ("manage-workspaces", "manage-projects"):
        assert await may_change(tenant, shown, "writer") == (False, False)
        await rights(tenant, "writers", given)
        if given == "manage-workspaces":
            path = f"/organizations/{tenant.organization}/varsets"
            answer = await tenant.call("writer", "POST", path, set_document("early"))
            assert answer.status_code == 403
    assert await may_change(tenant, shown, "writer") == (True, True)
    made = await make_set(tenant, "theirs", "payments", who="writer")
    assert (await changed(tenant, made, "writer", priority=True)).status_code == 200
    answer = await tenant.call("writer", "POST", vars_of(made), variable_document())
    assert answer.status_code == 201


FAULTS: dict[str, tuple[Any, list[tuple[str, str, str | None]]]] = {
    "no name": (
        {"data": {"type": "varsets", "attributes": {}}},
        [("422", "missing_member", "/data/attributes/name")],
    ),
    "bad words": (
        set_document(" x", description="d" * 513, **{"global": "yes"}),
        [
            ("422", "invalid_value", "/data/attributes/name"),
            ("422", "invalid_value", "/data/attributes/description"),
            ("422", "wrong_type", "/data/attributes/global"),
        ],
    ),
    "a project": (
        {
            "data": {
                "type": "varsets",
                "attributes": {"name": "x"},
                "relationships": {
                    "parent": {"data": {"type": "projects", "id": "prj-1"}},
                    "projects": {"data": [{"type": "projects", "id": "prj-1"}]},
                    "vars": {"data": [{"type": "vars"}]},
                },
            }
        },
        [
            ("404", "not_found", "/data/relationships/parent/data/id"),
            ("404", "not_found", "/data/relationships/projects/data/0/id"),
            ("422", "not_offered", "/data/relationships/vars/data"),
        ],
    ),
    "no such workspace": (
        set_document("x", workspaces=["ws-1111111111111111"]),
        [("404", "not_found", "/data/relationships/workspaces/data/0/id")],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_every_fault_is_told_at_its_place(tenant: Tenant, case: str) -> None:
    document, expected = FAULTS[case]
    path = f"/organizations/{tenant.organization}/varsets"
    answer = await tenant.call("owner", "POST", path, document)
    assert faults(answer) == expected


async def test_a_set_belongs_to_the_organization_that_it_is_made_in(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization}/varsets"
    made = await make_set(tenant)
    expected = [("409", "relationship_conflict", "/data/relationships/parent/data/id")]
    for name, status in ((tenant.other_organization, 409), (tenant.organization.upper(), 201)):
        parent = {"parent": {"data": {"type": "organizations", "id": name}}}
        document = set_document(f"of {name}")
        document["data"]["relationships"] = parent
        answer = await tenant.call("owner", "POST", path, document)
        assert answer.status_code == status
        assert status == 201 or faults(answer) == expected
        document = {"data": {"type": "varsets", "relationships": parent}}
        answer = await tenant.call("owner", "PATCH", f"/varsets/{made}", document)
        assert answer.is_success if status == 201 else faults(answer) == expected


async def test_a_name_is_once_in_an_organization(tenant: Tenant) -> None:
    await make_set(tenant, "shared")
    path = f"/organizations/{tenant.organization}/varsets"
    answer = await tenant.call("owner", "POST", path, set_document("SHARED"))
    assert faults(answer) == [("422", "name_taken", "/data/attributes/name")]


async def test_sets_their_variables_and_those_of_a_workspace_are_so_many_and_no_more(
    tenant: Tenant,
) -> None:
    async with limited(tenant, None, None, SetLimits.of(2, 1, 1)) as tenant:
        path = f"/organizations/{tenant.organization}/varsets"
        first, second = await make_set(tenant, "first", "network"), await make_set(tenant, "second")
        third = await tenant.call("owner", "POST", path, set_document("third"))
        assert faults(third) == [("422", "too_many_items", None)]
        ids = [tenant.workspaces["network"], tenant.other_workspace]
        unnamed = await tenant.call("owner", "POST", path, set_document(" ", workspaces=ids))
        at = "/data/relationships/workspaces/data"
        assert faults(unnamed) == [
            ("422", "too_many_items", None),
            ("422", "invalid_value", "/data/attributes/name"),
            ("422", "too_many_items", at),
            ("404", "not_found", f"{at}/1/id"),
        ]
        refused = await attach(tenant, second, "network", "payments")
        assert faults(refused) == [("422", "too_many_items", "/data")]
        assert tenant.workspaces["network"] in refused.json()["errors"][0]["detail"]
        assert (await attach(tenant, first, "network")).status_code == 204
        assert (await attach(tenant, second, "payments")).status_code == 204
        await put(tenant, first, "one")
        full = await tenant.call("owner", "POST", vars_of(first), variable_document(key="two"))
        assert faults(full) == [("422", "variable_set_full", "/data")]
        long = variable_document(key="long", value="x" * 200_000)
        assert (await tenant.call("owner", "POST", vars_of(second), long)).status_code == 201
    assert settings.load(max_sets=1, workspace_sets=2, max_set_variables=3).set_limits == (
        SetLimits.of(1, 2, 3)
    )


async def test_workspaces_are_included_by_name_as_far_as_they_are_seen(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network", "payments")
    listed = f"/organizations/{tenant.organization}/varsets"
    for path in (f"/varsets/{made}", listed):
        for who, expected in (("owner", {"network", "payments"}), ("reader", {"network"})):
            answer = await tenant.call(who, "GET", f"{path}?include=workspaces")
            included = answer.json()["included"]
            assert {one["attributes"]["name"] for one in included} == expected
            assert {one["type"] for one in included} == {"workspaces"}
        assert "included" not in (await tenant.call("owner", "GET", path)).json()
    refused = await tenant.call("owner", "GET", f"{listed}?include=vars")
    assert refused.status_code == 400


async def test_sets_that_do_not_reach_a_workspace_are_applicable_where_the_caller_sees_them(
    tenant: Tenant,
) -> None:
    await make_set(tenant, "there", "network")
    await make_set(tenant, "elsewhere", "payments")
    await make_set(tenant, "everywhere", **as_global())
    await make_set(tenant, "nowhere")
    path = f"/workspaces/{tenant.workspaces['network']}/applicable-varsets"
    assert await names(tenant, path) == ["elsewhere", "nowhere"]
    assert await names(tenant, f"{path}?q=now") == ["nowhere"]
    assert await names(tenant, path, "reader") == []
    await make_set(tenant, "both", "network", "payments")
    path = f"/workspaces/{tenant.workspaces['payments']}/applicable-varsets"
    assert await names(tenant, path) == ["nowhere", "there"]


async def test_variables_of_a_set_are_read_at_a_workspace_that_it_reaches_and_at_no_other(
    tenant: Tenant,
) -> None:
    made = await make_set(tenant, "there", "network")
    variable = await put(tenant, made, "region")
    of_network = f"/workspaces/{tenant.workspaces['network']}{vars_of(made)}"
    for who in ("owner", "reader"):
        answer = await tenant.call(who, "GET", of_network)
        assert answer.json()["data"] == [variable], answer.text
        assert "etag" in answer.headers
        answer = await tenant.call(who, "GET", f"{of_network}/{variable['id']}")
        assert answer.json()["data"] == variable
    for where in (tenant.workspaces["payments"], tenant.other_workspace):
        path = f"/workspaces/{where}{vars_of(made)}"
        for each in (path, f"{path}/{variable['id']}"):
            assert (await tenant.call("owner", "GET", each)).status_code == 404
    assert (await tenant.call("outsider", "GET", of_network)).status_code == 404


async def test_null_takes_the_description_of_a_set_away(tenant: Tenant) -> None:
    set_id = await make_set(tenant, "Shared keys", description="d")
    document = {"data": {"type": "varsets", "attributes": {"description": None}}}
    answer = await tenant.call("owner", "PATCH", f"/varsets/{set_id}", document)
    assert answer.json()["data"]["attributes"]["description"] == ""


async def test_an_update_may_be_posted(tenant: Tenant) -> None:
    made = await make_set(tenant, "old", "network")
    document = {"data": {"type": "varsets", "id": made, "attributes": {"name": "new"}}}
    answer = await tenant.call("owner", "POST", f"/varsets/{made}", document)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert (data["attributes"]["name"], data["attributes"]["workspace-count"]) == ("new", 1)
    document["data"]["id"] = "varset-other"
    answer = await tenant.call("owner", "POST", f"/varsets/{made}", document)
    assert [one[0] for one in faults(answer)] == ["409"]


async def test_so_many_sets_are_global_and_no_more(tenant: Tenant) -> None:
    async with limited(tenant, None, None, SetLimits.of(9, 1, 1)) as tenant:
        first = await make_set(tenant, "first", **as_global())
        path = f"/organizations/{tenant.organization}/varsets"
        refused = await tenant.call("owner", "POST", path, set_document("more", **as_global()))
        expected = [("422", "too_many_items", "/data/attributes/global")]
        assert faults(refused) == expected
        second = await make_set(tenant, "second", "network")
        assert faults(await changed(tenant, second, **as_global())) == expected
        unnamed = {"name": " ", **as_global()}
        assert faults(await changed(tenant, second, **unnamed)) == [
            ("422", "invalid_value", "/data/attributes/name"),
            *expected,
        ]
        assert (await changed(tenant, first, **as_global())).status_code == 200
        assert (await changed(tenant, first, **as_global(is_=False))).status_code == 200
        assert (await changed(tenant, second, **as_global())).status_code == 200


async def test_a_set_holds_as_many_bytes_as_a_value_may_have(tenant: Tenant) -> None:
    made = await make_set(tenant)
    await put(tenant, made, "whole", "x" * MAX_VALUE_BYTES)
    answer = await tenant.call("owner", "POST", vars_of(made), variable_document(key="more"))
    assert faults(answer) == [("422", "variable_set_full", "/data")]
