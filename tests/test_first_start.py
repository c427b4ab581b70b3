"""Shell in the documents is run as it stands, or says why it is not."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.test_dev import Dev, dev
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.postgres import Postgres
from tests.support.served_deployment import ServedDeployment
from tests.support.server import end_group, free_port, is_ready
from tests.test_documents import DOCUMENTS, ROOT

BLOCK = re.compile(r"^([^\n]*)\n```(?:sh|bash|shell|console)\n(.*?)```", re.MULTILINE | re.DOTALL)
MARK = re.compile(
    r"<!-- (tour|api|cli|curl|keys|pipeline|runbook|runners|sqlite|postgres|backup"
    r"|wrap(: [a-z0-9 ]+)?|not run: .+) -->"
)
SERVE = "teamvars serve\n"
OPERATING = ROOT / "docs" / "operating.md"

__all__ = ["dev"]


def blocks(document: Path, mark: str) -> list[str]:
    """The blocks of shell with that mark, in order."""
    found = BLOCK.findall(document.read_text())
    return [shell for line, shell in found if line == f"<!-- {mark} -->"]


def bash(script: str, folder: Path, environment: dict[str, str]) -> str:
    """What the lines print; each must succeed."""
    done = subprocess.run(
        ["/usr/bin/env", "bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_of_shell_is_run_or_says_why_not(document: Path) -> None:
    for line, shell in BLOCK.findall(document.read_text()):
        assert MARK.fullmatch(line), shell


class FirstStart:
    """A host with nothing but the program, and what the document has somebody type there."""

    def __init__(self, folder: Path, replaced: dict[str, str]) -> None:
        self._folder = folder
        self._port = free_port()
        self._replaced = {**replaced, "127.0.0.1:8080": f"127.0.0.1:{self._port}"}
        self._environment = {
            **Host(folder).environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TEAMVARS_PORT": str(self._port),
        }

    def type(self, *shell: str) -> str:
        """Runs the lines, in one shell, and returns what they print."""
        text = "".join(shell)
        for one, other in self._replaced.items():
            text = text.replace(one, other)
        return bash(text, self._folder, self._environment)

    def serve(self, *before: str) -> Iterator[None]:
        """Runs the lines, of which the last one serves, and returns while it does."""
        text = "".join(before)
        assert text.endswith(SERVE), "it ends with the server"
        for one, other in self._replaced.items():
            text = text.replace(one, other)
        script = f"set -euo pipefail\n{text.removesuffix(SERVE)}exec {SERVE}"
        out = self._folder / "printed"
        with out.open("w") as to_out:
            process = subprocess.Popen(
                ["/usr/bin/env", "bash", "-c", script],
                cwd=self._folder,
                env=self._environment,
                stdout=to_out,
                stderr=to_out,
                text=True,
                start_new_session=True,
            )
        try:
            deadline = time.monotonic() + HANGS
            while not is_ready(f"http://127.0.0.1:{self._port}"):
                assert process.poll() is None, out.read_text()
                assert time.monotonic() < deadline, out.read_text()
                time.sleep(0.05)
            yield
        finally:
            end_group(process)


def test_the_first_start_on_sqlite_goes_as_the_document_says(tmp_path: Path) -> None:
    start = FirstStart(tmp_path, {})
    first, second = blocks(OPERATING, "sqlite")
    for _ in start.serve(first):
        assert '"name":"network"' in start.type(second)
    assert (tmp_path / "alice.token").stat().st_mode & 0o077 == 0
    assert not re.search(r"^umask", first, re.MULTILINE), "the shell makes files as before"


def test_the_first_start_on_postgresql_goes_as_the_document_says(
    tmp_path: Path, postgres: Postgres
) -> None:
    postgres.create_database(name := f"first-{uuid4()}")
    for folder in ("etc", "lib"):
        (tmp_path / folder).mkdir(mode=0o700)
    text = OPERATING.read_text()
    settings = re.search(r"```ini\n# /etc/teamvars/environment.*?\n(.*?)```", text, re.DOTALL)
    assert settings is not None
    lines = re.sub(
        r"^TEAMVARS_DATABASE_URL=.*$",
        f"TEAMVARS_DATABASE_URL='{postgres.url(name)}'",
        settings[1].replace("/var/lib/teamvars", str(tmp_path / "lib")),
        flags=re.MULTILINE,
    )
    (tmp_path / "etc" / "environment").write_text(lines)
    directory = re.search(r"<<'END'\n(.*?)END\n", blocks(OPERATING, "sqlite")[0], re.DOTALL)
    assert directory is not None
    (tmp_path / "lib" / "directory.yaml").write_text(directory[1])
    replaced = {
        "/etc/teamvars": str(tmp_path / "etc"),
        "/var/lib/teamvars": str(tmp_path / "lib"),
        # Tests share a server that may lose data, which is a problem and no reason to stop here.
        "teamvars doctor": "{ teamvars doctor || test $? = 1; }",
    }
    start = FirstStart(tmp_path, replaced)
    for _ in start.serve(*blocks(OPERATING, "postgres")):
        printed = (tmp_path / "printed").read_text()
        assert re.search(r"^tvu_\w{49}$", printed, re.MULTILINE)
    postgres.drop_database(name)


def test_a_store_is_backed_up_and_restored_as_the_document_says(tmp_path: Path) -> None:
    (host := Host(tmp_path)).succeed("init")
    environment = {
        **host.environment,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    made, restored = blocks(OPERATING, "backup")
    assert "streams verify" in bash(made, tmp_path, environment)
    (host.data / "teamvars.db").unlink()
    bash(restored, tmp_path, environment)
    host.succeed("audit", "verify")


def test_the_examples_of_the_api_answer_as_the_document_says(dev: Dev, tmp_path: Path) -> None:
    setup = dev.shell_lines.partition('echo "==')[0]
    seen = bash(setup + "".join(blocks(ROOT / "docs/api.md", "api")), tmp_path, dict(os.environ))
    assert '"key":"region","value":"eu-central-1"' in seen
    assert '"type":"value-checks"' in seen
    assert '{"key":"ports","value":"[80, 443]","category":"tool","hcl":true}' in seen
    assert '"faults":[{"line":3,"column":10,' in seen
    assert '"workspace-name":"network"' in seen
    assert "HTTP/1.1 204 No Content" in seen
    assert '"errors":[{"id"' not in seen


async def test_the_lines_for_curl_do_what_the_clients_document_says(
    served: ServedDeployment, tmp_path: Path
) -> None:
    (tmp_path / "root.yaml").write_text(
        "users: [{username: root-of-curl, email: curl@example.com, site-admin: true}]\n"
    )
    served.host.succeed("directory", "apply", tmp_path / "root.yaml")
    token = served.host.succeed("token", "create", "--user", "root-of-curl").out.strip()
    environment = {**os.environ, "API": f"{served.server.url}/api/v2", "TOKEN": token}
    (shell,) = blocks(ROOT / "docs/clients.md", "curl")
    seen = bash(shell, tmp_path, environment)
    assert '"name":"widgets"' in seen
    assert seen.count('"name":"network"') == 2
    assert '"name":"net"' in seen
    assert '"errors"' not in seen
