"""Which functions each test calls: a plugin of pytest, and what is kept of its findings."""

import json
import os
import shutil
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
    """Keeps which functions each test calls. There is one in each process that runs tests."""

    def __init__(self, kept: Path) -> None:
        """`kept` is the folder in which each process has a file, with a line for each test."""
        self._kept = kept
        self._called: set[CodeType] = set()

    def note(self, frame: FrameType, _event: str, _argument: object) -> None:
        """Called for each call of a function; returns None, so that its lines cost nothing."""
        self._called.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Keeps what one test calls, fixtures that are made for it included."""
        self._called.clear()
        sys.settrace(self.note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            with (self._kept / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(f"{json.dumps([item.nodeid, sorted(_own(self._called))])}\n")


def pytest_configure(config: pytest.Config) -> None:
    """Record in this process, and in its copies."""
    config.pluginmanager.register(Recorder(KEPT))


def recorded() -> list[TracedTest]:
    """All tests there are, with what was kept of them in the last recording."""
    kept = kept_in(KEPT)
    return [TracedTest(id_, kept.get(id_, frozenset())) for id_ in _collected()]


def kept_in(folder: Path) -> dict[str, frozenset[str]]:
    """The functions that each test has called, by its id."""
    lines = (line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    # A name stands in the lines of thousands of tests, and a copy of the process has all of them.
    return {id_: frozenset(map(sys.intern, called)) for id_, called in map(json.loads, lines)}


def record() -> None:
    """Finds out anew which test calls what, which takes as long as these tests."""
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
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
