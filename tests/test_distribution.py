"""What is handed out: the wheel, alone with what it is said to need, and the container's files."""

import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from contextlib import suppress
from email.parser import BytesParser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from teamvars import __version__
from tests.support.commands import Host
from tests.support.served_deployment import ServedDeployment
from tests.support.server import START_SECONDS, end_group, free_port, is_ready

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
SOURCES = ROOT / "src"
NAME = f"teamvars-{__version__}"


def run(*command: object, folder: Path) -> None:
    """A command that must end well; it finds no setting in its environment."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=Host(folder).environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    run(*build, ROOT, folder=ROOT)
    return folder


def test_the_wheel_has_every_file_of_the_package_and_the_license(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = BytesParser().parsebytes(wheel.read(f"{NAME}.dist-info/METADATA"))
        license_ = wheel.read(f"{NAME}.dist-info/licenses/LICENSE")
    ours = {path for path in SOURCES.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {str(path.relative_to(SOURCES)) for path in ours} <= names
    assert {name.partition("/")[0] for name in names} == {"teamvars", f"{NAME}.dist-info"}
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "The teamvars authors"
    assert license_ == (ROOT / "LICENSE").read_bytes()


def test_the_source_distribution_has_the_documents_and_no_test_and_no_store(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "docs/api.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("tests", "bench", ".venv"))]


def test_the_wheel_serves_with_nothing_beside_it_but_what_is_locked(
    built: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=tmp_path)
    python = environment / "bin" / "python"
    (packages,) = environment.glob("lib/python3*/site-packages")
    lend_locked(packages)
    wheel = built / f"{NAME}-py3-none-any.whl"
    install = (BIN / "uv", "pip", "install", "--offline", "--no-deps", "--python", python)
    run(*install, wheel, folder=tmp_path)

    teamvars = environment / "bin" / "teamvars"
    run(teamvars, "init", folder=tmp_path)
    url = f"http://127.0.0.1:{(port := free_port())}"
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [teamvars, "serve", "--port", str(port)],
            cwd=tmp_path,
            env=Host(tmp_path).environment,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(url, True):
            assert server.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert httpx.get(url).json()["version"] == __version__
        assert httpx.get(f"{url}/api/v2/workspaces/ws-1/vars").status_code == 401
    finally:
        end_group(server)


def lend_locked(packages: Path) -> None:
    """Links what requirements/runtime.txt names into an environment, and nothing else of ours."""
    text = (ROOT / "requirements" / "runtime.txt").read_text()
    for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE):
        with suppress(PackageNotFoundError):  # of another system
            lend(distribution(name), packages)


def lend(there: Distribution, packages: Path) -> None:
    """Links one package into an environment."""
    for top in {Path(str(file)).parts[0] for file in there.files or ()} - {".."}:
        if not (link := packages / top).exists():
            link.symlink_to(str(there.locate_file(top)))


# The container


@pytest.fixture(scope="module")
def compose() -> Any:
    """The compose file."""
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def containerfile() -> list[str]:
    """Its instructions, one a line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    return [line for line in text.replace("\\\n", " ").splitlines() if line]


def health_check() -> list[str]:
    """The command that an engine runs."""
    (line,) = (line for line in containerfile() if line.startswith("HEALTHCHECK"))
    command: list[str] = json.loads(line.partition(" CMD ")[2])
    return command


def test_the_image_runs_as_nobody_special_from_hashed_packages_alone() -> None:
    lines = containerfile()
    last = max(at for at, line in enumerate(lines) if line.startswith("FROM"))
    users = [line for line in lines[last:] if line.startswith("USER")]
    assert users == ["USER 10001:10001"]
    installs = [line for line in lines if "pip install" in line]
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert not [line for line in lines[last:] if "pip install" in line]


def test_everything_the_image_is_made_of_is_there_and_is_sent_to_the_engine() -> None:
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    for line in containerfile():
        if line.startswith("COPY") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source.partition('/')[0]}" in sent, source


def test_the_services_are_read_only_and_have_no_privileges(compose: Any) -> None:
    assert set(compose["services"]) == {"init", "serve"}
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["user"] == "10001:10001"
    assert compose["services"]["serve"]["ports"] == ["127.0.0.1:8080:8080"]
    assert compose["services"]["serve"]["healthcheck"]["test"] == ["CMD", *health_check()]


def test_the_health_check_tells_a_server_from_none(served: ServedDeployment) -> None:
    _, *words = health_check()
    for port, is_up in ((served.server.port, True), (free_port(), False)):
        environment = {**os.environ, "TEAMVARS_PORT": str(port)}
        done = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, check=False
        )
        assert (done.returncode == 0) is is_up
