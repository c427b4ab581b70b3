"""What a backup is of, and what is proven of it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import Head
from teamvars.domain.backups import NEWER
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.services import backups, proving
from teamvars.storage import migrations
from teamvars.storage.database import NotReady
from tests.services.altered_trails import execute
from tests.services.calls import Calls
from tests.storage.stores import fresh_sqlite, opened

OK, ADVICE, PROBLEM = Severity.OK, Severity.ADVICE, Severity.PROBLEM
ON_OWN_SQLITE = pytest.mark.parametrize("own_url", ["sqlite"], indirect=True)


def told(findings: Sequence[Finding]) -> list[tuple[Severity, str]]:
    return [(one.severity, one.subject) for one in findings]


async def test_a_backup_is_of_a_store_that_has_a_schema(
    migrated_file: Path, tmp_path: Path
) -> None:
    async with opened(fresh_sqlite(tmp_path)):
        pass
    nothing = tmp_path / "teamvars.db"
    with pytest.raises(NotReady, match="no store yet"), backups.taken(nothing, "1.0"):
        pass
    store = tmp_path / "migrated.db"
    shutil.copy(migrated_file, store)
    with backups.taken(store, "1.0") as (content, known):
        manifest, heads = known()
    assert content.size == store.stat().st_size
    assert (manifest.schema, manifest.lineage) == (migrations.number(), None)
    assert manifest.rows["schema_migrations"] == len(migrations.known())
    assert heads == []


async def test_what_of_a_store_cannot_be_read_is_told(migrated_file: Path, tmp_path: Path) -> None:
    url = fresh_sqlite(tmp_path)
    store = tmp_path / "teamvars.db"
    shutil.copy(migrated_file, store)
    async with opened(url) as database:
        assert await proving.damage(database) == []
    with store.open("r+b") as file:
        file.seek(store.stat().st_size * 3 // 4 // 4096 * 4096)
        file.write(bytes(4096))
    async with opened(url) as database:
        assert (PROBLEM, "reading") in told(await proving.damage(database))


@ON_OWN_SQLITE
async def test_a_copy_whose_streams_stand_elsewhere_is_told(own_calls: Calls) -> None:
    database = own_calls.services.database
    heads = await backups.heads(database)
    assert await proving.moved(database, backups.lines(heads)) == []
    assert told(await proving.moved(database, backups.lines(heads[1:]))) == [(PROBLEM, "audit")]


@ON_OWN_SQLITE
async def test_streams_are_gone_through_on_the_way_to_the_heads_that_are_there(
    own_calls: Calls,
) -> None:
    services, sealer = own_calls.services, own_calls.tools.sealer
    database, audit = services.database, services.audit
    heads = await backups.heads(database)
    stands = heads[0]
    newer = replace(stands, sequence=99), Head("ws-gone", 1, bytes(32))

    async def examined(kept: Sequence[Head]) -> list[tuple[Severity, str]]:
        return told(await proving.examine(database, sealer, audit, kept))

    sound = [(OK, "reading"), (OK, "rows"), (OK, "values")]
    assert await examined(heads) == [*sound, (OK, "audit")]
    assert await examined([*heads, *newer]) == [*sound, (OK, "audit"), *[(ADVICE, NEWER)] * 2]
    another = replace(stands, link=bytes(32))
    assert await examined([another]) == [*sound, (PROBLEM, "audit")]
    sql = "UPDATE audit_entries SET at = at + 1 WHERE stream_id = $1"
    await execute(database, stands.stream_id, sql)
    assert (PROBLEM, "audit") in await examined(heads)
