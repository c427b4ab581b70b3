"""An operator accepts what was found of a stream, and what was accepted may never change again."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import SYSTEM_STREAM, Acceptance, AuditEntry, Break
from teamvars.domain.errors import Refusal
from teamvars.domain.variable_sets import SetDraft
from teamvars.services import audit_verification
from teamvars.services.audit_verification import Remains
from teamvars.storage import streams
from tests.services.altered_trails import cut, execute, wipe
from tests.services.calls import Calls, caller
from tests.services.jobs import propose
from tests.services.test_audit_verification import ACME, CHAIN, WHOLE, history, remains_of
from tests.support.deployment import operator

EDIT = (
    "UPDATE audit_entries SET request_id = request_id || 'x' WHERE stream_id = $1 AND sequence = 1"
)
UNDO = "DELETE FROM audit_entries WHERE stream_id = $1 AND sequence = 2"


async def breaks(calls: Calls, *passed: tuple[str, int]) -> dict[str, Break]:
    """What verification finds, by stream; what does not hold before what was accepted."""
    _, found = await calls.services.audit.verify((), passed)
    return {one.stream_id: one for one in reversed(found)}


async def accept(calls: Calls, stream: str, found: str | None = None) -> tuple[str, int]:
    """Accepts what is there of the stream, or what has that digest."""
    digest = found or (await breaks(calls))[stream].found
    assert digest is not None
    wanted = Acceptance(stream, 0, digest, "", "a restore gone wrong")
    made = await calls.services.audit.accept(operator(), wanted)
    return made.stream_id, made.sequence


async def why_not(calls: Calls, stream: str, found: str = "0" * 64) -> str:
    """What is said of an acceptance that is refused."""
    with pytest.raises(Refusal) as refusal:
        await accept(calls, stream, found)
    return refusal.value.faults[0].detail


@pytest.fixture
async def network(own_calls: Calls) -> str:
    """The id of a stream with four changes."""
    for number in range(4):
        await own_calls.create(key=f"key-{number}")
    return own_calls.tenant.workspaces["network"]


@pytest.mark.parametrize("attack", ["cut", "left", "wiped", "edited"])
async def test_a_stream_goes_on_once_it_is_accepted_and_the_acceptance_has_to_be_named(
    own_calls: Calls, network: str, attack: str
) -> None:
    database = own_calls.services.database
    await {
        "cut": lambda: cut(database, network),
        "left": lambda: cut(database, network, leave=True),
        "wiped": lambda: wipe(database, network),
        "edited": lambda: execute(database, network, EDIT),
    }[attack]()
    place = await accept(own_calls, network)
    await own_calls.create(key="after")
    assert "accepted by an operator" in (await breaks(own_calls))[network].reason
    assert await breaks(own_calls, place) == {}
    assert set(await breaks(own_calls, (network, place[1] + 1), (SYSTEM_STREAM, 1))) == {network}
    if attack != "wiped":
        await execute(database, network, EDIT)
        assert "has changed since" in (await breaks(own_calls, place))[network].reason


@pytest.mark.parametrize("own_url", ["sqlite"], indirect=True)
async def test_what_is_accepted_stays_so_where_a_text_of_another_stream_is_damaged(
    own_calls: Calls, network: str
) -> None:
    database, crew = own_calls.services.database, own_calls.tenant.teams["crew"]
    await own_calls.change("add", "plain")
    damage = "UPDATE audit_entries SET {} WHERE stream_id = $1 AND sequence = 1"
    await execute(database, network, damage.format("details = CAST(details AS BLOB)"))
    place = await accept(own_calls, network)
    await execute(database, crew, damage.format("request_id = CAST(x'ff' AS TEXT)"))
    assert set(await breaks(own_calls, place)) == {crew}
    assert "verifies" in await why_not(own_calls, network)


async def test_only_what_was_found_is_accepted(own_calls: Calls, network: str) -> None:
    database = own_calls.services.database
    assert "verifies" in await why_not(own_calls, network)
    await cut(database, network)
    found = (await breaks(own_calls))[network].found
    assert "not the present state" in await why_not(own_calls, network)
    await execute(database, network, EDIT)
    assert "not the present state" in await why_not(own_calls, network, found or "")
    assert "no stream" in await why_not(own_calls, "ws-nobody")
    await accept(own_calls, network)
    assert "verifies" in await why_not(own_calls, network)


async def test_what_records_an_acceptance_is_accepted_before(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    opened = await organization_of(own_calls, network)
    for stream in (network, opened, SYSTEM_STREAM):
        await cut(database, stream, many=1)
    assert f"{SYSTEM_STREAM} does not verify" in await why_not(own_calls, network)
    places = [await accept(own_calls, SYSTEM_STREAM)]
    assert f"{opened} does not verify" in await why_not(own_calls, network)
    places += [await accept(own_calls, opened), await accept(own_calls, network)]
    assert await breaks(own_calls, *places) == {}
    assert set(await breaks(own_calls)) == {SYSTEM_STREAM, opened, network}
    assert set(await breaks(own_calls, *places[1:])) == {SYSTEM_STREAM}


async def shared(calls: Calls) -> str:
    """The id of a new variable set, and of its stream."""
    place = caller(calls.tenant, "owner"), calls.tenant.organization
    made = await calls.services.variable_sets.create(*place, SetDraft(name="shared"))
    return made.set.id


@pytest.mark.parametrize("kind", ["runners", "varsets"])
async def test_streams_of_runners_and_sets_are_accepted_as_those_of_workspaces(
    own_calls: Calls, kind: str
) -> None:
    tenant, database = own_calls.tenant, own_calls.services.database
    stream = await (propose(tenant) if kind == "runners" else shared(own_calls))
    opened = await organization_of(own_calls, tenant.workspaces["network"])
    assert "verifies" in await why_not(own_calls, stream)
    assert (await tenant.call("owner", "DELETE", f"/{kind}/{stream}")).status_code == 204
    row = "INSERT INTO streams (id, sequence, link, head) SELECT $1, 0, link, head FROM streams"
    await execute(database, stream, f"{row} WHERE id = 'system'")
    await cut(database, opened, many=1)
    assert f"{opened} does not verify" in await why_not(own_calls, stream)


async def organization_of(calls: Calls, workspace: str) -> str:
    """The id of a workspace's organization."""

    async def body(tx: Any) -> str:
        sql = "SELECT organization_id FROM workspaces WHERE id = $1"
        row = await tx.fetch_one(sql, workspace)
        id_: str = row[0]
        return id_

    return await calls.services.database.read(body)


async def test_the_end_of_a_stream_is_accepted_in_the_one_above_and_in_the_systems(
    own_calls: Calls, network: str
) -> None:
    tenant, database = own_calls.tenant, own_calls.services.database
    opened = await organization_of(own_calls, network)
    assert (await tenant.call("owner", "DELETE", f"/workspaces/{network}")).status_code == 204
    await execute(database, network, EDIT)
    place = await accept(own_calls, network)
    newest = await own_calls.services.audit.newest(2)
    assert {entry.stream_id for entry in newest} == {opened, SYSTEM_STREAM}
    assert {entry.action for entry in newest} == {"trail.accept"}
    assert await breaks(own_calls, place) == {}
    await execute(database, network, UNDO)
    assert "has changed since" in (await breaks(own_calls, place))[network].reason


async def test_a_stream_that_was_deleted_behind_the_services_back_is_accepted_as_ended(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    kept = "INSERT INTO streams (id, sequence, link, head) SELECT $1, 0, link, head FROM streams"
    await execute(
        database,
        network,
        "DELETE FROM workspaces WHERE id = $1",
        "DELETE FROM streams WHERE id = $1",
        "DELETE FROM audit_entries WHERE stream_id = $1",
    )
    place = await accept(own_calls, network)
    assert await breaks(own_calls, place) == {}
    await execute(database, network, f"{kept} WHERE id = 'system'")
    assert network in await breaks(own_calls, place)


async def test_streams_that_nothing_opens_any_more_are_accepted_one_by_one(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    opened = await organization_of(own_calls, network)
    await wipe(database, opened)
    places = [await accept(own_calls, opened)]
    strays = set(await breaks(own_calls, *places))
    assert network in strays
    places += [await accept(own_calls, stray) for stray in sorted(strays)]
    await own_calls.create(key="after")
    assert await breaks(own_calls, *places) == {}
    await own_calls.tenant.call("owner", "DELETE", f"/workspaces/{network}")
    assert await breaks(own_calls, *places) == {}
    await execute(database, network, EDIT)
    assert set(await breaks(own_calls, *places)) == {network}


async def test_the_entry_of_an_acceptance_that_is_taken_out_is_missed(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    await cut(database, network)
    place = await accept(own_calls, network)
    await cut(database, network, many=1)
    assert set(await breaks(own_calls, place)) == {network}
    again = await accept(own_calls, network)
    assert await breaks(own_calls, place, again) == {}


async def test_a_later_acceptance_is_never_passed_by_the_name_of_an_earlier_one(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    await cut(database, network, many=1)
    first = await accept(own_calls, network)
    await cut(database, network, many=1)
    await execute(database, network, EDIT)
    second = await accept(own_calls, network)
    assert second[1] > first[1]
    assert "accepted by an operator" in (await breaks(own_calls, first))[network].reason
    assert await breaks(own_calls, first, second) == {}


async def test_an_acceptance_that_nothing_tells_of_any_more_does_not_lend_its_name_to_another(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    await cut(database, network, many=1)
    first = {await accept(own_calls, network)}
    for stream in (network, SYSTEM_STREAM):  # which has recorded it
        await cut(database, stream, many=1)
    first.add(await accept(own_calls, SYSTEM_STREAM))
    second = {await accept(own_calls, network)}
    assert set(await breaks(own_calls, *first)) == {network}
    assert await breaks(own_calls, *first, *second) == {}
    await cut(database, SYSTEM_STREAM, many=2)  # its own acceptance, and that of the other
    second.add(await accept(own_calls, SYSTEM_STREAM))
    assert SYSTEM_STREAM in await breaks(own_calls, *first)


async def test_an_entry_that_somebody_makes_look_like_an_acceptance_is_found_as_altered(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    await cut(database, network, many=1)
    place = await accept(own_calls, network)
    forged = EDIT.replace("request_id = request_id || 'x'", "action = 'trail.accept'")
    await execute(database, network, forged)
    assert "has changed since" in (await breaks(own_calls, place))[network].reason


async def test_who_opened_a_stream_is_taken_from_an_authentic_entry_alone(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    opened = await organization_of(own_calls, network)
    await execute(database, network, EDIT)
    names = ", ".join(AuditEntry._fields[3:])
    await execute(
        database,
        network,
        f"INSERT INTO audit_entries (stream_id, sequence, at, {names}) "  # noqa: S608
        f"SELECT 'ws-other', sequence, at + 1, {names} FROM audit_entries "
        "WHERE subject_id = $1 AND action = 'workspace.create'",
    )
    await cut(database, opened, many=1)
    assert f"{opened} does not verify" in await why_not(own_calls, network)


TAKEN = "UPDATE audit_entries SET sequence = {} WHERE stream_id = $1 AND sequence = 1"


@pytest.mark.parametrize(
    ("own_url", "taken"),
    [
        ("sqlite", 2**63 - 1),
        ("postgres", 2**63 - 1),
        ("sqlite", "'none'"),  # PostgreSQL takes neither
        ("sqlite", "9.3e18"),
    ],
    indirect=["own_url"],
)
async def test_who_cannot_accept_since_the_last_number_is_taken_is_told_which_row_to_delete(
    own_calls: Calls, network: str, taken: object
) -> None:
    database = own_calls.services.database
    await execute(database, network, TAKEN.format(taken))
    found = (await breaks(own_calls))[network].found
    assert "Delete the last of its rows" in await why_not(own_calls, network, found or "")
    last = "(SELECT max(sequence) FROM audit_entries WHERE stream_id = $1)"
    await execute(
        database,
        network,
        f"DELETE FROM audit_entries WHERE stream_id = $1 AND sequence = {last}",  # noqa: S608
        f"UPDATE streams SET sequence = {2**63 - 1} WHERE id = $1",  # noqa: S608
    )
    assert await breaks(own_calls, await accept(own_calls, network)) == {}
    await own_calls.create(key="after")


# Without a store

NOBODY = remains_of(None, [], "ws-2")
STRAY = remains_of(None, history(CHAIN.open("ws-2", "org-1"))[0], "ws-2")
ROW = remains_of(CHAIN.open("ws-2", "org-1"), [], "ws-2")
OPENED_ONCE = remains_of(None, [])
OF_SYSTEM, OF_ACME_ROW = remains_of(*WHOLE[0], SYSTEM_STREAM), remains_of(*WHOLE[1], "org-1")
CUT_ACME = remains_of(ACME, [], "org-1")
ACME_GONE = remains_of(None, [], "org-1")


async def place_of(remains: Remains, above: Remains = OF_ACME_ROW) -> Any:
    """A stream that an operator would accept, of which the one above is as it is."""
    return await audit_verification._Place.of(CHAIN, remains, OF_SYSTEM, above)


@pytest.mark.parametrize(
    ("remains", "above", "found", "why"),
    [
        (NOBODY, OF_ACME_ROW, NOBODY, "no stream ws-2"),
        (STRAY, OF_ACME_ROW, STRAY, None),
        (ROW, OF_ACME_ROW, ROW, None),
        (OPENED_ONCE, OF_ACME_ROW, OPENED_ONCE, None),
        (remains_of(*WHOLE[2]), OF_ACME_ROW, NOBODY, "verifies"),
        (STRAY, OF_ACME_ROW, ROW, "not the present state"),
        (STRAY, CUT_ACME, STRAY, "org-1 does not verify"),
        (STRAY, ACME_GONE, STRAY, None),
        (CUT_ACME, CUT_ACME, CUT_ACME, None),
    ],
    ids=[
        "nothing at all",
        "entries without a row",
        "a row without entries",
        "nothing of what was opened",
        "all of it",
        "what was found of another",
        "below what was cut",
        "below nothing",
        "what was cut",
    ],
)
async def test_what_is_there_of_a_stream_is_accepted_when_it_is_its_turn(
    remains: Remains, above: Remains, found: Remains, why: str | None
) -> None:
    place, digest = await place_of(remains, above), await found.digest()
    if why is None:
        place.require_acceptable(digest)
    else:
        with pytest.raises(Refusal) as refused:
            place.require_acceptable(digest)
        assert why in refused.value.faults[0].detail


async def test_the_number_of_an_acceptance_is_above_what_the_row_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def last_number(*_: object) -> None:
        return None

    monkeypatch.setattr(streams, "last_number", last_number)
    far = 2**40
    row = replace(CHAIN.open("ws-2", "org-1"), sequence=far)
    tx: Any = None
    place = await place_of(remains_of(row, [], "ws-2"))
    assert await place.next_number(tx) > far


@pytest.mark.parametrize(
    ("remains", "above", "recorded_in"),
    [
        (ROW, OF_ACME_ROW, [SYSTEM_STREAM]),
        (STRAY, OF_ACME_ROW, [SYSTEM_STREAM, "org-1"]),
        (STRAY, ACME_GONE, [SYSTEM_STREAM]),
        (OF_SYSTEM, OF_SYSTEM, []),
    ],
)
async def test_an_acceptance_is_recorded_in_the_systems_stream_and_that_of_an_end_above(
    remains: Remains, above: Remains, recorded_in: list[str]
) -> None:
    place = await place_of(remains, above)
    assert [one.id for one in place.witnesses()] == recorded_in
