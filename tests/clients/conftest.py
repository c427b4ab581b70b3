"""A server in the dialect that HCP Terraform's clients speak, on each engine."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.storage.stores import migrated_host
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
    with migrated_host(request, tmp_path_factory.mktemp("hosted")) as made:
        host = made.having(log_format="json", dialect="terraform")
        host.succeed("init")
        (host.folder / "directory.yaml").write_text(DIRECTORY)
        host.succeed("directory", "apply", "directory.yaml")
        tokens = {
            name: host.succeed("token", "create", "--user", name).out.strip()
            for name in ("root", "alice")
        }
        with Server(host) as server:
            yield Hosted(server, **tokens)
