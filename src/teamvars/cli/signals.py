"""What is cleared up before a signal ends a command."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def heeding(end: Callable[[int, Any], object]) -> Iterator[None]:
    """Within it such a signal calls `end` with its number and the handler that it had before. One
    that was ignored stays so.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}
    heeded = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, lambda which, _: end(which, before[signal.Signals(which)]))
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


@contextmanager
def clearing_up() -> Iterator[None]:
    """Within it such a signal ends the process by an exception: what is in its way is cleared up,
    such as a file, or a terminal that shows nothing that is typed.
    """
    with heeding(_end):
        yield


def _end(number: int, _: object) -> NoReturn:
    for one in _ENDING:  # of a terminal that closes both the system and its shell tell
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(128 + number)
