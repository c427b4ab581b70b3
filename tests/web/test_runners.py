"""Runners over HTTP: what owners propose, every fault at once, and what readers see of them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from teamvars import pace
from teamvars.changes import making, runners
from teamvars.changes.nouns import LOOK_UPS
from teamvars.changes.runners import matched
from teamvars.decisions.needs import WorkspacesOf
from teamvars.decisions.runners import Matching, NamesOf
from teamvars.domain.runners import Runner
from teamvars.services.issuers import Trust
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.jobs import ISSUER, runner_document
from tests.support.tenant import Tenant
from tests.support.turns import turns_of_others


def path_of(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/runners"


async def propose(tenant: Tenant, *workspace_ids: str, **attributes: object) -> dict[str, Any]:
    """A runner that the owner proposes, by default in `network`."""
    ids = workspace_ids or (tenant.workspaces["network"],)
    answer = await tenant.call(
        "owner", "POST", path_of(tenant), runner_document(*ids, **attributes)
    )
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    assert answer.headers["location"] == made["links"]["self"] == f"/api/v2/runners/{made['id']}"
    return made


async def approve(tenant: Tenant, runner: dict[str, Any]) -> None:
    approvals = tenant.deployment.services.approvals
    await approvals.approve(operator(), runner["id"], runner["attributes"]["digest"])


async def faults(tenant: Tenant, document: object) -> list[tuple[str, str]]:
    """Where a proposal is at fault, and how."""
    answer = await tenant.call("owner", "POST", path_of(tenant), document)
    assert answer.status_code == 422
    return [(one["source"]["pointer"], one["code"]) for one in answer.json()["errors"]]


def linkage(*ids: str) -> object:
    return {"data": [{"type": "workspaces", "id": id_} for id_ in ids]}


async def test_a_runner_shows_what_was_proposed_and_that_nobody_has_approved_it(
    tenant: Tenant,
) -> None:
    made = await propose(tenant, name="ci", workspace_patterns=["prod-*"], max_ttl=600)
    said = made["attributes"]
    assert {name: said[name] for name in said if name not in ("digest", "expired-at")} == {
        "name": "ci",
        "description": "",
        "issuer": ISSUER,
        "conditions": {"sub": "job"},
        "public-key": None,
        "workspace-patterns": ["prod-*"],
        "include-sensitive": True,
        "allow-unbound": False,
        "max-ttl": 600,
        "version": 1,
        "approved-version": None,
        "status": "proposed",
        "may-approve": False,
    }
    network = {"type": "workspaces", "id": tenant.workspaces["network"]}
    assert made["relationships"]["workspaces"] == {"data": [network]}
    listed = (await tenant.call("owner", "GET", path_of(tenant))).json()
    assert listed["data"] == [made]
    assert (await tenant.call("owner", "GET", f"/runners/{made['id']}")).json()["data"] == made


@pytest.mark.parametrize("of", ["organization", "workspace"])
@ON_SQLITE
async def test_between_two_runners_of_a_page_others_have_the_event_loop(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    """To try all patterns of one on all names may take a tenth of a second."""
    for name in ("one", "two", "three"):
        await propose(tenant, name=name)
    monkeypatch.setattr(pace, "STEP_SECONDS", 0.0)
    turns, shown = 0, []

    def note(_: Trust, runner: Runner, reach: frozenset[str]) -> str:
        shown.append(turns)
        return ""

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(Trust, "digest", note)
    beside = asyncio.create_task(others())
    workspace = f"/workspaces/{tenant.workspaces['network']}/runners"
    path = path_of(tenant) if of == "organization" else workspace
    assert (await tenant.call("owner", "GET", path)).status_code == 200
    beside.cancel()
    assert len(set(shown)) == 3


PATTERNS = ["*work", "pay*s", "*nothing*", "none-*"]


async def test_while_patterns_are_tried_others_change_what_they_like(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty of them on all names of an organization take a tenth of a second, and nobody waits for
    that: not for the event loop, and not for a lock.
    """
    keys = iter(range(1000))
    monkeypatch.setattr(runners, "NAMES_AT_ONCE", 1)

    async def beside(need: Matching) -> frozenset[str]:
        await tenant.make_variable(f"key_{next(keys)}")
        found, turns = await turns_of_others(matched(need))
        assert turns >= len(need.names.split()) * len(need.patterns)
        assert found == {"network", "payments"}
        return found

    monkeypatch.setattr(pace, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(making, "matched", beside)
    made = await propose(tenant, workspace_patterns=PATTERNS)
    path, ids = f"/runners/{made['id']}", frozenset(tenant.workspaces.values())
    expected = await tenant.deployment.services.approvals.proposals(operator())
    (reached,) = (one.reach for one in expected if one.view.runner.id == made["id"])
    assert reached == ["network", "payments"]
    change = {"data": {"type": "runners", "attributes": {"workspace-patterns": PATTERNS[:3]}}}
    changed = (await tenant.call("owner", "PATCH", path, change)).json()["data"]
    for listed in (path_of(tenant), f"/workspaces/{tenant.workspaces['payments']}/runners"):
        assert (await tenant.call("owner", "GET", listed)).json()["data"] == [changed]
    assert (await tenant.call("owner", "GET", path)).json()["data"] == changed
    await approve(tenant, changed)
    every = await tenant.deployment.services.approvals.proposals(operator())
    (approval,) = (r.approval for r in (one.view.runner for one in every) if r.id == made["id"])
    assert approval is not None
    assert approval.reach == ids
    assert next(keys) >= 6


async def test_nobody_reads_all_names_of_an_organization_for_a_runner_without_a_star_within(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be fifty thousand of them, and a hundred runners on a page."""
    for need in (WorkspacesOf, NamesOf):
        monkeypatch.delitem(LOOK_UPS, need)
    made = await propose(tenant, workspace_patterns=["pay*", "network"])
    path, network = f"/runners/{made['id']}", tenant.workspaces["network"]
    for shown in (path_of(tenant), f"/workspaces/{network}/runners", path):
        assert (await tenant.call("owner", "GET", shown)).status_code == 200
    await approve(tenant, made)
    change = {"data": {"type": "runners", "attributes": {"max-ttl": 60}}}
    assert (await tenant.call("owner", "PATCH", path, change)).status_code == 200
    linked = f"{path}/relationships/workspaces"
    assert (await tenant.call("owner", "POST", linked, linkage(network))).status_code == 204


async def test_an_operator_and_an_owner_are_shown_one_digest_whatever_the_patterns(
    tenant: Tenant,
) -> None:
    for name in ("prod", "Prod-a", "prod_b", "prodZ9", "p-prod", "pro"):
        document = {"data": {"type": "workspaces", "attributes": {"name": name}}}
        path = f"/organizations/{tenant.organization}/workspaces"
        assert (await tenant.call("owner", "POST", path, document)).status_code == 201
    expected = {
        ("prod",): ["prod"],
        ("PROD-*",): ["Prod-a"],
        ("prod*",): ["Prod-a", "prod", "prodZ9", "prod_b"],
        ("prod_*", "none"): ["prod_b"],
        ("*prod", "PRO"): ["p-prod", "pro", "prod"],
        ("p*d*", "prodz9", "p-*"): ["Prod-a", "p-prod", "prod", "prodZ9", "prod_b"],
    }
    made = {
        (await propose(tenant, name=f"r{n}", workspace_patterns=list(patterns)))["id"]: reach
        for n, (patterns, reach) in enumerate(expected.items())
    }
    proposals = await tenant.deployment.services.approvals.proposals(operator())
    for page in (path_of(tenant), f"/workspaces/{tenant.workspaces['network']}/runners"):
        listed = (await tenant.call("owner", "GET", page)).json()["data"]
        shown = {one["id"]: one["attributes"]["digest"] for one in listed}
        its = {one.view.runner.id: one for one in proposals if one.view.runner.id in shown}
        assert {id_: one.view.digest for id_, one in its.items()} == shown
        assert {id_: one.reach for id_, one in its.items()} == {
            id_: sorted(["network", *reach]) for id_, reach in made.items()
        }


async def test_an_update_makes_a_version_that_waits_for_approval(tenant: Tenant) -> None:
    made = await propose(tenant)
    await approve(tenant, made)
    change = {"data": {"type": "runners", "attributes": {"include-sensitive": False}}}
    answer = await tenant.call("owner", "PATCH", f"/runners/{made['id']}", change)
    said = answer.json()["data"]["attributes"]
    assert (said["version"], said["approved-version"], said["status"]) == (2, 1, "changed")
    assert said["digest"] != made["attributes"]["digest"]
    again = await tenant.call("owner", "PATCH", f"/runners/{made['id']}", change)
    assert again.json()["data"]["attributes"]["version"] == 2


async def test_null_takes_the_proof_away_and_another_has_to_be_there(tenant: Tenant) -> None:
    made = await propose(tenant)

    async def said(**attributes: str | None) -> httpx.Response:
        document = {"data": {"type": "runners", "attributes": attributes}}
        return await tenant.call("owner", "PATCH", f"/runners/{made['id']}", document)

    (error,) = (await said(issuer=None)).json()["errors"]
    assert error["source"] == {"pointer": "/data/attributes/issuer"}
    other = await said(**{"issuer": None, "public-key": "A" * 43})
    changed = other.json()["data"]["attributes"]
    proof = changed["issuer"], changed["conditions"], changed["public-key"]
    assert proof == (None, {}, "A" * 43)


async def test_an_update_may_name_other_workspaces(tenant: Tenant) -> None:
    made, payments = await propose(tenant), tenant.workspaces["payments"]
    named = {"workspaces": linkage(payments)}
    change = {"data": {"type": "runners", "id": made["id"], "relationships": named}}
    answer = await tenant.call("owner", "PATCH", f"/runners/{made['id']}", change)
    found = answer.json()["data"]["relationships"]["workspaces"]["data"]
    assert [one["id"] for one in found] == [payments]


async def test_every_fault_of_a_proposal_is_told_at_once(tenant: Tenant) -> None:
    document = runner_document(
        name=3,
        conditions={"sub": 1, "a/b": None, "aud": "x"},
        include_sensitive="no",
        include_sensitve=False,
        max_ttl=True,
        workspace_patterns=["ok", 7, "no/pe"],
        expired_at="tomorrow",
    )
    at = "/data/attributes/"
    document["data"]["relationships"] = {
        "workspaces": {"data": [{"type": "teams", "id": "x"}, {"type": "workspaces", "id": "ws-x"}]}
    }
    assert sorted(await faults(tenant, document)) == sorted(
        [
            (at + "name", "wrong_type"),
            (at + "conditions/sub", "wrong_type"),
            (at + "conditions/a~1b", "wrong_type"),
            (at + "conditions/aud", "invalid_value"),
            (at + "include-sensitive", "wrong_type"),
            (at + "include-sensitve", "unknown_attribute"),
            (at + "max-ttl", "wrong_type"),
            (at + "workspace-patterns/1", "wrong_type"),
            (at + "workspace-patterns/2", "invalid_value"),
            (at + "expired-at", "invalid_value"),
            ("/data/relationships/workspaces/data/0/type", "type_conflict"),
            ("/data/relationships/workspaces/data/1/id", "not_found"),
        ]
    )


@ON_SQLITE
@pytest.mark.parametrize(
    ("attributes", "at"),
    [
        ({"max_ttl": 59}, ["max-ttl"]),
        ({"issuer": "https://elsewhere.example"}, ["issuer"]),
        ({"issuer": None, "conditions": None}, ["issuer"]),
        ({"conditions": {}}, ["conditions"]),
        ({"public_key": "A" * 42}, ["issuer"]),
        ({"issuer": None, "conditions": None, "public_key": "A" * 42}, ["public-key"]),
        ({"max_ttl": 3601}, ["max-ttl"]),
        ({"max_ttl": 10**400}, ["max-ttl"]),
        ({"max_ttl": 900.5}, ["max-ttl"]),
        ({"expired_at": "2020-01-01T00:00:00Z"}, ["expired-at"]),
        ({"expired_at": "2999-01-01T00:00:00Z"}, ["expired-at"]),
        ({"workspace_patterns": ["*"]}, ["workspace-patterns/0"]),
        ({"name": "no good"}, ["name"]),
        ({"name": None}, ["name"]),
    ],
)
async def test_a_broken_rule_is_told_where_it_is_broken(
    tenant: Tenant, attributes: dict[str, Any], at: list[str]
) -> None:
    document = runner_document(tenant.workspaces["network"], **attributes)
    found = await faults(tenant, document)
    assert [pointer.removeprefix("/data/attributes/") for pointer, _ in found] == at


@ON_SQLITE
async def test_an_end_without_a_zone_is_told_how_times_are_written(tenant: Tenant) -> None:
    document = runner_document(tenant.workspaces["network"], expired_at="2999-01-01T00:00:00")
    (error,) = (await tenant.call("owner", "POST", path_of(tenant), document)).json()["errors"]
    assert "as in RFC 3339" in error["detail"]


async def test_a_workspace_of_another_organization_is_no_workspace(tenant: Tenant) -> None:
    document = runner_document(tenant.other_workspace)
    answer = await tenant.call("owner", "POST", path_of(tenant), document)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["code"]) == (404, "not_found")
    made = await propose(tenant)
    path = f"/runners/{made['id']}/relationships/workspaces"
    for method in ("POST", "PATCH", "DELETE"):
        answer = await tenant.call("owner", method, path, linkage(tenant.other_workspace))
        assert answer.json()["errors"][0]["source"] == {"pointer": "/data/0/id"}


async def test_workspaces_are_added_replaced_and_removed_all_or_none(tenant: Tenant) -> None:
    made = await propose(tenant)
    path = f"/runners/{made['id']}/relationships/workspaces"
    network, payments = tenant.workspaces["network"], tenant.workspaces["payments"]

    async def after(method: str, *ids: str) -> tuple[int, list[str]]:
        answer = await tenant.call("owner", method, path, linkage(*ids))
        found = (await tenant.call("owner", "GET", path)).json()["data"]
        return answer.status_code, [one["id"] for one in found]

    assert await after("POST", payments, network, payments) == (204, [network, payments])
    assert await after("DELETE", network) == (204, [payments])
    assert await after("DELETE", network) == (204, [payments])
    assert await after("POST", network, "ws-1111111111111111") == (404, [payments])
    assert await after("PATCH", network) == (204, [network])
    assert await after("DELETE", network) == (422, [network])
    read = (await tenant.call("owner", "GET", f"/runners/{made['id']}")).json()["data"]
    assert read["attributes"]["version"] == 4


async def test_readers_see_the_runners_that_reach_their_workspace_and_no_other_workspaces(
    tenant: Tenant,
) -> None:
    network, payments = tenant.workspaces["network"], tenant.workspaces["payments"]
    made = await propose(tenant, network, payments, name="a", workspace_patterns=["pay*"])
    await propose(tenant, payments, name="b")
    path = f"/workspaces/{network}/runners"
    (seen,) = (await tenant.call("reader", "GET", path)).json()["data"]
    assert seen["id"] == made["id"]
    assert payments not in str(seen)
    assert {"digest", "workspace-patterns"}.isdisjoint(seen["attributes"])
    assert seen["attributes"]["conditions"] == {"sub": "job"}
    (whole,) = (await tenant.call("owner", "GET", path)).json()["data"]
    assert whole == made


async def test_a_deleted_runner_is_gone(tenant: Tenant) -> None:
    made = await propose(tenant)
    assert (await tenant.call("owner", "DELETE", f"/runners/{made['id']}")).status_code == 204
    assert (await tenant.call("owner", "GET", f"/runners/{made['id']}")).status_code == 404
    assert await tenant.deployment.audit_holds()


def belonging(document: dict[str, Any], *, id_: object, type_: str = "organizations") -> object:
    """The document, with the organization that it means."""
    whose = {"organization": {"data": {"type": type_, "id": id_}}}
    relationships = {**document["data"].get("relationships", {}), **whose}
    return {"data": {**document["data"], "relationships": relationships}}


async def test_the_end_that_is_shown_can_be_sent_back_and_makes_no_version(tenant: Tenant) -> None:
    ends = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=123_456)
    made = await propose(tenant, expired_at=ends.isoformat())
    said = {"expired-at": made["attributes"]["expired-at"]}
    document = {"data": {"type": "runners", "attributes": said}}
    answer = await tenant.call("owner", "PATCH", f"/runners/{made['id']}", document)
    assert answer.json()["data"]["attributes"] == made["attributes"]


async def test_a_runner_names_no_other_organization_than_its_own(tenant: Tenant) -> None:
    document = runner_document(tenant.workspaces["network"])
    at = "/data/relationships/organization/data"
    other = f"not-{tenant.organization}"
    bad = runner_document(tenant.workspaces["network"], max_ttl=1)
    assert await faults(tenant, belonging(bad, id_=other)) == [
        ("/data/attributes/max-ttl", "invalid_value"),
        (f"{at}/id", "relationship_conflict"),
    ]
    for wrong, status, pointer in (
        (belonging(document, id_=other), 409, f"{at}/id"),
        (belonging(document, id_=7), 422, f"{at}/id"),
        (belonging(document, id_=tenant.organization, type_="teams"), 409, f"{at}/type"),
    ):
        answer = await tenant.call("owner", "POST", path_of(tenant), wrong)
        assert answer.status_code == status, answer.text
        assert [one["source"]["pointer"] for one in answer.json()["errors"]] == [pointer]
    own = belonging(document, id_=tenant.organization.upper())
    made = (await tenant.call("owner", "POST", path_of(tenant), own)).json()["data"]
    assert made["relationships"]["organization"]["data"]["id"] == tenant.organization
    place = f"/runners/{made['id']}"
    same = {"data": {"type": "runners", "attributes": {"description": "a"}}}
    changed = await tenant.call("owner", "PATCH", place, belonging(same, id_=other))
    assert [one["source"]["pointer"] for one in changed.json()["errors"]] == [f"{at}/id"]
    assert (await tenant.call("owner", "GET", place)).json()["data"]["attributes"]["version"] == 1
    kept = await tenant.call("owner", "PATCH", place, belonging(same, id_=tenant.organization))
    assert kept.status_code == 200
