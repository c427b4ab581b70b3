"""Files that are there whole or not at all, however the process that makes them ends.

What is killed on the way may leave a file of eight more characters beside the one it was to make,
of the same mode. Nothing reads it.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def create(path: Path, text: str) -> None:
    """Makes the file, durably and for its owner alone. Raises FileExistsError where there is one,
    and OSError.
    """
    with _written(path, text) as new:
        # Unlike a rename it replaces nothing.
        path.hardlink_to(new)
    settle(path.parent)


def replace(path: Path, text: str) -> None:
    """Puts the file in the place of whatever was there, of the same account; else as `create`."""
    with _written(path, text) as new:
        with suppress(FileNotFoundError):
            _own_as(path, new)
        new.replace(path)
    settle(path.parent)


def _own_as(path: Path, new: Path) -> None:
    """Else what root has written nobody else could read."""
    there = path.stat()
    if os.geteuid() == 0:
        os.chown(new, there.st_uid, there.st_gid)


@contextmanager
def _written(path: Path, text: str) -> Iterator[Path]:
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        yield new
    finally:
        new.unlink(missing_ok=True)


def settle(folder: Path) -> None:
    """Waits until the disk has what the folder lists."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
