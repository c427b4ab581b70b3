"""The linters that the makers of other programs use find no fault in `/openapi.json`.

They run on node, which the service does not need: without it these tests are skipped. Their
versions are in tests/openapi/package-lock.json, and are installed once for each lock file.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teamvars.web.dialects import STANDARD, TERRAFORM
from tests.support import node_tools
from tests.web.test_openapi import document_in

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "tests" / "openapi"
COMMANDS = {
    "spectral": ["lint", "--fail-severity", "hint", "--ruleset", str(PROJECT / "spectral.yaml")],
    "redocly": ["lint", "--config", str(PROJECT / "redocly.yaml"), "--format", "summary"],
}
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}

Lint = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def linters() -> Path:
    """The folder of the linters' programs."""
    return node_tools.install(PROJECT, "The linters of the OpenAPI document") / ".bin"


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
