"""Log lines on stderr, for collectors or for people. No value or token is handed to one."""

import asyncio
import atexit
import logging
import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import BinaryIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from teamvars.origins import origin


class LogFormat(StrEnum):
    """`console` for people, `json` for collectors; `auto`: whichever of them stderr is."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"

    @property
    def decided(self) -> "LogFormat":
        """What `auto` comes to in this process: console lines on a terminal, else JSON."""
        if self is not LogFormat.AUTO:
            return self
        return LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON


class LogLevel(StrEnum):
    """Of what is written, the least."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_WHOLE_BYTES = 4096
"""What Linux writes into a pipe in one piece (pipe(7), PIPE_BUF)."""

TO_ROOT: dict[str, dict[str, object]] = {
    "handlers": {},
    "loggers": {"_granian": {}, "granian.access": {}},
}
"""What granian is told about logging: to leave it to the handler `configure` sets."""


_BOLD, _CYAN, _END = "\x1b[1m", "\x1b[36m", "\x1b[0m"
_COLORS = {
    "debug": "\x1b[32m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31m",
}

_ENCODER = msgspec.json.Encoder(enc_hook=str)

_TRACE = "Traceback (most recent call last)"


def configure(log_format: LogFormat, level: LogLevel = LogLevel.INFO) -> None:
    """Sets up structlog for this process, and Python's own logging to write through it."""
    render: Processor = _to_json
    if log_format.decided is LogFormat.CONSOLE:
        has_colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        render = _Console(has_colors=has_colors)
    structlog.configure(
        processors=[structlog.processors.add_log_level, _stamp, _name_error, render],
        wrapper_class=structlog.make_filtering_bound_logger(level.value),
        logger_factory=_Lines(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    # Of others' chatter nothing is wanted, whatever is wanted of ours.
    theirs = max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()])
    logging.basicConfig(level=theirs, handlers=[_Relay()], force=True)


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

    debug = info = warning = error = critical = msg

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
    """Puts the time, to be written in ISO 8601: `TimeStamper` takes four times as long."""
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


class _Console:
    """Writes lines for people at hardly more cost than JSON; structlog's own takes four times that.

    A value that is no plain word is quoted and escaped, so that a line commands no terminal.
    """

    def __init__(self, *, has_colors: bool) -> None:
        bold, cyan, end = (_BOLD, _CYAN, _END) if has_colors else ("", "", "")
        self._heads = {
            level: f"Z [{has_colors * color}{level:<8}{end}] {bold}"
            for level, color in _COLORS.items()
        }
        self._end, self._key, self._equals = end, f" {cyan}", f"{end}="

    def __call__(self, _: object, __: str, event: EventDict) -> bytes:
        at = event.pop("timestamp").isoformat(timespec="microseconds")[:-6]
        said = str(event.pop("event"))
        line = f"{at}{self._heads[event.pop('level')]}{_printable(said)}{self._end}"
        key, equals = self._key, self._equals
        for name, value in event.items():
            line += f"{key}{name}{equals}{_word(value)}"
        return line.encode(errors="backslashreplace")


def _printable(text: str) -> str:
    """A text as it is, or escaped where a terminal would act on it."""
    return text if text.isprintable() else repr(text)


def _word(value: object) -> str:
    """A value that ends with the next space; in quotes where it holds one itself."""
    word = value if isinstance(value, str) else str(value)
    is_plain = word.isprintable() and " " not in word and "'" not in word and word
    return word if is_plain else repr(word)
