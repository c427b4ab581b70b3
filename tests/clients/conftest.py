"""A server in the dialect that HCP Terraform's clients speak, on each engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from tests.support.commands import Host
from tests.support.postgres import Postgres
from tests.support.server import Server

DIRECTORY = """\
users:
  - {username: root, email: root@example.com, site-admin: true}
  - {username: alice, email: alice@example.com}
"""


@dataclass(frozen=True)
class Hosted:
    """A running server and the tokens of two users: `root`, a site admin, and `alice`."""

    server: Server
    root: str
    alice: str

    @property
    def url(self) -> str:
        """Where it is."""
        return self.server.url


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def hosted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hosted]:
    """The same on each engine."""
    host = Host(tmp_path_factory.mktemp("hosted")).having(log_format="json", dialect="terraform")
    if request.param == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        database = f"clients-{uuid4()}"
        postgres.create_database(database)
        host = host.having(database_url=postgres.url(database))
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    tokens = {
        name: host.succeed("token", "create", "--user", name).out.strip()
        for name in ("root", "alice")
    }
    with Server(host) as server:
        yield Hosted(server, **tokens)
