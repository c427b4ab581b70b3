"""What is handed out: the wheel, alone with what it is said to need, and the container's files."""

import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from teamvars import __version__
from teamvars.cli.commands import CLIENT
from tests.support.commands import Host
from tests.support.environments import environment_with, locked_environment
from tests.support.patience import HANGS
from tests.support.served_deployment import ServedDeployment
from tests.support.server import end_group, free_port, is_ready
from tools.release import DISTRIBUTIONS

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
SOURCES = ROOT / "src"
NAMES = ("teamvars_hcl", "teamvars_cli", "teamvars")
"""Of the distributions; each needs those before it."""
NAME = f"teamvars-{__version__}"


def run(*command: object, folder: Path) -> str:
    """What a command says that must end well; it finds no setting in its environment."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=Host(folder).environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distributions, and the wheels that were built from them."""
    folder = tmp_path_factory.mktemp("built")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    for project in DISTRIBUTIONS:
        run(*build, ROOT / project, folder=ROOT)
    return folder


def wheel(built: Path, name: str = "teamvars") -> Path:
    """The wheel of a distribution."""
    return built / f"{name}-{__version__}-py3-none-any.whl"


def install(python: Path, *wheels: Path) -> None:
    """Installs wheels, and nothing that they ask for."""
    uv = (BIN / "uv", "pip", "install", "--offline", "--no-deps", "--python", python)
    run(*uv, *wheels, folder=python.parent)


def test_the_wheels_share_no_file_and_together_have_every_one(built: Path) -> None:
    contents = []
    for name in NAMES:
        with zipfile.ZipFile(wheel(built, name)) as opened:
            names = set(opened.namelist())
            info = f"{name}-{__version__}.dist-info"
            metadata = BytesParser().parsebytes(opened.read(f"{info}/METADATA"))
            license_ = opened.read(f"{info}/licenses/LICENSE")
        assert {one.partition("/")[0] for one in names} == {"teamvars", info}
        assert metadata["Version"] == __version__
        assert metadata["License-Expression"] == "Apache-2.0"
        assert metadata["Author"] == "The teamvars authors"
        assert license_ == (ROOT / "LICENSE").read_bytes()
        contents.append({one for one in names if one.startswith("teamvars/")})
    ours = {path for path in SOURCES.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    together = set().union(*contents)
    assert sum(map(len, contents)) == len(together)
    assert {str(path.relative_to(SOURCES)) for path in ours} <= together


def required(built: Path, name: str) -> list[str]:
    """What a wheel is said to need."""
    with zipfile.ZipFile(wheel(built, name)) as opened:
        info = f"{name}-{__version__}.dist-info"
        metadata = BytesParser().parsebytes(opened.read(f"{info}/METADATA"))
    return metadata.get_all("Requires-Dist", [])


def test_each_asks_for_those_below_it_in_its_own_version(built: Path) -> None:
    for number, name in enumerate(NAMES):
        ours = {one for one in required(built, name) if one.startswith("teamvars")}
        assert ours == {f"{one.replace('_', '-')}=={__version__}" for one in NAMES[:number]}


def test_the_language_alone_does_what_its_readme_shows(built: Path, tmp_path: Path) -> None:
    needed = [re.split(r"[^\w-]", one)[0] for one in required(built, "teamvars_hcl")]
    assert set(needed) == {"msgspec", "pyyaml"}
    python = environment_with(tmp_path, needed)
    install(python, wheel(built, "teamvars_hcl"))
    readme = ROOT / "packages" / "teamvars-hcl" / "README.md"
    run(python, "-m", "doctest", readme, folder=tmp_path)
    (package,) = python.parent.parent.glob("lib/python3*/site-packages/teamvars")
    modules = {f"teamvars.{file.parent.name}.{file.stem}" for file in package.glob("*/[a-z]*.py")}
    assert {module.split(".")[1] for module in modules} == {"hcl", "kernel", "variable_files"}
    run(python, "-c", f"import {', '.join(modules)}", folder=tmp_path)


def test_the_source_distribution_has_the_documents_and_no_test_and_no_store(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "docs/api.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("tests", "bench", ".venv"))]


def test_the_client_alone_needs_nothing_of_the_server(
    built: Path, tmp_path: Path, served: ServedDeployment
) -> None:
    python = locked_environment(tmp_path, "client")
    install(python, wheel(built, "teamvars_hcl"), wheel(built, "teamvars_cli"))
    packages = {path.name for path in python.parent.parent.glob("lib/python3*/site-packages/*")}
    assert packages.isdisjoint({"granian", "asyncpg", "apsw", "uvloop"})

    def teamvars(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python.with_name("teamvars"), *words],
            cwd=tmp_path,
            env=Host(tmp_path).environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert teamvars("--version").stdout == f"teamvars {__version__}\n"
    asked = teamvars("version", "--address", served.server.url)
    assert asked.returncode == 0, asked.stderr
    assert "serve" not in teamvars("--help").stdout
    for absent in (("serve", "--port", "1"), ("migrate", "up"), ("token", "--help")):
        refused = teamvars(*absent)
        assert refused.returncode == 1
        assert "install teamvars there" in refused.stderr
    for words, *_ in CLIENT[::6]:
        assert teamvars(*words.split(), "--help").returncode == 0, words


def test_the_wheel_serves_with_nothing_beside_it_but_what_is_locked(
    built: Path, tmp_path: Path
) -> None:
    python = locked_environment(tmp_path)
    install(python, *(wheel(built, name) for name in NAMES))

    teamvars = python.with_name("teamvars")
    assert run(teamvars, "--version", folder=tmp_path) == f"teamvars {__version__}\n"
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
        deadline = time.monotonic() + HANGS
        while not is_ready(url):
            assert server.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert httpx.get(url, timeout=HANGS).json()["version"] == __version__
        assert httpx.get(f"{url}/api/v2/workspaces/ws-1/vars", timeout=HANGS).status_code == 401
    finally:
        end_group(server)


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


def test_both_stages_begin_with_the_same_bytes() -> None:
    lines = containerfile()
    (base,) = (line for line in lines if line.startswith("ARG PYTHON="))
    assert re.fullmatch(r"ARG PYTHON=docker\.io/library/python:[\w.-]+@sha256:[0-9a-f]{64}", base)
    stages = [line for line in lines if line.startswith("FROM")]
    assert stages == ["FROM ${PYTHON} AS build", "FROM ${PYTHON}"]


def test_what_runs_has_neither_pip_nor_a_compiler(tmp_path: Path) -> None:
    lines = containerfile()
    last = max(at for at, line in enumerate(lines) if line.startswith("FROM"))
    (made,) = (line for line in lines[:last] if " -m venv " in line)
    assert "--without-pip" in made
    assert not re.search(r"\bapt(-get)?\b|\bgcc\b", "".join(lines))
    # As Python's images have it.
    library, programs = tmp_path / "usr/local/lib/python3.11", tmp_path / "usr/local/bin"
    packages = library / "site-packages"
    for folder in (library / "ensurepip", library / "json", packages / "pip", programs):
        folder.mkdir(parents=True)
    for program in ("pip", "pip3", "pip3.11", "wheel", "python3"):
        (programs / program).touch()
    (removing,) = (line for line in lines[last:] if line.startswith("RUN rm "))
    run(
        "/bin/sh",
        "-c",
        removing[4:].replace("/usr/local", f"{tmp_path}/usr/local"),
        folder=tmp_path,
    )
    left = {path.name for path in (*library.iterdir(), *packages.iterdir(), *programs.iterdir())}
    assert left == {"json", "site-packages", "python3"}


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
