"""The programs the benchmark runs and that no Python package brings."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from tests.support.openbao import BAO
from tests.support.postgres import PACKAGES, PROGRAMS

PGBENCH = str(PACKAGES / PROGRAMS / "pgbench")
POSTGRES = str(PACKAGES / PROGRAMS / "postgres")
PSQL = str(PACKAGES / PROGRAMS / "psql")
PY_SPY = str(Path(sys.executable).with_name("py-spy"))
OPENBAO = "OpenBao"
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


def versions() -> dict[str, str]:
    """What is measured and what it is measured against, as far as it can be had here, by name."""
    commands = {
        "nginx": ["nginx", "-v"],
        "PostgreSQL": [POSTGRES, "--version"],
        OPENBAO: [BAO, "version"],
    }
    found = {name: _version(command) for name, command in commands.items()}
    known = {name: version for name, version in found.items() if version is not None}
    return {"granian": metadata.version("granian"), **known}


def _version(command: list[str]) -> str | None:
    """The first number with points in what it says; None when it cannot be run."""
    program = shutil.which(command[0], path=_PATH)
    if program is None:
        return None
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    number = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return number[0] if number and not done.returncode else None


def python(module: str, *arguments: object) -> list[str]:
    """The command that runs one of our modules as a program; its folder is ROOT."""
    return [sys.executable, "-m", module, *map(str, arguments)]


ROOT = Path(__file__).parent.parent
