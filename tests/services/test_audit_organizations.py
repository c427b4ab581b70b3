"""Whose an entry is: found for entries from before, and for what an older release still writes."""

import asyncio
from typing import Any

import pytest

from teamvars import wiring
from teamvars.services import audit
from teamvars.storage import migrations
from teamvars.storage.database import Transaction
from tests.services.calls import Calls
from tests.services.test_audit import all_kinds_of_changes
from tests.support.patience import until


async def whose(tx: Transaction) -> list[tuple[Any, ...]]:
    """Every entry of the store, and whose it is."""
    rows = await tx.fetch(
        "SELECT stream_id, sequence, organization_id FROM audit_entries "
        "ORDER BY stream_id, sequence"
    )
    return [tuple(row) for row in rows]


async def as_an_older_release_writes(tx: Transaction) -> None:
    """And one entry of which nothing says whose it is."""
    await tx.execute("UPDATE audit_entries SET organization_id = NULL")
    await tx.execute(
        "INSERT INTO audit_entries (stream_id, sequence, at, actor_kind, actor_id, request_id, "
        "action, subject_type, subject_id, details, key_id, previous, link) "
        "VALUES ('ws-gone', 1, 0, 'user', 'u', 'r', 'variable.create', 'vars', 'v', '{}', 'k', "
        "$1, $1)",
        b"",
    )


async def before_the_migration(tx: Transaction) -> None:
    await tx.script("""
        DROP INDEX audit_entries_by_organization;
        ALTER TABLE audit_entries DROP COLUMN organization_id;
        CREATE INDEX audit_entries_newest ON audit_entries (at, stream_id, sequence);
        DELETE FROM schema_migrations WHERE number = 10;
    """)


async def test_every_entry_is_written_with_the_organization_of_its_stream(
    own_calls: Calls,
) -> None:
    await all_kinds_of_changes(own_calls)
    found = await own_calls.services.database.read(whose)
    assert {owner for stream_id, _, owner in found if stream_id == "system"} == {""}
    assert {owner for stream_id, _, owner in found if stream_id.startswith("org-")} == {
        stream_id for stream_id, _, _ in found if stream_id.startswith("org-")
    }
    assert all(owner for stream_id, _, owner in found if stream_id != "system")
    assert await own_calls.tenant.deployment.audit_holds()


async def test_entries_from_before_the_migration_are_found_also_of_what_is_gone(
    own_calls: Calls,
) -> None:
    await all_kinds_of_changes(own_calls)
    database = own_calls.services.database
    written = await database.read(whose)
    assert any(stream_id.startswith("team-") for stream_id, _, _ in written)
    await database.migrate(before_the_migration)
    await own_calls.services.installation.migrate()
    assert await database.read(whose) == written
    assert await own_calls.tenant.deployment.audit_holds()


@pytest.mark.parametrize("at_once", [1, 200])
async def test_what_an_older_release_writes_is_found_by_and_by(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    await all_kinds_of_changes(own_calls)
    services = own_calls.services
    written = await services.database.read(whose)
    await services.database.write(as_an_older_release_writes)
    monkeypatch.setattr(audit, "_FILLED_AT_ONCE", at_once)
    for _ in range(2):
        await services.audit.fill_organizations()
        found = await services.database.read(whose)
        assert [one for one in found if one[0] != "ws-gone"] == written
        assert ("ws-gone", 1, None) in found


async def test_a_deletion_that_somebody_has_doubled_keeps_nothing_from_being_filled(
    own_calls: Calls,
) -> None:
    await all_kinds_of_changes(own_calls)
    services = own_calls.services
    written = await services.database.read(whose)
    await services.database.write(as_an_older_release_writes)

    async def delete_twice(tx: Transaction) -> None:
        for sequence in (1, 2):
            await tx.execute(
                "INSERT INTO audit_entries (stream_id, sequence, at, actor_kind, actor_id, "
                "request_id, action, subject_type, subject_id, details, key_id, previous, link) "
                "VALUES ('org-of-it', $1, 1, 'user', 'u', 'r', 'workspace.delete', 'workspaces', "
                "'ws-gone', '{}', 'k', $2, $2)",
                sequence,
                b"",
            )

    await services.database.write(delete_twice)
    await services.audit.fill_organizations()
    found = await services.database.read(whose)
    assert set(written) <= set(found)
    assert ("ws-gone", 1, "org-of-it") in found


async def test_housekeeping_finds_it(own_calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    await own_calls.create()
    services = own_calls.services
    written = await services.database.read(whose)
    await services.database.write(as_an_older_release_writes)
    monkeypatch.setattr(wiring, "HOUSEKEEPING_SECONDS", 0.01)
    chores = asyncio.create_task(wiring._keep_house(services))

    async def is_filled_in() -> bool:
        found = await services.database.read(whose)
        return [one for one in found if one[0] != "ws-gone"] == written

    await until(is_filled_in)
    chores.cancel()


@pytest.mark.parametrize("told", ["", "org-another", None])
async def test_an_entry_that_was_taken_from_its_organization_is_found(
    own_calls: Calls, told: str | None
) -> None:
    made = await own_calls.create()
    stream_id = own_calls.tenant.workspaces["network"]

    async def take_away(tx: Transaction) -> str:
        sql = "UPDATE audit_entries SET organization_id = $1 WHERE subject_id = $2"
        await tx.execute(sql, told, made.id)
        sql = "SELECT organization_id FROM workspaces WHERE id = $1"
        return str((await tx.fetch(sql, stream_id))[0][0])

    its = await own_calls.services.database.write(take_away)
    _, (found,) = await own_calls.services.audit.verify()
    assert (found.stream_id, found.sequence) == (stream_id, 1)
    assert found.reason == f"the entry's organization is not that of its stream, '{its}'"


async def test_what_an_older_node_has_just_written_is_not_taken_for_altered(
    own_calls: Calls,
) -> None:
    await own_calls.create()

    async def as_beside_older_nodes(tx: Transaction) -> None:
        contract = [one.number for one in migrations.known() if one.is_contract][-1]
        await tx.execute("DELETE FROM schema_migrations WHERE number = $1", contract)
        await tx.execute("UPDATE audit_entries SET organization_id = NULL")

    await own_calls.services.database.migrate(as_beside_older_nodes)
    assert await own_calls.tenant.deployment.audit_holds()
