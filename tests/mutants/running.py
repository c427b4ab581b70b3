"""Runs the tests nearest to a mutant, in a process of its own that knows no other code."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from importlib.machinery import SourceFileLoader
from types import CodeType

# Loaded once for all processes; only the project's own code is loaded in each.
import apsw  # noqa: F401
import asyncpg  # noqa: F401
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import httpx  # noqa: F401
import msgspec  # noqa: F401
import pydantic_settings  # noqa: F401
import pytest
import structlog  # noqa: F401

from tests.mutants.mutations import Mutant
from tests.mutants.recording import ROOT, TracedTest, name_of

_HANGS_AFTER = 120.0
"""Seconds; some mutants never end."""


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNTRIED = "no test calls it"


def nearest(mutant: Mutant, tests: Iterable[TracedTest], most: int) -> list[TracedTest]:
    """The tests that call the mutant's function: of each file those first that call the fewest
    others, and of all files in turns, for the ways in which they look at it differ.
    """
    calling = (test for test in tests if _calls(test, mutant))
    ranks: Counter[str] = Counter()
    ranked = []
    for test in sorted(calling, key=lambda test: (len(test.functions), test.id)):
        file = test.id.partition("::")[0]
        ranked.append((ranks[file], test))
        ranks[file] += 1
    return [test for _, test in sorted(ranked, key=lambda pair: pair[0])][:most]


def _calls(test: TracedTest, mutant: Mutant) -> bool:
    """Whether the test calls the mutant's function, or any of its file where it is in none."""
    if mutant.function:
        return name_of(mutant.path, mutant.function) in test.functions
    of_file = name_of(mutant.path, "")
    return any(name.startswith(of_file) for name in test.functions)


class NoControl(Exception):
    """The tests fail without a mutant as well, so they would tell nothing."""


def judge(
    mutants: Iterable[Mutant], tests: Sequence[TracedTest], most: int, processes: int
) -> Iterator[tuple[Mutant, Verdict]]:
    """Each mutant and what became of it, in the order in which that is known.

    Raises NoControl, where the tests of a file fail also without a mutant.
    """
    controlled: set[str] = set()
    running: dict[int, tuple[Mutant, float]] = {}
    for mutant in mutants:
        chosen = nearest(mutant, tests, most)
        if not chosen:
            yield mutant, Verdict.UNTRIED
            continue
        if mutant.path not in controlled:
            controlled.add(mutant.path)
            _control(mutant, chosen)
        if len(running) >= processes:
            yield _ended(running)
        running[_start(mutant, chosen)] = mutant, time.monotonic()
    while running:
        yield _ended(running)


def _control(mutant: Mutant, chosen: Sequence[TracedTest]) -> None:
    """Runs the tests with the code as it is."""
    unchanged = mutant._replace(source=(ROOT / mutant.path).read_text())
    _, verdict = _ended({_start(unchanged, chosen): (unchanged, time.monotonic())})
    if verdict is not Verdict.SURVIVED:
        raise NoControl(f"{mutant.path}: the tests fail without a mutant: {chosen[0].id} …")


def _start(mutant: Mutant, chosen: Sequence[TracedTest]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os._exit(_try(mutant, chosen))
    return pid


def _try(mutant: Mutant, chosen: Sequence[TracedTest]) -> int:
    """In a process of its own: 0 if all of the tests pass."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    _replace(mutant)
    order = _Order([test.id for test in chosen])
    files = sorted({test.id.partition("::")[0] for test in chosen})
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files], plugins=[order]))


def _ended(running: dict[int, tuple[Mutant, float]]) -> tuple[Mutant, Verdict]:
    """Waits for one of the processes; ends one that takes too long."""
    while True:
        for pid, (mutant, started) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and time.monotonic() - started > _HANGS_AFTER:
                os.killpg(pid, signal.SIGKILL)
                ended, status = os.waitpid(pid, 0)
            if ended:
                del running[pid]
                return mutant, Verdict.KILLED if status else Verdict.SURVIVED
        time.sleep(0.02)


def _replace(mutant: Mutant) -> None:
    """From now on the mutant is what its module is loaded from."""
    assert not any(name.partition(".")[0] == "teamvars" for name in sys.modules)
    path, get_code = str(ROOT / mutant.path), SourceFileLoader.get_code

    def mutated(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path != path:
            return get_code(self, fullname)
        return compile(mutant.source, path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = mutated  # type: ignore[assignment,method-assign]


class _Order:
    """A plugin of pytest: runs the chosen tests and no others, those of one engine together."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._places = {id_: place for place, id_ in enumerate(ids)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves the chosen ones, in their order."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._places),
            key=lambda item: ("[postgres" in item.nodeid, self._places[item.nodeid]),
        )
