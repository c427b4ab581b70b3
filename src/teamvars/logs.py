"""Log lines on stderr, for collectors or for people. No value or token is handed to one."""

import asyncio
import atexit
import logging
import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, BinaryIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from teamvars.origins import origin


class LogFormat(StrEnum):
    """`console` for people, `json` for collectors."""

    CONSOLE = "console"
    JSON = "json"


_WHOLE_BYTES = 4096
"""What Linux writes into a pipe in one piece (pipe(7), PIPE_BUF)."""

TO_ROOT: dict[str, dict[str, object]] = {
    "handlers": {},
    "loggers": {"_granian": {}, "granian.access": {}},
}
"""What granian is told about logging: to leave it to the handler `configure` sets."""


_ENCODER = msgspec.json.Encoder(enc_hook=str)

_TRACE = "Traceback (most recent call last)"


def configure(log_format: LogFormat) -> None:
    """Sets up structlog for this process, and Python's own logging to write through it."""
    stamp: Processor
    renderers: list[Processor]
    if log_format is LogFormat.JSON:
        stamp, renderers = _stamp, [_to_json]
    else:
        stamp = structlog.processors.TimeStamper("iso", utc=True)
        colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        renderers = [structlog.dev.ConsoleRenderer(colors=colors), _to_bytes]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            stamp,
            _name_error,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=_Lines(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Relay()], force=True)


class _Lines:
    """Writes lines, those of one turn of an event loop together; structlog's logger and factory.

    A write of its own for each line costs a request a tenth of its time, since other threads of the
    process are waiting for every moment in which this one lets go of the interpreter.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: list[bytes] = []
        atexit.register(self._write)  # a loop may end without another turn

    def __call__(self, *_: object) -> "_Lines":
        return self

    def msg(self, line: bytes) -> None:
        """Writes the line at the end of this turn, or at once where there is no loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # also in a thread beside the loop's
            self._put(line + b"\n")
            return
        if not self._waiting:
            loop.call_soon(self._write)
        self._waiting.append(line + b"\n")

    info = warning = error = critical = msg

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        block = b""
        for line in lines:
            # Beyond that a pipe may mix what several workers write.
            if len(block) + len(line) > _WHOLE_BYTES:
                self._put(block)
                block = b""
            block += line
        self._put(block)

    def _put(self, block: bytes) -> None:
        self._stream.write(block)
        self._stream.flush()


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


def _stamp(_: object, __: str, event: EventDict) -> EventDict:
    """Puts the time, to be written as `TimeStamper` writes it: that takes four times as long."""
    event["timestamp"] = datetime.now(UTC)
    return event


def _name_error(_: object, __: str, event: EventDict) -> EventDict:
    """Puts where an exception came from in the place of the exception."""
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if error is not None:
        event["error"] = origin(error)
    return event


def _to_json(_: object, __: str, event: EventDict) -> bytes:
    return _ENCODER.encode(event)


def _to_bytes(_: object, __: str, line: Any) -> bytes:
    encoded: bytes = line.encode(errors="backslashreplace")
    return encoded
