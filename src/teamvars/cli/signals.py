"""What is cleared up before a signal ends a command."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def clearing_up() -> Iterator[None]:
    """Within it such a signal ends the process by an exception: what is in its way is cleared up,
    such as a file, or a terminal that shows nothing that is typed.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}
    heeded = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


def _end(number: int, _: FrameType | None) -> NoReturn:
    for one in _ENDING:  # of a terminal that closes both the system and its shell tell
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(128 + number)
