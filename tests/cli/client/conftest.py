"""A service with people in it, and a desk in front of it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from teamvars.cli.client.api import accounts
from teamvars.cli.client.api.addresses import address
from teamvars.cli.operator.directory_file import read
from teamvars.services.directory_files.files import Options
from tests.support.commands import Host
from tests.support.deployment import operator
from tests.support.desk import Desk
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.server import Server

# Those of docs/runners.md; their keys are fetched once a job comes, and none does.
ISSUERS = ("github", "gitlab", "https://kubernetes.default.svc.cluster.local")
PEOPLE = ("alice", "bob", "carol", "dave", "erin")
ORGANIZATION = """\
users: [{users}]
organizations:
  - name: {name}
    members: {{alice: active, bob: active, carol: invited, dave: active, erin: active}}
    workspaces: [network, payments]
    teams:
      - {{name: owners, members: [alice]}}
      - {{name: platform, manage-membership: true, members: [bob],
         workspaces: {{network: write, payments: read}}}}
      - {{name: auditors, members: [erin], workspaces: {{payments: read}}}}
"""


@dataclass(frozen=True)
class Service:
    """A running service; the people are the same in every organization."""

    served: ServedDeployment
    tokens: dict[str, str] = field(repr=False)
    """Of a user by name."""

    @property
    def host(self) -> Host:
        """Where it is at home."""
        return self.served.host

    @property
    def server(self) -> Server:
        """What serves it."""
        return self.served.server

    @property
    def url(self) -> str:
        """Its address."""
        return self.server.url

    def events(self, organization: str, action: str) -> list[dict[str, Any]]:
        """What the trail says of an organization's changes of that kind."""
        words = ("audit", "list", "--organization", organization, "--limit", "1000", "--json")
        rows = [json.loads(line) for line in self.host.succeed(*words).out.splitlines()]
        return [row for row in rows if row["action"] == action]

    async def organization(self, name: str) -> str:
        """Makes an organization that is owned by alice; bob may write in `network`."""
        users = ", ".join(f"{{username: {who}, email: {who}@example.com}}" for who in PEOPLE)
        path = self.host.folder / f"{name}.yaml"
        path.write_text(ORGANIZATION.format(name=name, users=users))
        await self.served.services.directory.apply(operator(), read(path), Options())
        return name


@pytest.fixture(scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """A running service on SQLite, shared by all tests of a worker."""
    host = Host(tmp_path_factory.mktemp("service"))
    host = host.having(log_format="json", runner_approval="owner", issuers=",".join(ISSUERS))
    async with serve_deployment(host) as served:
        service = Service(served, {})
        await service.organization("acme")
        for name in PEOPLE:
            made = served.host.succeed("token", "create", "--user", name)
            service.tokens[name] = made.out.strip()
        yield service


@pytest.fixture
async def office(service: Service) -> str:
    """The name of an organization of this test's own."""
    return await service.organization(f"office-{uuid4().hex[:12]}")


@pytest.fixture
async def acme(service: Service) -> str:
    """The organization of the documents' examples, as it is made."""
    return await service.organization("acme")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may be a job; those of the tests are where they say."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL", raising=False)


@pytest.fixture
def stranger(tmp_path: Path) -> Desk:
    """Somebody who has never used the command, in a repository of theirs."""
    (folder := tmp_path / "repository").mkdir()
    (folder / ".git").mkdir()
    (home := tmp_path / "home").mkdir()
    return Desk(folder, home=home)


@pytest.fixture
def desk(stranger: Desk, service: Service, office: str) -> Desk:
    """Alice, who is logged in; `office` is hers."""
    token = service.tokens["alice"]
    with pytest.MonkeyPatch.context() as hers:
        for name in ("XDG_CONFIG_HOME", "PYTHON_KEYRING_BACKEND"):
            hers.setenv(name, stranger.environment[name])
        accounts.keep(address(service.url, "alice"), None, token, office)  # as `login` does
    return stranger


@pytest.fixture
def network(desk: Desk) -> Desk:
    """Alice's desk, for the workspace `network`."""
    return desk.having(workspace="network")
