"""Programs and Debian packages that tests need, installed where that can be done: as root, with
apt-get.
"""

import os
import shutil
import subprocess

_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"


def program(name: str, package: str) -> str:
    """Where a program is, which that package has. Fails where there is none."""
    if shutil.which(name, path=_PATH) is None:
        install(package)
    found = shutil.which(name, path=_PATH)
    assert found is not None, f"Install {name} (Debian: apt-get install {package})."
    return found


def install(*packages: str) -> None:
    """Tries to install them. Whether they are there is for the caller to see."""
    program = shutil.which("apt-get")
    if program is None or os.geteuid() != 0:
        return
    # One of several test processes at a time: the others wait for what it has locked.
    wait = "DPkg::Lock::Timeout=300"
    for words in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
        subprocess.run(
            [program, "--quiet", "-o", wait, *words],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            timeout=1800,
            check=False,
        )
