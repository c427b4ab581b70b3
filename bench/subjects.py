"""What is measured: anything that can be put under load for some seconds."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from bench import machine, wrk
from bench.dataset import Dataset
from bench.machine import Watch
from bench.works import Work, update
from bench.writer import Writer
from bench.wrk import Plan


@dataclass(frozen=True, slots=True)
class Sample:
    """What one round came to. Latencies are in µs; processor times in cores, but `spent`: µs of
    the server's processes for each request. None where it does not apply.

    `others` is the share of the machine that neither load nor subject used: noise.
    """

    per_second: float
    others: float
    p50: int | None = None
    p99: int | None = None
    load_cpu: float | None = None
    spent: float | None = None
    written: float | None = None


class Subject(Protocol):
    """Something to measure. `name` is unique in a run."""

    @property
    def name(self) -> str:
        """What its row is called."""
        ...

    def measure(self, work: Work, seconds: int) -> Sample:
        """One round of that work."""
        ...


class Served:
    """A server under load by wrk. `pid` is its topmost process."""

    def __init__(self, name: str, url: str, pid: int, dataset: Dataset) -> None:
        self.name = name
        self.url = url
        self.pid = pid
        self.dataset = dataset
        self._plan: Callable[[Work], Plan] = cache(lambda work: work.plan(dataset, url))

    def measure(self, work: Work, seconds: int) -> Sample:
        """One round. Raises LoadFailed when an answer was an error."""
        plan = self._plan(work)
        watch, spent = Watch(), machine.cpu_seconds(self.pid)
        written = None
        if work.written:
            path = plan.requests[0].path.split("/")
            request = update(self.dataset, path[path.index("workspaces") + 1])
            with Writer(self.url, request, plan.headers) as writer:
                load = wrk.run(self.url, plan, seconds, work.connections)
            written = writer.per_second
        else:
            load = wrk.run(self.url, plan, seconds, work.connections)
        spent = machine.cpu_seconds(self.pid) - spent
        return Sample(
            per_second=load.per_second,
            others=watch.others(),
            p50=load.p50,
            p99=load.p99,
            load_cpu=load.cpu,
            spent=spent / (load.per_second * seconds) * 1e6,
            written=written,
        )


class Program:
    """A reference that makes its own load: a program that prints how often a second it did it."""

    def __init__(
        self, name: str, command: Callable[[int], list[str]], per_second: Callable[[str], float]
    ) -> None:
        self.name = name
        self._command = command
        self._per_second = per_second

    def measure(self, work: Work, seconds: int) -> Sample:
        """One round, which is the same whatever the work."""
        watch = Watch()
        command = self._command(seconds)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr}")
        return Sample(self._per_second(done.stdout), watch.others())
