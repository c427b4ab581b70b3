"""Backups beside writers who never rest, and PostgreSQL put back to a moment."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.server_under_load import on_postgres, server_under_load
from tests.support.commands import Host
from tests.support.directory_files import ONE_WORKSPACE
from tests.support.postgres import LocalPostgres, Postgres


@pytest.fixture
def archiving() -> Iterator[LocalPostgres]:
    """A server that keeps its log beside its data."""
    with LocalPostgres(durable=True) as server:
        server.archive()
        yield server


@pytest.fixture
def restored() -> Iterator[LocalPostgres]:
    """A server that is to have the data of another; not started."""
    server = LocalPostgres(durable=True)
    yield server
    server.stop()


@pytest.mark.parametrize("times", [2, pytest.param(200, id="200 backups", marks=pytest.mark.long)])
async def test_a_backup_beside_writers_has_all_that_was_acknowledged_before_it(
    tmp_path: Path, times: int
) -> None:
    host = Host(tmp_path)
    with (hit := server_under_load(host)).server:
        for _ in range(times):
            async with hit.writers.at_work():
                await hit.writers.until_more(20)
                drilled = host.run("backup", "drill")
            assert drilled.code == 0, drilled.out + drilled.err
        assert hit.broken_promises() == []


def test_postgresql_goes_back_to_a_moment_and_what_is_there_then_is_proven(
    archiving: LocalPostgres, restored: LocalPostgres, tmp_path: Path
) -> None:
    host = on_postgres(archiving, tmp_path)
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(ONE_WORKSPACE)
    host.succeed("directory", "apply", "directory.yaml")
    restored.copy(archiving)
    host.succeed("token", "create", "--user", "alice")
    (host.folder / "then").write_text(host.succeed("audit", "head").out)
    archiving.execute("SELECT pg_create_restore_point('then')")
    host.succeed("token", "create", "--user", "alice")
    (host.folder / "now").write_text(host.succeed("audit", "head").out)
    restored.recover(archiving, "then")
    url = restored.url(host.settings["DATABASE_URL"].rpartition("/")[2])
    verify = "backup", "verify", "--database", url, "--heads"
    host.succeed(*verify, "then")
    behind = host.run(*verify, "now")
    assert behind.code == 3
    assert "stream system lacks entries that were kept elsewhere" in behind.out


@pytest.mark.parametrize("waits", [True, False], ids=["waited for", "not waited for"])
async def test_where_commits_wait_for_a_standby_it_has_all_that_was_acknowledged(
    restored: LocalPostgres, tmp_path: Path, waits: bool
) -> None:
    with LocalPostgres(durable=True) as primary:
        host = on_postgres(primary, tmp_path)
        url = urlsplit(host.settings["DATABASE_URL"])
        both = f"{url.netloc},127.0.0.1:{urlsplit(restored.admin_url).port}"
        restored.follow(primary)
        url = url._replace(netloc=both, query="target_session_attrs=read-write")
        with (hit := server_under_load(host.having(database_url=url.geturl()))).server:
            async with hit.writers.at_work():
                await hit.writers.until_more(100)
                if not waits:
                    primary.wait_for_nobody()
                    restored.kill()
                    await hit.writers.until_more(20)
                primary.kill()
                if not waits:
                    restored.start()
                restored.promote()
                await hit.writers.until_more(20)
            assert (hit.broken_promises() == []) is waits


def test_what_is_damaged_or_may_not_be_read_on_postgresql_is_said(
    archiving: LocalPostgres, tmp_path: Path
) -> None:
    host = on_postgres(archiving, tmp_path)
    host.succeed("init")
    store = Postgres(host.settings["DATABASE_URL"])
    store.execute("CREATE ROLE reader LOGIN")
    store.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    netloc = f"reader@127.0.0.1:{urlsplit(store.admin_url).port}"
    url = urlsplit(store.admin_url)._replace(netloc=netloc)
    verify = "backup", "verify", "--database", url.geturl()
    verifying = Host(host.folder)
    verifying.succeed(*verify)
    store.execute("REVOKE SELECT ON tokens FROM reader")
    forbidden = verifying.run(*verify)
    assert forbidden.code == 1
    assert "permission denied for table tokens" in forbidden.err
    store.execute("GRANT SELECT ON tokens TO reader")
    file = store.execute("SELECT pg_relation_filepath('audit_entries')")
    store.execute("CHECKPOINT")
    archiving.damage(file)
    damaged = verifying.run(*verify)
    assert damaged.code == 3
    assert "problem  reading: audit_entries: " in damaged.out
