"""Log lines on stderr, for collectors or for people. No value or token is handed to one."""

import sys
from enum import StrEnum

import msgspec
import structlog
from structlog.typing import Processor


class LogFormat(StrEnum):
    """`console` for people, `json` for collectors."""

    CONSOLE = "console"
    JSON = "json"


def configure(log_format: LogFormat) -> None:
    """Sets up structlog for this process."""
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper("iso", utc=True),
    ]
    if log_format is LogFormat.JSON:
        # Locals of a traceback could hold a value, so only the plain text of one is logged.
        processors: list[Processor] = [
            *shared,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_to_json),
        ]
    else:
        plain = structlog.dev.plain_traceback
        colors = sys.stderr.isatty()
        processors = [
            *shared,
            structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain),
        ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _to_json(event: object, **_: object) -> str:
    return msgspec.json.encode(event).decode()
