"""go-tfe, HashiCorp's SDK for Go, unmodified, does its whole job against a real server.

What it does is in go_tfe/, a Go module of ours that requires a release of it. Where neither Go nor
modules can be had, TEAMVARS_TEST_GO_TFE=off leaves the test out.
"""

import fcntl
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients import newest_go
from tests.clients.conftest import Hosted
from tests.support.patience import HANGS

SETTING = "TEAMVARS_TEST_GO_TFE"
MODULE = Path(__file__).with_name("go_tfe")
# It runs once: making it fast, or fit for a debugger, takes longer than running it.
HASTILY = ("-gcflags=all=-N -l -dwarf=0", "-ldflags=-s -w")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the module's tests."""
    if os.environ.get(SETTING) == "off":
        pytest.skip(f"{SETTING}=off")
    try:
        go = newest_go.find()
    except newest_go.NoGoError as why:
        pytest.fail(f"{why}\n{SETTING}=off leaves this test out.")
    built = tmp_path_factory.mktemp("go") / "go_tfe.test"
    with (newest_go.CACHE / "lock").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)  # until closed: other workers of pytest wait
        done = newest_go.call(go, "test", "-c", *HASTILY, "-o", str(built), ".", folder=MODULE)
    assert done.returncode == 0, done.stderr
    return built


def test_go_tfe_does_its_whole_job(program: Path, hosted: Hosted) -> None:
    done = subprocess.run(
        [program, "-test.v"],
        cwd=MODULE,
        env={**os.environ, "TFE_ADDRESS": hosted.url, "TFE_TOKEN": hosted.root},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = "".join(path.read_text() for path in MODULE.glob("*_test.go"))
    there = re.findall(r"^func (Test\w+)", written, re.MULTILINE)
    passed = re.findall(r"^--- PASS: (\w+)", done.stdout, re.MULTILINE)
    assert sorted(passed) == sorted(there)
