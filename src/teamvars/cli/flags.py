"""The flags before the command."""

from pathlib import Path
from typing import NamedTuple


class Flags(NamedTuple):
    """What stood before the command; None where a flag was not given."""

    data_dir: Path | None = None
    database_url: str | None = None
    keyring: Path | None = None
