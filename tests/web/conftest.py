"""What tests of the HTTP side may ask for besides."""

from collections.abc import Sequence
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture
from structlog.typing import EventDict

from teamvars.storage.database import Body, Row, Transaction
from teamvars.web import frame
from tests.house import House


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> list[EventDict]:
    """The lines the application logs of its requests during the test, as they come."""
    capture = LogCapture()
    monkeypatch.setattr(frame, "log", structlog.wrap_logger(None, processors=[capture]))
    return capture.entries


@pytest.fixture
def statements(house: House, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement of every read, as they come."""
    seen: list[str] = []
    database = house.services.database
    read = database.read

    async def counted(body: Body[Any]) -> Any:
        async def watched(tx: Transaction) -> Any:
            return await body(Counting(tx, seen))

        return await read(watched)

    monkeypatch.setattr(database, "read", counted)
    return seen


class Counting(Transaction):
    """A transaction that notes each statement it is asked for."""

    def __init__(self, tx: Transaction, seen: list[str]) -> None:
        self._tx = tx
        self._seen = seen

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        self._seen.append(sql)
        return await self._tx.fetch(sql, *args)

    async def script(self, sql: str) -> None:
        await self._tx.script(sql)
