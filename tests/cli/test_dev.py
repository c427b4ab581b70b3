"""`dev`: what it prints works when pasted, and nothing is left of it (contract §7)."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest

from teamvars.cli.operator.dev import _program
from teamvars.security.tokens import is_token
from tests.support import go_hcl
from tests.support.commands import Host
from tests.support.forked import Started
from tests.support.patience import HANGS
from tests.support.server import end_group, free_port


@dataclass(frozen=True)
class Dev:
    """A running `teamvars dev`."""

    process: Started
    out: Path
    err: Path
    url: str
    temporary: Path
    metrics: int

    @property
    def shell_lines(self) -> str:
        """The lines it prints to be pasted."""
        return self.out.read_text().partition("Paste these into another terminal:")[2]


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dev]:
    """`dev` in a place with a real store configured, which it must leave alone."""
    yield from started(tmp_path, monkeypatch)


@pytest.fixture
def dev_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dev]:
    """The same with `--tls`."""
    yield from started(tmp_path, monkeypatch, "--tls")


def started(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Iterator[Dev]:
    """`dev` with these options, once it has printed what it prints."""
    temporary = folder / "it's temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    real = 'data_dir = "real"\nkeyring_wrap = "command:/bin/false"\nworkers = 2\n'
    (folder / "teamvars.toml").write_text(real)
    host = Host(folder).having(
        database_url="postgresql://127.0.0.1:1/real",
        database_pooler="transaction",
        host="0.0.0.0",  # noqa: S104
        smtp_url="smtp://127.0.0.1:1",
        mail_from="real@example.com",
        public_url="https://real.example.com",
        metrics_listen=f"127.0.0.1:{(metrics := free_port())}",
    )
    port = free_port()
    out, err = folder / "out", folder / "err"
    with out.open("w") as to_out, err.open("w") as to_err:
        process = host.start("dev", "--port", port, *options, out=to_out, err=to_err)
    deadline = time.monotonic() + HANGS
    while not out.read_text().endswith(("'\n\n", "any 1\n\n")):
        assert process.poll() is None, err.read_text()
        assert time.monotonic() < deadline, err.read_text()
        time.sleep(0.02)
    yield Dev(process, out, err, f"http://127.0.0.1:{port}", temporary, metrics)
    end_group(process)


def test_the_printed_lines_work_and_ctrl_c_leaves_nothing(dev: Dev, tmp_path: Path) -> None:
    pasted = subprocess.run(
        ["/usr/bin/env", "bash", "-euo", "pipefail", "-c", dev.shell_lines],
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [line for line in pasted.stdout.splitlines() if line.startswith("{")]
    listed, created, refused = map(json.loads, answers)

    by_key = {one["attributes"]["key"]: one["attributes"] for one in listed["data"]}
    assert by_key["vpn_psk"]["sensitive"] is True
    assert by_key["vpn_psk"]["value"] is None
    assert by_key["region"]["value"] == "eu-central-1"
    assert created["data"]["attributes"]["key"] == "api_key"
    assert created["data"]["attributes"]["value"] is None
    assert "topsecret" not in pasted.stdout
    assert pasted.stdout.endswith("\nsk_test_another\n"), pasted.stderr  # handed to the job alone
    assert "HTTP/1.1 204 No Content" in pasted.stdout
    assert [error["code"] for error in refused["errors"]] == ["invitation_not_accepted"]
    assert re.fullmatch(r"The key of this machine: delivered [^\n]*\n", pasted.stderr)

    _two_users_were_added(dev)
    _tokens_differ_in_what_they_may(dev)

    assert len(list(dev.temporary.iterdir())) == 1
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(HANGS) == 0
    assert list(dev.temporary.iterdir()) == []
    assert not (tmp_path / "real").exists()
    assert "Traceback" not in dev.err.read_text()
    assert "topsecret" not in dev.err.read_text()


@pytest.mark.parametrize("mode", [0o755, 0o644], ids=["a script", "the module of python -m"])
def test_the_line_of_the_job_runs_however_dev_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    (file := tmp_path / "it's __main__.py").write_text(f"#!{sys.executable}\nprint('ran')\n")
    file.chmod(mode)
    monkeypatch.setattr(sys, "argv", [str(file), "dev"])
    assert subprocess.check_output(["/bin/sh", "-c", _program()], text=True) == "ran\n"


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    for port in (0, 65536):
        refused = Host(tmp_path).run("dev", "--port", port)
        assert (refused.code, "port: " in refused.err) == (2, True)


def test_the_first_line_leads_to_the_console(dev: Dev) -> None:
    first = dev.out.read_text().strip().partition("\n")[0]
    (address,) = re.findall(r"http\S+", first)
    assert httpx.get(address, timeout=HANGS).headers["Content-Type"].startswith("text/html")


def test_dev_sends_nobody_mail_and_has_no_metrics_beside_a_real_server(dev: Dev) -> None:
    (alice,) = re.findall(r" TOKEN=(\S+)", dev.out.read_text())
    with httpx.Client(headers={"Authorization": f"Bearer {alice}"}, timeout=HANGS) as client:
        path = f"{dev.url}/api/v2/organizations/acme/organization-memberships?q=ivan@example.com"
        (ivan,) = client.get(path).json()["data"]
    assert ivan["attributes"]["invitation"]["delivery"] == "none"
    socket.create_server(("127.0.0.1", dev.metrics)).close()


def test_alice_signs_in_without_a_password(dev: Dev) -> None:
    with httpx.Client(base_url=dev.url, timeout=HANGS) as browser:
        place = browser.get("/app/sign-in/sample").headers["location"]
        assert "Sign in as alice" in browser.get(place).text
        back = browser.post(place, data={"account": "alice"}).headers["location"]
        assert back.startswith(f"{dev.url}/app/sign-in/sample/callback?")
        assert browser.get(back).status_code == 303
        ours = {"Origin": dev.url, "Sec-Fetch-Site": "same-origin", "Teamvars-Session": ""}
        token = browser.post("/app/session", headers=ours).json()["token"]
        sent = {"Authorization": f"Bearer {token}"}
        account = browser.get("/api/v2/account/details", headers=sent).json()["data"]
        assert account["attributes"]["username"] == "alice"


@pytest.mark.parametrize(
    "change", [{"redirect_uri": "https://evil.test"}, {"client_id": "them"}, {"state": None}]
)
def test_the_sample_accounts_sign_people_in_to_nothing_else(
    dev: Dev, change: dict[str, str | None]
) -> None:
    place = httpx.get(f"{dev.url}/app/sign-in/sample", timeout=HANGS).headers["location"]
    asked = dict(parse_qsl(urlsplit(place).query))
    other = {name: one for name, one in (asked | change).items() if one is not None}
    where, chosen = place.partition("?")[0], {"account": "alice"}
    assert httpx.get(where, params=other, timeout=HANGS).status_code == 404
    assert httpx.post(where, params=other, data=chosen, timeout=HANGS).status_code == 400
    assert httpx.post(where, params=asked, data={"account": "root"}).status_code == 400
    answer = httpx.post(where, params=asked, data=chosen, timeout=HANGS)
    (code,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
    stolen = {"code": code, "code_verifier": "x"}
    token = where.removesuffix("/authorize") + "/token"
    assert httpx.post(token, data=stolen, timeout=HANGS).status_code == 400


def test_the_printed_terraform_lines_are_a_configuration_that_terraform_takes(
    dev_tls: Dev, tmp_path: Path
) -> None:
    """Where there is no terraform, another program of its name stands in; the text is the same."""
    (pasted := tmp_path / "pasted").mkdir()
    (programs := tmp_path / "programs").mkdir()
    terraform = shutil.which("terraform")
    if terraform is None:
        (stand_in := programs / "terraform").write_text("#!/bin/sh\n")
        stand_in.chmod(0o700)
    done = subprocess.run(
        ["/usr/bin/env", "bash", "-uo", "pipefail", "-c", dev_tls.shell_lines],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "TMPDIR": str(pasted),
            "CHECKPOINT_DISABLE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    (main,) = pasted.glob("*/main.tf")
    read = go_hcl.read(main.read_text())
    assert set(read["variable"]) == {
        *("region", "subnets", "vpn_psk", "availability_zones", "peer_count")
    }
    if terraform is not None:
        said = " ".join(done.stderr.split())
        assert "Terraform has been successfully initialized!" in done.stdout, done.stderr
        assert "region is eu-central-1." in said
        assert 'subnets is {"private":"10.0.2.0/24","public":"10.0.1.0/24"}.' in said
        assert "Value for var.vpn_psk unavailable" in done.stdout
        assert "correct-horse-battery" not in done.stdout + done.stderr
        _undeclared_variables_fail_and_the_console_knows_no_value(dev_tls, main.parent)


def _undeclared_variables_fail_and_the_console_knows_no_value(dev: Dev, folder: Path) -> None:
    (folder_of_authority,) = dev.temporary.iterdir()
    authority = str(folder_of_authority / "ca.pem")

    def terraform(*words: str, typed: str | None = None) -> str:
        done = subprocess.run(
            ["/usr/bin/env", "terraform", *words],
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "SSL_CERT_FILE": authority,
                "CHECKPOINT_DISABLE": "1",
            },
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    assert terraform("console", typed="var.region\n").strip() == "(known after apply)"
    main = folder / "main.tf"
    main.write_text(main.read_text().replace('variable "peer_count" {}', ""))
    said = " ".join(terraform("import", "-no-color", "terraform_data.any", "1").split())
    assert "Value for undeclared variable" in said
    assert 'A variable named "peer_count" was assigned a value' in said


def _two_users_were_added(dev: Dev) -> None:
    text = dev.out.read_text()
    ids = dict(re.findall(r"^ +(\w+) +((?:ws|team|user)-\w+)$", text, re.MULTILINE))
    path = f"{dev.url}/api/v2/teams/{ids['platform']}/relationships/users"
    token = re.findall(r"TOKEN=(\S+)", text)[0]
    members = httpx.get(path, headers={"Authorization": f"Bearer {token}"}).json()["data"]
    people = ("bob", "carol", "frank", "grace", "dave", "erin")
    assert {member["id"] for member in members} == {ids[one] for one in people}


def _tokens_differ_in_what_they_may(dev: Dev) -> None:
    text = dev.out.read_text()
    tokens = dict(re.findall(r"^ +(\w+), .*?(tvu_\w+)$", text, re.MULTILINE))
    assert list(tokens) == ["alice", "bob", "erin"]
    assert all(map(is_token, tokens.values()))
    workspace = re.findall(r"WORKSPACE=(\S+)", text)[0]
    for name, status in (("alice", 200), ("bob", 200), ("erin", 200)):
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        assert (
            httpx.get(f"{dev.url}/api/v2/workspaces/{workspace}/vars", headers=headers).status_code
            == status
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_dev_leaves_nothing_after_a_signal_with_a_connection_open(
    dev: Dev, number: signal.Signals
) -> None:
    with httpx.Client(base_url=dev.url, timeout=HANGS) as client:
        client.get("/healthz")
        dev.process.send_signal(number)
        assert dev.process.wait(HANGS) == 0
    assert list(dev.temporary.iterdir()) == []


def test_dev_says_at_once_that_its_port_is_in_use(dev: Dev, tmp_path: Path) -> None:
    done = Host(tmp_path).run("dev", "--port", dev.url.rpartition(":")[2])
    assert done.code == 1
    assert "Address already in use" in done.err
    assert len(list(dev.temporary.iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_dev_is_still_starting_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        process = Host(tmp_path).start("dev", "--port", free_port(), out=out, err=err)
    while not list(temporary.glob("*/teamvars.db")):
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(number)
    assert process.wait(HANGS) in (0, 1, 128 + number)
    assert list(temporary.iterdir()) == []
    assert "Traceback" not in (tmp_path / "err").read_text()
    end_group(process)


def test_no_color_is_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = Host(tmp_path).run("--help")
    assert done.code == 0
    assert "\x1b[3" not in done.out
