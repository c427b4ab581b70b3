"""`keys` as an operator types it, beside a server with two workers."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import DIRECTORY
from tests.support.commands import Host
from tests.support.patience import wait_until
from tests.support.server import Server, is_ready
from tests.test_documents import ROOT
from tests.test_first_start import bash, blocks

PURPOSES = ("master", "audit", "server")


def active(host: Host) -> dict[str, str]:
    """The ids of the keys in use."""
    listed = host.succeed("keys", "status", "--json").json
    return {one["purpose"]: one["id"] for one in listed if one["active"]}


def activate(host: Host, key_id: str) -> None:
    """Has it in use, once the workers have looked at the file, however slow the host is."""
    wait_until(lambda: host.run("keys", "activate", key_id).code == 0)


@pytest.fixture
def made(migrated_host: Host) -> Host:
    host = migrated_host.having(log_format="json")
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    return host


@pytest.fixture
def served(made: Host) -> Iterator[Server]:
    with Server(made, workers=2) as server:
        yield server


def test_a_key_is_added_activated_and_retired_and_a_refusal_changes_nothing(made: Host) -> None:
    path = made.data / "keyring.json"
    for purpose in PURPOSES:
        former = active(made)[purpose]
        key_id = made.succeed("keys", "add", purpose).out.strip()
        assert active(made)[purpose] == former
        made.succeed("keys", "activate", key_id)
        assert active(made)[purpose] == key_id
        before = path.read_bytes(), made.succeed("audit", "head").out
        for refused in (key_id, *(() if purpose == "server" else (former,))):
            done = made.run("keys", "retire", refused)
            assert (done.code, done.out) == (1, "")
            assert refused in done.err
        assert (path.read_bytes(), made.succeed("audit", "head").out) == before
        made.succeed("audit", "verify")
    assert path.stat().st_mode & 0o777 == 0o600
    document = json.loads(path.read_text())
    secrets = [key for purpose in PURPOSES for key in document[purpose]["keys"].values()]
    trail = made.succeed("audit", "list").out
    assert not any(secret in trail for secret in secrets)
    assert made.run("keys", "add", "nothing").code == 2
    for verb in ("activate", "retire"):
        none = made.run("keys", verb, "mk-none")
        assert (none.code, none.said) == (
            5,
            "teamvars: There is no key mk-none in the keyring.\n",
        )


def test_a_key_that_never_came_into_the_keyring_is_listed_and_can_be_retired(made: Host) -> None:
    path = made.data / "keyring.json"
    former = path.read_bytes()
    key_id = made.succeed("keys", "add", "audit").out.strip()
    path.write_bytes(former)
    assert f"{key_id}  not in this keyring" in made.succeed("keys", "status").out
    listed = made.succeed("keys", "status", "--json").json
    assert [one["id"] for one in listed if one["lacking"]] == [key_id]
    made.succeed("keys", "retire", key_id)
    assert key_id not in made.succeed("keys", "status").out
    assert path.read_bytes() == former


def test_nodes_that_serve_take_another_key_without_a_restart(made: Host, served: Server) -> None:
    processes = set(Path(f"/proc/{served.pid}/task/{served.pid}/children").read_text().split())
    for purpose in PURPOSES:
        activate(made, made.succeed("keys", "add", purpose).out.strip())
    taken = active(made)
    wait_until(
        lambda: (
            [
                one["needed"]
                for one in made.succeed("keys", "status", "--json").json
                if one["purpose"] == "server"
            ]
            == [0, 2]
        ),
        lambda: made.succeed("keys", "status").out,
    )
    assert active(made) == taken
    assert is_ready(served.url)
    after = set(Path(f"/proc/{served.pid}/task/{served.pid}/children").read_text().split())
    assert after == processes
    made.succeed("audit", "verify")


def test_a_hangup_has_the_keyring_read_and_one_that_lacks_a_key_is_refused(
    made: Host, served: Server
) -> None:
    path = made.data / "keyring.json"
    old = path.read_bytes()
    activate(made, made.succeed("keys", "add", "audit").out.strip())
    good, seen = path.read_bytes(), path.stat()

    def swap(content: bytes) -> None:
        """Puts it there so that nobody sees it who does not read it."""
        path.write_bytes(content.ljust(len(good)))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        served.signal(signal.SIGHUP)

    swap(old)
    wait_until(lambda: served.log.count("the keyring of the file is refused") == 2)
    wait_until(lambda: not is_ready(served.url))
    with served.client() as client:
        assert client.get("/healthz").status_code == 200
    swap(good)
    wait_until(lambda: is_ready(served.url))
    assert served.terminate() == 0


def test_a_server_key_waits_until_clients_know_it_where_nodes_serve(
    made: Host, served: Server
) -> None:
    former = made.succeed("server-key", "show").out.strip()
    rotated = made.succeed("server-key", "rotate")
    added = rotated.out.strip().partition(",")[0]
    assert rotated.out == f"{added},{former}\n"
    assert made.succeed("server-key", "show").out.strip() == former
    told = rotated.err.partition("teamvars keys activate ")[2].split()[0]
    activate(made, told)
    assert made.succeed("server-key", "show").out.strip() == added
    served.terminate()
    assert made.succeed("keys", "status", "--json").json[-2]["needed"] == 0


def test_the_change_that_is_documented_runs_and_the_former_key_can_then_be_retired(
    made: Host,
) -> None:
    former = active(made)["audit"]
    (shell,) = blocks(ROOT / "docs" / "keys.md", "keys")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    told = bash(shell, made.folder, {**made.environment, "PATH": path})
    assert active(made)["audit"] in told
    made.succeed("keys", "retire", former)
    assert f"{former}  closed" in made.succeed("keys", "status").out
    made.succeed("audit", "verify")
