"""A program with no more than the systemd unit of docs/operating.md leaves it, as far as one can go
without systemd: no privileges, no memory that is both written and executed, no system call but
those of the unit. `python -m tests.support.confined PROGRAM ARGUMENTS` becomes the program.
"""

import ctypes
import errno
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

from tests.support.commands import SCRIPT, Host

_SET_NO_NEW_PRIVILEGES, _SET_MEMORY_RULE, _GET_MEMORY_RULE, _YES = 38, 65, 66, 1
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_LIBRARY = "libseccomp.so.2"


class ConfinedHost(Host):
    """A host whose servers are confined so."""

    def start(self, *words: object, out: IO[str], err: IO[str]) -> subprocess.Popen[str]:
        """As `Host.start`."""
        return subprocess.Popen(
            [sys.executable, "-m", __name__, SCRIPT, *map(str, words)],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": str(Path.cwd())},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )


def can_confine() -> bool:
    """Whether this system knows all that it takes."""
    try:
        ctypes.CDLL(_LIBRARY)
        system_calls("@system-service")
    except OSError:
        return False
    return bool(ctypes.CDLL(None).prctl(_GET_MEMORY_RULE, 0, 0, 0, 0) >= 0)


@cache
def system_calls(group: str) -> frozenset[str]:
    """The names in a group of systemd's, and in the groups it is made of."""
    command = ["systemd-analyze", "--no-pager", "syscall-filter", group]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = frozenset(re.findall(r"^ {4}([@a-z_0-9-]+)$", printed, re.MULTILINE))
    parts = (system_calls(name) for name in names if name.startswith("@"))
    return frozenset(name for name in names if not name.startswith("@")).union(*parts)


def confine() -> None:
    """Takes it from this process and all that it will start."""
    library = ctypes.CDLL(None, use_errno=True)
    for option in (_SET_NO_NEW_PRIVILEGES, _SET_MEMORY_RULE):
        if library.prctl(option, _YES, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    allowed = system_calls("@system-service") - system_calls("@privileged")
    _filter(allowed)


def _filter(allowed: frozenset[str]) -> None:
    library = ctypes.CDLL(_LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_REFUSE)))
    for name in allowed:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # else it is one of another processor's
            library.seccomp_rule_add(context, ctypes.c_uint32(_ALLOW), number, 0)
    if library.seccomp_load(context):
        raise OSError("seccomp_load")


if __name__ == "__main__":
    confine()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - that is what it is for
