"""`meta.versioned`: an apply or a copy changes what was seen, or nothing (contract §4)."""

import asyncio
from typing import Any

import pytest

from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults
from tests.web.test_applies import apply, audit, item, listed, results
from tests.web.test_copies import copy, fill, key

OTHER = "0" * 36


def at(version: str | None, *words: str, **attributes: Any) -> dict[str, Any]:
    """An item that expects a version."""
    return {**item(*words, **attributes), "meta": {"version-id": version}}


def gone(*words: str, **meta: Any) -> dict[str, Any]:
    """An item whose variable goes."""
    return {**item(*words), "meta": {"delete": True, **meta}}


async def versions(tenant: Tenant, workspace: str = "network") -> dict[str, str]:
    """The versions of all variables."""
    found = await listed(tenant, workspace)
    return {name: attributes["version-id"] for (name, _), attributes in found.items()}


async def test_what_stands_at_the_versions_that_are_expected_is_changed(tenant: Tenant) -> None:
    await apply(tenant, item("a", value="1"), item("b", value="1"), item("c"), item("stays"))
    seen = await versions(tenant)
    answer = await apply(
        tenant,
        at(None, "new", value="1"),
        gone("b", **{"version-id": seen["b"]}),
        at(seen["a"], "a", value="2"),
        gone("c"),
        gone("never"),
        gone("nor", **{"version-id": None}),
        versioned=True,
    )
    assert results(answer) == [
        ("new", "created", []),
        ("b", "deleted", []),
        ("a", "updated", ["value"]),
        ("c", "deleted", []),
        ("never", "unchanged", []),
        ("nor", "unchanged", []),
    ]
    assert answer.json()["meta"]["results"][4]["id"] is None
    assert {name for name, _ in await listed(tenant)} == {"new", "a", "stays"}
    happened = [(event["action"], event["details"]["key"]) for event in await audit(tenant)]
    assert sorted(happened[:4]) == [
        ("variable.create", "new"),
        ("variable.delete", "b"),
        ("variable.delete", "c"),
        ("variable.update", "a"),
    ]


async def test_every_item_that_is_stale_is_told_before_any_other_fault(tenant: Tenant) -> None:
    await apply(tenant, item("a", value="1"), item("zones", category="tool"))
    before, trail = await listed(tenant), await audit(tenant)
    seen = await versions(tenant)
    items = [
        at(seen["a"], "a", value="2"),
        at(OTHER, "a", value="3"),
        at(None, "a"),
        at(OTHER, "never"),
        gone("a", **{"version-id": OTHER}),
        gone("never", **{"version-id": OTHER}),
        item("bad key"),
        5,
        {**item("x"), "type": "teams"},
        item("zones", "tool", value="[1", hcl=True),
    ]
    for dry_run in (True, False):
        stale = await apply(tenant, *items, versioned=True, dry_run=dry_run)
        assert stale.status_code == 412
        assert faults(stale) == [
            ("412", "precondition_failed", f"/data/{number}/meta/version-id")
            for number in (1, 2, 3, 4, 5)
        ]
    assert (await listed(tenant), await audit(tenant)) == (before, trail)


@ON_SQLITE
@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({**item(), "meta": {"version-id": 5}}, "/data/0/meta/version-id"),
        ({**item(), "meta": {"delete": "yes"}}, "/data/0/meta/delete"),
        ({**item(), "meta": {"deleted": True}}, "/data/0/meta/deleted"),
        ({**item(), "meta": []}, "/data/0/meta"),
        ({**gone(), "attributes": item(value="1")["attributes"]}, "/data/0/attributes/value"),
        ({**gone(), "attributes": {"key": "region"}}, "/data/0/attributes/category"),
    ],
)
async def test_a_condition_that_is_wrong_is_told_and_nothing_happens(
    tenant: Tenant, wrong: object, pointer: str
) -> None:
    await apply(tenant, item(value="1"))
    before = await listed(tenant)
    refused = await apply(tenant, wrong, versioned=True)
    assert [pointer for _, _, pointer in faults(refused)] == [pointer]
    assert refused.status_code == 422
    assert await listed(tenant) == before


async def test_a_condition_takes_a_request_that_says_so(tenant: Tenant) -> None:
    await apply(tenant, item(value="1"))
    before = await listed(tenant)
    both = {**item(value="2"), "meta": {"version-id": OTHER, "delete": True}}
    assert faults(await apply(tenant, both)) == [
        ("422", "invalid_value", "/data/0/meta/version-id"),
        ("422", "invalid_value", "/data/0/meta/delete"),
    ]
    assert await listed(tenant) == before
    other = await apply(tenant, {**item(value="2"), "meta": {"note": 1}})
    assert results(other) == [("region", "updated", ["value"])], "it is ignored, as ever"
    wrong = await apply(tenant, {**item(value="2"), "meta": None})
    assert faults(wrong) == [("422", "wrong_type", "/data/0/meta")]


async def test_of_two_who_saw_one_version_one_succeeds_and_different_keys_do_not_meet(
    tenant: Tenant,
) -> None:
    await apply(tenant, item("a", value="0"), item("other"))
    seen = await versions(tenant)
    answers = await asyncio.gather(
        *(apply(tenant, at(seen["a"], "a", value=f"{n}"), versioned=True) for n in (1, 2)),
        *(apply(tenant, at(None, f"k{n}"), versioned=True) for n in range(8)),
    )
    codes = [answer.status_code for answer in answers]
    assert sorted(codes[:2]) == [200, 412]
    assert codes[2:] == [200] * 8
    assert (await listed(tenant))["a", "env"]["value"] == str(codes.index(200) + 1)
    assert len(await listed(tenant)) == 10


async def test_what_prunes_spares_no_more_for_being_versioned(tenant: Tenant) -> None:
    await apply(tenant, item("a"), item("b"), item("c"))
    answer = await apply(tenant, item("a"), gone("b"), versioned=True, prune=True)
    assert results(answer) == [
        ("a", "unchanged", []),
        ("b", "deleted", []),
        ("c", "deleted", []),
    ]


async def test_a_copy_is_of_the_versions_that_are_expected(tenant: Tenant) -> None:
    await fill(tenant, a="1", b="2")
    await fill(tenant, "network", a="old")
    there, here = await versions(tenant, "payments"), await versions(tenant)
    wanted = [
        {**key("a"), "version-id": there["a"], "target-version-id": here["a"]},
        {**key("b"), "version-id": there["b"], "target-version-id": None},
    ]
    stale = [
        {**key("a"), "version-id": OTHER, "target-version-id": OTHER},
        {**key("b"), "version-id": there["b"], "target-version-id": here["a"]},
        {**key("gone"), "version-id": OTHER},
        key("never"),
    ]
    refused = await copy(tenant, *stale, on_conflict="replace")
    assert refused.status_code == 412
    assert [pointer for _, _, pointer in faults(refused)] == [
        "/data/attributes/keys/0/version-id",
        "/data/attributes/keys/0/target-version-id",
        "/data/attributes/keys/1/target-version-id",
        "/data/attributes/keys/2/version-id",
    ]
    null = await copy(tenant, {**key("a"), "version-id": None}, on_conflict="replace")
    assert faults(null) == [("422", "wrong_type", "/data/attributes/keys/0/version-id")]
    made = await copy(tenant, *wanted, on_conflict="replace", versioned=True)
    assert results(made) == [("a", "updated", ["value"]), ("b", "created", [])]
    again = await copy(tenant, *wanted, on_conflict="replace", versioned=True)
    assert again.status_code == 412, "the copies are at other versions now"
