"""Generations of data keys: each organization has a data key of each that it needs. What is sealed
under one, and the job that seals under those in use.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

_PREFIX = "data-"
ONLY = "rewrap"
"""The id of the job: there is one at a time."""


class Sealed(NamedTuple):
    """Something sealed under a data key of its organization; `version` is that key's generation."""

    content: bytes
    version: int


NOTHING_SEALED = Sealed(b"", 0)
"""In the place of what was not fetched: it opens nowhere."""


class Generation(msgspec.Struct, frozen=True):
    """A generation of data keys. Times in µs UTC; it is in use once it was activated, until a newer
    one is.
    """

    version: int
    created_at: int
    activated_at: int | None = None
    retired_at: int | None = None

    @property
    def id(self) -> str:
        """What operators call it."""
        return id_of(self.version)


FIRST_GENERATION = Generation(1, created_at=0, activated_at=0)
"""Which every store begins with."""


def id_of(version: int) -> str:
    """What operators call a generation."""
    return f"{_PREFIX}{version}"


def is_generation(key_id: str) -> bool:
    """Whether that may be the id of a generation, and is none of a key in the keyring."""
    return key_id.startswith(_PREFIX)


def active_of(generations: Sequence[Generation]) -> Generation:
    """The generation in use: the newest that was activated, or the first of all."""
    return [generations[0], *(one for one in generations if one.activated_at is not None)][-1]


class Rewrap(msgspec.Struct, frozen=True):
    """A job that is under way, and held until then, in µs, by a run whose own name `holder` is:
    what it seals under, behind which row of which part it goes on, and how many rows it has sealed.
    """

    holder: str
    held_until: int
    generation: int
    part: int = 0
    after: str = ""
    done: int = 0
