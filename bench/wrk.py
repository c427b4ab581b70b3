"""Load by `wrk`: 32 connections that are kept open and always have a request under way."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from bench import programs

CONNECTIONS = 32
SCRIPT = Path(__file__).with_name("requests.lua")
NUMBER = "##########"
"""In a body: becomes a number of ten digits that no other request of this run has."""

_NUMBERS_PER_ROUND = 1_000_000
_rounds = count()


class LoadFailed(Exception):
    """A round that measured something else than what it was meant to."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `body` is JSON without tabs or line ends."""

    method: str
    path: str
    body: str = ""

    def line(self) -> str:
        """As the script reads it."""
        return f"{self.method}\t{self.path}\t{self.body}\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent: requests in turn, with the same headers for all."""

    requests: Sequence[Request]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """What one round of load came to; latencies in µs, `cpu` in cores that wrk itself used."""

    per_second: float
    p50: int
    p99: int
    cpu: float


def fresh_number() -> int:
    """The first of a million numbers that nobody else sends."""
    return next(_rounds) * _NUMBERS_PER_ROUND


def run(url: str, plan: Plan, seconds: int, connections: int = CONNECTIONS) -> Load:
    """One round. Raises LoadFailed when any answer was an error or any connection broke."""
    first = fresh_number()
    with tempfile.NamedTemporaryFile("w", suffix=".requests") as file:
        # Not on the command line, which everybody on the machine can read: a token is among them.
        file.writelines(f"{name}\t{value}\n" for name, value in plan.headers.items())
        file.write("\n")
        file.writelines(request.line() for request in plan.requests)
        file.flush()
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(SCRIPT), url]
        words = [programs.path("wrk"), *options, "--", file.name, str(first)]
        begun = time.monotonic()
        process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    last = said.splitlines()[-1:]
    if process.returncode or not last or not last[0].startswith("{"):
        raise LoadFailed(f"wrk failed: {said}")
    report = json.loads(last[0])
    if report["refused"] or report["broken"] or not report["requests"]:
        raise LoadFailed(f"{plan.requests[0].line().strip()}: {report}")
    return Load(
        per_second=report["requests"] / report["microseconds"] * 1e6,
        p50=report["p50"],
        p99=report["p99"],
        cpu=(usage.ru_utime + usage.ru_stime) / (time.monotonic() - begun),
    )
