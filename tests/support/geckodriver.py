"""The geckodriver that drives Firefox: this machine's, or one that cargo builds once into `.cache`.

The sources of the driver have their checksum here, and what it is built of in the `Cargo.lock` that
comes with them.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

VERSION = "0.37.1"
CHECKSUM = "79f38cf1541aaf57f6f7eb270f691bcb702485a95dbaaefe740141a8ea46f0ef"
CACHE = Path(__file__).parents[2] / ".cache"
MINUTES = 20


class NoGeckodriverError(Exception):
    """There is none, nor can one be built; says why."""


def find() -> Path:
    """The program. Raises NoGeckodriverError where there is none to be had."""
    if found := shutil.which("geckodriver"):
        return Path(found)
    cargo = shutil.which("cargo")
    if cargo is None:
        raise NoGeckodriverError("there is neither geckodriver nor a cargo to build it with")
    folder = CACHE / f"geckodriver-{VERSION}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "geckodriver.lock").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)  # until closed: other workers of pytest wait
        if not folder.exists():
            _build(cargo, folder)
    return folder / "bin" / "geckodriver"


def _build(cargo: str, folder: Path) -> None:
    """Puts it into a folder, which appears when it is complete."""
    unfinished = CACHE / "geckodriver-unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    with tarfile.open(_sources(cargo)) as sources:
        sources.extractall(unfinished, filter="data")
    built = unfinished / "built"
    where = ["--path", unfinished / f"geckodriver-{VERSION}", "--root", built]
    # Making it fast takes longer than it is ever used here.
    _run(cargo, "install", "--debug", "--locked", *where, "--target-dir", unfinished / "target")
    built.rename(folder)
    shutil.rmtree(unfinished)


def _sources(cargo: str) -> Path:
    """The package as the registry has it, which cargo keeps where it keeps all."""
    _run(cargo, "info", f"geckodriver@{VERSION}")
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for package in home.glob(f"registry/cache/*/geckodriver-{VERSION}.crate"):
        if hashlib.sha256(package.read_bytes()).hexdigest() == CHECKSUM:
            return package
    raise NoGeckodriverError(f"cargo has no geckodriver {VERSION} with the checksum {CHECKSUM}")


def _run(cargo: str, *words: object) -> None:
    done = subprocess.run(
        [cargo, *map(str, words)],
        cwd=CACHE,
        env={**os.environ, "CARGO_PROFILE_DEV_DEBUG": "0"},
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise NoGeckodriverError(f"cargo {words[0]} of geckodriver {VERSION} failed: {last}")
