"""The terraform command line, as HashiCorp built it, against a real server over TLS.

Runs where `terraform` is found. TEAMVARS_TEST_TERRAFORM=required makes its absence a failure.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from teamvars.security.certificates import throw_away
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.postgres import Postgres
from tests.support.server import Server
from tests.support.tenant import JSON_API

REQUIRED = "TEAMVARS_TEST_TERRAFORM"


DIRECTORY = """\
users:
  - {username: alice, email: alice@example.com}
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams:
      - {name: owners, members: [alice]}
"""

# Each validation refuses whatever value terraform knows, and so shows it. An unknown value is
# never refused: nobody can say yet whether it is wrong.
CONFIGURATION = """\
terraform {
  BACKEND {
    hostname     = "HOST"
    organization = "acme"
    token        = "TOKEN"
    workspaces { name = "network" }
  }
}
variable "region" {
  validation {
    condition     = var.region == ""
    error_message = "region is ${var.region}."
  }
}
variable "subnets" {
  type = map(object({ cidr = string, hosts = number }))
  validation {
    condition     = length(var.subnets) == 0
    error_message = "subnets is ${jsonencode(var.subnets)}."
  }
}
variable "password" {
  validation {
    condition     = var.password == ""
    error_message = "password is ${var.password}."
  }
}
resource "terraform_data" "any" {}
"""

VARIABLES: tuple[dict[str, Any], ...] = (
    {"key": "region", "value": "eu-central-1", "category": "terraform"},
    {
        "key": "subnets",
        "value": '{ "public" = { cidr = "10.0.1.0/24", hosts = 2 * 127 } }',
        "category": "terraform",
        "hcl": True,
    },
    {"key": "password", "value": "hunter2", "category": "terraform", "sensitive": True},
    {"key": "UNUSED", "value": "x", "category": "env"},
)


@pytest.fixture(scope="module")
def terraform() -> str:
    """The program."""
    found = shutil.which("terraform")
    if found is None:
        said = "terraform is not installed, so nothing was tried with it."
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(said)
        pytest.skip(said)
    return found


@dataclass(frozen=True)
class SecureServer:
    """A server that speaks TLS and the `terraform` dialect, with variables in `acme/network`."""

    server: Server
    authority: Path
    token: str
    workspace: str

    def set_mode(self, mode: str) -> None:
        """Sets the execution mode of the workspace."""
        said = {"data": {"type": "workspaces", "attributes": {"execution-mode": mode}}}
        headers = {"Content-Type": JSON_API}
        with self.server.client(self.token) as client:
            path = f"/api/v2/workspaces/{self.workspace}"
            assert client.patch(path, json=said, headers=headers).status_code == 200

    def act(self, action: str) -> int:
        """Does something else to the workspace; the status."""
        with self.server.client(self.token) as client:
            path = f"/api/v2/workspaces/{self.workspace}/actions/{action}"
            return client.post(path).status_code

    def requests(self) -> list[tuple[str, str | None, int]]:
        """Method, route and status of every request a client has made."""
        mark = uuid4().hex
        with self.server.client() as client:
            client.get("/healthz", headers={"X-Request-Id": mark})
        deadline = time.monotonic() + HANGS
        while mark not in self.server.log:  # lines are written after the answers are sent
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return [
            (line["method"], line["route"], line["status"])
            for line in self.server.log_lines()
            if line["event"] == "request" and line["route"] not in ("/readyz", "/healthz")
        ]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def secure(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecureServer]:
    """The same on each engine."""
    folder = tmp_path_factory.mktemp("secure")
    made = throw_away()
    contents = {"ca.pem": made.authority, "cert.pem": made.certificate, "key.pem": made.key}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    host = Host(folder).having(
        log_format="json",
        dialect="terraform",
        tls_cert=folder / "cert.pem",
        tls_key=folder / "key.pem",
    )
    if request.param == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        database = f"terraform-{uuid4()}"
        postgres.create_database(database)
        host = host.having(database_url=postgres.url(database))
    host.succeed("init")
    (folder / "directory.yaml").write_text(DIRECTORY)
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    workspace = applied["organizations"]["acme"]["workspaces"]["network"]
    with Server(host, authority=folder / "ca.pem") as server:
        with server.client(token) as client:
            for attributes in VARIABLES:
                answer = client.post(
                    f"/api/v2/workspaces/{workspace}/vars",
                    json={"data": {"type": "vars", "attributes": attributes}},
                    headers={"Content-Type": JSON_API},
                )
                assert answer.status_code == 201, answer.text
        yield SecureServer(server, folder / "ca.pem", token, workspace)


@dataclass(frozen=True)
class Project:
    """A folder with a configuration in which terraform is run."""

    folder: Path
    program: str
    authority: Path

    def run(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """A command of terraform; nobody is asked anything, unless something is typed."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SSL_CERT_FILE": str(self.authority),
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            **({} if typed else {"TF_INPUT": "0"}),
        }
        return subprocess.run(
            [self.program, *words, "-no-color"],
            cwd=self.folder,
            env=environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )


@pytest.fixture(params=["cloud", "backend remote"])
def project(
    request: pytest.FixtureRequest, terraform: str, secure: SecureServer, tmp_path: Path
) -> Iterator[Project]:
    """A configuration that keeps its variables at the server, in both ways of saying so."""
    block = {"cloud": "cloud", "backend remote": 'backend "remote"'}[request.param]
    host = secure.server.url.removeprefix("https://")
    text = CONFIGURATION.replace("BACKEND", block).replace("HOST", host)
    (tmp_path / "main.tf").write_text(text.replace("TOKEN", secure.token))
    yield Project(tmp_path, terraform, secure.authority)
    secure.set_mode("remote")
    secure.act("force-unlock")  # terraform leaves a lock behind where it could not save


def test_terraform_evaluates_strings_and_code_and_leaves_sensitive_values_unknown(
    project: Project, secure: SecureServer
) -> None:
    before = len(secure.requests())
    init = project.run("init")
    assert init.returncode == 0, init.stderr
    imported = project.run("import", "terraform_data.any", "1")

    said = " ".join(imported.stderr.split())
    assert "region is eu-central-1." in said
    assert 'subnets is {"public":{"cidr":"10.0.1.0/24","hosts":254}}.' in said
    assert imported.stderr.count("Error: ") == 2, "only the values it knows are refused"
    assert "Value for var.password unavailable" in imported.stdout
    assert "hunter2" not in imported.stdout + imported.stderr

    made = secure.requests()[before:]
    assert ("POST", "/api/v2/workspaces/{workspace_id}/actions/lock", 200) in made
    assert ("POST", "/api/v2/workspaces/{workspace_id}/actions/unlock", 200) in made
    _nothing_is_missing_but_state(made)


def test_a_configuration_that_accepts_the_values_comes_as_far_as_keeping_state(
    project: Project, secure: SecureServer
) -> None:
    main = project.folder / "main.tf"
    main.write_text(main.read_text().replace('== ""', '!= ""').replace("== 0", "!= 0"))
    before = len(secure.requests())
    assert project.run("init").returncode == 0
    imported = project.run("import", "terraform_data.any", "1")
    assert "Invalid value for variable" not in imported.stderr
    assert "This service keeps no state" in " ".join(imported.stderr.split())
    made = secure.requests()[before:]
    assert ("POST", "/api/v2/workspaces/{workspace_id}/state-versions", 422) in made
    _nothing_is_missing_but_state(made)
    # As docs/clients.md says.
    assert project.run("force-unlock", "-force", "acme/network").returncode == 0
    assert secure.act("unlock") == 409


def _told(made: subprocess.CompletedProcess[str]) -> str:
    """What terraform said, on one line, without the bars of its boxes."""
    return " ".join((made.stdout + made.stderr).replace("│", " ").split())


def test_a_plan_is_told_that_there_are_no_runs(project: Project) -> None:
    assert project.run("init").returncode == 0
    refused = project.run("plan")
    assert refused.returncode == 1
    assert "This service has no runs." in _told(refused)
    assert "teamvars run -w acme/network" in _told(refused)


def test_nothing_starts_that_would_lose_its_state(project: Project, secure: SecureServer) -> None:
    (project.folder / "main.tf").write_text(
        (project.folder / "main.tf").read_text().partition("variable ")[0]
        + 'resource "terraform_data" "any" {}\n'
    )
    assert project.run("init").returncode == 0
    secure.set_mode("local")
    for words in (
        ["init"],
        ["plan"],
        ["apply", "-auto-approve"],
        ["apply", "-auto-approve", "-lock=false"],
    ):
        refused = project.run(*words)
        assert refused.returncode == 1, words
        assert "This service keeps no state" in _told(refused), words
        assert "teamvars run -w acme/network" in _told(refused)
        assert "Creation complete" not in refused.stdout, words
    assert not (project.folder / "errored.tfstate").exists()
    assert secure.act("unlock") == 409, "nothing is left locked"


def test_the_console_opens_in_a_workspace_of_ours(project: Project, secure: SecureServer) -> None:
    before = len(secure.requests())
    assert project.run("init").returncode == 0
    evaluated = subprocess.run(
        [project.program, "console"],
        cwd=project.folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(project.folder),
            "SSL_CERT_FILE": str(secure.authority),
            "CHECKPOINT_DISABLE": "1",
        },
        input='upper("open")\n',
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    # Where that takes a moment, it says before that it waits for the lock.
    assert evaluated.stdout.splitlines()[-1:] == ['"OPEN"'], evaluated.stderr
    _nothing_is_missing_but_state(secure.requests()[before:])


@pytest.mark.parametrize("tags", ['["app", "web"]', '{ app = "web", tier = "" }'])
def test_workspaces_are_made_listed_and_selected_by_their_tags(
    terraform: str, secure: SecureServer, tmp_path: Path, tags: str
) -> None:
    project = Project(tmp_path, terraform, secure.authority)
    cloud = CONFIGURATION.partition("variable ")[0].replace("BACKEND", "cloud")
    cloud = cloud.replace('{ name = "network" }', f"{{ tags = {tags} }}")
    host = secure.server.url.removeprefix("https://")
    (tmp_path / "main.tf").write_text(cloud.replace("HOST", host).replace("TOKEN", secure.token))
    before = len(secure.requests())
    first, second = (f"tagged-{uuid4().hex[:8]}" for _ in range(2))
    begun = project.run("init", typed=f"{first}\n")
    assert begun.returncode == 0, _told(begun)
    for words in (["new", second], ["select", first]):
        done = project.run("workspace", *words)
        assert done.returncode == 0, _told(done)
    assert set(project.run("workspace", "list").stdout.split()) == {"*", first, second}
    assert project.run("workspace", "show").stdout.strip() == first
    _nothing_is_missing(secure.requests()[before:], "{workspace}", "current-state-version")


def test_a_client_that_trusts_somebody_else_is_told_so(project: Project, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger.pem"
    stranger.write_bytes(throw_away().authority)
    refused = Project(project.folder, project.program, stranger).run("init")
    assert refused.returncode != 0
    assert "failed to verify certificate" in " ".join(refused.stderr.split())


def _nothing_is_missing_but_state(made: list[tuple[str, str | None, int]]) -> None:
    _nothing_is_missing(made, "current-state-version")


def _nothing_is_missing(made: list[tuple[str, str | None, int]], *but: str) -> None:
    missing = {route for _, route, status in made if status == 404}
    assert {str(route).rpartition("/")[2] for route in missing} <= set(but)
    assert all(status < 500 for _, _, status in made)
