"""The `teamvars` command, also as `python -m teamvars`."""

import os
import signal
from types import FrameType

_INTERRUPTED = 128 + signal.SIGINT


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


# Loading the command takes most of its time. Ctrl-C meanwhile would show where it has been, and
# whoever ignores it, as what runs in the background does, goes on ignoring it.
_before = signal.getsignal(signal.SIGINT)
if _before is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)

from teamvars.cli import main  # noqa: E402

signal.signal(signal.SIGINT, _before)

if __name__ == "__main__":
    main()
