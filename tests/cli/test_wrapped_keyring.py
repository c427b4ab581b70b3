"""A keyring that OpenBao or a command wraps: what happens when that is down, slow, lies, or is
somebody else's.
"""

import base64
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyrage
import pytest

from tests.cli.conftest import DIRECTORY
from tests.support import packages
from tests.support.commands import SCRIPT, Host
from tests.support.forked import Started
from tests.support.openbao import OpenBao
from tests.support.patience import HANGS, wait_until
from tests.support.processes import children, wait_until_gone
from tests.support.server import Server, end_group, free_port, is_ready
from tests.test_documents import ROOT
from tests.test_first_start import bash, blocks

KEY = "teamvars"
POLICY = 'path "transit/+/teamvars" { capabilities = ["update"] }'
WAITING = "waiting for what unwraps the keyring"
TURNED = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])"
"""Lines of Python: a command that wraps nothing, and says it backwards."""

HANGS_THERE = """
import os, time
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid.new", "pid")
time.sleep(1000)
"""
"""One that never says anything, and notes what it is."""


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenBao]:
    """A node with a transit engine, a key, and a policy for who wraps with it."""
    with OpenBao(tmp_path_factory.mktemp("openbao")) as node:
        node.client.post("/v1/sys/mounts/transit", json={"type": "transit"}).raise_for_status()
        node.send_until_taken("POST", f"/v1/transit/keys/{KEY}", {})
        node.client.put("/v1/sys/policies/acl/wrap", json={"policy": POLICY}).raise_for_status()
        yield node


@pytest.fixture
def wrapped(bao: OpenBao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """An initialised host, whose keyring a key of the node wraps."""
    for name in ("VAULT_TOKEN", "BAO_TOKEN", "BAO_CACERT", "VAULT_CACERT"):
        monkeypatch.delenv(name, raising=False)
    made = bao.client.post("/v1/auth/token/create", json={"policies": ["wrap"]})
    monkeypatch.setenv("BAO_TOKEN", made.raise_for_status().json()["auth"]["client_token"])
    host = Host(tmp_path).having(keyring_wrap=f"transit:{bao.url}/{KEY}", log_format="json")
    host.succeed("init")
    return host


def command(*words: object) -> str:
    """The setting for a command of Python."""
    return f"command:{sys.executable} -c '{TURNED}' {' '.join(map(str, words))}"


def file(host: Host) -> Path:
    return host.data / "keyring.json"


def start(host: Host) -> Started:
    """`serve`, of which nobody knows yet whether it will."""
    with (host.folder / "log").open("w") as log:
        return host.start("serve", "--port", host.settings["PORT"], out=log, err=log)


def said(host: Host) -> list[str]:
    """The events of its log."""
    whole = (host.folder / "log").read_text().rpartition("\n")[0]
    return [json.loads(line)["event"] for line in whole.splitlines() if line.startswith("{")]


def test_init_makes_a_wrapped_keyring_and_all_commands_use_it(wrapped: Host) -> None:
    document = json.loads(file(wrapped).read_text())
    assert (document["format"], document["by"]) == (2, "transit/teamvars")
    assert base64.b64decode(document["key"]).startswith(b"vault:v1:")
    assert file(wrapped).stat().st_mode & 0o777 == 0o600
    (wrapped.folder / "directory.yaml").write_text(DIRECTORY)
    wrapped.succeed("directory", "apply", "directory.yaml")
    for words in (
        *(("init",), ("audit", "verify"), ("keys", "status"), ("server-key", "show")),
        *(("server-key", "rotate"), ("backup", "create", "b.tar"), ("backup", "verify", "b.tar")),
        ("backup", "drill"),
    ):
        wrapped.succeed(*words)
    assert json.loads(file(wrapped).read_text())["by"] == "transit/teamvars"
    found = wrapped.succeed("doctor", "--json").json
    (told,) = (one["text"] for one in found if one["subject"] == "keyring")
    assert told == "teamvars-data/keyring.json is whole, and wrapped by transit/teamvars"


def test_an_outage_of_what_unwraps_stops_no_node_that_runs_nor_its_workers(
    wrapped: Host, bao: OpenBao
) -> None:
    with Server(wrapped, workers=2) as server:
        with bao.stopped():
            workers = children(server.pid, "")
            assert len(workers) == 2
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
                wait_until_gone(worker)
            wait_until(lambda: len(children(server.pid, "")) == 2)
            wait_until(lambda: is_ready(server.url), lambda: server.log)
        assert server.terminate() == 0
        assert WAITING not in server.log


def test_after_the_file_was_written_anew_a_node_stays_ready_and_a_new_worker_waits(
    wrapped: Host, bao: OpenBao
) -> None:
    """Of that file nobody has been told the key."""
    before, anew = file(wrapped).read_bytes(), wrapped.data / "anew"
    wrapped.succeed("keys", "wrap", "--from", wrapped.settings["KEYRING_WRAP"])
    file(wrapped).rename(anew)
    file(wrapped).touch(0o600)
    file(wrapped).write_bytes(before)
    with Server(wrapped) as server:
        bao.kill()
        anew.replace(file(wrapped))
        try:
            wait_until(lambda: "the keyring of the file waits" in server.log)
            assert is_ready(server.url)
            (worker,) = psutil.Process(server.pid).children()
            worker.kill()
            wait_until(lambda: "a worker waits for what unwraps the keyring" in server.log)
        finally:
            bao.start()
        wait_until(lambda: is_ready(server.url), lambda: server.log)
        assert server.terminate() == 0


def test_a_start_waits_for_what_unwraps_says_so_once_and_serves_when_it_is_there(
    wrapped: Host, bao: OpenBao
) -> None:
    with Server(wrapped) as server:
        port = server.port
    host = wrapped.having(port=port)
    bao.kill()
    try:
        doctor = host.run("doctor")
        assert doctor.code == 1
        assert f"{bao.url} cannot be asked: Connection refused" in doctor.out
        node = start(host)
        wait_until(lambda: WAITING in said(host))
        again = host.run("audit", "verify")  # of which none waits
        assert (again.code, "Connection refused" in again.err) == (1, True)
    finally:
        bao.start()
    wait_until(lambda: is_ready(f"http://127.0.0.1:{port}"))
    end_group(node)
    assert said(host).count(WAITING) == 1


def test_a_sealed_node_is_waited_for_and_a_refused_token_is_not(
    wrapped: Host, bao: OpenBao, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = wrapped.having(port=1)
    monkeypatch.setenv("BAO_TOKEN", "s.hunter2")
    refused = host.run("serve")
    assert refused.code == 1
    assert f"{bao.url} refuses the token" in refused.err
    assert "hunter2" not in refused.err
    monkeypatch.setenv("BAO_TOKEN", bao.token)
    bao.client.put("/v1/sys/seal").raise_for_status()
    try:
        node = start(host)
        wait_until(lambda: WAITING in said(host))
        assert node.poll() is None
        end_group(node)
    finally:
        bao.kill()
        bao.start()


def test_another_key_than_that_of_the_file_is_not_even_asked(wrapped: Host, bao: OpenBao) -> None:
    done = wrapped.having(keyring_wrap=f"transit:{bao.url}/theirs").run("keys", "status")
    assert done.code == 1
    assert "is wrapped by 'transit/teamvars'" in done.err


def test_somebody_elses_key_by_the_same_name_does_not_open_it(wrapped: Host, bao: OpenBao) -> None:
    """As of another installation's node, or of a key that was deleted and made again."""
    bao.client.post(f"/v1/transit/keys/{KEY}/config", json={"deletion_allowed": True})
    bao.client.delete(f"/v1/transit/keys/{KEY}").raise_for_status()
    bao.client.post(f"/v1/transit/keys/{KEY}", json={}).raise_for_status()
    for words in (("serve", "--port", 1), ("doctor",), ("init",)):
        done = wrapped.run(*words)
        assert done.code == 1
        assert f"{bao.url} refuses it: it was wrapped with another key" in done.out + done.err


def test_who_may_wrap_and_not_unwrap_makes_no_keyring(
    wrapped: Host, bao: OpenBao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {"policy": 'path "transit/encrypt/teamvars" { capabilities = ["update"] }'}
    bao.client.put("/v1/sys/policies/acl/half", json=policy).raise_for_status()
    made = bao.client.post("/v1/auth/token/create", json={"policies": ["half"]})
    monkeypatch.setenv("BAO_TOKEN", made.raise_for_status().json()["auth"]["client_token"])
    file(wrapped).unlink()
    shutil.rmtree(wrapped.data)
    done = wrapped.run("init")
    assert done.code == 1
    assert "refuses the token" in done.err
    assert not file(wrapped).exists()


def test_a_keyring_is_wrapped_in_place_otherwise_and_made_plain(host: Host, bao: OpenBao) -> None:
    host.succeed("init")
    before = file(host).read_text()
    turned = host.having(keyring_wrap=command())
    refused = turned.run("keys", "status")
    assert refused.code == 1
    assert "is not wrapped" in refused.err
    assert "Run: teamvars keys wrap" in refused.err
    assert "wrapped by command" in turned.succeed("keys", "wrap").err
    assert json.loads(file(host).read_text())["by"] == "command"
    turned.succeed("audit", "verify")
    plain = host.run("keys", "status")
    assert (plain.code, "TEAMVARS_KEYRING_WRAP has to say how" in plain.err) == (1, True)
    assert host.run("keys", "wrap").code == 2
    assert turned.run("keys", "wrap").code == 1  # of a plain one it would be
    assert turned.run("keys", "wrap", "--from", "magic:").code == 2
    assert turned.run("keys", "wrap", "--from", "command:none").code == 1
    turned.succeed("audit", "verify")
    host.succeed("keys", "wrap", "--from", turned.settings["KEYRING_WRAP"])
    assert file(host).read_text() == before


def test_a_command_that_was_said_as_an_option_serves_all_workers(host: Host) -> None:
    asked = host.folder / "asked"
    script = host.folder / "wrap.sh"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}\n[ "$2" = wrap ] && exec base64\nexec base64 -d\n'
    )
    script.chmod(0o700)
    option = "--keyring-wrap", f"command:{script} 'a b'"
    host.succeed(*option, "init")
    asked.unlink()
    with Server(host.having(keyring_wrap=option[1]), workers=2) as server:
        assert server.terminate() == 0
    assert asked.read_text() == "a b unwrap\n"


@pytest.mark.parametrize("text", ["magic", "command:", "transit:http://hunter2.example.com/key"])
def test_a_setting_that_names_nothing_is_refused_unquoted(host: Host, text: str) -> None:
    done = host.having(keyring_wrap=text).run("serve")
    assert done.code == 2
    assert "keyring_wrap: " in done.err
    assert "hunter2" not in done.err


# What docs/keys.md shows


def shown(host: Host, mark: str) -> str:
    """A block of the document, with this host's folder for those that an operator has."""
    (block,) = blocks(ROOT / "docs" / "keys.md", mark)
    for folder in ("/etc/teamvars/", "/run/keys/"):
        block = block.replace(folder, f"{host.folder}/")
    return block


def scripted(host: Host, mark: str) -> Host:
    """The host with a script of the document as what wraps its keyring."""
    script = host.folder / "wrap"
    script.write_text(shown(host, mark))
    script.chmod(0o700)
    return host.having(keyring_wrap=f"command:{script}")


def with_age(host: Host, _: pytest.MonkeyPatch) -> Host:
    """With a new identity."""
    identity = pyrage.x25519.Identity.generate()
    (host.folder / "age.identity").write_text(f"{identity}\n")
    (host.folder / "age.recipients").write_text(f"{identity.to_public()}\n")
    return scripted(host, "wrap: age")


def with_pkcs11(host: Host, environment: pytest.MonkeyPatch) -> Host:
    """With a token in software, and the pair of keys that the document makes."""
    (tokens := host.folder / "tokens").mkdir()
    (configuration := host.folder / "softhsm2.conf").write_text(f"directories.tokendir = {tokens}")
    module = next(iter(Path("/usr/lib").glob("**/libsofthsm2.so")))
    environment.setenv("SOFTHSM2_CONF", str(configuration))
    environment.setenv("PKCS11_MODULE", str(module))
    environment.setenv("PKCS11_PIN", "123456")
    token = "softhsm2-util --init-token --free --label teamvars --so-pin 123456 --pin 123456"
    bash(f"{token}\n{shown(host, 'wrap: pkcs11 pair')}", host.folder, dict(os.environ))
    return scripted(host, "wrap: pkcs11")


@pytest.mark.parametrize("by", [with_age, with_pkcs11])
def test_the_commands_of_the_document_wrap_a_keyring(
    host: Host, by: Callable[[Host, pytest.MonkeyPatch], Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = "age", "softhsm2-util", "pkcs11-tool"
    if not all(map(shutil.which, tools)):
        packages.install("age", "softhsm2", "opensc")
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"needs {' and '.join(missing)}")
    host.succeed("init")
    plain = file(host).read_text()
    there = by(host, monkeypatch)
    path = f"{Path(SCRIPT).parent}:{os.environ['PATH']}"
    bash(shown(host, "wrap"), host.folder, {**there.environment, "PATH": path})
    assert json.loads(file(host).read_text())["by"] == "command"
    there.succeed("audit", "verify")
    host.succeed("keys", "wrap", "--from", there.settings["KEYRING_WRAP"])
    assert file(host).read_text() == plain


def test_a_command_that_hangs_ends_with_a_server_that_is_told_to_end(tmp_path: Path) -> None:
    host = Host(tmp_path).having(keyring_wrap=command())
    host.succeed("init")
    hanging = f"command:{sys.executable} -c '{HANGS_THERE}'"
    process = start(host.having(keyring_wrap=hanging, port=free_port()))
    try:
        wait_until((pid := tmp_path / "pid").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANGS) == -signal.SIGTERM
        wait_until_gone(int(pid.read_text()))
    finally:
        end_group(process)
