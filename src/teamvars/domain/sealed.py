"""What is stored sealed."""

from typing import NamedTuple


class Sealed(NamedTuple):
    """Something sealed under a data key of its organization; `version` is that key's generation."""

    content: bytes
    version: int


NOTHING = Sealed(b"", 0)
"""In the place of what was not fetched: it opens nowhere."""
