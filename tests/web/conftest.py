"""What tests of the HTTP side may ask for besides."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import structlog
from msgspec.structs import asdict
from structlog.testing import LogCapture
from structlog.typing import EventDict

from teamvars import logs
from teamvars.services.code.checker import Limits, Process
from teamvars.storage.database import Body, Transaction
from teamvars.web.http import app
from tests.support.deployment import Deployment
from tests.support.observed_transaction import ObservedTransaction
from tests.support.signing_in import providers as providers
from tests.support.signing_in import scene as scene
from tests.support.tenant import Tenant


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> list[EventDict]:
    """The lines the application logs of its requests during the test, as they come."""
    capture = LogCapture()
    monkeypatch.setattr(app, "log", structlog.wrap_logger(None, processors=[capture]))
    monkeypatch.setattr(logs.REQUESTS, "write", lambda line: capture.entries.append(asdict(line)))
    return capture.entries


@pytest.fixture
def statements(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement of what only reads, as they come."""
    seen: list[str] = []
    database = deployment.services.database

    def counting(run: Callable[[Body[Any]], Awaitable[Any]]) -> Callable[[Body[Any]], Any]:
        async def counted(body: Body[Any]) -> Any:
            async def watched(tx: Transaction) -> Any:
                return await body(ObservedTransaction(tx, lambda sql, _: seen.append(sql)))

            return await run(watched)

        return counted

    for name in ("read", "survey", "query"):
        monkeypatch.setattr(database, name, counting(getattr(database, name)))
    return seen


@pytest.fixture
def hasty(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Code has a hundredth of the processor time that it else has."""
    process = Process(Limits(processor_seconds=0.02))
    monkeypatch.setattr(tenant.deployment.services.code, "_process", process)
    yield
    process.end()
