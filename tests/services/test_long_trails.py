"""Streams with more entries than are read at once, on both engines."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import AuditEntry, AuditQuery, Event, HeldStream
from teamvars.storage import organizations, streams
from teamvars.storage.database import Transaction
from tests.security.samples import event
from tests.services.altered_trails import execute
from tests.services.calls import Calls
from tests.services.test_audit_acceptance import accept, breaks

MANY = 3_000
EDIT = "UPDATE audit_entries SET details = '{{}}' WHERE stream_id = $1 AND sequence = {}"
UNNUMBERED = "UPDATE audit_entries SET sequence = {} WHERE stream_id = $1 AND sequence = {}"
MISTYPED = "UPDATE audit_entries SET {} WHERE stream_id = $1 AND sequence = {}"


async def extend(
    calls: Calls, stream_id: str, many: int, made: Callable[[int], Event] = event
) -> None:
    """Makes so many changes of a stream, of nothing else."""
    chain = calls.tools.chain

    async def body(tx: Transaction) -> None:
        stream = (await streams.lock(tx, [stream_id]))[stream_id]
        held = chain.check(stream)
        assert isinstance(held, HeldStream)
        entries, after = chain.extend_all(held, map(made, range(many)), None)
        await tx.write_each(*streams.appending(entries, [after]))

    await calls.services.database.write(body)


def workspace_made(number: int) -> Event:
    """One of as many workspaces, whose creation says what it is called."""
    what = {"action": "workspace.create", "subject_type": "workspaces"}
    return replace(
        event(number), **what, subject_id=f"ws-{number}", details={"name": f"made-{number}"}
    )


@contextmanager
def peak() -> Iterator[list[int]]:
    """How many bytes there are at once in the block, at the most."""
    measured: list[int] = []
    tracemalloc.start()
    try:
        yield measured
        measured.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@pytest.fixture
async def network(own_calls: Calls) -> str:
    """The id of a stream with many changes."""
    stream = own_calls.tenant.workspaces["network"]
    await extend(own_calls, stream, MANY)
    return stream


async def test_a_long_stream_is_verified_and_accepted_without_being_held_whole(
    own_calls: Calls, network: str
) -> None:
    database = own_calls.services.database
    await extend(own_calls, network, 2 * MANY)
    with peak() as whole:
        assert len(await database.read(partial(streams.entries, stream_ids=[network]))) >= MANY
    with peak() as verifying:
        assert await breaks(own_calls) == {}
    await execute(database, network, EDIT.format(MANY - 1))
    with peak() as accepting:
        place = await accept(own_calls, network)
    with peak() as passing_over:
        assert await breaks(own_calls, place) == {}
    assert max(*verifying, *accepting, *passing_over) < whole[0] / 2


async def test_what_many_things_are_called_is_known_without_holding_all_that_says_so(
    own_calls: Calls,
) -> None:
    database, tenant = own_calls.services.database, own_calls.tenant
    stream = (await database.read(organizations.every))[tenant.organization].id
    await extend(own_calls, stream, 2 * MANY, workspace_made)
    with peak() as whole:
        assert len(await database.read(partial(streams.entries, stream_ids=[stream]))) > MANY
    with peak() as finding:
        query = AuditQuery(action="workspace.create", until=2 * MANY)
        found, names = await own_calls.services.audit.find(1, query)
    assert finding[0] < whole[0] / 2
    assert names.of_subject(found[0]) == f"{tenant.organization}/made-{2 * MANY - 1}"
    by_name = AuditQuery(workspace=f"{tenant.organization}/made-7")
    ((entry,), _) = await own_calls.services.audit.find(2, by_name)
    assert entry.subject_id == "ws-7"


@pytest.mark.parametrize("altered", [7, 1_007, MANY - 7])
async def test_a_long_stream_holds_up_to_where_it_was_altered_wherever_that_is(
    own_calls: Calls, network: str, altered: int
) -> None:
    database = own_calls.services.database
    await execute(database, network, EDIT.format(altered))
    assert (await breaks(own_calls))[network].sequence == altered
    place = await accept(own_calls, network)
    await extend(own_calls, network, MANY)
    assert await breaks(own_calls, place) == {}
    await execute(database, network, EDIT.format(altered + 1))
    found = (await breaks(own_calls, place))[network]
    assert (found.sequence, found.reason) == (place[1], "what was accepted here has changed since")


@pytest.mark.parametrize("own_url", ["sqlite"], indirect=True)
async def test_all_entries_are_read_and_are_the_same_whatever_is_read_with_them(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, stream = own_calls.services.database, own_calls.tenant.workspaces["network"]
    await extend(own_calls, stream, 12)
    for number, said in ((3, 2**62), (5, "6.5"), (8, "'one'"), (9, "CAST(x'ff' AS TEXT)")):
        await execute(database, stream, UNNUMBERED.format(said, number))
    await execute(database, stream, UNNUMBERED.format("x'00'", 10))
    for number, said in ((1, "at = 'now'"), (2, "link = 'l', previous = 5, version = x'32'")):
        await execute(database, stream, MISTYPED.format(said, number))
    await execute(database, stream, MISTYPED.format("details = CAST(details AS BLOB)", 6))

    async def read(tx: Transaction) -> list[AuditEntry]:
        return [entry async for page in streams.pages(tx, stream) for entry in page]

    whole = await database.read(partial(streams.entries, stream_ids=[stream]))
    for size in range(1, len(whole) + 2):
        monkeypatch.setattr(streams, "_PAGE", size)
        found = await database.read(read)
        assert found == whole
