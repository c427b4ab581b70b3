"""The mark beside a keyring: a file of one line that says which store the keyring is for.

It is no secret, and what is wrong with it is never a fault: a keyring may be mounted read-only.
"""

import re
from pathlib import Path

from teamvars.security import whole_files

_MARK = re.compile(r"store-[0-9A-Za-z-]{1,80}")
_MOST_BYTES = 200


def path_of(keyring: Path) -> Path:
    """Where the mark of a keyring is."""
    return keyring.with_name(f"{keyring.name}.store")


def read(keyring: Path) -> str | None:
    """The lineage of the keyring's store; None without a mark that can be read."""
    try:
        with path_of(keyring).open("rb") as file:
            text = file.read(_MOST_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if _MARK.fullmatch(text) else None


def write(keyring: Path, lineage: str) -> None:
    """Puts the mark in place, whole and durably, of whatever was there. Raises OSError."""
    whole_files.replace(path_of(keyring), f"{lineage}\n")
