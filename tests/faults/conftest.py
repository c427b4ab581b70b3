"""What the fault runs share."""

from collections.abc import Iterator

import pytest

from tests.postgres import LocalPostgres


@pytest.fixture(scope="module")
def durable() -> Iterator[LocalPostgres]:
    """A PostgreSQL that keeps what a crash must not lose; tests here may kill it."""
    with LocalPostgres(durable=True) as server:
        yield server
