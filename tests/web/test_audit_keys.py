"""`GET /workspaces/:id/audit-events?filter[key]=…`: the changes of the variables of one key."""

from typing import Any
from urllib.parse import quote

import pytest

from teamvars.services import audit_pages
from tests.support.tenant import Tenant, faults, variable_document


async def search(
    tenant: Tenant, key: str, more: str = "", who: str = "reader", by: str = "filter[key]"
) -> dict[str, Any]:
    """The document of a page of the changes of a key."""
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events"
    answer = await tenant.call(who, "GET", f"{path}?{by}={quote(key, safe='')}{more}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def told(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Each action with the key of then, newest first."""
    shown = [one["attributes"] for one in document["data"]]
    return [(one["action"].removeprefix("variable."), one["details"]["key"]) for one in shown]


async def update(tenant: Tenant, id_: str, **attributes: Any) -> None:
    document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
    answer = await tenant.call("writer", "PATCH", f"{tenant.vars_path()}/{id_}", document)
    assert answer.status_code == 200, answer.text


async def delete(tenant: Tenant, id_: str) -> None:
    answer = await tenant.call("writer", "DELETE", f"{tenant.vars_path()}/{id_}")
    assert answer.status_code == 204


async def test_a_key_finds_its_variable_s_changes_and_no_other_s(tenant: Tenant) -> None:
    made = await tenant.make_variable("wanted", value="s3cr3t-value")
    for other in ("Wanted", "wante", "wanted-too", "un-wanted"):
        await tenant.make_variable(other)
    await update(tenant, made["id"], value="wanted")
    document = await search(tenant, "wanted")
    assert told(document) == [("update", "wanted"), ("create", "wanted")]
    assert "s3cr3t-value" not in str(document)
    assert document["meta"]["pagination"]["total-count"] == 2
    assert document["meta"]["searched-from"] == 1
    assert document["data"][0]["attributes"]["actor-name"].startswith("writer-")


async def test_a_key_finds_what_had_it_under_its_other_names_too(tenant: Tenant) -> None:
    renamed = await tenant.make_variable("before")
    await update(tenant, renamed["id"], key="after")
    deleted = await tenant.make_variable("before", category="env")
    await delete(tenant, deleted["id"])
    await update(tenant, renamed["id"], value="another")
    assert told(await search(tenant, "before")) == [
        ("update", "after"),
        ("delete", "before"),
        ("create", "before"),
        ("update", "after"),
        ("create", "before"),
    ]
    assert told(await search(tenant, "after")) == [
        ("update", "after"),
        ("update", "after"),
        ("create", "before"),
    ]


async def test_a_part_of_keys_finds_what_had_such_a_key_in_any_case(tenant: Tenant) -> None:
    renamed = await tenant.make_variable("DB_URL")
    await update(tenant, renamed["id"], key="ADDRESS")
    await tenant.make_variable("Straße")
    await tenant.make_variable("url", category="env", description="ADDRESS")
    found = [("update", "ADDRESS"), ("create", "DB_URL")]
    document = await search(tenant, "uRl", by="q")
    assert told(document) == [("create", "url"), *found]
    assert document["meta"]["searched-from"] == 1
    assert told(await search(tenant, "STRASSE", by="q")) == [("create", "Straße")]
    assert told(await search(tenant, "addr", by="q")) == found
    assert told(await search(tenant, "url", "&filter[key]=ADDRESS", by="q")) == found
    assert told(await search(tenant, "url", "&filter[key]=Straße", by="q")) == []
    for nothing in ("env", "%", "_U_", "category"):
        assert told(await search(tenant, nothing, by="q")) == []


@pytest.mark.parametrize("key", ['a"b', "back\\slash", "größe", "%_*", '"key":"x"', "x','"])
async def test_a_key_of_any_characters_is_found_exactly(tenant: Tenant, key: str) -> None:
    await tenant.make_variable("x")
    await tenant.make_variable(key)
    assert told(await search(tenant, key)) == [("create", key)]


async def test_nothing_is_found_of_a_key_that_no_variable_had(tenant: Tenant) -> None:
    await tenant.make_variable("there")
    document = await search(tenant, "env")
    assert (document["data"], document["meta"]["pagination"]["total-count"]) == ([], 0)


async def test_what_is_found_has_pages_with_their_own_total(tenant: Tenant) -> None:
    made = await tenant.make_variable("paged")
    for number in range(4):
        await update(tenant, made["id"], value=str(number))
        await tenant.make_variable(f"between-{number}")
    found = []
    for page in (1, 2, 3, 4):
        document = await search(tenant, "paged", f"&page[number]={page}&page[size]=2")
        pagination = document["meta"]["pagination"]
        assert (pagination["total-count"], pagination["total-pages"]) == (5, 3)
        assert pagination["next-page"] == (page + 1 if page < 3 else None)
        found.append([one["attributes"]["sequence"] for one in document["data"]])
    assert found == [[8, 6], [4, 2], [1], []]


async def test_no_more_than_the_newest_changes_are_searched_and_the_answer_says_so(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_pages, "MOST_SEARCHED", 5)
    monkeypatch.setattr(audit_pages, "_PIECE", 2)
    made = await tenant.make_variable("old")
    await delete(tenant, (await tenant.make_variable("gone"))["id"])
    for number in range(3):
        await update(tenant, made["id"], value=str(number))
    assert told(await search(tenant, "gone")) == [("delete", "gone"), ("create", "gone")]
    await update(tenant, made["id"], value="last")
    document = await search(tenant, "old")
    assert told(document) == [("update", "old")] * 4
    assert document["meta"]["searched-from"] == 3
    await update(tenant, made["id"], value="very last")
    assert told(await search(tenant, "gone")) == []


async def test_a_search_costs_the_same_number_of_statements_whatever_it_finds(
    tenant: Tenant, statements: list[str]
) -> None:
    costs = []
    await search(tenant, "none")  # from here on it is known whose the token is
    for number in range(3):
        made = await tenant.make_variable(f"other-{number}")
        await update(tenant, made["id"], key=f"wanted-{number}")
        await update(tenant, made["id"], key="wanted")
        await update(tenant, made["id"], key=f"wanted-{number}")
        for by in ("filter[key]", "q"):
            statements.clear()
            assert len(told(await search(tenant, "wanted", by=by))) == 4 * (number + 1)
            costs.append(len(statements))
    assert costs == [5] * 6


async def test_a_key_is_asked_for_like_every_filter(tenant: Tenant) -> None:
    await tenant.make_variable("one")
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events"
    everything = await tenant.call("owner", "GET", path)
    assert (await tenant.call("owner", "GET", f"{path}?filter[key]=")).json() == everything.json()
    assert "searched-from" not in everything.json()["meta"]
    for query in (f"filter[key]={'x' * 257}", "filter[key]=a&filter[key]=b", "filter[key]=%00"):
        refused = await tenant.call("owner", "GET", f"{path}?{query}")
        assert faults(refused) == [("400", "invalid_parameter", None)]
    team = f"/teams/{tenant.teams['crew']}/audit-events?filter[key]=one"
    assert (await tenant.call("owner", "GET", team)).status_code == 400


@pytest.mark.parametrize(("who", "status"), [("plain", 404), ("outsider", 404), (None, 401)])
async def test_who_may_not_read_the_variables_learns_no_key(
    tenant: Tenant, who: str | None, status: int
) -> None:
    await tenant.call("owner", "POST", tenant.vars_path(), variable_document(key="hidden"))
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events?filter[key]=hidden"
    assert (await tenant.call(who, "GET", path)).status_code == status
