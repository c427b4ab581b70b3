"""`init`, `migrate` and what `serve` asks for before it starts: contract §7."""

import os
import signal
import stat
import subprocess
import time
from pathlib import Path
from threading import Thread

import pytest

from teamvars import settings
from teamvars.cli.operator.context import store_of
from teamvars.cli.operator.installation import initialise
from teamvars.security import keyring
from teamvars.services.installation import Installation
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.cli.store import execute
from tests.support.commands import SCRIPT, Done, Host
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.server import Server, free_port, is_ready


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def serve(host: Host) -> Done:
    return host.run("serve", "--port", free_port())


def test_init_makes_a_place_that_only_its_owner_can_enter(host: Host) -> None:
    done = host.succeed("init")
    assert done.out == ""
    assert "Keep a copy of the keyring" in done.err
    assert mode(host.data) == 0o700
    assert mode(host.data / "keyring.json") == 0o600
    assert mode(host.data / "teamvars.db") == 0o600


def test_init_can_be_repeated(host: Host) -> None:
    host.succeed("init")
    before = content(host.data)
    host.succeed("init")
    assert content(host.data)["keyring.json"] == before["keyring.json"]
    assert host.succeed("audit", "verify").said.startswith("1 streams verify")


async def test_of_two_that_init_at_once_one_takes_the_keyring_of_the_other(
    empty_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Installation.is_initialised

    async def overtaken(installation: Installation) -> bool:
        is_initialised = await asked(installation)
        monkeypatch.setattr(Installation, "is_initialised", asked)
        empty_host.succeed("init")
        return is_initialised

    monkeypatch.setattr(Installation, "is_initialised", overtaken)
    url = empty_host.settings.get("DATABASE_URL")
    config = settings.load(data_dir=empty_host.data, database_url=url)
    assert await initialise(config, store_of(config, create=True)) is None
    assert empty_host.succeed("audit", "verify").said.startswith("1 streams verify")


def test_init_never_makes_a_second_keyring_for_a_store(served_host: ServedHost) -> None:
    missing = served_host.host.folder / "elsewhere.json"
    done = served_host.host.having(keyring=missing).run("init")
    assert done.code == 1
    assert str(missing) in done.err
    assert "no new one is made" in done.err
    assert not missing.exists()


def test_init_makes_no_keyring_for_a_store_it_cannot_reach(host: Host) -> None:
    done = host.having(database_url=f"postgresql://127.0.0.1:{free_port()}/x").run("init")
    assert done.code == 1
    assert "Storage is unavailable" in done.err
    assert not (host.data / "keyring.json").exists()


def test_init_says_when_it_cannot_make_the_keyring(host: Host) -> None:
    done = host.having(keyring=host.folder / "none" / "keyring.json").run("init")
    assert done.code == 1
    assert done.err.startswith("teamvars: The keyring ")
    assert "cannot be made: No such file or directory." in done.err


@pytest.mark.parametrize("words", [("serve",), ("migrate", "check"), ("audit", "list")])
def test_a_missing_file_is_no_store_but_a_hint_at_init(host: Host, words: tuple[str, ...]) -> None:
    host.data.mkdir()
    keyring.save_new(keyring.generate(), host.data / "keyring.json")
    done = host.run(*words)
    assert done.code == 1
    assert "There is no database at" in done.err
    assert "Run: teamvars init" in done.err
    assert not (host.data / "teamvars.db").exists()


def test_serve_asks_for_each_step_that_is_missing(empty_host: Host) -> None:
    empty_host.data.mkdir(mode=0o700)
    keyring.save_new(keyring.generate(), empty_host.data / "keyring.json")
    if "DATABASE_URL" not in empty_host.settings:
        (empty_host.data / "teamvars.db").touch(0o600)

    missing = empty_host.succeed("migrate", "status").out.splitlines()
    assert missing[0] == "missing 001 initial"
    assert empty_host.run("migrate", "check").code == 3
    refused = serve(empty_host)
    assert (refused.code, "teamvars migrate up" in refused.err) == (1, True)

    applied = empty_host.succeed("migrate", "up").out.splitlines()
    assert applied == [line.replace("missing", "applied") for line in missing]
    assert empty_host.succeed("migrate", "up").out == ""
    assert empty_host.succeed("migrate", "status").out == ""
    assert empty_host.succeed("migrate", "check").out == ""
    refused = serve(empty_host)
    assert (refused.code, "teamvars init" in refused.err) == (1, True)

    later = "INSERT INTO schema_migrations (number, name, checksum) VALUES (999, 'later', 'x')"
    execute(empty_host, later)
    assert empty_host.succeed("migrate", "up").out == ""
    assert empty_host.succeed("migrate", "check").out == ""
    execute(empty_host, "UPDATE schema_migrations SET admits = 999 WHERE number = 999")
    for words in (("serve",), ("init",), ("migrate", "up"), ("migrate", "check")):
        refused = empty_host.run(*words)
        assert refused.code == 1
        assert "admits no release that knows fewer than 999 migrations" in refused.err


def test_migrations_that_were_stopped_are_told_and_do_not_keep_a_node_from_serving(
    served_host: ServedHost,
) -> None:
    host = served_host.host
    stopped = "UPDATE schema_migrations SET remaining = 1, position = '[\"x\"]' WHERE number = 14"
    execute(host, stopped)
    try:
        assert host.succeed("migrate", "status").out == "unfinished 014 upgrades\n"
        (told,) = host.succeed("migrate", "status", "--json").json
        assert told == {"number": 14, "name": "upgrades", "state": "unfinished", "admits": 1}
        checked = host.run("migrate", "check")
        assert (checked.code, "not finished. Run: teamvars migrate up" in checked.err) == (3, True)
        assert "a migration is not finished" in host.run("doctor").out
        with served_host.server.client() as client:
            assert client.get("/readyz").status_code == 200
    finally:
        execute(host, "UPDATE schema_migrations SET remaining = 0, position = NULL")


def test_serve_refuses_a_keyring_that_is_not_the_stores(served_host: ServedHost) -> None:
    other = served_host.host.folder / "other.json"
    keyring.save_new(keyring.generate(), other)
    before = served_host.host.succeed("audit", "list").out
    for words in (("serve", "--port", free_port()), ("init",), ("token", "list")):
        done = served_host.host.having(keyring=other).run(*words)
        assert done.code == 1
        assert "TEAMVARS_KEYRING" in done.err
        assert done.out == ""
    other.unlink()
    assert served_host.host.succeed("audit", "list").out == before


def test_serve_refuses_a_missing_keyring(served_host: ServedHost) -> None:
    done = serve(served_host.host.having(keyring="gone.json"))
    assert done.code == 1
    assert "There is no keyring at gone.json" in done.err


@pytest.mark.parametrize("permission", [0o604, 0o660, 0o602])
def test_a_keyring_that_others_can_read_or_write_is_refused(host: Host, permission: int) -> None:
    host.succeed("init")
    path = host.data / "keyring.json"
    before = content(host.data)
    path.chmod(permission)
    for words in (("serve",), ("keys", "status"), ("init",)):
        done = host.run(*words)
        assert done.code == 1
        assert f"has mode {permission:04o}" in done.err
        assert "chmod 600" in done.err
    assert content(host.data) == before


@pytest.mark.parametrize("command", ["serve", "init"])
def test_files_that_others_can_write_are_refused_all_at_once(host: Host, command: str) -> None:
    host.succeed("init")
    commands = {"700": [host.data], "600": [host.data / "teamvars.db", host.data / "keyring.json"]}
    for end in ("-wal", "-shm"):  # as a crash leaves them
        left = host.data / f"teamvars.db{end}"
        left.touch(0o600)
        commands["600"].append(left)
    for paths in commands.values():
        for path in paths:
            path.chmod(path.stat().st_mode | 0o022)
    before = content(host.data)
    done = host.run(command)
    assert done.code == 1
    lines = done.err.splitlines()
    assert len(lines) == 5
    assert all("its group can write, others can write it." in line for line in lines)
    mends = {(line.split()[-2], (host.folder / line.split()[-1]).resolve()) for line in lines}
    assert mends == {(mode, path) for mode, paths in commands.items() for path in paths}
    assert content(host.data) == before


def test_a_data_directory_that_others_can_write_gets_nothing_from_init(host: Host) -> None:
    host.data.mkdir()
    host.data.chmod(0o777)
    done = host.run("init")
    assert done.code == 1
    assert "chmod 700 teamvars-data" in done.err
    assert list(host.data.iterdir()) == []


def test_a_keyring_mounted_as_a_secret_is_taken(host: Host) -> None:
    """Through links in a sticky directory that all can write, as orchestrators mount it."""
    host.succeed("init")
    mounted = host.folder / "secrets"
    (mounted / "..version").mkdir(parents=True)
    (host.data / "keyring.json").rename(mounted / "..version" / "keyring.json")
    (mounted / "..version" / "keyring.json").chmod(0o440)
    (mounted / "..data").symlink_to("..version")
    (mounted / "keyring.json").symlink_to("..data/keyring.json")
    mounted.chmod(0o1777)
    there = host.having(keyring=mounted / "keyring.json")
    there.succeed("init")
    with Server(there) as server:
        assert server.terminate() == 0
    (mounted / "..version" / "keyring.json").chmod(0o444)
    done = serve(there)
    assert done.code == 1
    assert "has mode 0444: others can read it." in done.err


def test_a_keyring_that_others_could_replace_is_refused(host: Host) -> None:
    host.succeed("init")
    shared = host.folder / "shared"
    shared.mkdir()
    (host.data / "keyring.json").rename(shared / "keyring.json")
    there = host.having(keyring=shared / "keyring.json")
    there.succeed("init")
    shared.chmod(0o777)
    done = serve(there)
    assert done.code == 1
    assert f"chmod go-w {shared}" in done.err


@pytest.mark.parametrize("command", ["init", "serve", "doctor"])
def test_a_path_whose_links_lead_in_a_circle_is_named(host: Host, command: str) -> None:
    circle = host.folder / "circle"
    circle.symlink_to(circle)
    for having in (
        {"keyring": circle},
        {"database_url": f"sqlite:///{circle}"},
        {"data_dir": circle},
    ):
        done = host.having(**having).run(command)
        assert (done.code, done.out) == (1, "")
        assert f"{circle}: Too many levels of symbolic links" in done.err


def test_a_link_to_what_is_not_there_is_named_and_nothing_is_made_for_it(host: Host) -> None:
    """As of a disk, or a secret, that is not mounted."""
    (link := host.folder / "link").symlink_to(host.folder / "unmounted")
    keyring = host.having(keyring=link).run("init")
    assert keyring.code == 1
    assert f"The keyring {link} is a link, and there is none at {link.readlink()}." in keyring.err
    for place in (link, link / "data"):
        data = host.having(data_dir=place).run("init")
        assert data.code == 1
        assert f"{link} is a link, and there is no {link.readlink()}." in data.err
    assert not (host.folder / "unmounted").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_keyring_of_another_account_is_refused(host: Host) -> None:
    host.succeed("init")
    os.chown(host.data / "keyring.json", 4242, -1)
    for command in ("serve", "init", "doctor"):
        done = host.run(command)
        assert done.code == 1
        assert "belongs to uid 4242, neither to this account nor root" in done.err + done.out


@pytest.mark.parametrize("umask", [0, 0o777])
def test_init_makes_the_same_modes_under_any_umask(host: Host, umask: int) -> None:
    before = os.umask(umask)
    try:
        subprocess.run([SCRIPT, "init"], cwd=host.folder, env=host.environment, check=True)
    finally:
        os.umask(before)
    assert mode(host.data) == 0o700
    assert {mode(file) for file in host.data.iterdir()} == {0o600}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', "\x00", '{"format": 2}'])
def test_a_damaged_keyring_is_refused(host: Host, text: str) -> None:
    host.succeed("init")
    path = host.data / "keyring.json"
    path.write_text(text)
    done = host.run("serve")
    assert done.code == 1
    assert str(Path("teamvars-data", "keyring.json")) in done.err
    assert "Traceback" not in done.err


def test_a_port_in_use_is_refused_before_anything_starts(served_host: ServedHost) -> None:
    done = served_host.host.run("serve", "--port", served_host.server.port)
    assert done.code == 1
    assert done.err == (
        f"teamvars: Cannot listen on 127.0.0.1 port {served_host.server.port}: "
        "Address already in use. Choose another with --port.\n"
    )


def test_keys_status_names_the_keys_and_what_they_wrap(migrated_host: Host) -> None:
    migrated_host.succeed("init")
    (migrated_host.folder / "directory.yaml").write_text(DIRECTORY)
    migrated_host.succeed("directory", "apply", "directory.yaml")
    lines = migrated_host.succeed("keys", "status").out.splitlines()
    assert [line.split()[0] for line in lines] == ["master", "audit", "server", "data"]
    assert lines[0].endswith("active  data keys: 1")
    held = (migrated_host.data / "keyring.json").read_text()
    assert all(line.split()[1] in held for line in lines[:-1])
    master, audit, server, data = migrated_host.succeed("keys", "status", "--json").json
    assert list(master) == ["purpose", "id", "active", "wraps", "needed", "lacking"]
    assert (master["wraps"], master["needed"]) == (1, 1)
    streams = len(migrated_host.succeed("audit", "head").out.splitlines())
    assert (audit["wraps"], audit["needed"]) == (0, streams)
    assert (server["active"], server["needed"]) == (True, 0)
    assert (data["id"], data["active"], data["needed"]) == ("data-1", True, 1)


def test_serve_waits_for_a_postgres_that_is_not_there_yet_and_says_so_once_through_a_hangup(
    tmp_path: Path,
) -> None:
    with LocalPostgres(durable=True) as late:
        wait_and_serve(tmp_path, late)


def wait_and_serve(tmp_path: Path, durable: LocalPostgres) -> None:
    """Starts the server while the database is away, and ends with it at work."""
    durable.create_database("late")
    host = Host(tmp_path, {"DATABASE_URL": durable.url("late")})
    host.succeed("init")
    durable.kill()
    server = Server(host, "--log-format", "json")
    waiter = Thread(target=server.start)
    waiter.start()
    log = tmp_path / f"serve-{server.port}.log"
    while not log.exists() or "waiting for PostgreSQL" not in log.read_text():
        time.sleep(0.05)
    server.signal(signal.SIGHUP)
    durable.start()
    waiter.join()
    try:
        assert is_ready(server.url)
        told = [line["event"] for line in server.log_lines()]
        assert told.count("waiting for PostgreSQL") == 1
        assert told.index("waiting for PostgreSQL") < told.index("serving")
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("query", "said"),
    [("", "InvalidCatalogNameError"), ("?sslmode=require", "rejected SSL upgrade")],
)
def test_serve_waits_for_nothing_that_no_wait_mends(
    host: Host, postgres: Postgres, query: str, said: str
) -> None:
    host.succeed("init")
    url = f"{postgres.url('nowhere').partition('?')[0]}{query}"
    done = serve(host.having(database_url=url))
    assert done.code == 1
    assert said in done.err
    assert "waiting" not in done.err
