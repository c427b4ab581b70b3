"""Which version this is: said here alone, for what is built, the commands, the service and clients.

Builds run this file by itself, so it imports nothing of the package.
"""

import re
from pathlib import Path

RELEASE = "0.3.0.dev0"
"""The release that these sources are, or with `.dev0` the one that they are to become."""

COMMIT_FILE = "COMMIT"
"""Lies beside this file in what was built from a checkout; never in a checkout itself."""

_PACKAGE = Path(__file__).resolve().parent
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHOWN = 12


def version() -> str:
    """The release; of what is none yet with the commit, where that is known (PEP 440)."""
    commit = known_commit() if ".dev" in RELEASE else None
    if commit is None:
        return RELEASE
    short = commit[:_SHOWN]
    # Of a local version that is a number, installers drop zeros in front.
    return f"{RELEASE}+{commit if short.isdigit() else short}"


def known_commit() -> str | None:
    """The commit that this was built from, or that is checked out; None where there is no git."""
    found = _read(_PACKAGE / COMMIT_FILE) or _checked_out(_PACKAGE.parents[1] / ".git")
    return found if _COMMIT.fullmatch(found) else None


def _checked_out(git: Path) -> str:
    """As git's own files have it: no command may have to wait for git."""
    if git.is_file():  # a worktree, whose own folder is elsewhere
        git = git.parent / _read(git).removeprefix("gitdir: ")
    head = _read(git / "HEAD")
    ref = head.removeprefix("ref: ")
    if ref == head:
        return head
    shared = git / (_read(git / "commondir") or ".")
    return _read(shared / ref) or _packed(shared, ref)


def _packed(git: Path, ref: str) -> str:
    lines = (line.partition(" ") for line in _read(git / "packed-refs").splitlines())
    return next((commit for commit, _, name in lines if name == ref), "")


def _read(file: Path) -> str:
    """What a file says, nothing where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
