"""What the processors did meanwhile: for whom they worked, and how much of it was not for us."""

import os
import platform
import time
from contextlib import suppress

import psutil


def describe() -> dict[str, object]:
    """The machine, without its name."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
    }


def cpu_seconds(pid: int) -> float:
    """The processor time a process and those below it have used until now, ended ones included."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        for process in [top, *top.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])
    return total


def memory_mib(pid: int) -> float:
    """The memory of the largest process below this one: of one worker of a server. Of what several
    processes share, each has its part (PSS).
    """
    sizes = [child.memory_full_info().pss for child in psutil.Process(pid).children(recursive=True)]
    return float(max(sizes)) / 2**20


class Watch:
    """Measures, from its making to `others`, what share of the machine worked for somebody else."""

    def __init__(self) -> None:
        self._begun = time.monotonic(), _busy(), cpu_seconds(os.getpid())

    def others(self) -> float:
        """The share of all cores, 0 to 1, that neither we nor our children used."""
        begun, busy, ours = self._begun
        seconds = time.monotonic() - begun
        used = (_busy() - busy) - (cpu_seconds(os.getpid()) - ours)
        return max(0.0, used / (seconds * (os.cpu_count() or 1)))


def _busy() -> float:
    times = psutil.cpu_times()
    # Not `steal`: it is what another guest of the same host took, and idle for us.
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
