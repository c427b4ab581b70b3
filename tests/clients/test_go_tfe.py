"""go-tfe's own integration tests, as Debian packages them, against a real server on both engines.

The packages are installed where that can be done (as root, with apt-get). Where it cannot,
TEAMVARS_TEST_GO_TFE=off leaves the test out.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import Hosted
from tests.support import packages

SETTING = "TEAMVARS_TEST_GO_TFE"
PACKAGES = ("golang-go", "golang-github-hashicorp-go-tfe-dev")
GOPATH = Path("/usr/share/gocode")
COMPILED = Path(__file__).parents[2] / ".cache" / "go"
LIBRARY = "github.com/hashicorp/go-tfe"
TESTS = (
    "^(TestVariables|TestTeamMembers|TestOrganizationMemberships|TestTeams(Create|Delete)"
    "|TestTeamTokens|TestOrganizationTokens|TestUsersReadCurrent)"
)
HOW_MANY = 26
MISSING = f"""\
go-tfe is not here and cannot be installed. On Debian: apt-get install {" ".join(PACKAGES)}
{SETTING}=off leaves this test out."""


@pytest.fixture(scope="module")
def go() -> str:
    """The Go tool, with go-tfe beside it."""
    if os.environ.get(SETTING) == "off":
        pytest.skip(f"{SETTING}=off")
    if not is_installed():
        packages.install(*PACKAGES)
    if not is_installed():
        pytest.fail(MISSING)
    return shutil.which("go") or ""


def is_installed() -> bool:
    return shutil.which("go") is not None and (GOPATH / "src" / LIBRARY).is_dir()


def test_go_tfe_passes_its_own_tests(go: str, hosted: Hosted, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GO111MODULE": "off",
        "GOPATH": str(GOPATH),
        "GOCACHE": str(COMPILED),
        "TFE_ADDRESS": hosted.url,
        "TFE_TOKEN": hosted.root,
    }
    done = subprocess.run(
        # What today's `go vet` thinks of the library is for its authors.
        [go, "test", "-vet=off", "-count=1", "-v", "-run", TESTS, LIBRARY],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.findall(r"^--- PASS: (\w+)", done.stdout, re.MULTILINE)
    assert len(passed) == HOW_MANY, done.stdout
    # Its authors skip two parts themselves; nothing else may be.
    skipped = re.findall(r"^ *--- SKIP: (\S+)", done.stdout, re.MULTILINE)
    assert all(name.startswith("TestVariablesList/with") for name in skipped)
    assert len(skipped) <= 2
