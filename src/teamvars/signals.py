"""What is cleared up before a signal ends this process."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

End = Callable[[int, Any], object]

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def pass_over(*_: object) -> None:
    """Heeds a signal that ends nothing. What is ignored instead, programs that are started ignore
    too.
    """


@contextmanager
def heeding(end: End) -> Iterator[None]:
    """Within it such a signal calls `end` with its number and the handler that it had before. One
    that ends nothing goes on to do so, and one that an outer block has call `end` needs no other.
    Of the main thread alone: no other is told of any.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    idle = (signal.SIG_IGN, pass_over)
    heeded = [
        number
        for number, handler in before.items()
        if handler not in idle and not (isinstance(handler, partial) and handler.args[0] is end)
    ]
    for number in heeded:
        signal.signal(number, partial(_heed, end, before))
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


@contextmanager
def clearing_first(clear: Callable[[], object]) -> Iterator[None]:
    """Within it such a signal does what it would otherwise once `clear` was called. Nothing is
    raised: what runs may be in a thread, for which the end of the process would wait.
    """

    def end(number: int, before: Any) -> None:
        clear()
        # Which may have something to clear as well.
        signal.signal(number, before)
        os.kill(os.getpid(), number)

    with heeding(end):
        yield


def _heed(end: End, before: Mapping[signal.Signals, Any], number: int, _: object) -> None:
    end(number, before[signal.Signals(number)])


def _end(number: int, _: object) -> NoReturn:
    for one in _ENDING:  # of a terminal that closes both the system and its shell tell
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(128 + number)
