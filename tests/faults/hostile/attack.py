"""What an attack is: bounded bytes and connections for some seconds, and what may come back."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.faults.hostile.target import Target
from tests.faults.hostile.wire import CLOSED, UNANSWERED, Answer

Run = Callable[[Target, float], Awaitable[Sequence[Answer]]]

BOTH = ("sqlite", "postgres")

REFUSED = frozenset({400, 413, 422, 429, 503, CLOSED})
"""What a known caller who means harm may be told."""
STRANGER = frozenset({401, 413, 429, 503, CLOSED})
"""What a stranger may be told; a connection whose request is given up may end."""
UNKNOWN = frozenset({401, 429})
"""What some strangers must have been told: all come from one address."""
GAVE_UP = frozenset({UNANSWERED})
"""Where it is the attacker who does not wait for an answer."""


@dataclass(frozen=True)
class Attack:
    """One way to do harm.

    `run` goes on for so many seconds and returns what was answered, all of it `allowed`, and a
    status of `needed` among it, if there are any. A `flood` is of that many requests that everybody
    waits longer. A `fair` one is by a neighbour, of whom others notice less. Of one that may hold
    SQLite's only writer, `writers_wait` is for how many seconds.
    """

    name: str
    run: Run
    allowed: frozenset[int]
    needed: frozenset[int] = field(default_factory=frozenset)
    flood: bool = False
    fair: bool = False
    writers_wait: float | None = None
    engines: Sequence[str] = ("sqlite",)
