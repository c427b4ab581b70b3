"""Unmodified clients get through a rate limit by themselves, at the least one that can be set."""

from collections.abc import Iterator

import pytest
from pytfe import TFEClient, TFEConfig
from pytfe.models import OrganizationCreateOptions

from teamvars.settings import LEAST_RATE_LIMIT
from tests.clients.conftest import DIRECTORY
from tests.support.commands import Host
from tests.support.patience import wait_until
from tests.support.server import Server

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


def test_pytfe_waits_and_goes_on(limited: Server) -> None:
    token = limited.host.succeed("token", "create", "--user", "root").out.strip()
    client = TFEClient(TFEConfig(address=limited.url, token=token))
    client.organizations.create(OrganizationCreateOptions(name="acme", email="a@example.com"))

    def has_waited() -> bool:
        """Whether the limit was reached; a busy host takes longer to ask so often in a second."""
        names = {client.organizations.read("acme").name for _ in range(LEAST_RATE_LIMIT)}
        assert names == {"acme"}
        return 429 in {line.get("status") for line in limited.log_lines()}

    wait_until(has_waited)
    client.close()
