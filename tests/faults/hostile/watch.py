"""What a server's processes did during an attack: who lived, how much memory, what they logged."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.support.server import Server

_FORGET_PEAK = "5"  # proc_pid_clear_refs(5)


class Watch:
    """Begins with what is so now; needs Linux."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._logged = len(server.log)
        self.workers = workers_of(server)
        for process in self._processes():
            forget_peak(process.pid)

    def faults(self) -> Iterator[str]:
        """Whatever a server must not do under any attack."""
        if workers_of(self._server) != self.workers:
            yield "a worker ended"
        lines = self._server.log[self._logged :].splitlines()
        counted = Counter(fault for line in lines for fault in _log_faults(line))
        for fault, count in counted.items():
            yield f"{count} x {fault}"

    def peak_mib(self) -> float:
        """The most memory that a worker had, with whatever processes it has below it."""
        return max((_tree_peak(pid) for pid in self.workers), default=0.0)

    def _processes(self) -> Iterator[psutil.Process]:
        for pid in self.workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker = psutil.Process(pid)
                yield from (worker, *worker.children(recursive=True))


def _log_faults(line: str) -> Iterator[str]:
    try:
        said = json.loads(line)
    except ValueError:
        yield "a log line that is no JSON"
        return
    if said.get("level") == "error" and said.get("status") != 503:
        yield f"'{said.get('event')}' in the log"
    if said.get("status", 0) >= 500 and said["status"] != 503:
        yield f"{said['status']} in the log for {said.get('method')} {said.get('route')}"


def workers_of(server: Server) -> set[int]:
    """The processes that serve."""
    try:
        return {child.pid for child in psutil.Process(server.pid).children()}
    except psutil.NoSuchProcess:
        return set()


def forget_peak(pid: int) -> None:
    """From now on a process's peak is what it has from now on."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        Path(f"/proc/{pid}/clear_refs").write_text(_FORGET_PEAK)


def peak_mib(pid: int) -> float:
    """The most resident memory a process had; 0 for one that has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _tree_peak(pid: int) -> float:
    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return 0.0
    return peak_mib(pid) + sum(peak_mib(process.pid) for process in below)
