"""The linters that the makers of other programs use find no fault in `/openapi.json`.

They run on node, which the service does not need: without it these tests are skipped. Their
versions are in tests/openapi/package-lock.json, and are installed once for each lock file.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teamvars.web.dialects import STANDARD, TERRAFORM
from tests.web.test_openapi import document_in

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "tests" / "openapi"
CACHE = ROOT / ".cache"
INSTALL_SECONDS = 300
NOT_INSTALLED = """\
The linters of the OpenAPI document cannot be installed. They come from npm's registry: connect this
machine, or take node out of the PATH to leave these tests out.
"""
COMMANDS = {
    "spectral": ["lint", "--fail-severity", "hint", "--ruleset", str(PROJECT / "spectral.yaml")],
    "redocly": ["lint", "--config", str(PROJECT / "redocly.yaml"), "--format", "summary"],
}
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}

Lint = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def linters() -> Path:
    """The folder of the linters' programs."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not here")
    lock = (PROJECT / "package-lock.json").read_bytes()
    folder = CACHE / f"openapi-{hashlib.sha256(lock).hexdigest()[:16]}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "openapi.lock").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)  # until closed: other workers of pytest wait
        if not folder.exists():
            install(npm, folder)
    return folder / "node_modules" / ".bin"


def install(npm: str, folder: Path) -> None:
    """Puts what the lock file says into a folder, which appears when it is complete."""
    unfinished = CACHE / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(PROJECT, unfinished)
    done = subprocess.run(
        [npm, "ci", "--prefer-offline", "--fetch-retries", "1"],
        cwd=unfinished,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    assert done.returncode == 0, NOT_INSTALLED + done.stderr
    unfinished.rename(folder)


@pytest.fixture(scope="session")
def lint(linters: Path) -> Lint:
    """Runs one of the linters."""

    def run(name: str, *documents: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [linters / name, *COMMANDS[name], *documents],
            capture_output=True,
            text=True,
            env={**os.environ, **QUIET},
        )

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_linter_warns_of_nothing_in_either_dialect(name: str, lint: Lint, tmp_path: Path) -> None:
    dialects = (STANDARD, TERRAFORM)
    documents = [written(document_in(one), tmp_path / f"{one.name}.json") for one in dialects]
    done = lint(name, *documents)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_linter_finds_an_error_that_is_there(name: str, lint: Lint, tmp_path: Path) -> None:
    """The control: two operations have one name."""
    document = document_in(STANDARD)
    name_of_path = "/api/v2/workspaces/{workspace_id}/vars"
    path = document["paths"][name_of_path]
    document["paths"] = {name_of_path: path}  # the others only take time
    path["post"]["operationId"] = path["get"]["operationId"]
    done = lint(name, written(document, tmp_path / "broken.json"))
    assert done.returncode == 1
    assert "operation-operationId-unique" in done.stdout + done.stderr


def written(document: Any, path: Path) -> Path:
    """The file with the document."""
    path.write_text(json.dumps(document))
    return path
