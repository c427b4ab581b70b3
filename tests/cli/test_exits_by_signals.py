"""What a signal that ends a command leaves to be cleared up, or to be told."""

import asyncio
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

from teamvars import settings
from teamvars.cli.exits import UNKNOWN_OUTCOME
from teamvars.cli.operator import audit, context, installation, keys
from teamvars.cli.operator.context import store_of, telling_of_change
from teamvars.cli.operator.host import finish
from teamvars.domain.audit import AuditEntry
from teamvars.services.data_keys import DataKeys
from teamvars.services.installation import Installation
from teamvars.settings import Settings
from teamvars.signals import clearing_first, clearing_up, pass_over
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.cli.test_backup import hanging, told_to_end
from tests.support.commands import Host
from tests.support.patience import HANGS


def test_a_second_signal_interrupts_nothing_that_is_cleared_up() -> None:
    """A terminal that closes sends one, and its shell another; part of it may say so as well."""
    before = signal.getsignal(signal.SIGTERM)
    cleared = []

    def work() -> None:
        try:
            with clearing_up():
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGQUIT)
            cleared.append("all")

    with pytest.raises(SystemExit) as ended, clearing_up():
        work()
    assert ended.value.code == 128 + signal.SIGTERM
    assert cleared == ["all"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_ends_nothing_ends_nothing_of_what_is_to_be_cleared_up_either() -> None:
    """As SIGHUP while a server starts, for which something unwraps the keyring."""
    before = signal.signal(signal.SIGHUP, pass_over)
    cleared = []
    try:
        with clearing_up(), clearing_first(lambda: cleared.append("all")):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert cleared == []


@pytest.mark.parametrize("is_behind", [False, True])
def test_whoever_interrupts_what_changes_something_is_told_that_it_may_have_happened(
    migrated_host: Host, capsys: pytest.CaptureFixture[str], is_behind: bool
) -> None:
    """Behind the change too: the command has told nobody of it yet."""

    async def change(tx: Transaction) -> None:
        if not is_behind:
            signal.raise_signal(signal.SIGINT)
        await tx.execute("CREATE TABLE made (place INTEGER)")

    async def command() -> None:
        async with store:
            await store.write(change)
            signal.raise_signal(signal.SIGINT)

    async def found() -> object:
        async with store_of(config) as again:
            return await again.query(lambda tx: tx.fetch("SELECT place FROM made"))

    config = settings_of(migrated_host)
    store = store_of(config)
    with pytest.raises(SystemExit) as ended, telling_of_change(store):
        finish(command())
    assert ended.value.code == UNKNOWN_OUTCOME
    assert capsys.readouterr().err.startswith("teamvars: Interrupted. What the command changes")
    assert asyncio.run(found()) == []


def test_whoever_interrupts_what_only_reads_is_told_nothing(
    migrated_host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    store = store_of(settings_of(migrated_host))

    async def command() -> None:
        async with store:
            await store.read(lambda tx: tx.fetch("SELECT 1"))
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), telling_of_change(store):
        finish(command())
    assert capsys.readouterr().err == ""


def test_whoever_interrupts_a_proof_does_not_wait_for_its_end(
    migrated_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million entries on SQLite too, which are read in one step of the event loop."""

    async def interrupted(*_: object, **__: object) -> list[AuditEntry]:
        signal.raise_signal(signal.SIGINT)
        went_on.append(True)
        return []

    went_on: list[bool] = []
    migrated_host.succeed("init")
    monkeypatch.setattr(context, "load_settings", lambda: settings_of(migrated_host))
    monkeypatch.setattr(streams, "entries_after", interrupted)
    assert audit.verify.callback is not None
    with pytest.raises(KeyboardInterrupt):
        audit.verify.callback(heads=None, accepted=())
    assert went_on == []


@pytest.mark.parametrize(
    ("command", "flag"), [(installation.init, "new_store"), (installation.up, "contract")]
)
def test_whoever_interrupts_a_migration_is_told_that_it_may_have_happened(
    migrated_host: Host,
    monkeypatch: pytest.MonkeyPatch,
    command: click.Command,
    flag: str,
) -> None:
    async def migrate(of: Installation, *_: object, **__: object) -> None:
        await of.database.migrate(interrupted)

    async def interrupted(_: Transaction) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(installation, "load_settings", lambda: settings_of(migrated_host))
    monkeypatch.setattr(Installation, "migrate", migrate)
    assert command.callback is not None
    with pytest.raises(SystemExit) as ended:
        command.callback(**{flag: False})
    assert ended.value.code == UNKNOWN_OUTCOME


def test_whoever_interrupts_a_rewrap_is_told_that_it_goes_on(
    migrated_host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupted(_: DataKeys) -> list[str]:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
        return []

    migrated_host.succeed("init")
    monkeypatch.setattr(context, "load_settings", lambda: settings_of(migrated_host))
    monkeypatch.setattr(DataKeys, "renew", interrupted)
    assert keys.rewrap.callback is not None
    with pytest.raises(SystemExit) as ended:
        keys.rewrap.callback(rate=None)
    assert ended.value.code == UNKNOWN_OUTCOME
    told = "teamvars: Interrupted. 'teamvars keys rewrap' goes on where this was.\n"
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize("follow", [False, True])
def test_an_export_that_is_interrupted_ends_well_only_where_that_is_how_it_ends(
    migrated_host: Host, monkeypatch: pytest.MonkeyPatch, follow: bool
) -> None:
    """A script that goes on with what was exported goes on with all of it."""

    def interrupted(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    migrated_host.succeed("init")
    monkeypatch.setattr(context, "load_settings", lambda: settings_of(migrated_host))
    monkeypatch.setattr(audit, "print_entry", interrupted)
    assert audit.export.callback is not None
    with nullcontext() if follow else pytest.raises(KeyboardInterrupt):
        audit.export.callback(follow=follow)


UNANSWERED = """
import socket, threading
from teamvars import cli

def unanswered(*_, **__):
    print("there", flush=True)
    threading.Event().wait()

socket.getaddrinfo = unanswered
cli.main()
"""
"""The command line, where no resolver answers."""


def test_whoever_interrupts_again_waits_for_no_thread(host: Host) -> None:
    there = host.having(
        database_url="postgresql://teamvars@db.example.com/teamvars?sslmode=require"
    )
    with hanging(there, UNANSWERED, "keys", "status") as running:
        assert told_to_end(running, signal.SIGINT) == 130


ENDED = """
import os, signal, sys
from pathlib import Path
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGTERM)
path = Path(sys.argv[1])
"""
WRITING = (
    "from teamvars.security import files; files.replace(path, 'hush')",
    "from teamvars.security import files; files.create(path, 'hush')",
    "from teamvars.cli.client.api import accounts; accounts.replace_file(path, 'hush')",
)


@pytest.mark.parametrize("writing", WRITING)
def test_a_file_of_secrets_that_is_half_written_goes_with_whoever_is_told_to_end(
    tmp_path: Path, writing: str
) -> None:
    """As beside the keyring, or the values for `migrate-from` in a folder of sources."""
    done = subprocess.run(
        [sys.executable, "-c", f"{ENDED}{writing}", tmp_path / "file"], check=False, timeout=HANGS
    )
    assert done.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert [*tmp_path.iterdir()] == []


def settings_of(host: Host) -> Settings:
    """Those that commands there would have."""
    url = host.settings.get("DATABASE_URL", f"sqlite:///{host.data}/teamvars.db")
    return settings.load(data_dir=host.data, database_url=url)
