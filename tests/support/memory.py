"""The file system in memory, where it has room for stores and may hold programs."""

import os
import shutil
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - every file there has its owner's folder
ROOM = 4 * 2**30
"""Bytes; a whole check leaves some hundred million behind and needs twice that at once."""


def folder_in_memory() -> Path | None:
    """Where files are never written to a disk; None where there is not enough of it."""
    try:
        mounted = os.statvfs(SHARED_MEMORY)
    except OSError:
        return None
    runs_programs = not mounted.f_flag & os.ST_NOEXEC
    is_roomy = shutil.disk_usage(SHARED_MEMORY).free >= ROOM
    return SHARED_MEMORY if runs_programs and is_roomy else None
