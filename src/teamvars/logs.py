"""Log lines on stderr, for collectors or for people. They contain no value and no token."""

import asyncio
import atexit
import logging
import os
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import BinaryIO

import msgspec
import structlog
from msgspec import UNSET, UnsetType
from structlog.typing import EventDict

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
    """The lowest level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_ATOMIC_BYTES = 4096
"""The largest write to a pipe that is atomic on Linux (pipe(7), PIPE_BUF)."""

TO_ROOT: dict[str, dict[str, object]] = {
    "handlers": {},
    "loggers": {"_granian": {}, "granian.access": {}},
}
"""Configuration of granian's loggers: their records propagate to the handler of `configure`."""


_BOLD, _CYAN, _END = "\x1b[1m", "\x1b[36m", "\x1b[0m"
_COLORS = {
    "debug": "\x1b[32m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31m",
}

_LEVELS = {name.lower(): number for name, number in logging.getLevelNamesMapping().items()}
_ENCODER = msgspec.json.Encoder(enc_hook=str)

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FAILED = 400

_TRACE = "Traceback (most recent call last)"


_now = partial(datetime.now, UTC)
"""The time of a line, for ISO 8601: structlog's `TimeStamper` takes four times that."""


class RequestLine(msgspec.Struct):
    """What is logged of one request, as collectors see it. `ms` is how long it took.

    What is unset is left out: `errors` are the codes of what was refused, `why` says more where the
    answer does not, and the rest says whose token it was and what the request was about, as far as
    that was found out.
    """

    request_id: str
    client: str | None
    actor: str | None
    method: str
    route: str | None
    status: int
    ms: float
    trace_id: str | UnsetType = UNSET
    token_id: str | UnsetType | None = UNSET
    organization_id: str | UnsetType = UNSET
    organization: str | UnsetType = UNSET
    workspace_id: str | UnsetType = UNSET
    workspace: str | UnsetType = UNSET
    team_id: str | UnsetType = UNSET
    team: str | UnsetType = UNSET
    errors: tuple[str, ...] | UnsetType = UNSET
    why: Mapping[str, object] | UnsetType = UNSET
    event: str = "request"
    level: str = "info"
    timestamp: datetime = msgspec.field(default_factory=_now)

    @property
    def is_successful_read(self) -> bool:
        """Whether nothing was changed and nothing went wrong."""
        return self.status < _FAILED and self.method in _READS


Line = EventDict | RequestLine


class RequestLog:
    """`write` writes the line of a request, once `configure` has said where to.

    It goes past structlog's processors, which cost a list in memory a tenth of its time.
    """

    def __init__(self) -> None:
        self.write: Callable[[RequestLine], None] = lambda _: None

    def configure(
        self,
        lines: "_Lines",
        render: Callable[[RequestLine], bytes],
        level: LogLevel,
        sample: float,
    ) -> None:
        """From now on they go where structlog's go, if their level is written; `sample` is how many
        of the successful reads do, from 0 to 1.
        """
        least = _LEVELS[level]

        def write(line: RequestLine) -> None:
            if _LEVELS[line.level] < least:
                return
            # By chance: not even who chooses the ids of requests says which of them are left out.
            if sample < 1 and line.is_successful_read and random.random() >= sample:  # noqa: S311
                return
            lines.msg(render(line))

        self.write = write


REQUESTS = RequestLog()


def configure(log_format: LogFormat, level: LogLevel = LogLevel.INFO, sample: float = 1) -> None:
    """Sets up structlog for this process, and Python's own logging to write through it.

    Of successful reads that share of 1 is logged which `sample` says.
    """
    render: Callable[[Line], bytes] = _ENCODER.encode
    if log_format.decided is LogFormat.CONSOLE:
        has_colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        render = _Console(has_colors=has_colors)
    lines = _Lines(sys.stderr.buffer, render)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _stamp,
            _name_error,
            lambda _, __, event: render(event),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level.value),
        logger_factory=lines,
        cache_logger_on_first_use=True,
    )
    REQUESTS.configure(lines, render, level, sample)
    # Libraries log warnings and errors alone, whatever our own level is.
    theirs = max(logging.WARNING, _LEVELS[level])
    logging.basicConfig(level=theirs, handlers=[_Relay()], force=True)


class _Lines:
    """structlog's logger and logger factory: writes the lines of one event-loop iteration at once.

    Each write releases the GIL, for which other threads of the process contend: one for each line
    costs a request a tenth of its time.

    It is not a `Coalescer`: lines have no result to wait for, threads and programs without an event
    loop write them too, and at exit what is left has to be written without one.

    What cannot be written, on a full disk or where nobody reads any more, is lost, and nobody who
    logs notices. Once lines can be written again, one says how many were lost.
    """

    def __init__(self, stream: BinaryIO, render: Callable[[EventDict], bytes]) -> None:
        # A buffer would keep what cannot be written, and fail whoever flushes it later: Python does
        # when it starts a process and when it ends.
        self._stream = getattr(stream, "raw", stream)
        self._render = render
        self._lost = 0
        self._is_torn = False
        self._waiting: list[bytes] = []
        atexit.register(self._write)  # the loop may end before the next iteration

    def __call__(self, *_: object) -> "_Lines":
        return self

    def msg(self, line: bytes) -> None:
        """Writes the line in the next iteration of the loop, or at once where no loop runs."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # also in a thread other than the loop's
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
            # Larger writes of several workers to one pipe may interleave.
            if len(block) + len(line) > _ATOMIC_BYTES:
                self._put(block)
                block = b""
            block += line
        self._put(block)

    def _put(self, block: bytes) -> None:
        if self._lost:
            event = {"lines": self._lost, "event": "lines of the log were lost", "level": "error"}
            told = self._render(event | {"timestamp": _now()}) + b"\n"
            if self._left_of(b"\n" + told if self._is_torn else told):
                self._lost += block.count(b"\n")
                return
        self._lost = self._left_of(block).count(b"\n")

    def _left_of(self, block: bytes) -> bytes:
        """Writes the lines; returns what cannot be written, which may begin within one."""
        with suppress(OSError):
            while block and (written := self._stream.write(block)):
                self._is_torn = not block.endswith(b"\n", 0, written)
                block = block[written:]
        return block


class _Relay(logging.Handler):
    """Writes the records of the standard library's logging as our log lines."""

    def emit(self, record: logging.LogRecord) -> None:
        level = max(logging.INFO, record.levelno // 10 * 10)
        error = record.exc_info[1] if record.exc_info else None
        more = {} if error is None else {"exc_info": error}
        text = record.getMessage()
        if _TRACE in text:
            text = "a stack trace was left out"
        if error is not None:
            # Of a callback asyncio quotes the arguments, of a task its error, below the first line.
            text = text.partition("\n")[0].partition("(")[0]
        structlog.get_logger().log(level, text, logger=record.name, **more)


def _stamp(_: object, __: str, event: EventDict) -> EventDict:
    event["timestamp"] = _now()
    return event


def _name_error(_: object, __: str, event: EventDict) -> EventDict:
    """Replaces an exception by its class and origin, which contain no data."""
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if error is not None:
        event["error"] = origin(error)
    return event


class _Console:
    """Renders lines for people at about the cost of JSON; structlog's own takes four times that.

    A value that is not a plain word is quoted and escaped, so that none contains a terminal's
    control sequences.
    """

    def __init__(self, *, has_colors: bool) -> None:
        bold, cyan, end = (_BOLD, _CYAN, _END) if has_colors else ("", "", "")
        self._heads = {
            level: f"Z [{has_colors * color}{level:<8}{end}] {bold}"
            for level, color in _COLORS.items()
        }
        self._end, self._key, self._equals = end, f" {cyan}", f"{end}="

    def __call__(self, line: Line) -> bytes:
        event = msgspec.structs.asdict(line) if isinstance(line, RequestLine) else line
        at = event.pop("timestamp").isoformat(timespec="microseconds")[:-6]
        said = str(event.pop("event"))
        text = f"{at}{self._heads[event.pop('level')]}{_printable(said)}{self._end}"
        key, equals = self._key, self._equals
        for name, value in event.items():
            if value is UNSET:
                continue
            text += f"{key}{name}{equals}{_word(value)}"
        return text.encode(errors="backslashreplace")


def _printable(text: str) -> str:
    """The text, escaped if it has control characters."""
    return text if text.isprintable() else repr(text)


def _word(value: object) -> str:
    """The value as one word: quoted if it is empty or has spaces, quotes or control characters."""
    word = value if isinstance(value, str) else str(value)
    is_plain = word.isprintable() and " " not in word and "'" not in word and word
    return word if is_plain else repr(word)
