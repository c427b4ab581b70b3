"""Several processes run the tests, each a copy of the one that has collected them: `-n 6`.

So everything is imported and collected once, and copies share the memory that this takes. Whoever
is done takes the next share.
"""

import os
import signal
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import psutil
import pytest
from _pytest.capture import CaptureManager

from tests.support.shares import in_shares

_NUMBER = struct.Struct("I")

Share = Sequence[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`-n` of pytest-xdist, which imports and collects in each process anew."""
    parser.getgroup("workers")._addoption(
        "-n", type=int, default=0, metavar="N", dest="workers", help="share the tests among N"
    )


def register(config: pytest.Config) -> bool:
    """Whether others are to run the tests, which they then will."""
    if many := 0 if config.option.collectonly else config.option.workers:
        config.pluginmanager.register(Workers(many))
    return bool(many)


class Workers:
    """Starts them, and tells pytest what they find."""

    def __init__(self, many: int) -> None:
        self._many = many
        self._running: dict[Connection, ForkProcess] = {}
        self._runs: dict[Connection, pytest.Item] = {}
        """What each has begun last."""
        self._left: dict[str, pytest.Item] = {}
        """Of which nobody has told to the end what becomes of it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Runs all tests; returns None, and so leaves it to pytest, if some cannot be collected."""
        if session.testsfailed:
            return None
        assert psutil.Process().num_threads() == 1, "copies lack the threads that an import started"
        shares = in_shares(session.items)
        self._left = {item.nodeid: item for item in session.items}
        queue = _queue_of(len(shares))
        try:
            for _ in range(min(self._many, len(shares))):
                folder = _folders(session).mktemp("worker")
                self._start(Worker(session, shares, queue, folder))
            while self._running:
                self._hear(session)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
        finally:
            _drain(queue)  # or whoever is to end might go on with the next share
            os.close(queue)
            self._end()
        for item in list(self._left.values()):
            self._fail(session, item, "Nobody has run it, or not to its end.")
        return True

    def _start(self, worker: "Worker") -> None:
        hears, tells = get_context("fork").Pipe(duplex=False)
        with tells:  # of which the worker has its own
            process = get_context("fork").Process(target=worker.run, args=(tells,))
            process.start()
        self._running[hears] = process

    def _hear(self, session: pytest.Session) -> None:
        """Waits for a word of any worker: a test that it begins, by its number, or a report."""
        hook = session.config.hook
        for told in wait(list(self._running)):
            assert isinstance(told, Connection)
            try:
                said = told.recv()
            except (EOFError, OSError):  # in the middle of a word as well
                self._bury(told, session)
                continue
            if isinstance(said, int):
                self._runs[told] = session.items[said]
                continue
            report = hook.pytest_report_from_serializable(config=session.config, data=said)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                self._left.pop(report.nodeid, None)
                hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _bury(self, told: Connection, session: pytest.Session) -> None:
        """A worker has ended; if it should not have, the test that it ran has failed."""
        process = self._running.pop(told)
        process.join()
        if process.exitcode:
            assert told in self._runs, "it ended before it ran any"
            text = f"Its process ended with {process.exitcode}, before the rest of its share."
            self._fail(session, self._runs[told], text)

    def _fail(self, session: pytest.Session, item: pytest.Item, text: str) -> None:
        self._left.pop(item.nodeid, None)
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        session.config.hook.pytest_runtest_logreport(report=report)

    def _end(self) -> None:
        """Ends whoever still runs, and returns once they have cleaned up after themselves."""
        for process in self._running.values():
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGINT)
        for told, process in self._running.items():
            _drain(told.fileno())  # or they would wait for somebody who listens
            process.join()


class Worker:
    """What a copy of this process does."""

    def __init__(
        self, session: pytest.Session, shares: Sequence[Share], queue: int, folder: Path
    ) -> None:
        self._session = session
        self._shares = shares
        self._queue = queue
        self._folder = folder

    def run(self, tells: Connection) -> None:
        """Runs share after share until there is none, and tells what it finds."""
        plugins = self._session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        plugins.register(Teller(self._session, tells))
        capturing = plugins.get_plugin("capturemanager")
        runner = plugins.get_plugin("runner")
        assert isinstance(capturing, CaptureManager)
        assert runner is not None
        capturing.stop_global_capturing()  # into a file that all copies would have together
        capturing.start_global_capturing()
        _folders(self._session)._basetemp = self._folder
        try:
            self._run_tests()
        except KeyboardInterrupt:
            pass  # what it has not told to the end fails, unless all are to end
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # until it has tidied up
            runner.pytest_sessionfinish(self._session)

    def _run_tests(self) -> None:
        items = chain.from_iterable(self._claims())
        item = next(items, None)
        while item is not None and not self._session.shouldfail:
            # Known before the test is torn down: what the next needs as well is kept.
            following = next(items, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following

    def _claims(self) -> Iterator[Share]:
        while number := os.read(self._queue, _NUMBER.size):
            yield self._shares[_NUMBER.unpack(number)[0]]


class Teller:
    """Tells the process that shows it what becomes of each test."""

    def __init__(self, session: pytest.Session, tells: Connection) -> None:
        self._session = session
        self._tells = tells
        self._numbers = {item.nodeid: number for number, item in enumerate(session.items)}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._tells.send(self._numbers[nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Some of it is done."""
        config = self._session.config
        said = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._tells.send(said)


def _folders(session: pytest.Session) -> pytest.TempPathFactory:
    """What makes temporary folders: below one that is gone a few runs later."""
    made: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
    return made


def _queue_of(many: int) -> int:
    """What all read from: each number once, and then the end."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "wb") as file:
        file.writelines(_NUMBER.pack(number) for number in range(many))
    return reads


def _drain(descriptor: int) -> None:
    """Reads to the end, for nobody."""
    while os.read(descriptor, 2**16):
        pass
