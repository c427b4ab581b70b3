"""Unmodified clients get through a rate limit by themselves, at the least one that can be set."""

import socket
from collections.abc import Iterator

import pytest
from pytfe import TFEClient, TFEConfig
from pytfe.models import OrganizationCreateOptions

from teamvars.settings import LEAST_RATE_LIMIT
from tests.clients.conftest import DIRECTORY
from tests.support.commands import Host
from tests.support.patience import wait_until
from tests.support.server import Server

ORGANIZATION = "/api/v2/organizations/{organization}"

pytestmark = pytest.mark.filterwarnings("ignore:.*verify=<str>:DeprecationWarning")


@pytest.fixture
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with that limit."""
    host = Host(tmp_path_factory.mktemp("limited")).having(
        log_format="json", dialect="terraform", rate_limit=LEAST_RATE_LIMIT
    )
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    with Server(host) as server:
        yield server


def crowd(server: Server, token: str) -> socket.socket:
    """Many requests by the same token at once, on one connection: no host is too busy to send them,
    nor a server to have answered more of them within a second than it may.
    """
    path = "/api/v2/account/details"
    words = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.setblocking(False)
    connection.send(words.encode() * 10 * LEAST_RATE_LIMIT)
    return connection


def test_pytfe_waits_and_goes_on(limited: Server) -> None:
    token = limited.host.succeed("token", "create", "--user", "root").out.strip()
    client = TFEClient(TFEConfig(address=limited.url, token=token))
    client.organizations.create(OrganizationCreateOptions(name="acme", email="a@example.com"))

    def has_waited() -> bool:
        """Whether one of the client's own requests was refused; it has got its answer anyhow."""
        with crowd(limited, token):
            assert client.organizations.read("acme").name == "acme"
        lines = [line for line in limited.log_lines() if line.get("route") == ORGANIZATION]
        return 429 in {line["status"] for line in lines}

    wait_until(has_waited)
    client.close()
