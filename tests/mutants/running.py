"""Tries mutants against the tests nearest to them, each in a process of its own.

One process collects all tests, and those that it forks put a mutant's code into functions that are
loaded. Where the modules were built by that code already, a process loads them anew.
"""

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple, NoReturn

# Loaded once for all processes; only the project's own code is loaded in each.
import apsw  # noqa: F401
import asyncpg  # noqa: F401
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import h2.connection  # noqa: F401
import httpx  # noqa: F401
import msgspec  # noqa: F401
import psutil
import pydantic_settings  # noqa: F401
import pytest
import structlog  # noqa: F401

from tests.mutants.mutations import Mutant
from tests.mutants.recording import ROOT, TracedTest, name_of

_NEVER_ENDS_AFTER = 300.0
"""Seconds of a processor's work, for the host may be busy; some mutants never end."""
_IDLE_AFTER = 30.0
"""Seconds in which a process that works has some of a processor, however busy the host is."""
_LEAST_WORK = 0.02
"""Of these seconds; an event loop that waits for nothing but time takes none."""
_PURE = ("tests/decisions/", "tests/domain/", "tests/security/")
"""Where tests are that ask no store."""
_ON_POSTGRES = "[postgres"
"""What the ids of those tests have."""
_OF_ALL_ROUTES = "tests/web/test_authorization.py"
_FOLDER = "PYTEST_DEBUG_TEMPROOT"
"""Names a process's folder in its environment and in that of whatever it starts."""
_FAILED = "failed"
"""The file in a process's folder that has the ids of the tests that have failed."""


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    HUNG = "hung"
    """Its tests never end, which nobody would overlook."""
    SURVIVED = "survived"
    UNTRIED = "no test calls it"
    LATE = "not tried in time"


def nearest(mutant: Mutant, tests: Sequence[TracedTest], most: int) -> list[str]:
    """The ids of the tests that call the mutant's function, those first that call the fewest
    others; then of those that were not recorded, in the order in which their files are near it.
    Where none is known to call it, all are taken for not recorded.
    """
    calling = sorted(
        (test for test in tests if test.functions and _calls(test, mutant)),
        key=lambda test: (len(test.functions), test.id),
    )
    ids = _in_turns(test.id for test in calling)
    if len(ids) < most:
        others = _in_turns(test.id for test in tests if not (calling and test.functions))
        ids += sorted(others, key=lambda id_: _distance(mutant.path, id_.partition("::")[0]))
    return ids[:most]


def _in_turns(ids: Iterable[str]) -> list[str]:
    """Of all files in turns, for the ways in which they look at something differ. A test is run
    with a second set of parameters once all others are run with one.
    """
    runs: Counter[tuple[str, bool]] = Counter()
    ranks: Counter[tuple[int, str]] = Counter()
    ranked = []
    for id_ in ids:
        name = id_.partition("[")[0]
        one = name, _ON_POSTGRES in id_  # where locks matter more
        turn = runs[one], name.partition("::")[0]
        ranked.append((runs[one], ranks[turn], id_))
        runs[one] += 1
        ranks[turn] += 1
    return [id_ for *_, id_ in sorted(ranked, key=lambda one: one[:2])]


@cache
def _distance(path: str, tests: str) -> int:
    """How far a file of tests is from a file of `src`: 0 where it has the same name, as a noun has
    in every room, or asks of every route who may; 1 where its name has that name or the folder's; 2
    where it imports the file.
    """
    _, _, room, *folders = Path(path).with_suffix("").parts
    name, file = folders[-1] if folders else room, ROOT / tests
    if file.stem == f"test_{name}" or tests == _OF_ALL_ROUTES:
        return 0
    if any(part in file.stem for part in folders):
        return 1
    module = ".".join(Path(path).with_suffix("").parts[1:])
    return 2 if file.exists() and module in file.read_text() else 3


def _calls(test: TracedTest, mutant: Mutant) -> bool:
    """Whether the test calls the mutant's function, or any of its file where it is in none."""
    if mutant.function:
        return name_of(mutant.path, mutant.function) in test.functions
    of_file = name_of(mutant.path, "")
    return any(name.startswith(of_file) for name in test.functions)


class _Trial(NamedTuple):
    """A mutant with its number, and the ids of the tests that it faces, in their order; then those
    that it faces as well if it survives them.
    """

    number: int
    mutant: Mutant
    tests: Sequence[str]
    rest: Sequence[str] = ()


_Run = Callable[[Mutant | None, Sequence[str]], int]
"""Runs tests in a process of their own, with a mutant or without: 0 if they pass."""


class Means(NamedTuple):
    """What a judgement may take."""

    most: int
    """Tests that a condition faces. A call or a lock faces five times as many, and all others
    before it counts as one that no test misses: a test of something else may miss it."""

    processes: int
    until: float
    """When no mutant is tried any longer, by the monotonic clock."""


def judge(
    mutants: Iterable[Mutant], tests: Sequence[TracedTest], means: Means
) -> Iterator[tuple[Mutant, Verdict]]:
    """Each mutant and what became of it, in the order in which that is known; calls and locks are
    tried first.

    A test that fails without a mutant as well tells nothing: it is left out, and stderr says so.
    """
    trials: list[_Trial] = []
    for mutant in sorted(mutants, key=lambda one: not one.is_call):
        most = means.most * (5 if mutant.is_call else 1)
        if chosen := nearest(mutant, tests, len(tests) if mutant.is_call else most):
            rest = _in_order(chosen[most:])
            trials.append(_Trial(len(trials), mutant, _in_order(chosen[:most]), rest))
        else:
            yield mutant, Verdict.UNTRIED
    anew = []
    for number, word in _tried_in_one_process(trials, means):
        if word == _ANEW:
            anew.append(trials[number])
        else:
            yield trials[number].mutant, Verdict[word]
    for trial, verdict in _Court(means).judge(anew, _run_anew):
        yield trial.mutant, verdict


def _in_order(ids: Iterable[str]) -> list[str]:
    """Those that ask no store come first, and those on PostgreSQL, which takes longer to begin,
    last.
    """
    return sorted(ids, key=lambda id_: (_ON_POSTGRES in id_, not id_.startswith(_PURE)))


_ANEW = "ANEW"
"""In place of a verdict: the modules have to be loaded anew."""


def _tried_in_one_process(trials: Sequence[_Trial], means: Means) -> Iterator[tuple[int, str]]:
    """The number of each trial with the name of its verdict, from a process that collects."""
    reader, writer = os.pipe()
    pid = _fork(partial(_try_all, trials, means, writer))
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            number, word = line.split()
            yield int(number), word
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError("The tests could not be collected.")


def _try_all(trials: Sequence[_Trial], means: Means, writer: int) -> NoReturn:
    """Collects all tests, tries those mutants whose code can be put into what is loaded, and writes
    what became of each.
    """
    built: set[CodeType] = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        built.add(frame.f_code)

    def at_collection(session: pytest.Session) -> NoReturn:
        sys.settrace(None)
        loaded = _Loaded(session, built)
        swapped = []
        for trial in trials:
            if loaded.takes(trial.mutant):
                swapped.append(trial)
            else:
                os.write(writer, f"{trial.number} {_ANEW}\n".encode())
        for trial, verdict in _Court(means).judge(swapped, loaded.run):
            os.write(writer, f"{trial.number} {verdict.name}\n".encode())
        os._exit(0)

    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    sys.settrace(note)
    _collect((id_ for trial in trials for id_ in (*trial.tests, *trial.rest)), at_collection)
    os._exit(1)


def _collect(ids: Iterable[str], work: Callable[[pytest.Session], NoReturn]) -> None:
    """Collects the files of these tests and does the work; returns where that was not reached."""
    files = sorted({id_.partition("::")[0] for id_ in ids})
    options = ["-x", "-q", "-s", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none"]
    pytest.main([*options, *files], plugins=[_AtCollection(work)])


class _AtCollection:
    """A plugin of pytest: does something else once the tests are collected."""

    def __init__(self, work: Callable[[pytest.Session], NoReturn]) -> None:
        self._work = work

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """All are there."""
        self._work(session)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes who has failed, for the process that waits for this one."""
        if report.failed:
            with Path(os.environ[_FOLDER], _FAILED).open("a") as file:
                file.write(f"{report.nodeid}\n")


class _Loaded:
    """The project's code as it is loaded, and the tests that were collected."""

    def __init__(self, session: pytest.Session, built: Iterable[CodeType]) -> None:
        """`built` is the code that has run while it was loaded."""
        self._session = session
        self._built = {(code.co_filename, code.co_qualname) for code in built}
        self._functions: dict[str, list[FunctionType]] = {}
        gc.unfreeze()  # or nothing that was collected would be among these
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                self._functions.setdefault(one.__code__.co_filename, []).append(one)
        gc.freeze()

    def takes(self, mutant: Mutant) -> bool:
        """Whether it makes a difference only when its function is called from now on."""
        path = str(ROOT / mutant.path)
        return bool(mutant.function) and (path, mutant.function) not in self._built

    def run(self, mutant: Mutant | None, ids: Sequence[str]) -> int:
        """As `_Run`."""
        if mutant is not None:
            self._swap(mutant)
        return _run(self._session, ids)

    def _swap(self, mutant: Mutant) -> None:
        """A mutant has all lines where they were, and each function its free variables."""
        path = str(ROOT / mutant.path)
        whole = compile(mutant.source, path, "exec", dont_inherit=True)
        codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(whole)}
        unchanged = set(codes.values())
        for function in self._functions.get(path, ()):
            code = function.__code__
            if code not in unchanged:
                function.__code__ = codes[code.co_qualname, code.co_firstlineno]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """All code below one."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def _run(session: pytest.Session, ids: Sequence[str]) -> int:
    """Runs some of the tests that were collected, up to the first that fails."""
    items = {item.nodeid: item for item in session.items}
    session.items[:] = [items[id_] for id_ in ids if id_ in items]
    try:
        session.config.hook.pytest_runtestloop(session=session)
    except session.Failed:
        pass
    finally:
        session._setupstate.teardown_exact(None)  # no database is left behind
    return min(session.testsfailed, 1)


def _run_anew(mutant: Mutant | None, ids: Sequence[str]) -> int:
    """As `_Run`, with modules that this process loads itself."""
    assert not any(name.partition(".")[0] == "teamvars" for name in sys.modules)
    if mutant is not None:
        _replace(mutant)
    _collect(ids, lambda session: os._exit(_run(session, ids)))
    return 1


def _replace(mutant: Mutant) -> None:
    """From now on the mutant is what its module is loaded from."""
    path, get_code = str(ROOT / mutant.path), SourceFileLoader.get_code

    def mutated(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path != path:
            return get_code(self, fullname)
        return compile(mutant.source, path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = mutated  # type: ignore[assignment,method-assign]


class _Running:
    """A process that tries a mutant."""

    def __init__(self, trial: _Trial, pid: int) -> None:
        self.trial = trial
        self._process = psutil.Process(pid)
        self._looked = time.monotonic()
        self._worked = 0.0

    def hangs(self) -> bool:
        """Whether it has worked too much, or not at all for a while."""
        now = time.monotonic()
        if now - self._looked > _IDLE_AFTER:
            worked = sum(map(_processor_seconds, self._everybody()))
            if worked <= self._worked + _LEAST_WORK or worked > _NEVER_ENDS_AFTER:
                return True
            self._looked, self._worked = now, worked
        return False

    def _everybody(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]


def _processor_seconds(process: psutil.Process) -> float:
    with suppress(psutil.Error):  # it has ended
        times = process.cpu_times()
        return times.user + times.system
    return 0.0


class _Court:
    """Tries mutants, so many at a time."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._running: dict[int, _Running] = {}
        self._sound: dict[str, bool] = {}

    def judge(self, trials: Sequence[_Trial], run: _Run) -> Iterator[tuple[_Trial, Verdict]]:
        """Each with its verdict. A test that kills is run once without a mutant."""
        waiting = list(reversed(trials))
        with tempfile.TemporaryDirectory() as scratch:
            while waiting or self._running:
                if waiting and len(self._running) < self._means.processes:
                    trial = waiting.pop()
                    if time.monotonic() > self._means.until:
                        yield trial, Verdict.LATE
                    elif tests := [id_ for id_ in trial.tests if self._sound.get(id_, True)]:
                        self._start(trial._replace(tests=tests), run, scratch)
                    else:
                        yield trial, Verdict.UNTRIED
                    continue
                trial, verdict, failed = self._ended(scratch)
                if verdict is Verdict.SURVIVED and trial.rest:
                    waiting.append(trial._replace(tests=trial.rest, rest=()))
                elif all(self._is_sound(id_, run, scratch) for id_ in failed):
                    yield trial, verdict
                else:
                    waiting.append(trial)

    def _start(self, trial: _Trial, run: _Run, scratch: str) -> None:
        pid = _fork(partial(_alone, partial(run, trial.mutant, trial.tests), scratch))
        self._running[pid] = _Running(trial, pid)

    def _ended(self, scratch: str) -> tuple[_Trial, Verdict, Sequence[str]]:
        """Waits for one of the processes, and ends one that hangs or has no more time. Returns what
        it says of the mutant, and the tests that have failed in it.
        """
        while True:
            for pid, running in list(self._running.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                verdict = Verdict.KILLED if status else Verdict.SURVIVED
                if not ended and (stopped := self._stopped(running)):
                    os.killpg(pid, signal.SIGKILL)
                    ended, _ = os.waitpid(pid, 0)
                    verdict = stopped
                if ended:
                    del self._running[pid]
                    failed = _cleared(Path(scratch, str(pid)))
                    return running.trial, verdict, failed if verdict is Verdict.KILLED else ()
            time.sleep(0.01)

    def _stopped(self, running: _Running) -> Verdict | None:
        """What a mutant is whose process is not to go on; None where it may."""
        if time.monotonic() > self._means.until:
            return Verdict.LATE
        return Verdict.HUNG if running.hangs() else None

    def _is_sound(self, test: str, run: _Run, scratch: str) -> bool:
        """Whether the test passes without a mutant. It may fail twice where the host is busy: left
        out by chance, it would let all mutants survive that it alone kills.
        """
        if test not in self._sound:
            self._sound[test] = any(self._passes(test, run, scratch) for _ in range(3))
            if not self._sound[test]:
                print(f"fails without a mutant, and is left out: {test}", file=sys.stderr)
        return self._sound[test]

    @staticmethod
    def _passes(test: str, run: _Run, scratch: str) -> bool:
        pid = _fork(partial(_alone, partial(run, None, [test]), scratch))
        _, status = os.waitpid(pid, 0)
        _cleared(Path(scratch, str(pid)))
        return status == 0


def _fork(work: Callable[[], object]) -> int:
    """The id of a process that does the work, and ends with 3 if that returns or raises."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            work()
        os._exit(3)
    return pid


def _alone(run: Callable[[], int], scratch: str) -> NoReturn:
    """Runs tests, without a word and in a folder of their own."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    folder = Path(scratch, str(os.getpid()))
    folder.mkdir()
    os.environ[_FOLDER] = str(folder)
    os._exit(run())


def _cleared(folder: Path) -> Sequence[str]:
    """The tests that have failed in a process that has ended; nothing is left of it, nor of the
    servers that it has started.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_FOLDER) == str(folder):
                process.kill()
    failed = folder / _FAILED
    ids = failed.read_text().splitlines() if failed.exists() else ()
    shutil.rmtree(folder, ignore_errors=True)
    return ids
