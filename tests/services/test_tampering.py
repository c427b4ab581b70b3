"""Nobody with a database client edits the audit trail unseen.

Each attack is done and verified in one transaction, which is then undone.
"""

# ruff: noqa: S608 - what is put together here is an attack

import hmac

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import Break, HeldStream
from teamvars.domain.directory import TeamEntry
from teamvars.domain.memberships import Status
from teamvars.security import length_prefixed
from teamvars.security.chain import Chain
from teamvars.services import audit_verification
from teamvars.services.directory_files.files import Options
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.security.samples import as_version_1, event
from tests.services.calls import Calls
from tests.support.deployment import Deployment
from tests.support.tenant import build_tenant


class Undone(Exception):
    """Takes what was found out of a transaction that must not be committed."""

    def __init__(self, breaks: list[Break]) -> None:
        super().__init__()
        self.breaks = breaks


async def breaks_after(calls: Calls, *attack: str, **names: object) -> list[Break]:
    """What verification finds after the statements."""

    async def body(tx: Transaction) -> None:
        for statement in attack:
            await tx.execute(statement.format(**names))
        keys = calls.tenant.deployment.keys
        _, breaks = await audit_verification.verify(tx, Chain(keys), (), ())
        raise Undone(breaks)

    with pytest.raises(Undone) as undone:
        await calls.services.database.write(body)
    return undone.value.breaks


@pytest.fixture(scope="module")
async def calls(modules_own: Deployment) -> Calls:
    """The only tenant of its installation."""
    return Calls(await build_tenant(modules_own))


@pytest.fixture(scope="module")
async def victim(calls: Calls) -> str:
    """The id of a stream with four entries."""
    for number in range(4):
        await calls.create(key=f"key-{number}")
    return calls.tenant.workspaces["network"]


ENTRY = "WHERE stream_id = '{victim}' AND sequence = 2"

EDITS = {
    "at": "at + 1",
    "actor_kind": "'operator'",
    "actor_id": "'somebody'",
    "token_id": "NULL",
    "request_id": "'another'",
    "action": "'variable.delete'",
    "subject_type": "'teams'",
    "subject_id": "'var-another'",
    "details": "details || ' '",
    "key_id": "'ak-another'",
    "previous": "link",
    "version": "1",
    "address": "'192.0.2.66'",
    "organization_id": "'org-another'",
    "link": "previous",
}


async def test_nothing_is_found_where_nothing_was_done(calls: Calls, victim: str) -> None:
    assert await breaks_after(calls) == []


@pytest.mark.parametrize("column", EDITS)
async def test_an_edited_column_is_found(calls: Calls, victim: str, column: str) -> None:
    edit = f"UPDATE audit_entries SET {column} = {EDITS[column]} {ENTRY}"
    (found,) = await breaks_after(calls, edit, victim=victim)
    assert (found.stream_id, found.sequence) == (victim, 2)


@pytest.mark.parametrize("sequence", [1, 2, 3, 4])
async def test_a_deleted_entry_is_found(calls: Calls, victim: str, sequence: int) -> None:
    (found,) = await breaks_after(
        calls,
        "DELETE FROM audit_entries WHERE stream_id = '{victim}' AND sequence = {sequence}",
        victim=victim,
        sequence=sequence,
    )
    assert (found.stream_id, found.sequence) == (victim, sequence)


@pytest.mark.parametrize("kept", [0, 1, 3])
async def test_a_cut_off_end_is_found_although_the_streams_row_was_moved_back(
    calls: Calls, victim: str, kept: int
) -> None:
    (found,) = await breaks_after(
        calls,
        "UPDATE streams SET sequence = {kept}, link = (SELECT previous FROM audit_entries "
        "WHERE stream_id = '{victim}' AND sequence = {kept} + 1) WHERE id = '{victim}'",
        "DELETE FROM audit_entries WHERE stream_id = '{victim}' AND sequence > {kept}",
        victim=victim,
        kept=kept,
    )
    assert (found.stream_id, found.sequence) == (victim, kept + 1)
    assert "head" in found.reason


async def test_two_swapped_entries_are_found(calls: Calls, victim: str) -> None:
    moves = [
        f"UPDATE audit_entries SET sequence = {after} "
        f"WHERE stream_id = '{{victim}}' AND sequence = {before}"
        for before, after in ((2, 99), (3, 2), (99, 3))
    ]
    (found,) = await breaks_after(calls, *moves, victim=victim)
    assert (found.stream_id, found.sequence) == (victim, 2)


COLUMNS = (
    "at, actor_kind, actor_id, token_id, request_id, action, subject_type, subject_id, details, "
    "key_id, previous, version, address, link"
)


@pytest.mark.parametrize("link", ["link", "previous"])
async def test_an_added_entry_is_found_although_the_streams_row_was_moved_on(
    calls: Calls, victim: str, link: str
) -> None:
    (found,) = await breaks_after(
        calls,
        f"INSERT INTO audit_entries (stream_id, sequence, {COLUMNS}) "
        f"SELECT stream_id, 5, {COLUMNS} FROM audit_entries {ENTRY}",
        "UPDATE audit_entries SET previous = (SELECT link FROM streams WHERE id = '{victim}') "
        "WHERE stream_id = '{victim}' AND sequence = 5",
        f"UPDATE streams SET sequence = 5, link = (SELECT {link} FROM audit_entries {ENTRY}) "
        "WHERE id = '{victim}'",
        victim=victim,
    )
    assert (found.stream_id, found.sequence) == (victim, 5)


@pytest.mark.parametrize("column", ["sequence = sequence + 1", "link = head", "head = link"])
async def test_an_edited_row_of_a_stream_is_found(calls: Calls, victim: str, column: str) -> None:
    edit = f"UPDATE streams SET {column} WHERE id = '{{victim}}'"
    (found,) = await breaks_after(calls, edit, victim=victim)
    assert found.stream_id == victim


async def test_a_stream_deleted_with_its_subject_and_all_its_entries_is_found(
    calls: Calls, victim: str
) -> None:
    (found,) = await breaks_after(
        calls,
        "DELETE FROM workspaces WHERE id = '{victim}'",
        "DELETE FROM streams WHERE id = '{victim}'",
        "DELETE FROM audit_entries WHERE stream_id = '{victim}'",
        victim=victim,
    )
    assert (found.stream_id, found.reason) == (victim, "the stream is missing")


@pytest.mark.parametrize(
    "stray",
    [
        (
            "INSERT INTO streams (id, sequence, link, head) SELECT 'ws-stray', 0, link, head "
            "FROM streams WHERE id = '{victim}'"
        ),
        (
            f"INSERT INTO audit_entries (stream_id, sequence, {COLUMNS}) "
            f"SELECT 'ws-stray', 1, {COLUMNS} FROM audit_entries {ENTRY}"
        ),
    ],
    ids=["a row", "an entry"],
)
async def test_a_stray_stream_is_found(calls: Calls, victim: str, stray: str) -> None:
    (found,) = await breaks_after(calls, stray, victim=victim)
    assert found.stream_id == "ws-stray"


@pytest.mark.parametrize("details", ["no json", "[]", '{"opens": [7]}', '{"closes": [{}]}', "{}"])
async def test_altered_details_are_found_whatever_they_say_now(
    calls: Calls, victim: str, details: str
) -> None:
    organization = "(SELECT organization_id FROM workspaces WHERE id = '{victim}')"
    found = await breaks_after(
        calls,
        "UPDATE audit_entries SET details = '{details}' "
        f"WHERE stream_id = {organization} AND action = 'workspace.create' "
        "AND subject_id = '{victim}'",
        victim=victim,
        details=details,
    )
    assert {one.reason for one in found} == {
        "the entry was altered or replaced",
        "no entry records the beginning of this stream",
    }


async def test_the_entries_of_a_deleted_subject_cannot_be_edited_either(
    own_calls: Calls,
) -> None:
    calls = own_calls
    closed = calls.tenant.workspaces["payments"]
    await calls.create(workspace="payments")
    await calls.apply(
        *(TeamEntry(name) for name in calls.tenant.teams),
        workspaces=("network",),
        members=dict.fromkeys(calls.named(*calls.tenant.memberships), Status.ACTIVE),
        options=Options(prune=True, delete_variables=True),
    )
    assert await breaks_after(calls) == []
    for attack in (
        "DELETE FROM audit_entries WHERE stream_id = '{closed}'",
        "UPDATE audit_entries SET action = 'variable.delete' WHERE stream_id = '{closed}'",
        (
            "INSERT INTO streams (id, sequence, link, head) "
            "SELECT '{closed}', sequence, link, link FROM audit_entries "
            "WHERE stream_id = '{closed}'"
        ),
    ):
        (found,) = await breaks_after(calls, attack, closed=closed)
        assert found.stream_id == closed


OLD_COLUMNS = (
    "stream_id, sequence, at, actor_kind, actor_id, token_id, request_id, action, subject_type, "
    "subject_id, details, key_id, previous, link"
)


async def write_as_0_1_0(calls: Calls, stream_id: str, many: int) -> None:
    """Adds entries as the release before addresses did, which knew no other columns."""
    keys = calls.tenant.deployment.keys

    async def body(tx: Transaction) -> None:
        (stream,) = (await streams.lock(tx, [stream_id])).values()
        held = Chain(keys).check(stream)
        assert isinstance(held, HeldStream)
        for number in range(many):
            entry, after = Chain(keys).extend(held, event(number))
            old = as_version_1(entry, keys.audit)
            head = length_prefixed("stream head", stream_id, after.sequence, old.link)
            mac = hmac.digest(keys.audit.keys[old.key_id], head, "sha256")
            held = replace(after, link=old.link, head=mac)
            row = (*old[:13], old.link)
            places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
            await tx.execute(f"INSERT INTO audit_entries ({OLD_COLUMNS}) VALUES ({places})", *row)
        await tx.write_each(*streams.appending([], [held]))

    await calls.services.database.write(body)


async def test_entries_of_0_1_0_hold_beside_new_ones_and_are_guarded_like_them(
    calls: Calls,
) -> None:
    old = calls.tenant.workspaces["payments"]
    await write_as_0_1_0(calls, old, 2)
    await calls.services.audit.fill_organizations()  # as housekeeping does
    await calls.create(workspace="payments")
    assert await breaks_after(calls) == []
    for sequence, edit in (
        (1, "address = '192.0.2.66'"),
        (1, "version = 2"),
        (2, "actor_id = 'somebody'"),
        (3, "version = 1"),
        (3, "version = 1, address = NULL"),
        (3, "version = 3"),
        (3, "address = '192.0.2.66'"),
    ):
        attack = (
            f"UPDATE audit_entries SET {edit} WHERE stream_id = '{{old}}' AND sequence = {sequence}"
        )
        (found,) = await breaks_after(calls, attack, old=old)
        assert (found.stream_id, found.sequence) == (old, sequence), edit
