"""The mark beside a keyring: an empty store that takes the place of a full one is found."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import DIRECTORY
from tests.cli.store import execute
from tests.storage.stores import fresh_postgres
from tests.support.commands import Done, Host
from tests.support.postgres import Postgres
from tests.support.server import Server, free_port

ELSEWHERE = (
    "This keyring belongs to a store that is not here: restore it, or is a disk not mounted?"
)
COMMANDS = [
    ("init",),
    ("migrate", "up"),
    ("serve", "--port", str(free_port())),
    ("directory", "apply", "directory.yaml"),
    ("doctor",),
]


def mark(host: Host) -> Path:
    return host.data / "keyring.json.store"


@pytest.fixture
def ready(migrated_host: Host) -> Host:
    """An initialised host, on each engine."""
    migrated_host.succeed("init")
    (migrated_host.folder / "directory.yaml").write_text(DIRECTORY)
    return migrated_host


def set_aside(host: Host) -> None:
    """Takes the store away: an empty database on PostgreSQL, no file on SQLite."""
    if url := host.settings.get("DATABASE_URL"):
        Postgres(url).execute("ALTER SCHEMA public RENAME TO aside")
        Postgres(url).execute("CREATE SCHEMA public")
        return
    for file in host.data.glob("teamvars.db*"):
        file.rename(host.folder / f"aside-{file.name}")


def restore(host: Host) -> None:
    """Puts the store back."""
    if url := host.settings.get("DATABASE_URL"):
        Postgres(url).execute("DROP SCHEMA public CASCADE")
        Postgres(url).execute("ALTER SCHEMA aside RENAME TO public")
        return
    for file in host.folder.glob("aside-*"):
        file.rename(host.data / file.name.removeprefix("aside-"))


def told_of_mark(host: Host) -> tuple[str, str]:
    """What `doctor` says of the mark, which is never a fault; severity and text."""
    done = host.run("doctor", "--json")
    (found,) = [one for one in done.json if one["subject"] == "mark"]
    others = [one for one in done.json if one["severity"] == "problem"]
    assert {one["subject"] for one in others} <= {"durability"}, done.out
    return found["severity"], found["text"]


def test_init_leaves_a_mark_beside_the_keyring_that_only_its_owner_reads(ready: Host) -> None:
    assert stat.S_IMODE(mark(ready).stat().st_mode) == 0o600
    before = mark(ready).read_text()
    assert before.startswith("store-")
    assert before.count("\n") == 1
    assert ready.succeed("init").err.startswith("Ready: ")
    assert mark(ready).read_text() == before
    assert told_of_mark(ready)[0] == "ok"
    assert {file.name for file in ready.data.glob("keyring*")} == {
        "keyring.json",
        "keyring.json.store",
    }


def refused(done: Done) -> bool:
    return done.code == 1 and ELSEWHERE in done.err + done.out


def test_an_empty_store_beside_a_marked_keyring_is_refused_until_the_right_one_is_back(
    ready: Host,
) -> None:
    ready.succeed("directory", "apply", "directory.yaml")
    before = mark(ready).read_text()
    set_aside(ready)
    for words in COMMANDS:
        assert refused(ready.run(*words)), words
    assert not (ready.data / "teamvars.db").exists()
    assert mark(ready).read_text() == before
    restore(ready)
    for words in (("init",), ("migrate", "up"), ("directory", "apply", "directory.yaml")):
        assert "store-" not in ready.succeed(*words).err
    assert ready.succeed("directory", "export").out.count("acme") == 1


def test_a_store_that_has_tables_and_no_keyring_is_as_empty(ready: Host) -> None:
    mark(ready).rename(ready.folder / "mark")
    set_aside(ready)
    ready.succeed("migrate", "up")
    (ready.folder / "mark").rename(mark(ready))
    for words in COMMANDS:
        assert refused(ready.run(*words)), words


def test_a_keyring_that_is_gone_leaves_its_mark_to_speak_for_it(ready: Host) -> None:
    set_aside(ready)
    (ready.data / "keyring.json").unlink()
    assert refused(ready.run("init"))
    assert not (ready.data / "keyring.json").exists()


def test_a_new_store_that_is_asked_for_takes_the_mark(ready: Host) -> None:
    before = mark(ready).read_text()
    set_aside(ready)
    ready.succeed("init", "--new-store")
    assert mark(ready).read_text().startswith("store-")
    assert mark(ready).read_text() != before
    assert told_of_mark(ready)[0] == "ok"
    ready.succeed("directory", "apply", "directory.yaml")


def test_a_store_of_another_lineage_is_a_warning_until_it_is_the_right_one(ready: Host) -> None:
    marked = mark(ready).read_text().strip()
    execute(ready, "UPDATE lineage SET id = 'store-other'")
    sentence = f"This is store store-other, and the keyring's mark names {marked}."
    for words in (("init",), ("migrate", "up"), ("directory", "apply", "directory.yaml")):
        assert sentence in ready.succeed(*words).err
    severity, text = told_of_mark(ready)
    assert severity == "advice"
    assert sentence in text
    with Server(ready.having(log_format="json")) as server:
        assert sentence in server.log
    assert mark(ready).read_text().strip() == marked
    assert sentence not in ready.succeed("init", "--new-store").err
    assert mark(ready).read_text() == "store-other\n"


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"no mark\n", b"store-" + b"x" * 500])
def test_a_mark_that_is_damaged_counts_as_none_and_init_renews_it(
    host: Host, damage: bytes
) -> None:
    host.succeed("init")
    whole = mark(host).read_text()
    mark(host).write_bytes(damage)
    assert told_of_mark(host)[0] == "advice"
    host.succeed("init")
    assert mark(host).read_text() == whole


def test_a_mark_that_cannot_be_written_is_never_a_fault(host: Host) -> None:
    mark(host).mkdir(parents=True)  # what a file cannot take the place of, root's neither
    host.data.chmod(0o700)
    done = host.succeed("init")
    assert f"{mark(host).name} cannot be written: Is a directory." in done.err
    severity, text = told_of_mark(host)
    assert severity == "advice"
    mark(host).rmdir()
    mark(host).write_text(text.rpartition(" ")[2])  # the line to put there
    assert told_of_mark(host)[0] == "ok"
    assert not list(host.data.glob("keyring.json.store.*"))


def test_a_part_of_a_store_is_no_empty_one(ready: Host) -> None:
    execute(ready, "DROP TABLE schema_migrations")
    for words in [*COMMANDS, ("migrate", "status"), ("init", "--new-store")]:
        done = ready.run(*words)
        assert done.code == 1
        assert "The database holds a part of a store" in done.err + done.out
        assert "unexpected" not in done.err


def test_a_command_that_looks_at_the_mark_connects_to_the_store_once(
    host: Host, postgres_server: Postgres, migrated_database: str
) -> None:
    with fresh_postgres(postgres_server, migrated_database) as url:
        name = urlsplit(url).path.removeprefix("/")
        host = host.having(database_url=url)
        host.succeed("init")
        before = sessions(postgres_server, name)
        host.succeed("token", "list")
        assert sessions(postgres_server, name) == before + 1
        assert "PostgreSQL" in host.run("doctor").out  # which may have complaints
        assert sessions(postgres_server, name) == before + 2


def sessions(server: Postgres, name: str) -> int:
    """How many there were of a database, once all are over."""
    server.wait_until_unused(name)
    asked = f"SELECT sessions FROM pg_stat_database WHERE datname = '{name}'"  # noqa: S608 - ours
    return int(server.execute(asked))
