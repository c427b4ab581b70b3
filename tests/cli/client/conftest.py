"""A service with people in it, and a desk in front of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.server import Server

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

    host: Host
    server: Server
    tokens: dict[str, str] = field(repr=False)
    """Of a user by name."""

    @property
    def url(self) -> str:
        """Its address."""
        return self.server.url

    def events(self, organization: str, action: str) -> list[dict[str, Any]]:
        """What the trail says of an organization's changes of that kind."""
        words = ("audit", "list", "--organization", organization, "--limit", "1000", "--json")
        rows = [json.loads(line) for line in self.host.succeed(*words).out.splitlines()]
        return [row for row in rows if row["action"] == action]

    def organization(self, name: str) -> str:
        """Makes an organization that is owned by alice; bob may write in `network`."""
        users = ", ".join(f"{{username: {who}, email: {who}@example.com}}" for who in PEOPLE)
        path = self.host.folder / f"{name}.yaml"
        path.write_text(ORGANIZATION.format(name=name, users=users))
        self.host.succeed("directory", "apply", path)
        return name


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service on SQLite, shared by all tests of a worker, with the organization acme."""
    host = Host(tmp_path_factory.mktemp("service"))
    host = host.having(log_format="json", runner_approval="owner")
    host.succeed("init")
    tokens: dict[str, str] = {}
    with Server(host) as server:
        service = Service(host, server, tokens)
        service.organization("acme")
        for name in PEOPLE:
            tokens[name] = host.succeed("token", "create", "--user", name).out.strip()
        yield service


@pytest.fixture
def office(service: Service) -> str:
    """The name of an organization of this test's own."""
    return service.organization(f"office-{uuid4().hex[:12]}")


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
    words = ("login", "--address", service.url, "--organization", office)
    stranger.succeed(*words, given=service.tokens["alice"])
    return stranger


@pytest.fixture
def network(desk: Desk) -> Desk:
    """Alice's desk, for the workspace `network`."""
    return desk.having(workspace="network")
