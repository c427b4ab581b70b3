"""What tests of the HTTP side may ask for besides."""

import pytest
import structlog
from structlog.testing import LogCapture
from structlog.typing import EventDict

from teamvars.web import frame


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> list[EventDict]:
    """The lines the application logs of its requests during the test, as they come."""
    capture = LogCapture()
    monkeypatch.setattr(frame, "log", structlog.wrap_logger(None, processors=[capture]))
    return capture.entries
