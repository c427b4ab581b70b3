"""`backup`: a copy that is made while the store is served, and what is proven of it."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pyrage
import pytest

from teamvars.cli.exits import Failure
from teamvars.cli.operator import backing_up, backup
from teamvars.services import backups
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.cli.store import execute
from tests.faults.server_under_load import server_under_load
from tests.support.commands import SCRIPT, Host
from tests.support.patience import HANGS
from tests.support.tenant import JSON_API, variable_document


@pytest.fixture
def filled(host: Host) -> Host:
    """A host with a directory, which nobody serves."""
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    return host


def moved(host: Host, folder: Path) -> Host:
    """Another host with the keyring of this one, and nothing else."""
    there = Host(folder)
    there.data.mkdir(mode=0o700, parents=True)
    for name in ("keyring.json", "keyring.json.store"):
        shutil.copy(host.data / name, there.data / name)
    return there


def lose_store(host: Host) -> None:
    for path in host.data.glob("teamvars.db*"):
        path.unlink()


def forge(host: Host, member: str, alter: Callable[[Path], object]) -> None:
    """Makes b.tar, alters a member of it, and gives all of them new digests."""
    host.succeed("backup", "create", "b.tar")
    (folder := host.folder / "members").mkdir()
    subprocess.run(["tar", "-xf", host.folder / "b.tar", "-C", folder], check=True)  # noqa: S607
    alter(folder / member)
    texts = (folder / backups.HEADS).read_bytes(), (folder / backups.MANIFEST).read_bytes()
    store = (folder / backups.STORE).read_bytes()
    with (host.folder / "forged").open("wb") as out:
        backups.write(out, backups.Content(len(store), [store]), texts, ())


def damage(store: Path) -> None:
    """Zeroes pages in the middle, and leaves those that say which store it is."""
    size = store.stat().st_size
    with store.open("r+b") as file:
        file.seek(size * 3 // 4 // 4096 * 4096)
        file.write(bytes(size // 8))


def doing(statement: str) -> Callable[[Path], None]:
    """Runs it on a store."""

    def run(store: Path) -> None:
        connection = apsw.Connection(str(store))
        connection.execute(statement)
        connection.close()

    return run


def test_a_backup_made_while_served_has_every_value_and_is_restored_elsewhere(
    host: Host, tmp_path: Path
) -> None:
    with (hit := server_under_load(host)).server as server:
        document = variable_document(value="c4n4ry", sensitive=True)
        with server.client(hit.token) as client:
            made = client.post(hit.path, json=document, headers={"Content-Type": JSON_API})
            assert made.status_code == 201, made.text
        host.succeed("backup", "create", "b.tar")
    assert b"c4n4ry" not in (host.folder / "b.tar").read_bytes()
    assert (host.folder / "b.tar").stat().st_mode & 0o777 == 0o600
    there = moved(host, tmp_path / "there")
    done = there.succeed("backup", "restore", host.folder / "b.tar")
    assert "values: 1 open: every value" in done.out
    assert there.run("doctor").code == 0
    assert there.succeed("audit", "head").out == host.succeed("audit", "head").out
    assert [path.name for path in there.data.iterdir()].count("teamvars.db") == 1
    assert not [path for path in there.data.iterdir() if path.name.startswith(".")]


def test_what_is_not_as_it_was_is_found(filled: Host) -> None:
    filled.succeed("backup", "create", "b.tar")
    assert filled.run("backup", "verify", "b.tar").code == 0
    whole = bytearray((filled.folder / "b.tar").read_bytes())
    whole[len(whole) // 2] ^= 1
    (filled.folder / "flipped").write_bytes(whole)
    (filled.folder / "cut").write_bytes(whole[: len(whole) // 2])
    for name in ("flipped", "cut", "directory.yaml"):
        assert filled.run("backup", "verify", name).code == 3
    execute(filled, "UPDATE audit_entries SET subject_id = 'x' WHERE sequence = 1")
    filled.succeed("backup", "create", "touched")
    found = filled.run("backup", "verify", "touched")
    assert found.code == 3
    assert "the entry was altered or replaced" in found.out
    lose_store(filled)
    for name in ("flipped", "touched"):
        assert filled.run("backup", "restore", name).code == 3
        assert not list(filled.data.glob("*db*"))


@pytest.mark.parametrize(
    ("member", "alter", "said"),
    [
        (backups.STORE, damage, "problem  reading: "),
        (backups.STORE, lambda store: store.write_text("no database" * 99), "problem  reading: "),
        (backups.STORE, doing("DELETE FROM tokens"), "tokens had 1, has 0"),
        (
            backups.STORE,
            doing("UPDATE data_keys SET wrapped = 'text'"),
            ": wrapped is no blob",
        ),
        (backups.STORE, doing("UPDATE users SET email = x'ff'"), ": email is no text"),
        (backups.HEADS, lambda heads: heads.write_bytes(b""), "than heads.jsonl says"),
        (backups.MANIFEST, lambda manifest: manifest.write_text("{}"), "no manifest"),
        pytest.param(
            backups.MANIFEST,
            lambda manifest: manifest.write_bytes(b'{"release": "\xff"}'),
            "no manifest",
            id="no text",
        ),
    ],
)
def test_what_was_altered_with_its_digests_is_found(
    filled: Host, member: str, alter: Callable[[Path], object], said: str
) -> None:
    filled.succeed("token", "create", "--user", "alice")
    forge(filled, member, alter)
    found = filled.run("backup", "verify", "forged")
    assert found.code == 3
    assert said in found.out + found.err
    lose_store(filled)
    assert filled.run("backup", "restore", "forged").code == 3
    assert not list(filled.data.glob("teamvars.db*"))


def test_a_backup_from_before_keys_were_added_is_restored_with_the_keyring_of_now(
    filled: Host,
) -> None:
    filled.succeed("backup", "create", "b.tar")
    added = [filled.succeed("keys", "add", one).out.strip() for one in ("master", "server")]
    for key_id in added:
        filled.succeed("keys", "activate", key_id)
    filled.succeed("backup", "verify", "b.tar")
    lose_store(filled)
    filled.succeed("backup", "restore", "b.tar")
    listed = filled.succeed("keys", "status", "--json").json
    assert {*added} <= {one["id"] for one in listed if one["active"]}
    filled.succeed("keys", "rewrap")
    filled.succeed("audit", "verify")


def test_no_backup_is_verified_with_a_keyring_that_would_use_a_key_that_was_retired(
    filled: Host,
) -> None:
    (former,) = [
        one["id"]
        for one in filled.succeed("keys", "status", "--json").json
        if one["purpose"] == "master"
    ]
    added = filled.succeed("keys", "add", "master").out.strip()
    stale = (filled.data / "keyring.json").read_bytes()
    for words in (("activate", added), ("rewrap",), ("retire", former)):
        filled.succeed("keys", *words)
    filled.succeed("backup", "create", "b.tar")
    (filled.data / "keyring.json").write_bytes(stale)
    refused = filled.run("backup", "verify", "b.tar")
    assert refused.code == 1
    assert f"it would use {former}, which was retired" in refused.err


def test_a_backup_from_before_an_audit_key_was_retired_needs_the_keyring_of_its_time(
    filled: Host,
) -> None:
    (former,) = [
        one["id"]
        for one in filled.succeed("keys", "status", "--json").json
        if one["purpose"] == "audit"
    ]
    filled.succeed("backup", "create", "b.tar")
    then = (filled.data / "keyring.json").read_bytes()
    added = filled.succeed("keys", "add", "audit").out.strip()
    for words in (("activate", added), ("rewrap",), ("retire", former)):
        filled.succeed("keys", *words)
    refused = filled.run("backup", "verify", "b.tar")
    assert refused.code == 3
    assert f"the stream's head is under {former}, which was retired since" in refused.out
    assert "altered" not in refused.out
    (filled.data / "keyring.json").write_bytes(then)
    filled.succeed("backup", "verify", "b.tar")


def test_what_is_damaged_where_it_is_is_found(filled: Host) -> None:
    damage(store := filled.data / "teamvars.db")
    found = filled.run("backup", "verify", "--database", f"sqlite:///{store}")
    assert found.code == 3
    assert "problem  reading: " in found.out


def test_what_an_operator_has_accepted_is_passed_over(filled: Host) -> None:
    execute(filled, "UPDATE audit_entries SET subject_id = 'x' WHERE stream_id LIKE 'team-%'")
    found = filled.run("audit", "verify").out.splitlines()
    accepted = []
    for stream, digest in (line.split(" found: ") for line in found if " found: " in line):
        words = "audit", "accept", stream, "--found", digest, "--reason", "seen"
        accepted += ["--accepted", filled.succeed(*words).out.strip()]
    assert accepted
    filled.succeed("backup", "create", "b.tar")
    assert filled.run("backup", "verify", "b.tar").code == 3
    assert filled.run("backup", "verify", "b.tar", "--accepted", "nothing").code == 2
    filled.succeed("backup", "verify", "b.tar", *accepted)
    filled.succeed("backup", "drill", *accepted)
    lose_store(filled)
    assert filled.run("backup", "restore", "b.tar").code == 3
    filled.succeed("backup", "restore", "b.tar", *accepted)


def test_rows_that_refer_to_nothing_are_found(filled: Host) -> None:
    execute(filled, "DELETE FROM memberships")
    filled.succeed("backup", "create", "b.tar")
    found = filled.run("backup", "verify", "b.tar")
    assert found.code == 3
    assert "refers to a row of memberships that is gone" in found.out


def test_a_restore_goes_to_an_empty_place_alone_and_with_its_keyring(
    filled: Host, tmp_path: Path
) -> None:
    filled.succeed("backup", "create", "b.tar")
    before = filled.succeed("audit", "head").out
    taken = filled.run("backup", "restore", "b.tar")
    assert taken.code == 6
    assert "empty place" in taken.err
    assert filled.succeed("audit", "head").out == before
    lose_store(filled)
    for end in ("-wal", "-journal"):
        (filled.data / f"teamvars.db{end}").write_bytes(b"the last writes of another store")
        assert filled.run("backup", "restore", "b.tar").code == 6
        lose_store(filled)
    filled.data.chmod(0o777)
    exposed = filled.run("backup", "restore", "b.tar")
    filled.data.chmod(0o700)
    assert exposed.code == 1
    assert "has mode 0777" in exposed.err
    assert not list(filled.data.glob("*.db"))
    (other := Host(tmp_path / "other")).folder.mkdir()
    other.succeed("init")
    lose_store(other)
    foreign = other.run("backup", "restore", filled.folder / "b.tar")
    assert foreign.code == 1
    assert "keyring" in foreign.err
    assert not list(other.data.glob("*.db"))


def test_a_restore_needs_a_keyring_alone_on_a_new_host(filled: Host, tmp_path: Path) -> None:
    filled.succeed("backup", "create", "b.tar")
    (other := Host(tmp_path / "other")).folder.mkdir()
    backup = filled.folder / "b.tar"
    for words in (("verify", backup), ("restore", backup)):
        without = other.run("backup", *words)
        assert without.code == 1
        assert "There is no keyring at teamvars-data/keyring.json" in without.err
    assert not other.data.exists()
    fitting = other.having(keyring=filled.data / "keyring.json")
    fitting.succeed("backup", "restore", backup)
    assert other.data.stat().st_mode & 0o777 == 0o700
    assert fitting.succeed("audit", "head").out == filled.succeed("audit", "head").out


def test_a_backup_that_goes_back_says_which_entries_it_lacks(filled: Host) -> None:
    filled.succeed("backup", "create", "b.tar")
    filled.succeed("token", "create", "--user", "alice")
    filled.succeed("token", "create", "--user", "alice")
    (filled.folder / "heads").write_text(filled.succeed("audit", "head").out)
    system = next(
        head["sequence"]
        for head in map(json.loads, (filled.folder / "heads").read_text().splitlines())
        if head["stream"] == "system"
    )
    lacks = f"stream system lacks entries that were kept elsewhere: {system - 1} to {system}"
    found = filled.run("backup", "verify", "b.tar", "--heads", "heads")
    assert found.code == 3
    assert lacks in found.out
    drilled = filled.succeed("backup", "drill", "b.tar")
    assert lacks in drilled.out
    lose_store(filled)
    restored = filled.succeed("backup", "restore", "b.tar", "--heads", "heads")
    assert lacks in restored.out
    assert "a rollback" in filled.run("audit", "verify", "--heads", "heads").out


def test_an_encrypted_backup_opens_with_its_identity_alone(filled: Host) -> None:
    identity = pyrage.x25519.Identity.generate()
    (filled.folder / "identity").write_text(f"# made today\n{identity}\n")
    (filled.folder / "other").write_text(f"{pyrage.x25519.Identity.generate()}\n")
    filled.succeed("backup", "create", "b.age", "--recipient", identity.to_public())
    assert filled.run("backup", "verify", "b.age").code == 2
    assert filled.run("backup", "verify", "b.age", "--identity", "other").code == 2
    assert filled.run("backup", "verify", "b.age", "--identity", "identity").code == 0
    wrong = filled.run("backup", "create", "c.age", "--recipient", str(identity)[:-1])
    assert wrong.code == 2
    assert str(identity)[:20] not in wrong.err
    assert not (filled.folder / "c.age").exists()


def test_what_is_there_is_not_overwritten_and_what_fails_leaves_nothing(filled: Host) -> None:
    (filled.folder / "taken").write_text("mine")
    assert filled.run("backup", "create", "taken").code == 6
    assert (filled.folder / "taken").read_text() == "mine"
    (filled.folder / "link").symlink_to("nowhere")
    assert filled.run("backup", "create", "link").code == 6
    assert (filled.folder / "link").is_symlink()
    nowhere = filled.run("backup", "create", "no-such-folder/b.tar")
    assert (nowhere.code, nowhere.said) == (
        1,
        "teamvars: no-such-folder: No such file or directory.\n",
    )
    assert nowhere.err.startswith("Store: SQLite, /")
    filled.succeed("backup", "create", "whole.tar")
    size = (filled.folder / "whole.tar").stat().st_size // 1024
    before = sorted(filled.folder.iterdir())
    for blocks in (8, size - 1):  # in the copy, and in the archive
        limited = subprocess.run(
            ["/bin/bash", "-c", f'ulimit -f {blocks}; "{SCRIPT}" backup create full.tar'],
            cwd=filled.folder,
            env=filled.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert limited.returncode == 1, limited.stderr
        assert "\nteamvars: " in limited.stderr
        assert "not an error" not in limited.stderr
    assert sorted(filled.folder.iterdir()) == before
    lose_store(filled)
    nothing = filled.run("backup", "create", "b.tar")
    assert nothing.code == 5
    assert "nothing to back up" in nothing.err


def test_a_store_itself_is_verified_on_either_engine(served_host: ServedHost) -> None:
    host = served_host.host
    url = host.settings.get("DATABASE_URL") or f"sqlite:///{host.data / 'teamvars.db'}"
    with_url = Host(host.folder, {k: v for k, v in host.settings.items() if k != "DATABASE_URL"})
    done = with_url.succeed("backup", "verify", "--database", url)
    assert "can be read" in done.out
    assert "streams verify" in done.out
    assert with_url.run("backup", "verify").code == 2
    assert with_url.run("backup", "verify", "file", "--database", url).code == 2
    secret = with_url.run("backup", "verify", "--database", "postgresql://u:pa55@h/d")
    assert secret.code == 2
    assert "pa55" not in secret.err


@pytest.mark.parametrize("served_host", ["postgres"], indirect=True)
def test_on_postgresql_backups_are_its_own(served_host: ServedHost) -> None:
    for words in (("create", "b.tar"), ("restore", "b.tar"), ("drill",)):
        done = served_host.host.run("backup", *words)
        assert done.code == 1
        assert "backup verify --database" in done.err


def test_a_store_whose_last_writes_are_beside_it_is_not_put_in_place(tmp_path: Path) -> None:
    for name in ("store.db", "store.db-wal"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(Failure, match="one file"):
        backup._put(tmp_path / "store.db", tmp_path / "teamvars.db")
    assert not (tmp_path / "teamvars.db").exists()


def test_what_came_to_the_place_meanwhile_stays(tmp_path: Path) -> None:
    for name in ("store.db", "teamvars.db"):
        (tmp_path / name).write_text(name)
    with pytest.raises(Failure, match="empty place") as refused:
        backup._put(tmp_path / "store.db", tmp_path / "teamvars.db")
    assert refused.value.code == 6
    assert (tmp_path / "teamvars.db").read_text() == "teamvars.db"


def test_a_backup_that_came_to_the_place_meanwhile_stays(tmp_path: Path) -> None:
    for name in ("whole", "b.tar"):
        (tmp_path / name).write_text(name)
    with pytest.raises(Failure, match="stays as it is") as refused:
        backing_up._publish(tmp_path / "whole", tmp_path / "b.tar")
    assert refused.value.code == 6
    assert (tmp_path / "b.tar").read_text() == "b.tar"


def test_nothing_is_restored_to_where_a_link_leads_to_nothing(filled: Host) -> None:
    """As of a disk that is not mounted: below it is another."""
    filled.succeed("backup", "create", "b.tar")
    (link := filled.folder / "link").symlink_to(unmounted := filled.folder / "unmounted")
    there = filled.having(data_dir=link, keyring=filled.data / "keyring.json")
    done = there.run("backup", "restore", "b.tar")
    assert (done.code, f"{link} is a link, and there is no {unmounted}" in done.err) == (1, True)
    assert not unmounted.exists()


def test_a_file_system_without_links_takes_backups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError

    (tmp_path / "whole").write_text("whole")
    monkeypatch.setattr(Path, "hardlink_to", link)
    backing_up._publish(tmp_path / "whole", tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_text() == "whole"


HANGING = """
import sys, time
from teamvars import cli
from teamvars.services import backups
from teamvars.storage.engines import sqlite_files
places = {"write": backups, "count_rows": sqlite_files, "rows": sqlite_files.Snapshot}
place = places[name := sys.argv[1]]
whole = getattr(place, name)
def hanging(*given):
    whole(*given)
    print("there", flush=True)
    time.sleep(1000)
setattr(place, name, hanging)
sys.argv[:2] = ["teamvars"]
cli.main()
"""
"""A command that stands still where it has just done something: in a thread that nobody can end, or
in the main one.
"""


@pytest.mark.parametrize(
    ("after", "words", "number"),
    [
        ("rows", ("create", "c.tar"), signal.SIGTERM),
        ("rows", ("create", "c.tar"), signal.SIGHUP),
        ("write", ("create", "c.tar"), signal.SIGTERM),
        ("count_rows", ("verify", "b.tar"), signal.SIGTERM),
        ("count_rows", ("restore", "b.tar"), signal.SIGTERM),
        ("rows", ("drill",), signal.SIGHUP),
    ],
)
def test_what_is_told_to_end_leaves_no_copy(
    filled: Host, after: str, words: tuple[str, ...], number: signal.Signals
) -> None:
    filled.succeed("backup", "create", "b.tar")
    if "restore" in words:
        lose_store(filled)
    (temporary := filled.folder / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, after, "backup", *words],
        cwd=filled.folder,
        env={**filled.environment, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "there\n"
        assert hidden(filled)
        assert told_to_end(running, number) == -number
    assert not hidden(filled)
    assert not (filled.folder / "c.tar").exists()


TOLD_TO_END = """
import os, signal, sys

call, number = sys.argv.pop(1), int(sys.argv.pop(1))
real = getattr(os, call)

def told(path, *more, **options):
    if call == "mkdir":
        real(path, *more, **options)
    if ".teamvars-" in str(path):
        setattr(os, call, real)
        os.kill(os.getpid(), number)
    if call == "rmdir":
        real(path, *more, **options)

setattr(os, call, told)
from teamvars.__main__ import main
main()
"""
"""The command line, told to end as soon as it has made its folder, or while it removes that."""


@pytest.mark.parametrize(
    ("call", "number", "code"),
    [
        ("mkdir", signal.SIGTERM, -signal.SIGTERM),
        ("rmdir", signal.SIGTERM, -signal.SIGTERM),
        ("mkdir", signal.SIGINT, 130),
        ("rmdir", signal.SIGINT, 0),
    ],
)
def test_what_is_told_to_end_at_its_first_moment_or_its_last_leaves_no_copy(
    filled: Host, call: str, number: signal.Signals, code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOLD_TO_END, call, str(int(number)), "backup", "create", "c.tar"],
        cwd=filled.folder,
        env=filled.environment,
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == code
    assert not hidden(filled)
    assert (filled.folder / "c.tar").exists() == (call == "rmdir")


def test_a_signal_that_was_ignored_stays_so(filled: Host) -> None:
    """As under nohup: whoever hangs up ends nothing."""
    command = ["/usr/bin/nohup", sys.executable, "-c", HANGING, "rows", "backup", "create", "c"]
    with subprocess.Popen(
        command,
        cwd=filled.folder,
        env=filled.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "there\n"
        running.send_signal(signal.SIGHUP)
        assert told_to_end(running, signal.SIGTERM) == -signal.SIGTERM
    assert not hidden(filled)


ENDLESS = """
from teamvars import cli
from teamvars.storage.engines import sqlite_files

def endless(connection):
    print("there", flush=True)
    rows = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
    return connection.execute(rows).fetchall()

sqlite_files._tables = endless
cli.main()
"""
"""A command whose thread reads a store that has no end."""


@pytest.mark.parametrize(
    "words", [("doctor",), ("backup", "verify", "b.tar"), ("backup", "restore", "b.tar")]
)
def test_ctrl_c_ends_what_reads_a_whole_store(filled: Host, words: tuple[str, ...]) -> None:
    filled.succeed("backup", "create", "b.tar")
    if "restore" in words:
        lose_store(filled)
    with hanging(filled, ENDLESS, *words) as running:
        running.send_signal(signal.SIGINT)
        assert running.wait(HANGS) == 130
    assert not hidden(filled)


def told_to_end(running: subprocess.Popen[str], number: signal.Signals) -> int:
    """The code that it ends with. It is told again, since Python heeds a signal that comes just
    before a call of the system only after that call, which here takes minutes.
    """
    for _ in range(int(HANGS)):
        running.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return running.wait(1)
    raise AssertionError("It goes on.")


@contextlib.contextmanager
def hanging(host: Host, program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program of Python that has said that it waits for what never comes. Nothing of it stays,
    and it shows no trace of where it was.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=host.folder,
        env=host.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "there\n"
            yield running
        finally:
            running.kill()
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()


def hidden(host: Host) -> list[Path]:
    """What a backup makes on its way."""
    return list(host.folder.rglob(".teamvars-*"))
