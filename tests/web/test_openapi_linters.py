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
    "redocly": ["lint", "--config", str(PROJECT / "redocly.yaml")],
}
FORMAT = ["--format", "json"]
"""Which says nothing of a document without a fault."""
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
            [linters / name, *COMMANDS[name], *FORMAT, *documents],
            capture_output=True,
            text=True,
            env={**os.environ, **QUIET},
        )

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_linter_warns_of_nothing_in_either_dialect_and_finds_an_error_that_is_there(
    name: str, lint: Lint, tmp_path: Path
) -> None:
    documents = {one.name: document_in(one) for one in (STANDARD, TERRAFORM)}
    documents["broken"] = with_one_name_twice(document_in(STANDARD))
    files = [written(document, tmp_path / f"{of}.json") for of, document in documents.items()]
    done = lint(name, *files)
    told = {file.stem for file in files if file.name in done.stdout}
    assert (done.returncode, told) == (1, {"broken"}), done.stdout + done.stderr
    assert "operation-operationId-unique" in done.stdout


def with_one_name_twice(document: Any) -> Any:
    """The same, but two operations of a path have one name; the other paths only take time."""
    template = "/api/v2/workspaces/{workspace_id}/vars"
    path = document["paths"][template]
    path["post"]["operationId"] = path["get"]["operationId"]
    return {**document, "paths": {template: path}}


def written(document: Any, path: Path) -> Path:
    """The file with the document."""
    path.write_text(json.dumps(document))
    return path
