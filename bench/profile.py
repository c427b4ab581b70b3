"""Where the microseconds of a request go.

py-spy looks at the event loop of a worker many times a second. Each look counts for the innermost
function of ours that is running, with whatever libraries do on its behalf.
"""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import psutil

from bench import programs, stage
from bench.subjects import Served
from bench.works import Work

SECONDS = 5
_LOOKS_PER_SECOND = 400
_SHOWN = 22
_FRAME = re.compile(r"(?P<function>\S+) \((?P<file>[^:)]*)")
_ELSEWHERE = "asyncio, uvloop, granian"


def run(works: Sequence[Work]) -> None:
    """Prints a table for each work and engine."""
    with stage.ratios() as on:
        for work in works:
            for server in on.servers:
                if server.name.endswith("x1"):
                    print(_profile(work, server), flush=True)


def _profile(work: Work, server: Served) -> str:
    server.measure(work, 1)
    worker = max(psutil.Process(server.pid).children(), key=lambda p: p.memory_info().rss)
    with tempfile.NamedTemporaryFile("r", suffix=".stacks") as file:
        options = f"-t -F -f raw -d {SECONDS} -r {_LOOKS_PER_SECOND} -p {worker.pid}".split()
        command = [programs.PY_SPY, "record", *options, "-o", file.name]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=quiet, stderr=quiet):
            before = _loop_seconds(worker)
            sample = server.measure(work, SECONDS)
            loop = (_loop_seconds(worker) - before) / (sample.per_second * SECONDS) * 1e6
        found = _count(Path(file.name))
    looks = found.total()
    assert sample.spent is not None
    head = (
        f"\n{work.text}, {server.name}: {sample.per_second:,.0f} a second; a request takes "
        f"{loop:.0f} µs of the event loop and {sample.spent - loop:.0f} µs of other threads\n\n"
        "| where | µs | share |\n| --- | --- | --- |\n"
    )
    return head + "\n".join(
        f"| {where} | {count / looks * loop:.0f} | {count / looks:.0%} |"
        for where, count in found.most_common(_SHOWN)
    )


def _count(stacks: Path) -> Counter[str]:
    """How many looks found each place; of the main thread alone, where the event loop runs."""
    found: Counter[str] = Counter()
    for line in stacks.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        thread, *frames = stack.split(";")
        if "MainThread" in thread:
            found[_place(frames)] += int(count)
    return found


def _place(frames: list[str]) -> str:
    """The innermost function of ours on the stack."""
    for frame in reversed(frames):
        named = _FRAME.match(frame)
        if named is not None and "teamvars/" in named["file"] and "/cli/" not in named["file"]:
            return f"{named['file'].rpartition('teamvars/')[2]} {named['function']}"
    return _ELSEWHERE


def _loop_seconds(worker: psutil.Process) -> float:
    return next(t.user_time + t.system_time for t in worker.threads() if t.id == worker.pid)
