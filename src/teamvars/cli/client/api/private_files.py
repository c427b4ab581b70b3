"""Files that nobody but the user can read, and that are whole at any time."""

import os
from pathlib import Path

import msgspec


def replace(path: Path, content: object) -> None:
    """Puts a file of JSON (0600) in the place of what was there, which whoever is killed in the
    middle leaves. Raises OSError.
    """
    new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
