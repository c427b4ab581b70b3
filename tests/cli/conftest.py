"""An installation on each engine, made by the commands themselves, with a server on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.storage import stores
from tests.support.commands import Host
from tests.support.server import Server

DIRECTORY = """\
users:
  - {username: root, email: root@example.com, site-admin: true}
  - {username: alice, email: alice@example.com}
  - {username: bob, email: bob@example.com}
  - {username: carol, email: carol@example.com}
organizations:
  - name: acme
    members: {alice: active, bob: active, carol: invited}
    workspaces: [network, payments]
    teams:
      - {name: owners, members: [alice]}
      - {name: platform, members: [bob], manage-membership: true, workspaces: {network: write}}
"""


@dataclass(frozen=True)
class ServedHost:
    """A host with an initialised store, what `directory apply` said of it, and a server."""

    host: Host
    applied: dict[str, Any]
    server: Server
    token: str
    """Alice's, who owns acme."""

    @property
    def vars_path(self) -> str:
        """The path of the variables of `network`."""
        workspace = self.applied["organizations"]["acme"]["workspaces"]["network"]
        return f"/api/v2/workspaces/{workspace}/vars"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host where nothing was done yet."""
    return Host(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host whose store is empty: no file on SQLite, a database without tables on PostgreSQL."""
    with stores.fresh(request, tmp_path) as url:
        host = Host(tmp_path)
        yield host if request.param == "sqlite" else host.having(database_url=url)


@pytest.fixture(params=["sqlite", "postgres"])
def migrated_host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host whose store has all tables and nothing in them."""
    with stores.migrated_host(request, tmp_path) as host:
        yield host


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served_host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedHost]:
    """A served host with two workers that log JSON; one for all tests of a worker and engine."""
    with stores.migrated_host(request, tmp_path_factory.mktemp("served-host")) as host:
        host = host.having(log_format="json")
        host.succeed("init")
        (host.folder / "directory.yaml").write_text(DIRECTORY)
        applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
        token = host.succeed("token", "create", "--user", "alice").out.strip()
        with Server(host, workers=2) as server:
            yield ServedHost(host, applied, server, token)
