"""Text from files and standard input."""

import sys
from pathlib import Path

from teamvars.cli.exits import ERROR, INVALID
from teamvars.cli.failures import Failure

STDIN = "-"
_MOST_BYTES = 24 * 1024 * 1024


def text_of(path: str) -> str:
    """What a file holds, or standard input for `-`, byte for byte. Fails without quoting it."""
    try:
        if path == STDIN:
            given = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                given = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", ERROR) from None
    if len(given) > _MOST_BYTES:
        raise Failure(f"{path} has more than {_MOST_BYTES} bytes.", INVALID)
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        raise Failure(f"{path}:{line}: This is not UTF-8.", INVALID) from None
