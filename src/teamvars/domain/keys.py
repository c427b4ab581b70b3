"""Keys as the store knows them, by id and without their secret, and who has which; and generations
of data keys, of which each organization has a key of each that it needs: what is sealed under one,
and the job that seals under those in use.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from teamvars.kernel import Discreet

MASTER = "master"
"""Wraps the data keys of organizations; kept answers and cursors are under keys made of it."""
AUDIT = "audit"
"""Signs entries and heads of the trail, approvals of runners, tokens of jobs, versions of lists."""
SERVER = "server"
"""Signs what jobs are handed."""
DATA = "data"
"""Seals values; each generation is a key of each organization."""

_PREFIX = "data-"
REWRAP_ID = "rewrap"
"""The id of the job that seals anew: there is one at a time."""


class KeyRefused(Exception):
    """A key is not changed as was asked; the text says what stands in the way."""


class NotedKey(Discreet, frozen=True):
    """A key of the keyring that the store knows, with what proves that a keyring has the same.

    Until it is activated nothing is under it, so a keyring may be without it. One that was retired
    is none that a keyring may use.
    """

    id: str
    purpose: str
    check_value: bytes
    created_at: int
    activated_at: int | None = None
    retired_at: int | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it was added, and neither activated nor retired."""
        return self.activated_at is None and self.retired_at is None


class NotedServerKey(NotedKey, frozen=True):
    """One of which no row of the store is under any."""


def noted_key(id_: str, purpose: str, check_value: bytes, *times: int | None) -> NotedKey:
    """A key of that purpose; the times are those of `NotedKey`, in their order."""
    kind: Callable[..., NotedKey] = NotedServerKey if purpose == SERVER else NotedKey
    return kind(id_, purpose, check_value, *times)


class Node(msgspec.Struct, frozen=True):
    """A process that serves, and the ids of the keys that it has, and that it signs and seals with.

    `name` is for people: its host and process.
    """

    id: str
    name: str
    held: frozenset[str]
    active: frozenset[str]


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
        return generation_id(self.version)


FIRST_GENERATION = Generation(1, created_at=0, activated_at=0)
"""Which every store begins with."""


def generation_id(version: int) -> str:
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
