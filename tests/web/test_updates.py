"""Updates of many variables by their ids (contract §4), on both engines."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamvars.fair_slots import WAITERS_EACH
from tests.support.deployment import Deployment
from tests.support.tenant import Tenant, build_tenant, faults, items_document
from tests.web.test_applies import apply, audit, item, listed
from tests.web.test_copies import value_in_store

OTHER = "0" * 36
Ids = Mapping[str, str]


async def update(
    tenant: Tenant,
    *items: object,
    who: str = "writer",
    headers: dict[str, str] | None = None,
    **options: bool,
) -> httpx.Response:
    """An update of variables of `network`."""
    path = f"/workspaces/{tenant.workspaces['network']}/relationships/vars"
    document = items_document(*items, **options)
    return await tenant.call(who, "PATCH", path, document, headers)


def to(id_: str, **attributes: Any) -> dict[str, Any]:
    """An item that changes the variable with that id."""
    return {"type": "vars", "id": id_, "attributes": attributes}


def at(version: str, id_: str, **attributes: Any) -> dict[str, Any]:
    """The same, if it is at that version."""
    return {**to(id_, **attributes), "meta": {"version-id": version}}


async def made(tenant: Tenant, *items: dict[str, Any]) -> Ids:
    """Ids by key of what these items make."""
    answer = await apply(tenant, *items)
    assert answer.status_code == 200, answer.text
    return {each["key"]: each["id"] for each in answer.json()["meta"]["results"]}


async def values(tenant: Tenant) -> dict[str, Any]:
    """The values by key."""
    return {key: shown["value"] for (key, _), shown in (await listed(tenant)).items()}


async def test_each_becomes_what_its_item_says_and_the_answer_has_the_tag_of_the_list(
    tenant: Tenant,
) -> None:
    ids = await made(tenant, item("a", value="1", description="mine"), item("b"), item("stays"))
    before = await listed(tenant)
    answer = await update(
        tenant, to(ids["b"], value="2", sensitive=True), to(ids["a"], value="3", description="")
    )
    assert (answer.status_code, answer.content) == (204, b"")
    shown = await tenant.call("reader", "GET", tenant.vars_path())
    assert answer.headers["ETag"] == shown.headers["ETag"]
    after = await listed(tenant)
    assert after["stays", "env"] == before["stays", "env"]
    assert (after["a", "env"]["value"], after["a", "env"]["description"]) == ("3", "")
    assert (after["b", "env"]["value"], after["b", "env"]["sensitive"]) == (None, True)
    assert await value_in_store(tenant, "b") == "2"
    told = [(event["action"], event["details"]["key"]) for event in await audit(tenant)][:2]
    assert sorted(told) == [("variable.update", "a"), ("variable.update", "b")]


async def test_variables_take_each_others_names_and_keep_their_values(tenant: Tenant) -> None:
    ids = await made(
        tenant, item("a", value="1"), item("b", value="2", sensitive=True), item("c", value="3")
    )
    created = await tenant.variables()
    answer = await update(
        tenant, to(ids["a"], key="b"), to(ids["b"], key="c"), to(ids["c"], key="a")
    )
    assert answer.status_code == 204, answer.text
    assert await values(tenant) == {"a": "3", "b": "1", "c": None}
    assert await value_in_store(tenant, "c") == "2"
    found = {each["attributes"]["key"]: each["id"] for each in await tenant.variables()}
    assert found == {"b": ids["a"], "c": ids["b"], "a": ids["c"]}
    assert len(created) == len(found)
    told = [
        (event["details"]["from"], event["details"]["key"]) for event in (await audit(tenant))[:3]
    ]
    assert sorted(told) == [("a", "b"), ("b", "c"), ("c", "a")]


async def test_what_is_of_another_category_by_now_is_told_with_no_former_key(
    tenant: Tenant,
) -> None:
    ids = await made(tenant, item("a"))
    assert (await update(tenant, to(ids["a"], category="tool"))).status_code == 204
    told, *_ = await audit(tenant)
    assert (told["details"]["changed"], "from" in told["details"]) == (["category"], False)


async def test_many_pass_their_names_on_in_one_request(tenant: Tenant) -> None:
    keys = [f"key-{number:03}" for number in range(250)]  # more than are written in one go
    ids = await made(tenant, *(item(key, value=key) for key in keys))
    moved = dict(zip(keys, [*keys[1:], keys[0]], strict=True))
    answer = await update(tenant, *(to(ids[key], key=new) for key, new in moved.items()))
    assert answer.status_code == 204, answer.text
    assert await values(tenant) == {new: key for key, new in moved.items()}


async def test_a_name_that_another_has_afterwards_is_refused_and_nothing_changed(
    tenant: Tenant,
) -> None:
    ids = await made(tenant, item("a", value="1"), item("b", value="2"), item("c"), item("d"))
    await apply(tenant, item("a", category="tool"))
    before = await listed(tenant)
    answer = await update(
        tenant,
        to(ids["b"], value="new"),
        to(ids["a"], key="b"),
        to(ids["c"], key="new"),
        to(ids["d"], key="new"),
    )
    taken = [("422", "key_taken", f"/data/{number}/attributes/key") for number in (1, 3)]
    assert faults(answer) == taken
    answer = await update(tenant, to(ids["a"], category="tool"))
    assert faults(answer) == [("422", "key_taken", "/data/0/attributes/key")]
    assert await listed(tenant) == before


async def test_every_bad_item_is_told_in_its_place(tenant: Tenant) -> None:
    ids = await made(tenant, item("a"), item("zones", category="env", value="[1", hcl=True))
    before, trail = await listed(tenant), await audit(tenant)
    items = [
        to("var-0000000000000000", value="1"),
        to("", description="1"),
        to(ids["a"], key="bad key", value=1),
        to(ids["a"], value="2"),
        {"type": "vars", "attributes": {}},
        {"type": "teams", "id": 5, "attributes": {"new": 1}},
        {"type": "vars", "id": ids["a"]},
        5,
        to(ids["zones"], category="tool"),
    ]
    answer = await update(tenant, *items, dry_run=True)
    assert answer.status_code == 422
    assert faults(answer) == [
        ("422", "invalid_value", "/data/0/id"),
        ("422", "invalid_value", "/data/1/id"),
        ("422", "invalid_value", "/data/2/attributes/key"),
        ("422", "wrong_type", "/data/2/attributes/value"),
        ("422", "key_taken", "/data/3/id"),
        ("422", "missing_member", "/data/4/id"),
        ("409", "type_conflict", "/data/5/type"),
        ("422", "wrong_type", "/data/5/id"),
        ("422", "unknown_attribute", "/data/5/attributes/new"),
        ("422", "key_taken", "/data/6/id"),
        ("422", "missing_member", "/data/6/attributes"),
        ("422", "wrong_type", "/data/7"),
        ("422", "hcl_syntax", "/data/8/attributes/category"),
        ("422", "unknown_attribute", "/meta/dry-run"),
    ]
    assert (await listed(tenant), await audit(tenant)) == (before, trail)


async def test_what_stays_as_it_is_has_no_new_version_and_no_entry(tenant: Tenant) -> None:
    ids = await made(tenant, item("a", value="1", sensitive=True), item("b", value="2"))
    before, trail = await listed(tenant), await audit(tenant)
    tag = (await tenant.call("reader", "GET", tenant.vars_path())).headers["ETag"]
    items = [to(ids["a"], key="a", sensitive=True), to(ids["b"], value="2", category="env")]
    answer = await update(tenant, *items)
    assert (answer.status_code, answer.headers["ETag"]) == (204, tag)
    assert (await listed(tenant), await audit(tenant)) == (before, trail)


async def test_it_is_at_the_version_of_the_list_and_of_each_variable(tenant: Tenant) -> None:
    ids = await made(tenant, item("a", value="1"), item("b", value="2"))
    tag = (await tenant.call("reader", "GET", tenant.vars_path())).headers["ETag"]
    seen = {key: shown["version-id"] for (key, _), shown in (await listed(tenant)).items()}
    answer = await update(tenant, to(ids["a"], value="3"), headers={"If-Match": tag})
    assert answer.status_code == 204
    stale = await update(tenant, to(ids["a"], value="4"), headers={"If-Match": tag})
    assert (stale.status_code, stale.json()["errors"][0]["source"]) == (412, {"header": "If-Match"})
    items = [at(seen["b"], ids["b"], value="5"), at(seen["a"], ids["a"], value="5")]
    gone = at(OTHER, "var-0000000000000000", value="5")
    stale = await update(tenant, *items, gone, to(ids["b"], key="bad key"), versioned=True)
    at_versions = [("412", "precondition_failed", f"/data/{n}/meta/version-id") for n in (1, 2)]
    assert faults(stale) == at_versions
    assert await values(tenant) == {"a": "3", "b": "2"}
    assert (await update(tenant, items[0], versioned=True)).status_code == 204
    assert await values(tenant) == {"a": "3", "b": "5"}


async def test_a_condition_is_never_ignored(tenant: Tenant) -> None:
    ids = await made(tenant, item("a", value="1"))
    answer = await update(tenant, at(OTHER, ids["a"], value="2"))
    assert faults(answer) == [("422", "invalid_value", "/data/0/meta/version-id")]
    deleted = {**to(ids["a"]), "meta": {"delete": True}}
    answer = await update(tenant, deleted, versioned=True)
    assert faults(answer) == [("422", "unknown_attribute", "/data/0/meta/delete")]
    answer = await update(tenant, deleted)
    assert faults(answer) == [("422", "unknown_attribute", "/data/0/meta/delete")]
    assert await values(tenant) == {"a": "1"}


async def test_it_happens_once_however_often_it_is_sent(tenant: Tenant) -> None:
    ids = await made(tenant, item("a", value="1"), item("b"))
    headers = {"Idempotency-Key": "once"}
    first = await update(tenant, to(ids["a"], value="2"), to(ids["b"], key="c"), headers=headers)
    await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{ids['a']}")
    again = await update(tenant, to(ids["a"], value="2"), to(ids["b"], key="c"), headers=headers)
    assert (first.status_code, again.status_code) == (204, 204)
    assert again.headers["ETag"] == first.headers["ETag"]
    assert (await values(tenant)).keys() == {"c"}


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({"category": "env", "hcl": True}, {"category": "tool"}),
        ({"category": "tool"}, {"hcl": True}),
        ({"category": "env"}, {"category": "tool", "hcl": True}),
    ],
)
async def test_a_value_is_read_where_it_becomes_code(
    tenant: Tenant, before: dict[str, Any], change: dict[str, Any]
) -> None:
    ids = await made(tenant, item("good", value="[1]", **before), item("bad", value="[1", **before))
    member = "hcl" if "hcl" in change else "category"
    answer = await update(tenant, to(ids["bad"], **change))
    assert faults(answer) == [("422", "hcl_syntax", f"/data/0/attributes/{member}")]
    assert (await update(tenant, to(ids["good"], **change))).status_code == 204
    assert (await listed(tenant))["good", "tool"]["hcl"] is True


async def test_who_may_not_write_learns_nothing_and_sets_have_no_such_update(
    tenant: Tenant,
) -> None:
    ids = await made(tenant, item("a", value="1"))
    statuses = [
        (await update(tenant, to(ids["a"], value=1), 5, who=who)).status_code
        for who in ("reader", "plain", "outsider")
    ]
    assert statuses == [403, 404, 404]
    path = "/varsets/varset-0000000000000000/relationships/vars"
    answer = await tenant.call("owner", "PATCH", path, {"data": []})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    assert await values(tenant) == {"a": "1"}


async def test_what_may_move_all_waits_for_its_turn_and_what_is_short_does_not(
    tenant: Tenant,
) -> None:
    ids = await made(tenant, item("a"))
    for name, allowed in (("value", {204}), ("key", {204, 429})):
        answers = await asyncio.gather(
            *(update(tenant, to(ids["a"], **{name: f"a{n}"})) for n in range(WAITERS_EACH + 8))
        )
        assert {answer.status_code for answer in answers} == allowed


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that do not look at what another may have left."""
    return await build_tenant(deployment)


NAMES = st.tuples(st.sampled_from(("a", "b", "c")), st.sampled_from(("tool", "env")))
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(("a", "b", "c")),
        "category": st.sampled_from(("tool", "env")),
        "value": st.sampled_from(("", "1", "é")),
        "description": st.sampled_from(("", "text")),
    },
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=st.dictionaries(NAMES, CHANGES, min_size=1))
async def test_variables_become_what_is_said_of_them_unless_two_would_have_one_name(
    shared: Tenant, before: dict[tuple[str, str], dict[str, Any]]
) -> None:
    everything = [item(*name, value=f"of {name}") for name in before]
    assert (await apply(shared, *everything, prune=True)).status_code == 200
    there = {each["id"]: each["attributes"] for each in await shared.variables()}
    asked = {
        id_: before[attributes["key"], attributes["category"]] for id_, attributes in there.items()
    }
    wanted = {id_: {**there[id_], **changes} for id_, changes in asked.items()}
    names = {(each["key"], each["category"]) for each in wanted.values()}
    answer = await update(shared, *(to(id_, **changes) for id_, changes in asked.items()))
    found = {each["id"]: each["attributes"] for each in await shared.variables()}
    if len(names) < len(wanted):
        assert {code for _, code, _ in faults(answer)} == {"key_taken"}
        assert found == there
        return
    assert answer.status_code == 204, answer.text
    for id_, attributes in found.items():
        is_other = wanted[id_] != there[id_]
        assert (attributes.pop("version-id") != wanted[id_].pop("version-id")) is is_other
    assert found == wanted
