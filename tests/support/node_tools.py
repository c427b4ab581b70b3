"""Programs that run on node, as a lock file pins them: installed once for each, into `.cache`.

The service needs none of them: whoever has no node is told that their tests are left out.
"""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache"
INSTALL_SECONDS = 300
NOT_INSTALLED = """\
{} cannot be installed. They come from npm's registry: connect this machine, or take node out of the
PATH to leave these tests out.
"""


def install(project: Path, what: str) -> Path:
    """The folder of what a project's `package-lock.json` names; `what` is how people call it."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not here")
    lock = (project / "package-lock.json").read_bytes()
    folder = CACHE / f"{project.name}-{hashlib.sha256(lock).hexdigest()[:16]}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{project.name}.lock").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)  # until closed: other workers of pytest wait
        if not folder.exists():
            _fill(npm, project, folder, what)
    return folder / "node_modules"


def _fill(npm: str, project: Path, folder: Path, what: str) -> None:
    """Puts what the lock file says into a folder, which appears when it is complete."""
    unfinished = CACHE / f"{project.name}-unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(project, unfinished)
    done = subprocess.run(
        [npm, "ci", "--prefer-offline", "--fetch-retries", "1"],
        cwd=unfinished,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, NOT_INSTALLED.format(what) + done.stderr
    unfinished.rename(folder)
