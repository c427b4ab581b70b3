"""Which functions each test calls: a plugin of pytest, and what is kept of its findings."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".cache/mutants"
ROOMS = ("decisions", "domain", "security", "services", "storage", "web")
"""The tests whose code runs in their own process, where it can be replaced."""

_SOURCES = f"{ROOT / 'src'}{os.sep}"


class TracedTest(NamedTuple):
    """A test, and the functions of `src` that it calls."""

    id: str
    functions: frozenset[str]
    """As `name_of` has them; empty where it was not recorded."""


def name_of(path: str, function: str) -> str:
    """The name of a function in what is kept, by its file from the project's folder."""
    return f"{path}:{function}"


class Recorder:
    """Notes which functions each test calls. There is one in each process of pytest."""

    def __init__(self) -> None:
        self._called: set[CodeType] = set()
        self._tests: dict[str, list[str]] = {}

    def note(self, frame: FrameType, _event: str, _argument: object) -> None:
        """Called for each call of a function; returns None, so that its lines cost nothing."""
        self._called.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Notes what one test calls, fixtures that are made for it included."""
        self._called.clear()
        sys.settrace(self.note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self._tests[item.nodeid] = sorted(_own(self._called))

    def pytest_sessionfinish(self) -> None:
        """Keeps what this process has found."""
        if self._tests:
            KEPT.mkdir(parents=True, exist_ok=True)
            worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
            (KEPT / f"{worker}.json").write_text(json.dumps(self._tests))


def pytest_configure(config: pytest.Config) -> None:
    """Record in this process."""
    config.pluginmanager.register(Recorder())


def recorded() -> list[TracedTest]:
    """All tests there are, with what was kept of them in the last recording."""
    kept: dict[str, list[str]] = {}
    for file in sorted(KEPT.glob("*.json")):
        kept |= json.loads(file.read_text())
    return [TracedTest(id_, frozenset(kept.get(id_, ()))) for id_ in _collected()]


def record() -> None:
    """Finds out anew which test calls what, which takes as long as these tests."""
    for file in KEPT.glob("*.json"):
        file.unlink()
    _pytest("-p", "tests.mutants.recording", "-n", "2", stdout=None)


def _collected() -> list[str]:
    lines = _pytest("--collect-only", "-n", "0", stdout=subprocess.PIPE).splitlines()
    return [line for line in lines if "::" in line]


def _pytest(*options: str, stdout: int | None) -> str:
    rooms = [f"tests/{room}" for room in ROOMS]
    command = [sys.executable, "-m", "pytest", *options, *rooms]
    return subprocess.run(command, cwd=ROOT, check=False, stdout=stdout, text=True).stdout


def _own(called: Iterable[CodeType]) -> set[str]:
    """The names of the project's own functions among those called."""
    return {
        name_of(f"src/{code.co_filename.removeprefix(_SOURCES)}", code.co_qualname)
        for code in called
        if code.co_filename.startswith(_SOURCES)
    }
