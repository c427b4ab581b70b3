"""The programs the benchmark runs and that no Python package brings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.postgres import PACKAGES, PROGRAMS

PGBENCH = str(PACKAGES / PROGRAMS / "pgbench")
PSQL = str(PACKAGES / PROGRAMS / "psql")
PY_SPY = str(Path(sys.executable).with_name("py-spy"))
_FROM_DEBIAN = ("wrk", "nginx")
# Debian's nginx is where ordinary users do not look for programs.
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def require() -> None:
    """Installs the missing ones from Debian as root; otherwise ends and says what to do."""
    missing = [name for name in _FROM_DEBIAN if shutil.which(name, path=_PATH) is None]
    if not missing:
        return
    installer = shutil.which("apt-get")
    if os.getuid() != 0 or installer is None:
        sys.exit(f"The benchmark needs {' and '.join(missing)}: apt install {' '.join(missing)}")
    print(f"Installing {' and '.join(missing)} …", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
        done = subprocess.run(
            [installer, "-qq", *command], env=quiet, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"apt-get {command[0]} failed:\n{done.stderr}")


def path(name: str) -> str:
    """Where the program is."""
    found = shutil.which(name, path=_PATH)
    assert found is not None, f"{name} was required at the start"
    return found


def python(module: str, *arguments: object) -> list[str]:
    """The command that runs one of our modules as a program; its folder is ROOT."""
    return [sys.executable, "-m", module, *map(str, arguments)]


ROOT = Path(__file__).parent.parent
