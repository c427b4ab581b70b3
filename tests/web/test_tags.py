"""Tags of workspaces: kept, shown, and what workspaces are found by; nothing else comes of them."""

import asyncio
from typing import Any

import httpx
import pytest

from teamvars import pace
from teamvars.changes import making
from teamvars.domain.tags import MAX_NAME_CHARACTERS, MAX_TAGS
from teamvars.storage.engines import postgres, sqlite_connection
from teamvars.storage.engines.sqlite_connection import SqliteTransaction
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults
from tests.web.test_workspaces import all_path, attributes_of, create, document, path


def named(*names: str) -> dict[str, Any]:
    return {"data": [{"type": "tags", "attributes": {"name": name}} for name in names]}


def bound(**bindings: str) -> dict[str, Any]:
    items = [{"key": key, "value": value} for key, value in bindings.items()]
    return {"data": [{"type": "tag-bindings", "attributes": item} for item in items]}


def linked(type_: str, *ids: str) -> dict[str, Any]:
    return {"data": [{"type": type_, "id": id_} for id_ in ids]}


def names_path(tenant: Tenant, workspace: str = "network") -> str:
    return f"{path(tenant, workspace)}/relationships/tags"


async def add(tenant: Tenant, *names: str, workspace: str = "network") -> None:
    answer = await tenant.call("owner", "POST", names_path(tenant, workspace), named(*names))
    assert answer.status_code == 204, answer.text


async def bind(tenant: Tenant, workspace: str = "network", **bindings: str) -> httpx.Response:
    where = f"{path(tenant, workspace)}/tag-bindings"
    answer = await tenant.call("owner", "PATCH", where, bound(**bindings))
    assert answer.status_code == 200, answer.text
    return answer


async def bindings_of(tenant: Tenant, who: str = "reader") -> dict[str, str]:
    answer = await tenant.call(who, "GET", f"{path(tenant)}/tag-bindings")
    found = [item["attributes"] for item in answer.json()["data"]]
    return {one["key"]: one["value"] for one in found}


async def listed(tenant: Tenant, query: str, who: str = "owner") -> list[str]:
    answer = await tenant.call(who, "GET", f"{all_path(tenant)}?{query}")
    assert answer.status_code == 200, answer.text
    return [one["attributes"]["name"] for one in answer.json()["data"]]


async def tag_ids(tenant: Tenant, who: str = "owner") -> dict[str, str]:
    answer = await tenant.call(who, "GET", f"/organizations/{tenant.organization}/tags")
    return {one["attributes"]["name"]: one["id"] for one in answer.json()["data"]}


async def newest(tenant: Tenant) -> Any:
    events = await tenant.call("owner", "GET", f"{path(tenant)}/audit-events")
    return events.json()["data"][0]["attributes"]


async def test_names_are_added_and_removed_once_and_kept_in_lower_case(tenant: Tenant) -> None:
    await add(tenant, "Live", "app:web", "live")
    assert (await attributes_of(tenant, "reader"))["tag-names"] == ["app:web", "live"]
    told = await newest(tenant)
    assert (told["action"], told["details"]["changed"]) == ("workspace.update", ["tag-names"])
    before = told["sequence"]
    await add(tenant, "LIVE")
    assert (await newest(tenant))["sequence"] == before
    gone = await tenant.call("owner", "DELETE", names_path(tenant), named("LIVE", "never"))
    assert gone.status_code == 204
    listed = await tenant.call("reader", "GET", names_path(tenant))
    assert [one["attributes"] for one in listed.json()["data"]] == [{"name": "app:web"}]
    assert await tenant.deployment.audit_holds()


async def test_a_tag_is_named_by_its_id_as_well(tenant: Tenant) -> None:
    await add(tenant, "live")
    id_ = (await tag_ids(tenant))["live"]
    where = names_path(tenant, "payments")
    for method, expected in (("POST", ["live"]), ("DELETE", [])):
        answer = await tenant.call("owner", method, where, linked("tags", id_))
        assert answer.status_code == 204
        there = await tenant.call("owner", "GET", path(tenant, "payments"))
        assert there.json()["data"]["attributes"]["tag-names"] == expected
    unknown = await tenant.call("owner", "POST", where, linked("tags", id_, "tag-of-nobody"))
    assert faults(unknown) == [("404", "not_found", "/data/1/id")]
    elsewhere = f"/workspaces/{tenant.other_workspace}/relationships/tags"
    foreign = await tenant.call("outsider", "POST", elsewhere, linked("tags", id_))
    assert faults(foreign) == [("404", "not_found", "/data/0/id")]


async def test_bindings_are_set_by_key_and_others_stay(tenant: Tenant) -> None:
    await bind(tenant, Env="live", team="a")
    answer = await bind(tenant, team="b", only="")
    expected = {"Env": "live", "only": "", "team": "b"}
    shown = [one["attributes"] for one in answer.json()["data"]]
    assert {one["key"]: one["value"] for one in shown} == expected
    assert [one["key"] for one in shown] == ["team", "only", "Env"], "the first are its own"
    assert await bindings_of(tenant) == expected
    told = await newest(tenant)
    assert (told["action"], told["details"]["changed"]) == ("workspace.update", ["tag-bindings"])
    effective = await tenant.call("reader", "GET", f"{path(tenant)}/effective-tag-bindings")
    keys = [one["attributes"]["key"] for one in effective.json()["data"]]
    assert keys == sorted(expected)
    assert (await attributes_of(tenant))["tag-names"] == []

    linkage = f"{path(tenant)}/relationships/tag-bindings"
    added = await tenant.call("owner", "POST", linkage, bound(more="1"))
    assert (added.status_code, added.content) == (204, b"")
    assert await bindings_of(tenant) == {**expected, "more": "1"}
    await tenant.call("owner", "PATCH", linkage, bound(more="2"))
    assert await bindings_of(tenant) == {"more": "2"}
    assert (await tenant.call("reader", "GET", linkage)).json()["data"] == (
        await tenant.call("reader", "GET", f"{path(tenant)}/tag-bindings")
    ).json()["data"]
    assert await tenant.deployment.audit_holds()


async def test_a_workspace_is_made_with_tags_and_an_update_replaces_those_it_names(
    tenant: Tenant,
) -> None:
    new = document(name="fresh", tag_names=["b"])
    new["data"]["relationships"] = {"tags": named("a", "B"), "tag-bindings": bound(env="live")}
    made = await tenant.call("owner", "POST", all_path(tenant), new)
    assert made.status_code == 201, made.text
    where = f"/workspaces/{made.json()['data']['id']}"
    assert made.json()["data"]["attributes"]["tag-names"] == ["a", "b"]

    async def tags_after(said: dict[str, Any]) -> tuple[list[str], list[str]]:
        answer = await tenant.call(
            "owner", "PATCH", where, {"data": {"type": "workspaces", **said}}
        )
        assert answer.status_code == 200, answer.text
        keys = await tenant.call("owner", "GET", f"{where}/tag-bindings")
        names = answer.json()["data"]["attributes"]["tag-names"]
        return names, [one["attributes"]["key"] for one in keys.json()["data"]]

    assert await tags_after({"attributes": {"auto-apply": True}}) == (["a", "b"], ["env"])
    bindings = {"relationships": {"tag-bindings": bound(other="x")}}
    assert await tags_after(bindings) == (["a", "b"], ["other"])
    assert await tags_after({"relationships": {"tag-bindings": {"data": []}}}) == (["a", "b"], [])
    assert await tags_after({"attributes": {"tag-names": ["c"]}}) == (["c"], [])
    assert await tags_after({"attributes": {"tag-names": None}}) == (["c"], [])
    assert await tags_after({"attributes": {"tag-names": []}}) == ([], [])
    assert await tenant.deployment.audit_holds()


async def test_what_is_wrong_with_tags_is_told_all_at_once_where_it_is(tenant: Tenant) -> None:
    at = "/data/relationships"
    bad = document(name="bad", tag_names=["-x"])
    bad["data"]["relationships"] = {
        "tags": {"data": [{"type": "vars", "attributes": {"name": "a"}}, 7, *named("a,b")["data"]]},
        "tag-bindings": {"data": [*bound(a="ü")["data"], {"type": "tag-bindings"}]},
    }
    for method, where in (("POST", all_path(tenant)), ("PATCH", path(tenant))):
        assert sorted(faults(await tenant.call("owner", method, where, bad)), key=str) == sorted(
            [
                ("409", "type_conflict", f"{at}/tags/data/0/type"),
                ("422", "wrong_type", f"{at}/tags/data/1"),
                ("422", "invalid_value", f"{at}/tags/data/2/attributes/name"),
                ("422", "invalid_value", "/data/attributes/tag-names/0"),
                ("422", "invalid_value", f"{at}/tag-bindings/data/0/attributes/value"),
                ("422", "missing_member", f"{at}/tag-bindings/data/1/attributes"),
            ],
            key=str,
        )
    twice = {"data": [*bound(env="a")["data"], *bound(env="b")["data"]]}
    answer = await tenant.call("owner", "PATCH", f"{path(tenant)}/tag-bindings", twice)
    assert faults(answer) == [("422", "invalid_value", "/data/1/attributes/key")]
    assert (await attributes_of(tenant))["tag-names"] == []


async def test_a_tag_with_an_impossible_id_is_at_fault_once_and_asked_of_no_store(
    tenant: Tenant,
) -> None:
    bad = linked("tags", "tag-\0")
    in_path = {"data": {"type": "workspaces", "relationships": {"tags": bad}}}
    for method, where, asked, at in (
        ("POST", names_path(tenant), bad, "/data/0/id"),
        ("DELETE", names_path(tenant), bad, "/data/0/id"),
        ("PATCH", path(tenant), in_path, "/data/relationships/tags/data/0/id"),
    ):
        answer = await tenant.call("owner", method, where, asked)
        assert faults(answer) == [("422", "invalid_value", at)]


@ON_SQLITE
@pytest.mark.parametrize("name", ["", "-", "a-", ":a", "a b", "ä", "a,b", "x" * 256])
async def test_a_tag_has_letters_or_digits_at_its_ends(tenant: Tenant, name: str) -> None:
    answer = await tenant.call("owner", "POST", names_path(tenant), named("fine", name))
    assert faults(answer) == [("422", "invalid_value", "/data/1/attributes/name")]
    assert (await attributes_of(tenant))["tag-names"] == []


async def test_a_workspace_has_only_so_many_tags(tenant: Tenant) -> None:
    await add(tenant, "x" * MAX_NAME_CHARACTERS, *(f"t{n}" for n in range(MAX_TAGS - 2)))
    await bind(tenant, last="1")
    full = [("422", "too_many_items", "/data")]
    one_more = await tenant.call("owner", "POST", names_path(tenant), named("more"))
    assert faults(one_more) == full
    where = f"{path(tenant)}/tag-bindings"
    assert faults(await tenant.call("owner", "PATCH", where, bound(more="1"))) == full
    update = await tenant.call("owner", "PATCH", path(tenant), document(tag_names=["a"] * 51))
    assert update.status_code == 200
    named_so = [("422", "too_many_items", "/data/attributes/tag-names")]
    many = [f"t{n}" for n in range(MAX_TAGS + 1)]
    assert faults(await create(tenant, name="n", tag_names=many)) == named_so


async def test_too_many_tags_are_told_beside_all_else_where_they_are(tenant: Tenant) -> None:
    """In the list of a document about more than tags that has most of them."""
    keys, at = [f"t{n}" for n in range(MAX_TAGS + 1)], "/data/relationships"
    name = ("422", "invalid_value", "/data/attributes/name")
    documents = {
        "/data/attributes/tag-names": document(name="a b", tag_names=keys),
        f"{at}/tags/data": document(name="a b", tag_names=["one"]),
        f"{at}/tag-bindings/data": document(name="a b", tag_names=["one"]),
    }
    lists = {"tags": named(*keys), "tag-bindings": bound(**dict.fromkeys(keys, ""))}
    for kind, listed_there in lists.items():
        documents[f"{at}/{kind}/data"]["data"]["relationships"] = {kind: listed_there}
    for place, said in documents.items():
        expected = [name, ("422", "too_many_items", place)]
        assert faults(await tenant.call("owner", "POST", all_path(tenant), said)) == expected
        assert faults(await tenant.call("owner", "PATCH", path(tenant), said)) == expected
    listed_alone = await tenant.call("owner", "POST", names_path(tenant), named("a b", *keys))
    assert faults(listed_alone) == [
        ("422", "too_many_items", "/data"),
        ("422", "invalid_value", "/data/0/attributes/name"),
    ]


async def test_workspaces_that_have_no_room_for_a_tag_are_told_beside_those_there_are_not(
    tenant: Tenant,
) -> None:
    await add(tenant, *(f"t{n}" for n in range(MAX_TAGS)))
    await add(tenant, "app", workspace="payments")
    to = f"/tags/{(await tag_ids(tenant))['app']}/relationships/workspaces"
    ids = linked("workspaces", tenant.workspaces["network"], tenant.other_workspace)
    assert faults(await tenant.call("owner", "POST", to, ids)) == [
        ("422", "too_many_items", "/data"),
        ("404", "not_found", "/data/1/id"),
    ]


async def test_workspaces_are_found_by_their_tags(tenant: Tenant) -> None:
    await add(tenant, "live", "app")
    await add(tenant, "live", workspace="payments")
    await bind(tenant, "payments", Env="eu", only="", pair="a=b")
    both = ["network", "payments"]
    for query, expected in {
        "search[tags]=live": both,
        "search[tags]=LIVE,app": ["network"],
        "search[tags]=live,nothing": [],
        "search[tags]=env": ["payments"],
        "search[tags]=live&search[exclude-tags]=app": ["payments"],
        "search[exclude-tags]=app,env": [],
        "search[exclude-tags]=nothing": both,
        "filter[tagged][0][key]=Env": ["payments"],
        "filter[tagged][0][key]=env": [],
        "filter[tagged][0][key]=Env&filter[tagged][0][value]=eu": ["payments"],
        "filter[tagged][0][key]=Env&filter[tagged][0][value]=us": [],
        "filter[tagged][0][key]=Env&filter[tagged][0][value]=": ["payments"],
        "filter[tagged][0][key]=Env&filter[tagged][7][key]=only": ["payments"],
        "filter[tagged][0][key]=Env&filter[tagged][1][key]=app": [],
        "filter[tagged][0][key]=Env&filter[tagged][0][value]=eu&filter[tagged][1][key]=only": [
            "payments"
        ],
        "filter[tagged][0][key]=Env&filter[tagged][0][value]=eu&filter[tagged][1][key]=app": [],
        "filter[tagged][0][key]=pair&filter[tagged][0][value]=a%3Db": ["payments"],
        "filter[tagged][0][key]=pair%3Da&filter[tagged][0][value]=b": [],
        "filter[tagged][0][key]=live": both,
        "search[tags]=live&search[name]=pay": ["payments"],
        "sort=name": both,
        "sort=-name": both[::-1],
        "sort=-name&search[tags]=live": both[::-1],
    }.items():
        assert await listed(tenant, query) == expected, query
    assert await listed(tenant, "search[tags]=live", "reader") == ["network"]
    assert await listed(tenant, "search[tags]=live&search[exclude-tags]=app", "reader") == []
    assert await listed(tenant, "search[tags]=live&sort=-name", "reader") == ["network"]


async def test_by_however_many_tags_a_list_is_asked_for_no_further_statement_is_kept_in_memory(
    tenant: Tenant,
) -> None:
    """Nor prepared: members would fill the memory of a worker, and have its loop to themselves."""

    def kept() -> list[int]:
        return [one.FRAGMENTS.render.cache_info().currsize for one in (postgres, sqlite_connection)]

    async def ask(number: int) -> None:
        keys = [f"filter[tagged][{n}][key]=k{n}" for n in range(2 * number)]
        values = [f"filter[tagged][{n}][value]=v" for n in range(number)]
        words = ",".join(f"w{n}" for n in range(number))
        query = "&".join((*keys, *values))
        assert await listed(tenant, f"{query}&search[tags]={words}") == []
        projects = f"/organizations/{tenant.organization}/projects?{query}"
        assert (await tenant.call("owner", "GET", projects)).json()["data"] == []

    await ask(1)
    await ask(2)
    before = kept()
    for number in (3, 33):
        await ask(number)
    assert kept() == before


@ON_SQLITE
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("filter[tagged][0][value]=x", "filter[tagged][0][value]"),
        ("filter[tagged][0][key]=x&filter[tagged][1][value]=x", "filter[tagged][1][value]"),
        ("filter[tagged][key]=x", "filter[tagged][key]"),
        ("filter[tagged][-1][key]=x", "filter[tagged][-1][key]"),
        ("filter[tagged][0][name]=x", "filter[tagged][0][name]"),
        ("filter[tag-union]=true", "filter[tag-union]"),
        ("sort=current-run.created-at", "sort"),
        ("sort=name,-name", "sort"),
    ],
)
async def test_what_would_narrow_or_sort_a_list_otherwise_is_refused(
    tenant: Tenant, query: str, name: str
) -> None:
    answer = await tenant.call("owner", "GET", f"{all_path(tenant)}?{query}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["source"]["parameter"]) == (400, name)


async def test_each_value_without_its_key_is_named(tenant: Tenant) -> None:
    names = [f"filter[tagged][{number}][value]" for number in (2, 0, 1)]
    query = "&".join(f"{name}=x" for name in names)
    answer = await tenant.call("owner", "GET", f"{all_path(tenant)}?{query}")
    assert [one["source"]["parameter"] for one in answer.json()["errors"]] == names


async def test_bindings_are_included_where_they_are_asked_for(tenant: Tenant) -> None:
    await bind(tenant, env="live")
    await add(tenant, "app")
    query = "include=effective_tag_bindings"
    for where in (path(tenant), f"{all_path(tenant)}/network", all_path(tenant)):
        answer = (await tenant.call("reader", "GET", f"{where}?{query}")).json()
        data = answer["data"] if isinstance(answer["data"], dict) else answer["data"][0]
        (included,) = answer["included"]
        assert included["type"] == "effective-tag-bindings"
        assert included["attributes"] == {"key": "env", "value": "live"}
        linkage = data["relationships"]["effective-tag-bindings"]["data"]
        assert linkage == [{"id": included["id"], "type": included["type"]}]
    both = await tenant.call("reader", "GET", f"{path(tenant)}?{query},organization")
    types = {one["type"] for one in both.json()["included"]}
    assert types == {"effective-tag-bindings", "organizations"}


async def test_a_binding_of_a_project_is_included_once_for_all_of_its_workspaces(
    tenant: Tenant,
) -> None:
    where = f"/projects/{tenant.project}/tag-bindings"
    assert (await tenant.call("owner", "PATCH", where, bound(env="live"))).status_code == 200
    query = "include=effective_tag_bindings"
    answer = (await tenant.call("owner", "GET", f"{all_path(tenant)}?{query}")).json()
    (included,) = answer["included"]
    assert included["attributes"] == {"key": "env", "value": "live"}
    linked_ = [one["relationships"]["effective-tag-bindings"]["data"] for one in answer["data"]]
    assert linked_ == [[{"id": included["id"], "type": included["type"]}]] * 2


async def test_an_organization_lists_the_tags_of_the_workspaces_that_a_caller_sees(
    tenant: Tenant,
) -> None:
    await add(tenant, "live", "app")
    await add(tenant, "live", "hidden", workspace="payments")
    where = f"/organizations/{tenant.organization}/tags"

    async def counts(who: str, query: str = "") -> dict[str, int]:
        answer = await tenant.call(who, "GET", f"{where}{query}")
        shown = [one["attributes"] for one in answer.json()["data"]]
        return {one["name"]: one["instance-count"] for one in shown}

    assert await counts("owner") == {"app": 1, "hidden": 1, "live": 2}
    assert await counts("reader") == {"app": 1, "live": 1}
    assert await counts("plain") == {}
    assert await counts("owner", "?q=I") == {"hidden": 1, "live": 2}
    own = f"?filter[exclude][taggable][id]={tenant.workspaces['payments']}"
    assert await counts("owner", own) == {"app": 1}
    assert await counts("reader", own) == {"app": 1, "live": 1}
    page = (await tenant.call("owner", "GET", f"{where}?page[size]=2&page[number]=2")).json()
    assert [one["attributes"]["name"] for one in page["data"]] == ["live"]
    assert page["meta"]["pagination"]["total-count"] == 3


async def test_a_tag_is_taken_from_all_workspaces_and_given_to_many(tenant: Tenant) -> None:
    await add(tenant, "live", "app")
    await add(tenant, "live", workspace="payments")
    ids = await tag_ids(tenant)
    where = f"/organizations/{tenant.organization}/tags"
    unknown = await tenant.call("owner", "DELETE", where, linked("tags", ids["app"], "tag-no"))
    assert faults(unknown) == [("404", "not_found", "/data/1/id")]
    gone = await tenant.call("owner", "DELETE", where, linked("tags", ids["live"]))
    assert gone.status_code == 204
    assert await tag_ids(tenant) == {"app": ids["app"]}
    assert (await newest(tenant))["details"]["changed"] == ["tag-names"]

    to = f"/tags/{ids['app']}/relationships/workspaces"
    both = [tenant.workspaces[name] for name in ("network", "payments")]
    lost = linked("workspaces", *both, tenant.other_workspace)
    assert faults(await tenant.call("owner", "POST", to, lost)) == [
        ("404", "not_found", "/data/2/id")
    ]
    given = await tenant.call("owner", "POST", to, linked("workspaces", *both))
    assert given.status_code == 204
    assert await listed(tenant, "search[tags]=app") == ["network", "payments"]
    assert await tenant.deployment.audit_holds()


@ON_SQLITE
async def test_between_the_rows_of_many_workspaces_others_have_the_event_loop(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(tenant, "live")
    run, turns, written = SqliteTransaction.run, 0, dict[str, set[int]]()

    def noted(self: SqliteTransaction, sql: str, args: tuple[Any, ...]) -> Any:
        written.setdefault(" ".join(sql.split()[:3]), set()).add(turns)
        return run(self, sql, args)

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(pace, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(making, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(SqliteTransaction, "run", noted)
    (live,) = (await tag_ids(tenant)).values()
    beside = asyncio.create_task(others())
    await add(tenant, "app", workspace="payments")
    ids = linked("workspaces", *tenant.workspaces.values())
    written.clear()
    given = await tenant.call("owner", "POST", f"/tags/{live}/relationships/workspaces", ids)
    gone = linked("tags", live)
    where = f"/organizations/{tenant.organization}/tags"
    taken = await tenant.call("owner", "DELETE", where, gone)
    beside.cancel()
    assert (given.status_code, taken.status_code) == (204, 204)
    assert len(written["INSERT INTO audit_entries"]) == 3  # one of the two had it
    assert len(written["DELETE FROM workspace_tags"]) == 1
    looked_up = [
        written[f"SELECT DISTINCT {what}"] for what in ("workspace_tags.tag_id,", "workspace_id")
    ]
    assert looked_up[0].isdisjoint(looked_up[1])


async def test_tags_stay_where_a_workspace_is_renamed_and_go_with_it(tenant: Tenant) -> None:
    await add(tenant, "live")
    await tenant.call("owner", "PATCH", path(tenant), document(name="renamed"))
    assert (await attributes_of(tenant))["tag-names"] == ["live"]
    await tenant.call("owner", "DELETE", path(tenant))
    assert await tag_ids(tenant) == {}
    again = await create(tenant, name="network")
    assert again.json()["data"]["attributes"]["tag-names"] == []
