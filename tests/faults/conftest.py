"""What the fault runs share."""

from collections.abc import Iterator

import pytest

from tests.faults.hostile.finding import Finding, table
from tests.support.postgres import LocalPostgres

FINDINGS = pytest.StashKey[list[Finding]]()


@pytest.fixture(scope="module")
def durable() -> Iterator[LocalPostgres]:
    """A PostgreSQL that keeps what a crash must not lose; tests here may kill it."""
    with LocalPostgres(durable=True) as server:
        yield server


@pytest.fixture
def findings(pytestconfig: pytest.Config) -> list[Finding]:
    """What attacks came to, for the table at the end."""
    return pytestconfig.stash.setdefault(FINDINGS, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what attacks came to."""
    if found := terminalreporter.config.stash.get(FINDINGS, []):
        terminalreporter.section("attacks")
        for line in table(found):
            terminalreporter.write_line(line)
