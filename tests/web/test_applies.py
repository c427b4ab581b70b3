"""`actions/apply`: a workspace becomes what a request says (contract §4), on both engines."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamvars.domain.applies import MAX_ITEMS
from teamvars.domain.workspaces import Workspace
from teamvars.fair_slots import WAITERS_EACH
from tests.support.deployment import Deployment
from tests.support.tenant import JSON_API, Tenant, build_tenant, faults, items_document

Listed = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that do not look at what another may have left."""
    return await build_tenant(deployment)


def item(key: str = "region", category: str = "env", **attributes: Any) -> dict[str, Any]:
    """What a variable should be."""
    return {"type": "vars", "attributes": {"key": key, "category": category, **attributes}}


async def apply(
    tenant: Tenant,
    *items: object,
    who: str = "writer",
    workspace: str = "network",
    headers: dict[str, str] | None = None,
    **options: bool,
) -> httpx.Response:
    """An apply of these items."""
    path = f"/workspaces/{tenant.workspaces[workspace]}/actions/apply"
    document = items_document(*items, **options)
    return await tenant.call(who, "POST", path, document, headers)


def results(answer: httpx.Response) -> list[tuple[str, str, list[str]]]:
    """Key, outcome and what is another, of each result."""
    assert answer.status_code == 200, answer.text
    told = answer.json()["meta"]["results"]
    return [(each["key"], each["outcome"], each["changed"]) for each in told]


async def listed(tenant: Tenant, workspace: str = "network") -> Listed:
    """The attributes of all variables."""
    found = [each["attributes"] for each in await tenant.variables(workspace)]
    return {(each["key"], each["category"]): each for each in found}


async def audit(tenant: Tenant, workspace: str = "network") -> list[dict[str, Any]]:
    """The events of a workspace, the newest first."""
    path = f"/workspaces/{tenant.workspaces[workspace]}/audit-events"
    answer = await tenant.call("owner", "GET", f"{path}?page[size]=100")
    return [each["attributes"] for each in answer.json()["data"]]


async def test_what_is_missing_is_created_and_what_is_there_updated(tenant: Tenant) -> None:
    await tenant.make_variable("a", value="1", description="mine", category="env")
    await tenant.make_variable("b", value="2", category="env")
    answer = await apply(
        tenant,
        item("c", value="3", sensitive=True),
        item("a", value="9"),
        item("b", value="2"),
        item("a", category="tool"),
    )
    assert results(answer) == [
        ("c", "created", []),
        ("a", "updated", ["value"]),
        ("b", "unchanged", []),
        ("a", "created", []),
    ]
    found = await listed(tenant)
    assert found["a", "env"]["value"] == "9"
    assert found["a", "env"]["description"] == "mine", "what an item leaves out stays"
    assert (found["a", "tool"]["value"], found["a", "tool"]["description"]) == ("", "")
    assert (found["c", "env"]["value"], found["c", "env"]["sensitive"]) == (None, True)
    for told in answer.json()["meta"]["results"]:
        assert told["version-id"] == found[told["key"], told["category"]]["version-id"]


async def test_the_answer_has_no_resources_and_the_tag_of_the_list(tenant: Tenant) -> None:
    answer = await apply(tenant, item("a", value="1"))
    assert answer.json().keys() == {"meta"}
    assert answer.json()["meta"]["dry-run"] is False
    shown = await tenant.call("reader", "GET", tenant.vars_path())
    assert answer.headers["ETag"] == shown.headers["ETag"]
    again = await apply(tenant, item("a", value="1"))
    assert again.headers["ETag"] == shown.headers["ETag"], "nothing was changed"


async def test_only_pruning_deletes_and_tells_it_last(tenant: Tenant) -> None:
    for key in ("z", "m", "a"):
        await tenant.make_variable(key)
    stay = await apply(tenant, item("m", category="tool"))
    assert results(stay) == [("m", "unchanged", [])]
    assert len(await listed(tenant)) == 3
    answer = await apply(tenant, item("new"), item("m", category="tool"), prune=True)
    assert results(answer) == [
        ("new", "created", []),
        ("m", "unchanged", []),
        ("a", "deleted", []),
        ("z", "deleted", []),
    ]
    assert (await listed(tenant)).keys() == {("new", "env"), ("m", "tool")}
    emptied = await apply(tenant, prune=True)
    assert [outcome for _, outcome, _ in results(emptied)] == ["deleted", "deleted"]
    assert await listed(tenant) == {}


async def test_a_dry_run_tells_the_same_and_changes_nothing(tenant: Tenant) -> None:
    await tenant.make_variable("a", value="1", category="env")
    await tenant.make_variable("gone")
    before, trail = await listed(tenant), await audit(tenant)
    wanted = (item("a", value="2"), item("new", value="3"))
    tried = await apply(tenant, *wanted, prune=True, dry_run=True)
    assert tried.json()["meta"]["dry-run"] is True
    assert await listed(tenant) == before
    assert await audit(tenant) == trail
    ids = {each["key"]: each["id"] for each in tried.json()["meta"]["results"]}
    versions = {each["key"]: each["version-id"] for each in tried.json()["meta"]["results"]}
    assert ids["new"] is versions["new"] is versions["a"] is None
    assert None not in (ids["a"], ids["gone"], versions["gone"])
    done = await apply(tenant, *wanted, prune=True, headers={"If-Match": tried.headers["ETag"]})
    assert results(done) == results(tried)


async def test_a_sensitive_value_that_is_given_counts_as_another(tenant: Tenant) -> None:
    await tenant.make_variable("token", value="s3cret", category="env", sensitive=True)
    for dry_run in (True, False):
        for guess in ("s3cret", "other"):
            told = await apply(tenant, item("token", value=guess), dry_run=dry_run)
            assert results(told) == [("token", "updated", ["value"])]
    around = await apply(tenant, item("token", description="of the bank"))
    assert results(around) == [("token", "updated", ["description"])]
    assert results(await apply(tenant, item("token", sensitive=True)))[0][1] == "unchanged"


async def test_a_value_is_hidden_without_being_sent_again(tenant: Tenant) -> None:
    await tenant.make_variable("token", value="s3cret", category="env")
    told = await apply(tenant, item("token", sensitive=True))
    assert results(told) == [("token", "updated", ["sensitive"])]
    assert (await listed(tenant))["token", "env"]["value"] is None
    refused = await apply(tenant, item("other"), item("token", sensitive=False))
    pointer = "/data/1/attributes/sensitive"
    assert faults(refused) == [("422", "sensitive_is_permanent", pointer)]
    assert ("other", "env") not in await listed(tenant)


async def test_of_a_value_that_cannot_be_read_nobody_is_told_that_it_is_no_code(
    tenant: Tenant,
) -> None:
    wrong = await apply(
        tenant,
        item("a", category="tool", hcl=True, value=7),
        item("b", category="tool", hcl="yes", value="1 +"),
        item("c", category="tools", hcl=True, value="1 +"),
    )
    assert faults(wrong) == [
        ("422", "wrong_type", "/data/0/attributes/value"),
        ("422", "wrong_type", "/data/1/attributes/hcl"),
        ("422", "invalid_value", "/data/2/attributes/category"),
    ]


async def test_every_bad_item_is_told_at_its_place_and_nothing_is_done(tenant: Tenant) -> None:
    await tenant.make_variable("kept")
    before, trail = await listed(tenant), await audit(tenant)
    answer = await apply(
        tenant,
        item("good", value="1"),
        item("bad key", value="1"),
        5,
        item("x", category="nothing"),
        item("x", value=7),
        item("x", valeu=""),
        {"type": "teams", "attributes": {"key": "y", "category": "env"}},
        {"type": "vars", "id": "var-1", "attributes": {"category": "env"}},
        item("code", category="tool", value="1 +", hcl=True),
        item("nul", value="\0"),
        item("good", value="2"),
        prune=True,
    )
    assert faults(answer) == [
        ("422", "invalid_value", "/data/1/attributes/key"),
        ("422", "wrong_type", "/data/2"),
        ("422", "invalid_value", "/data/3/attributes/category"),
        ("422", "wrong_type", "/data/4/attributes/value"),
        ("422", "key_taken", "/data/5/attributes/key"),
        ("422", "unknown_attribute", "/data/5/attributes/valeu"),
        ("409", "type_conflict", "/data/6/type"),
        ("403", "client_id_not_supported", "/data/7/id"),
        ("422", "missing_member", "/data/7/attributes/key"),
        ("422", "hcl_syntax", "/data/8/attributes/value"),
        ("422", "invalid_value", "/data/9/attributes/value"),
        ("422", "key_taken", "/data/10/attributes/key"),
    ]
    assert await listed(tenant) == before
    assert await audit(tenant) == trail


@pytest.mark.parametrize(
    ("meta", "pointer"),
    [
        ({"dry_run": True}, "/meta/dry_run"),
        ({"prune": "yes"}, "/meta/prune"),
        ({"dry-run": None}, "/meta/dry-run"),
        ([], "/meta"),
    ],
)
async def test_a_mistyped_option_is_not_ignored(tenant: Tenant, meta: object, pointer: str) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    answer = await tenant.call("writer", "POST", path, {"data": [item()], "meta": meta})
    assert [pointer for _, _, pointer in faults(answer)] == [pointer]
    assert await listed(tenant) == {}


async def test_an_if_match_keeps_from_applying_over_somebody_elses_change(tenant: Tenant) -> None:
    seen = await tenant.call("writer", "GET", tenant.vars_path())
    headers = {"If-Match": seen.headers["ETag"]}
    first = await apply(tenant, item("a"), headers=headers)
    assert first.status_code == 200
    second = await apply(tenant, item("b"), item("bad key"), headers=headers)
    assert (second.status_code, faults(second)) == (412, [("412", "precondition_failed", None)])
    third = await apply(tenant, item("b"), headers={"If-Match": first.headers["ETag"]})
    assert third.status_code == 200


async def test_the_trail_has_an_entry_for_each_variable_that_changed(tenant: Tenant) -> None:
    for key in ("same", "other", "gone"):
        await tenant.make_variable(key, value="1", category="env")
    before = len(await audit(tenant))
    headers = {"X-Request-Id": "the-apply"}
    wanted = item("same", value="1"), item("other", value="2", description="x"), item("new")
    await apply(tenant, *wanted, prune=True, headers=headers)
    events = (await audit(tenant))[:-before]
    assert sorted((each["action"], each["details"]["key"]) for each in events) == [
        ("variable.create", "new"),
        ("variable.delete", "gone"),
        ("variable.update", "other"),
    ]
    assert {each["request-id"] for each in events} == {"the-apply"}
    assert next(e for e in events if e["action"] == "variable.update")["details"]["changed"] == [
        "value",
        "description",
    ]
    assert (await tenant.deployment.services.audit.verify())[1] == []


async def test_who_may_not_write_is_told_nothing_of_the_items(tenant: Tenant) -> None:
    for who, status in (("reader", 403), ("plain", 404), ("outsider", 404)):
        answer = await apply(tenant, item("bad key"), 5, who=who)
        assert (answer.status_code, len(faults(answer))) == (status, 1)


async def test_code_is_parsed_where_an_item_or_the_variable_makes_it_code(tenant: Tenant) -> None:
    await tenant.make_variable("zones", value="[1]", hcl=True)
    await tenant.make_variable("text", value="1 +")
    await tenant.make_variable("hidden", value="1 +", sensitive=True)
    answer = await apply(
        tenant,
        item("zones", category="tool", value="[1"),
        item("text", category="tool", hcl=True),
        item("hidden", category="tool", hcl=True),
        item("env", value="[1", hcl=True),
    )
    assert faults(answer) == [
        ("422", "hcl_syntax", "/data/0/attributes/value"),
        ("422", "hcl_syntax", "/data/1/attributes/hcl"),
    ]


async def test_all_code_together_is_bounded(tenant: Tenant) -> None:
    long = '"' + "a" * 250_000 + '"'
    items = [item(f"k{n}", category="tool", value=long[:-1] + f'{n}"', hcl=True) for n in range(6)]
    answer = await apply(tenant, *items)
    assert faults(answer) == [("422", "too_complex", f"/data/{n}/attributes/value") for n in (4, 5)]


async def test_a_workspace_is_filled_to_its_limit_and_not_beyond(tenant: Tenant) -> None:
    limit = tenant.deployment.services.applies._house.quotas[Workspace].variables or 0
    items = [item(f"k{n}") for n in range(limit)]
    assert (await apply(tenant, *items[:-1])).status_code == 200
    full = await apply(tenant, item("one"), item("two"))
    assert faults(full) == [("422", "workspace_full", "/data")]
    twice = await apply(tenant, item("one"), item("one"))
    assert faults(twice) == [("422", "key_taken", "/data/1/attributes/key")], "there is room for it"
    replaced = await apply(tenant, *items[:-2], item("one"), item("two"), prune=True)
    assert replaced.status_code == 200, "what goes makes room"
    too_many = await apply(tenant, *items, item("beyond"))
    assert faults(too_many) == [("422", "too_many_items", "/data")]


async def test_too_many_items_are_told_in_the_order_of_checks(tenant: Tenant) -> None:
    document = items_document(*[0] * (MAX_ITEMS + 1))
    workspace = f"/workspaces/{tenant.workspaces['network']}"
    for method, path in (("POST", "actions/apply"), ("PATCH", "relationships/vars")):
        sent, stale = f"{workspace}/{path}", {"If-Match": '"old"'}
        answer = await tenant.call("writer", method, f"{sent}?include=x", document, stale)
        assert faults(answer) == [("400", "invalid_parameter", None)]
        answer = await tenant.call("writer", method, sent, document, stale)
        assert faults(answer) == [("412", "precondition_failed", None)]
        answer = await tenant.call("writer", method, sent, document)
        assert faults(answer) == [("422", "too_many_items", "/data")]


async def test_of_two_applies_at_once_both_are_whole(tenant: Tenant) -> None:
    def all_of(name: str) -> list[dict[str, Any]]:
        return [item(f"k{n}", value=name) for n in range(300)]

    answers = await asyncio.gather(
        *(apply(tenant, *all_of(name), prune=True) for name in ("left", "right") * 3)
    )
    assert {answer.status_code for answer in answers} == {200}
    found = await listed(tenant)
    assert len(found) == 300
    assert len({each["value"] for each in found.values()}) == 1
    assert (await tenant.deployment.services.audit.verify())[1] == []


async def test_a_workspace_that_never_rests_becomes_what_is_asked_all_the_same(
    tenant: Tenant,
) -> None:
    made = await tenant.make_variable("restless", category="env")
    path, number, done = made["links"]["self"].removeprefix("/api/v2"), 0, asyncio.Event()

    async def write() -> None:
        nonlocal number
        while not done.is_set():
            number += 1
            changes = {"type": "vars", "id": made["id"], "attributes": {"value": str(number)}}
            answer = await tenant.call("owner", "PATCH", path, {"data": changes})
            assert answer.status_code == 200

    writing = asyncio.create_task(write())
    answer = await apply(tenant, *(item(f"k{n}", value="1") for n in range(1500)))
    done.set()
    await writing
    assert answer.status_code == 200
    assert number > 3
    assert len(await listed(tenant)) == 1501
    assert (await tenant.deployment.services.audit.verify())[1] == []


async def test_what_may_take_long_waits_for_its_turn_and_what_is_short_does_not(
    tenant: Tenant,
) -> None:
    for prune in (False, True):
        answers = await asyncio.gather(
            *(apply(tenant, item(f"k{n}"), prune=prune) for n in range(WAITERS_EACH + 8))
        )
        statuses = {answer.status_code for answer in answers}
        assert statuses == ({200, 429} if prune else {200})


async def test_a_name_given_twice_is_told_whatever_is_there(tenant: Tenant) -> None:
    await tenant.make_variable("a", value="1", category="env")
    answer = await apply(tenant, item("a", value="2"), item("a", value="3"))
    assert faults(answer) == [("422", "key_taken", "/data/1/attributes/key")]


KEYS = st.sampled_from(("a", "b", "c"))
ATTRIBUTES = st.fixed_dictionaries(
    {"key": KEYS, "category": st.sampled_from(("tool", "env"))},
    optional={
        "value": st.sampled_from(("", "1", '"x"', "é")),
        "description": st.sampled_from(("", "text")),
        "hcl": st.just(False),
        "sensitive": st.booleans(),
    },
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    before=st.lists(ATTRIBUTES, max_size=4, unique_by=lambda a: (a["key"], a["category"])),
    wanted=st.lists(ATTRIBUTES, max_size=5, unique_by=lambda a: (a["key"], a["category"])),
    prune=st.booleans(),
)
async def test_an_apply_is_what_single_requests_make(
    shared: Tenant, before: list[Any], wanted: list[Any], prune: bool
) -> None:
    for workspace in ("network", "payments"):
        await apply(shared, who="owner", workspace=workspace, prune=True)
        await apply(shared, *(item(**each) for each in before), who="owner", workspace=workspace)
    answer = await apply(shared, *(item(**each) for each in wanted), who="owner", prune=prune)
    statuses = await one_by_one(shared, wanted, prune=prune)
    if answer.status_code == 200:
        assert statuses <= {200, 201, 204}
        assert _shown(await listed(shared)) == _shown(await listed(shared, "payments"))
    else:
        assert 422 in statuses
        again = await apply(shared, *(item(**each) for each in before), who="owner", dry_run=True)
        assert {
            changed == ["value"] or outcome == "unchanged" for _, outcome, changed in results(again)
        } <= {True}


async def one_by_one(tenant: Tenant, wanted: list[Any], *, prune: bool) -> set[int]:
    """The same in `payments` with a request for each variable, and the statuses of these."""
    path = tenant.vars_path("payments")
    ids = {
        (each["attributes"]["key"], each["attributes"]["category"]): each["id"]
        for each in await tenant.variables("payments")
    }
    statuses = set()
    for each in wanted:
        id_ = ids.pop((each["key"], each["category"]), None)
        if id_ is None:
            data: dict[str, Any] = {"type": "vars", "attributes": {"description": "", **each}}
            answer = await tenant.call("owner", "POST", path, {"data": data})
        else:
            data = {"type": "vars", "id": id_, "attributes": each}
            answer = await tenant.call("owner", "PATCH", f"{path}/{id_}", {"data": data})
        statuses.add(answer.status_code)
    for id_ in ids.values() if prune else ():
        statuses.add((await tenant.call("owner", "DELETE", f"{path}/{id_}")).status_code)
    return statuses


def _shown(found: Listed) -> Listed:
    """Without the versions."""
    return {
        name: {key: value for key, value in each.items() if key != "version-id"}
        for name, each in found.items()
    }


async def test_a_short_body_of_unknown_length_needs_no_room_for_a_large_one(tenant: Tenant) -> None:
    may_end = asyncio.Event()
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"

    async def pieces(key: str, long_values: int) -> AsyncIterator[bytes]:
        values = (item(f"{key}{n}", value="x" * 250_000) for n in range(long_values))
        yield json.dumps({"data": [item(key), *values]}).encode()
        await may_end.wait()
        yield b" "

    async def send(key: str, long_values: int) -> httpx.Response:
        sent = {"Content-Type": JSON_API, "Authorization": f"Bearer {tenant.tokens['writer']}"}
        content = pieces(key, long_values)
        return await tenant.deployment.client.post(path, content=content, headers=sent)

    under_way = [
        asyncio.create_task(send(*each)) for each in (("a", 0), ("b", 0), ("c", 9), ("d", 9))
    ]
    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
    may_end.set()
    short, other, *large = [(await task).status_code for task in under_way]
    assert (short, other) == (200, 200)
    assert sorted(large) == [200, 429], "one large one at a time"


async def test_a_large_body_is_for_those_who_may_write(tenant: Tenant) -> None:
    items = [item(f"k{n}", value="x" * 250_000) for n in range(30)]
    body = json.dumps({"data": items}).encode()
    assert len(body) > 3 * 2**20
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    headers = {"Content-Type": JSON_API}

    async def send(who: str, content: bytes = body) -> httpx.Response:
        authorized = {**headers, "Authorization": f"Bearer {tenant.tokens[who]}"}
        return await tenant.deployment.client.post(path, content=content, headers=authorized)

    async def text(who: str) -> httpx.Response:
        return await tenant.call(who, "POST", path, {}, {"Content-Type": "text/plain"})

    for who, status in {"reader": 403, "outsider": 404}.items():
        assert (await send(who)).status_code == status
        assert (await send(who, body + b" " * (24 * 2**20))).status_code == status
        assert (await tenant.call(who, "POST", path)).status_code == status
        assert (await text(who)).status_code == status
    assert (await text("writer")).status_code == 415
    assert (await tenant.call("writer", "POST", path)).status_code == 400
    assert len(results(await send("writer"))) == 30
    assert len((await listed(tenant))["k7", "env"]["value"]) == 250_000
    larger = await send("writer", body + b" " * (24 * 2**20))
    assert faults(larger) == [("413", "body_too_large", None)]
    one, other = await asyncio.gather(send("writer"), send("owner"))
    assert {one.status_code, other.status_code} <= {200, 429}
