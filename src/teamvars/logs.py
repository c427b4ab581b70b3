"""Log lines on stderr, for collectors or for people. No value or token is handed to one."""

import logging
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path

import msgspec
import structlog
from structlog.typing import EventDict, Processor


class LogFormat(StrEnum):
    """`console` for people, `json` for collectors."""

    CONSOLE = "console"
    JSON = "json"


TO_ROOT: dict[str, dict[str, object]] = {
    "handlers": {},
    "loggers": {"_granian": {}, "granian.access": {}},
}
"""What granian is told about logging: to leave it to the handler `configure` sets."""


_TRACE = "Traceback (most recent call last)"


def configure(log_format: LogFormat) -> None:
    """Sets up structlog for this process, and Python's own logging to write through it."""
    renderer: Processor
    if log_format is LogFormat.JSON:
        renderer = structlog.processors.JSONRenderer(serializer=_to_json)
    else:
        colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        renderer = structlog.dev.ConsoleRenderer(colors=colors)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True),
            _name_error,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Relay()], force=True)


def origin(error: BaseException) -> str:
    """Kind and place of an error. Its text and its locals could hold a value, so neither is shown,
    and neither is a stack trace (contract §3)."""
    frames = traceback.extract_tb(error.__traceback__)
    package = str(Path(__file__).parent)
    ours = [frame for frame in frames if frame.filename.startswith(package)] or frames
    if not ours:
        return type(error).__name__
    last = ours[-1]
    place = "/".join(Path(last.filename).parts[-2:])
    return f"{type(error).__name__} in {place}:{last.lineno}, {last.name}"


class _Relay(logging.Handler):
    """Writes the records of Python's own logging as our log lines."""

    def emit(self, record: logging.LogRecord) -> None:
        level = max(logging.INFO, record.levelno // 10 * 10)
        error = record.exc_info[1] if record.exc_info else None
        more = {} if error is None else {"exc_info": error}
        text = record.getMessage()
        if _TRACE in text:  # the server hands on the one Starlette has made of an error
            text = "a stack trace was left out"
        structlog.get_logger().log(level, text, logger=record.name, **more)


def _name_error(_: object, __: str, event: EventDict) -> EventDict:
    """Puts where an exception came from in the place of the exception."""
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if error is not None:
        event["error"] = origin(error)
    return event


def _to_json(event: object, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()
