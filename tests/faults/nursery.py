"""Servers that start at once: a process has the program loaded, and forks for each of them.

For runs that kill a server a thousand times, of which loading would take most.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO, cast

from tests.support import processes
from tests.support.commands import Host, become

ROOT = Path(__file__).parents[2]


class NurseryHost(Host):
    """A host whose servers are forked."""

    def start(self, *words: object, out: IO[str], err: IO[str]) -> subprocess.Popen[str]:
        request = {
            "words": [str(word) for word in words],
            "folder": str(self.folder),
            "environment": self.environment,
            "out": out.name,
            "err": err.name,
            "given": None,
        }
        nursery = _nursery()
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.write(json.dumps(request) + "\n")
        nursery.stdin.flush()
        forked = Forked(int(nursery.stdout.readline()))
        return cast("subprocess.Popen[str]", forked)


class Forked:
    """What `Server` knows of a process, of one that is no child of this one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it is there."""
        return None if processes.is_there(self.pid) else 0

    def wait(self, _: float = 0) -> int:
        """Returns when it has gone."""
        processes.wait_until_gone(self.pid)
        return 0

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal."""
        os.kill(self.pid, number)


@cache
def _nursery() -> subprocess.Popen[str]:
    """It ends with this process, when its input does."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.nursery"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _serve_requests() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they have ended
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            become(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    for name in ("teamvars.wiring", "teamvars.cli.operator.serve"):
        importlib.import_module(name)  # noqa: TID251 - loads what a lazy command would
    _serve_requests()
