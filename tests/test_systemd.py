"""The systemd unit of docs/operating.md: it leaves the service little, and that is enough."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import DIRECTORY, ServedHost
from tests.storage.stores import fresh_postgres
from tests.support.confined import ConfinedHost, can_confine
from tests.support.server import Server

OPERATING = Path(__file__).parent.parent / "docs" / "operating.md"
MOST = 30
"""Tenths of what `systemd-analyze security` calls exposure."""
JSON_API = {"Content-Type": "application/vnd.api+json"}


def unit() -> str:
    """Its text."""
    text = OPERATING.read_text()
    found = re.search(r"```ini\n# /etc/systemd/system/teamvars.service\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_unit_leaves_the_service_little(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    (there := tmp_path / "teamvars.service").write_text(unit())
    options = ("--no-pager", "security", "--offline=true", f"--threshold={MOST}")
    done = subprocess.run([analyze, *options, there], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_service_runs_where_it_keeps_its_files() -> None:
    # There `teamvars.toml` is read.
    assert {"WorkingDirectory=/var/lib/teamvars", "StateDirectory=teamvars"} <= {*unit().split()}


def test_the_filter_that_is_tried_is_the_units() -> None:
    lines = unit().splitlines()
    asked = [line for line in lines if line.startswith("SystemCallFilter=")]
    assert asked == ["SystemCallFilter=@system-service", "SystemCallFilter=~@privileged"]
    assert {"MemoryDenyWriteExecute=true", "NoNewPrivileges=true"} <= set(lines)


@pytest.fixture(params=["sqlite", "postgres"])
def confined(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ConfinedHost]:
    """A host for each engine."""
    if shutil.which("systemd-analyze") is None or not can_confine():
        pytest.skip("systemd-analyze or libseccomp is not installed, or the kernel is old")
    if request.param == "sqlite":
        yield ConfinedHost(tmp_path)
        return
    with fresh_postgres(request.getfixturevalue("postgres")) as url:
        yield ConfinedHost(tmp_path).having(database_url=url)


def test_the_service_does_its_work_with_what_the_unit_leaves_it(confined: ConfinedHost) -> None:
    host = confined
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    with Server(host, workers=2) as server, server.client(token) as client:
        assert "Seccomp:\t2" in Path(f"/proc/{server.pid}/status").read_text()  # the control
        path = ServedHost(host, applied, server, token).vars_path
        file = {"format": "tfvars", "content": 'zones = ["a", "b"]\n'}
        document = {"data": {"type": "parsed-files", "attributes": file}}
        actions = path.removesuffix("/vars") + "/actions"
        # By a child, which limits itself.
        read = client.post(f"{actions}/parse", json=document, headers=JSON_API)
        assert (read.status_code, '"key":"zones"' in read.text) == (200, True)
        attributes = {"key": "k", "value": "v", "description": "", "category": "env"}
        variable = {"data": {"type": "vars", "attributes": attributes}}
        assert client.post(path, json=variable, headers=JSON_API).status_code == 201
        assert len(client.get(path).json()["data"]) == 1
        assert server.terminate() == 0
        assert "Traceback" not in server.log
