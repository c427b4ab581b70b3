"""The processes that share the tests tell all that becomes of them, their own end included."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.support import workers

pytest_addoption = workers.pytest_addoption
pytest_configure = workers.register
"""
GOOD = """
import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def session():
    yield
    print(f"{os.getpid()} is tidy", file=open("tidy", "a"))


def test_good():
    assert os.getpid() != int(os.environ["COLLECTS"])


def test_subtests(subtests):
    with subtests.test():
        pass
"""
BAD = """
import pytest


def test_bad():
    print("said", "before")
    assert 1 == 2


@pytest.mark.skip(reason="of a reason")
def test_left_out():
    pass
"""
DYING = """
import os


def test_dying():
    os._exit(7)
"""
LEAVING = """
import os, signal


def test_leaving():
    os.kill(os.getpid(), signal.SIGINT)


def test_never_run():
    pass
"""
WAITING = """
import os, signal, time


def test_waiting():
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(600)
"""


def collected_by(folder: Path, *options: str, **files: str) -> subprocess.CompletedProcess[str]:
    """Runs these tests in two processes."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:xdist\n")
    for name, source in files.items():
        (folder / f"test_{name}.py").write_text(source)
    # Becomes pytest: so the process that collects is known.
    becoming = 'COLLECTS=$$ exec "$@"'
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        ["/bin/sh", "-c", becoming, "sh", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_whatever_becomes_of_a_test_is_told(tmp_path: Path) -> None:
    done = collected_by(tmp_path, good=GOOD, bad=BAD)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "assert 1 == 2" in done.stdout
    assert done.stdout.count("said before") == 1
    assert "1 failed, 2 passed, 1 skipped, 1 subtests passed" in done.stdout
    assert (tmp_path / "tidy").read_text().count("is tidy") == 1


def test_a_process_that_dies_fails_the_test_that_it_ran(tmp_path: Path) -> None:
    done = collected_by(tmp_path, good=GOOD, dying=DYING)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "test_dying" in done.stdout
    assert "Its process ended with 7" in done.stdout


def test_what_nobody_runs_fails(tmp_path: Path) -> None:
    done = collected_by(tmp_path, good=GOOD, leaving=LEAVING)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert done.stdout.count(" - Nobody has run it, or not to its end.") == 2
    assert "2 failed, 2 passed" in done.stdout


def test_no_processes_run_nothing(tmp_path: Path) -> None:
    done = collected_by(tmp_path, "-n", "-1", good=GOOD)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr


def test_whoever_runs_tests_as_they_are_stopped_tidies_up(tmp_path: Path) -> None:
    done = collected_by(tmp_path, waiting=GOOD + WAITING)
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout + done.stderr
    assert "is tidy" in (tmp_path / "tidy").read_text()
