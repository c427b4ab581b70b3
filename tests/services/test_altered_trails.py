"""A stream that does not hold vouches for nothing more, and what takes rights away goes on."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from teamvars import wiring
from teamvars.changes.trails import Alarm, OwnTrail
from teamvars.decisions import Found
from teamvars.decisions.users import Disabling
from teamvars.domain.audit import SYSTEM_STREAM, Break, Event
from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import DAMAGED_VALUE, TRAIL_ALTERED, Refusal
from teamvars.domain.team_access import AccessType
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.services.altered_trails import Place, cut, execute, wipe
from tests.services.calls import Calls, dump, refusal_of
from tests.storage.stores import fresh_sqlite
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.tenant import build_tenant, linkage_document, variable_document

ADDED = variable_document(key="new")
HIDDEN = {"sensitive": True}


@pytest.fixture
async def calls(modules_own: Deployment) -> Calls:
    """A tenant whose `network` has four changes, and a crew with somebody in it."""
    calls = Calls(await build_tenant(modules_own))
    for number in range(4):
        await calls.create(key=f"key-{number}")
    await calls.change("add", "plain")
    await calls.change("add", "reader")
    await calls.change("add", "writer")
    await calls.change("remove", "writer")
    return calls


async def break_of(calls: Calls, stream: str) -> Break | None:
    """What verification finds of the stream."""
    _, breaks = await calls.services.audit.verify()
    return next((found for found in breaks if found.stream_id == stream), None)


def patch(variable_id: str, **attributes: Any) -> dict[str, Any]:
    return {"data": {"type": "vars", "id": variable_id, "attributes": attributes}}


def applied(*items: dict[str, Any], **meta: Any) -> dict[str, Any]:
    resources = [{"type": "vars", "attributes": {"category": "tool", **item}} for item in items]
    return {"data": resources, "meta": meta}


def assert_altered(answer: httpx.Response, stream: str) -> None:
    """It is refused, the stream is named, and nobody is asked to try again."""
    assert answer.status_code == 503, answer.text
    (error,) = answer.json()["errors"]
    assert (error["status"], error["code"]) == ("503", "trail_altered")
    assert error["meta"] == {"stream": stream}
    assert "Retry-After" not in answer.headers


Request = tuple[str, str, object]


async def changes_of_workspace(calls: Calls) -> dict[str, Request]:
    """Requests that would extend or end the stream of `network`, or of what copies from it."""
    ids, tenant = await calls.variable_ids(), calls.tenant
    network, payments = tenant.workspaces["network"], tenant.workspaces["payments"]
    one, space = f"{tenant.vars_path()}/{ids[0]}", f"/workspaces/{network}"

    return {
        "create": ("POST", tenant.vars_path(), ADDED),
        "update": ("PATCH", one, patch(ids[0], value="other")),
        "an empty update": ("PATCH", one, patch(ids[0])),
        "hide and change": ("PATCH", one, patch(ids[0], value="other", **HIDDEN)),
        "hide and rename": ("PATCH", one, patch(ids[0], key="other", **HIDDEN)),
        "delete": ("DELETE", one, None),
        "apply": ("POST", f"{space}/actions/apply", applied({"key": "key-0", "value": "new"})),
        "apply, hide and add": (
            "POST",
            f"{space}/actions/apply",
            applied({"key": "key-0", **HIDDEN}, {"key": "added", "value": ""}),
        ),
        "apply, hide and prune": (
            "POST",
            f"{space}/actions/apply",
            applied({"key": "key-0", **HIDDEN}, prune=True),
        ),
        "update many, hide and rename": (
            "PATCH",
            f"{space}/relationships/vars",
            {"data": [patch(ids[0], key="other", **HIDDEN)["data"]]},
        ),
        "lock": ("POST", f"{space}/actions/lock", None),
        "rename": (
            "PATCH",
            space,
            {"data": {"type": "workspaces", "id": network, "attributes": {"name": "renamed"}}},
        ),
        "end": ("DELETE", space, None),
        "end the organization": (
            "DELETE",
            f"/organizations/{tenant.organization}?force=true",
            None,
        ),
        "copy from it": (
            "POST",
            f"/workspaces/{payments}/actions/copy",
            copy_document(network),
        ),
        "copy into it": ("POST", f"{space}/actions/copy", copy_document(payments)),
    }


def copy_document(source: str) -> dict[str, Any]:
    linkage = {"data": {"type": "workspaces", "id": source}}
    return {
        "data": {
            "type": "copies",
            "attributes": {"on-conflict": "replace"},
            "relationships": {"source": linkage},
        }
    }


def changes_of_team(calls: Calls) -> dict[str, Request]:
    """Requests that would extend or end the stream of `crew`."""
    tenant = calls.tenant
    crew = tenant.teams["crew"]
    member = linkage_document(tenant.users["manager"])
    token = {"data": {"type": "authentication-tokens", "attributes": {}}}
    grant = {
        "data": {
            "type": "team-workspaces",
            "attributes": {"access": "read"},
            "relationships": {
                "team": {"data": {"type": "teams", "id": crew}},
                "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces["payments"]}},
            },
        }
    }
    renamed = {"data": {"type": "teams", "id": crew, "attributes": {"name": "band"}}}
    return {
        "add": ("POST", tenant.linkage_path("crew"), member),
        "token": ("POST", f"/teams/{crew}/authentication-token", token),
        "grant": ("POST", "/team-workspaces", grant),
        "rename": ("PATCH", f"/teams/{crew}", renamed),
        "end": ("DELETE", f"/teams/{crew}", None),
    }


async def cut_back(calls: Calls, stream: str) -> None:
    await cut(calls.services.database, stream)


async def cut_back_and_left(calls: Calls, stream: str) -> None:
    await cut(calls.services.database, stream, leave=True)


async def wiped(calls: Calls, stream: str) -> None:
    await wipe(calls.services.database, stream)


ATTACKS = [cut_back, cut_back_and_left, wiped]
Attack = Callable[[Calls, str], Awaitable[None]]


async def assert_all_refused(calls: Calls, stream: str, requests: dict[str, Request]) -> None:
    """Each request is refused, changes nothing, and makes nothing hold that did not."""
    before, broken = await dump(calls.services.database), await break_of(calls, stream)
    assert broken is not None
    for name, (method, path, document) in requests.items():
        assert_altered(await calls.tenant.call("owner", method, path, document), stream)
        after = await dump(calls.services.database)
        told = [table for table in before if table != "tokens" and before[table] != after[table]]
        assert told == [], name
    assert await break_of(calls, stream) == broken


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_workspace_whose_trail_was_cut_or_wiped_is_not_changed_any_more(
    calls: Calls, attack: Attack
) -> None:
    stream = calls.tenant.workspaces["network"]
    await calls.create(workspace="payments", key="copied")
    await attack(calls, stream)
    await assert_all_refused(calls, stream, await changes_of_workspace(calls))
    assert len(await calls.list()) == 4  # reading goes on
    await calls.create(workspace="payments")  # and so do other streams
    assert await break_of(calls, calls.tenant.workspaces["payments"]) is None


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_team_whose_trail_was_cut_or_wiped_is_not_changed_any_more(
    calls: Calls, attack: Attack
) -> None:
    stream = calls.tenant.teams["crew"]
    await attack(calls, stream)
    await assert_all_refused(calls, stream, changes_of_team(calls))
    file = TeamEntry("crew", members=calls.named("manager"))
    assert await refusal_of(calls.apply(file)) == "trail_altered"
    assert (await calls.tenant.members()) == {
        calls.tenant.memberships[x] for x in ("plain", "reader")
    }


async def test_an_organization_or_a_system_whose_trail_was_cut_makes_nothing_new(
    own_calls: Calls,
) -> None:
    calls, tenant = own_calls, own_calls.tenant
    made = {"data": {"type": "workspaces", "attributes": {"name": "made"}}}
    path = f"/organizations/{tenant.organization}/workspaces"
    organization = await organization_of(calls)
    await cut_back(calls, organization)
    assert_altered(await tenant.call("owner", "POST", path, made), organization)
    await cut_back(calls, SYSTEM_STREAM)
    document = {"data": {"type": "organizations", "attributes": {"name": "made"}}}
    answer = await tenant.call("admin", "POST", "/organizations", document)
    assert_altered(answer, SYSTEM_STREAM)
    await calls.create()  # a workspace is a stream of its own


async def organization_of(calls: Calls) -> str:
    """The id of the tenant's organization."""
    rows = (await dump(calls.services.database))["organizations"]
    ids: dict[str, str] = {row[1]: row[0] for row in rows}
    return ids[calls.tenant.organization]


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_only_takes_rights_away_goes_on_and_the_break_stays(
    calls: Calls, attack: Attack
) -> None:
    tenant, crew = calls.tenant, calls.tenant.teams["crew"]
    await attack(calls, crew)
    broken = await break_of(calls, crew)
    for person in ("plain", "reader"):
        document = linkage_document(tenant.users[person])
        path = tenant.linkage_path("crew")
        assert (await tenant.call("owner", "DELETE", path, document)).status_code == 204
    assert await tenant.members() == set()
    after = await break_of(calls, crew)
    assert broken is not None
    assert after is not None
    assert after.found != broken.found
    rows = (await dump(calls.services.database))["audit_entries"]
    numbers = [row[1] for row in rows if row[0] == crew]
    assert len(numbers) == len(set(numbers))
    back = linkage_document(tenant.users["plain"])
    assert_altered(await tenant.call("owner", "POST", tenant.linkage_path("crew"), back), crew)


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_variable_is_hidden_and_no_list_that_was_kept_shows_it(
    calls: Calls, attack: Attack
) -> None:
    tenant, stream = calls.tenant, calls.tenant.workspaces["network"]
    await attack(calls, stream)
    kept = await tenant.call("reader", "GET", tenant.vars_path())
    for id_ in (await calls.variable_ids())[:2]:
        path = f"{tenant.vars_path()}/{id_}"
        hidden = await tenant.call("owner", "PATCH", path, patch(id_, **HIDDEN))
        assert hidden.status_code == 200, hidden.text
    headers = {"If-None-Match": kept.headers["ETag"]}
    answer = await tenant.call("reader", "GET", tenant.vars_path(), headers=headers)
    assert answer.status_code == 200
    values = [one["attributes"]["value"] for one in answer.json()["data"]]
    assert values == [None, None, "eu", "eu"]
    whole = applied(*({"key": f"key-{n}", **HIDDEN} for n in range(4)))
    path = f"/workspaces/{stream}/actions/apply"
    assert (await tenant.call("owner", "POST", path, whole)).status_code == 200
    assert set((await calls.list()).values()) == {None}
    assert await break_of(calls, stream) is not None


async def test_a_row_put_back_to_a_state_of_its_own_is_found_by_the_entries_above_it(
    calls: Calls,
) -> None:
    tenant, database = calls.tenant, calls.services.database
    stream = tenant.workspaces["network"]
    place = await Place.of(database, stream)
    await calls.create(key="later")
    await place.put_back(database, stream)
    (id_, *_) = await calls.variable_ids()
    path = f"{tenant.vars_path()}/{id_}"
    assert_altered(await tenant.call("owner", "POST", tenant.vars_path(), ADDED), stream)
    assert_altered(await tenant.call("owner", "PATCH", path, patch(id_, value="x")), stream)
    assert (await tenant.call("owner", "PATCH", path, patch(id_, **HIDDEN))).status_code == 200
    assert_altered(await tenant.call("owner", "POST", tenant.vars_path(), ADDED), stream)
    assert await break_of(calls, stream) is not None


@pytest.mark.parametrize("counted", [0, 2**63 - 1])
async def test_variables_that_a_row_counts_otherwise_are_changed_and_deleted_all_the_same(
    calls: Calls, counted: int
) -> None:
    tenant, stream = calls.tenant, calls.tenant.workspaces["network"]
    edit = f"UPDATE streams SET variables = {counted}, value_bytes = {counted} WHERE id = $1"  # noqa: S608
    await execute(calls.services.database, stream, edit)
    (id_, *_) = await calls.variable_ids()
    deleted = await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{id_}")
    assert deleted.status_code == 204, deleted.text
    whole = applied({"key": "key-1", "value": ""}, prune=True)
    answer = await tenant.call("owner", "POST", f"/workspaces/{stream}/actions/apply", whole)
    assert answer.status_code == 200, answer.text
    assert await calls.list() == {"key-1": ""}


async def grant_of_crew(calls: Calls) -> str:
    """A grant on `network` that the crew has from now on."""
    network = calls.tenant.workspaces["network"]
    crew = TeamEntry("crew", workspaces={"network": AccessType.READ})
    await calls.apply(crew, workspaces=("network",))
    path = f"/team-workspaces?filter[workspace][id]={network}"
    listed = (await calls.tenant.call("owner", "GET", path)).json()["data"]
    teams = {one["relationships"]["team"]["data"]["id"]: one["id"] for one in listed}
    id_: str = teams[calls.tenant.teams["crew"]]
    return id_


async def test_no_number_that_somebody_has_taken_keeps_a_member_from_being_removed(
    calls: Calls,
) -> None:
    tenant, crew = calls.tenant, calls.tenant.teams["crew"]
    most = f"UPDATE audit_entries SET sequence = {2**63 - 1} WHERE stream_id = $1 AND sequence = 1"  # noqa: S608
    await execute(calls.services.database, crew, most)
    for person in ("plain", "reader"):
        gone = linkage_document(tenant.users[person])
        answer = await tenant.call("owner", "DELETE", tenant.linkage_path("crew"), gone)
        assert answer.status_code == 204, answer.text
    assert await tenant.members() == set()
    assert await break_of(calls, crew) is not None


@pytest.mark.parametrize("wrong", ["'none'", "x'00ff'", "CAST(x'ff41' AS TEXT)", "1.5", "9.3e18"])
async def test_whatever_sqlite_lets_a_trail_hold_reading_hiding_and_looking_at_it_go_on(
    tmp_path: Path, wrong: str
) -> None:
    def all_of(*columns: str) -> str:
        return ", ".join(f"{column} = {wrong}" for column in columns)

    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        calls = Calls(await build_tenant(deployment))
        tenant, services = calls.tenant, calls.services
        stream = tenant.workspaces["network"]
        for number in range(4):
            await calls.create(key=f"key-{number}")
        (id_, *_) = await calls.variable_ids()
        place = all_of("sequence", "link", "head", "variables", "value_bytes")
        texts = all_of("at", "action", "address", "details", "previous", "link", "version")
        await execute(
            services.database,
            stream,
            f"UPDATE streams SET {place} WHERE id = $1",  # noqa: S608
            f"UPDATE audit_entries SET {texts} WHERE stream_id = $1 AND sequence = 1",  # noqa: S608
            f"UPDATE audit_entries SET {all_of('sequence')} WHERE stream_id = $1 AND sequence = 2",  # noqa: S608
            f"UPDATE audit_entries SET {all_of('stream_id')} WHERE stream_id = $1 AND sequence = 3",  # noqa: S608
        )
        one, space = f"{tenant.vars_path()}/{id_}", f"/workspaces/{stream}"
        for path in (
            tenant.vars_path(),
            one,
            space,
            f"{space}/audit-events",
            f"{space}/audit-events?filter[key]=key-0",
            f"/organizations/{tenant.organization}/workspaces",
            f"/organizations/{tenant.organization}/audit-events",
        ):
            answer = await tenant.call("owner", "GET", path)
            assert answer.status_code == 200, path
        assert_altered(await tenant.call("owner", "POST", f"{space}/actions/lock"), stream)
        hidden = await tenant.call("owner", "PATCH", one, patch(id_, **HIDDEN))
        assert hidden.status_code == 200
        assert await break_of(calls, stream) is not None
        looks = Diagnosis(services.database, wiring.clock)
        keys = deployment.keys
        assert stream in (await looks.of_trail(Chain(keys)))[0].text
        assert await looks.of_losses(Sealer(keys))
        await looks.of_data()
        await looks.of_addresses()


async def test_tokens_users_members_grants_and_invitations_are_taken_away_from_what_is_altered(
    own_calls: Calls,
) -> None:
    calls, tenant, services = own_calls, own_calls.tenant, own_calls.services
    grant, organization = await grant_of_crew(calls), await organization_of(calls)
    for stream in (SYSTEM_STREAM, organization, *tenant.teams.values()):
        await execute(services.database, stream, "UPDATE streams SET head = link WHERE id = $1")
    (reader, plain) = calls.named("reader", "plain")
    assert await services.issued_tokens.revoke_of_user(operator(), reader)
    assert (await tenant.call("reader", "GET", tenant.vars_path())).status_code == 401
    await services.accounts.disable(operator(), plain, Disabling())
    assert await refusal_of(services.accounts.enable(operator(), plain)) == "trail_altered"
    for path in (
        f"/team-workspaces/{grant}",
        f"/organization-memberships/{tenant.memberships['writer']}",
        f"/teams/{tenant.teams['writers']}/authentication-token",
    ):
        assert (await tenant.call("owner", "DELETE", path)).status_code == 204, path
    await services.operator_invitations.revoke(operator(), tenant.memberships["invited"])
    _, breaks = await services.audit.verify()
    assert {SYSTEM_STREAM, organization} <= {found.stream_id for found in breaks}


async def test_the_log_tells_of_an_altered_stream_once(calls: Calls) -> None:
    tenant, stream = calls.tenant, calls.tenant.workspaces["network"]
    await cut_back(calls, stream)
    (id_, *_) = await calls.variable_ids()
    with capture_logs() as lines:
        for _ in range(3):
            await tenant.call("owner", "POST", tenant.vars_path(), ADDED)
        await tenant.call("owner", "PATCH", f"{tenant.vars_path()}/{id_}", patch(id_, **HIDDEN))
    told = [line for line in lines if line["log_level"] == "error"]
    assert [(line["event"], line["stream"]) for line in told] == [
        ("the audit trail was altered", stream)
    ]


async def test_a_repeat_shows_what_was_answered_before_the_trail_was_altered(calls: Calls) -> None:
    tenant = calls.tenant
    headers = {"Idempotency-Key": "once"}
    first = await tenant.call("owner", "POST", tenant.vars_path(), ADDED, headers)
    assert first.status_code == 201
    await cut_back(calls, tenant.workspaces["network"])
    again = await tenant.call("owner", "POST", tenant.vars_path(), ADDED, headers)
    assert (again.status_code, again.json()) == (201, first.json())


def test_the_log_has_each_altered_stream_once_and_what_is_remembered_for_that_has_a_bound() -> None:
    alarm, most = Alarm(), 10_000
    with capture_logs() as lines:
        for number in range(most):
            alarm.raise_for(f"ws-{number}")
        for number in range(most):
            alarm.raise_for(f"ws-{number}")
        assert [line["stream"] for line in lines] == [f"ws-{number}" for number in range(most)]
        del lines[:]
        alarm.raise_for(f"ws-{most}")
        alarm.raise_for("ws-0")  # it was forgotten
    assert [line["stream"] for line in lines] == [f"ws-{most}", "ws-0"]


def test_the_log_has_the_stream_of_a_refusal_and_of_no_other() -> None:
    altered = Refusal(TRAIL_ALTERED.filled({"stream": "ws-1"}))
    damaged = Refusal(DAMAGED_VALUE.filled({"id": "var-1", "key": "k"}))
    alarm = Alarm()
    with capture_logs() as lines:
        for refusal in (damaged, altered, altered):
            alarm.hear(refusal)
    assert [line["stream"] for line in lines] == ["ws-1"]


async def test_where_a_row_was_put_back_only_a_request_goes_on_that_does_nothing_but_take_away(
    calls: Calls,
) -> None:
    database, by = calls.services.database, operator()
    stream, team = calls.tenant.workspaces["network"], calls.tenant.teams["crew"]
    place = await Place.of(database, stream)
    await calls.create(key="later")
    await place.put_back(database, stream)
    gives = Found(by, 1).event("member.add", team, {"organization-memberships": []})
    takes = Found(by, 1).event("grant.remove", stream, {"workspaces": []})

    async def recorded(*events: Event) -> None:
        async def body(tx: Transaction) -> None:
            locked = await streams.lock(tx, [stream, team])
            trail = OwnTrail(tx, Chain(calls.node.keys))
            for event in events:
                await trail.extend(trail.check(locked[event.subject_id]), [event])

        await database.write(body)

    await recorded(takes)
    assert await refusal_of(recorded(gives, takes)) == "trail_altered"
    assert await refusal_of(recorded(takes, gives)) == "trail_altered"
