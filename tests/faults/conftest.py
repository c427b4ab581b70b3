"""What the fault runs share."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.faults.hostile.finding import Finding, table
from tests.faults.nodes import open_nodes
from tests.support.deployment import Deployment
from tests.support.postgres import LocalPostgres

FINDINGS = pytest.StashKey[list[Finding]]()
FAILOVERS = pytest.StashKey[list[str]]()


@pytest.fixture(scope="module")
def durable() -> Iterator[LocalPostgres]:
    """A PostgreSQL that keeps what a crash must not lose; tests here may kill it."""
    with LocalPostgres(durable=True) as server:
        yield server


@pytest.fixture(scope="module")
async def nodes(modules_url: str) -> AsyncIterator[list[Deployment]]:
    """Two nodes on one store; on SQLite they meet as two processes on a host would."""
    async with open_nodes(modules_url, 2) as deployments:
        yield deployments


@pytest.fixture
def findings(pytestconfig: pytest.Config) -> list[Finding]:
    """What attacks came to, for the table at the end."""
    return pytestconfig.stash.setdefault(FINDINGS, [])


@pytest.fixture
def failovers(pytestconfig: pytest.Config) -> list[str]:
    """What failovers came to, for the rows at the end."""
    return pytestconfig.stash.setdefault(FAILOVERS, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what attacks came to."""
    if found := terminalreporter.config.stash.get(FINDINGS, []):
        terminalreporter.section("attacks")
        for line in table(found):
            terminalreporter.write_line(line)
    if rows := terminalreporter.config.stash.get(FAILOVERS, []):
        terminalreporter.section("failovers")
        for row in rows:
            terminalreporter.write_line(row)
