"""How often in one worker: a token bucket for each principal, and failures for each address."""

import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from teamvars.fair_slots import Principal

BURST_SECONDS = 2
"""A full bucket is as many requests as are free in so many seconds."""
REMEMBERED_BUCKETS = 100_000
"""The least recently used are forgotten first; a caller that rare has a full one. Some 25 MiB."""

MOST_FAILURES = 20
"""Of an address in a period. What is over it is refused as too many requests."""
PERIOD_SECONDS = 60.0
REMEMBERED_ADDRESSES = 100_000
"""With a failure; those that began to fail longest ago are forgotten first. Some 25 MiB."""

_SECOND = 1_000_000_000


class Allowance(msgspec.Struct, frozen=True):
    """What a bucket holds: `remaining` requests; in `reset` ns one more is free, if that is 0."""

    remaining: int
    reset: int


class RateLimits:
    """The buckets of one worker.

    This is where a store that all workers share would be asked instead: `take` for every request
    that counts, `look` for the header fields of those that do not.
    """

    def __init__(self, per_second: int, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """`clock`: monotonic, in ns."""
        self.per_second = per_second
        self._clock = clock
        # When each bucket is full, in ns times `per_second`: whole numbers, which do not drift.
        # A request is then a second.
        self._full_at: OrderedDict[Principal, int] = OrderedDict()
        self._capacity = BURST_SECONDS * per_second * _SECOND

    def take(self, principal: Principal) -> bool:
        """Takes a request out of the principal's bucket. False: there is none."""
        now = self._clock() * self.per_second
        full_at = max(self._full_at.get(principal, now), now) + _SECOND
        if full_at - now > self._capacity:
            return False
        self._full_at[principal] = full_at
        self._full_at.move_to_end(principal)
        if len(self._full_at) > REMEMBERED_BUCKETS:
            self._full_at.popitem(last=False)
        return True

    def look(self, principal: Principal) -> Allowance:
        """What the principal's bucket holds."""
        now = self._clock() * self.per_second
        level = self._capacity - max(self._full_at.get(principal, now) - now, 0)
        missing = max(_SECOND - level, 0)
        return Allowance(level // _SECOND, -(-missing // self.per_second))


class Failures:
    """How often tokens that nobody has came from each address lately."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def note(self, address: str, now: float) -> float | None:
        """Counts a failure, `now` being seconds of a monotonic clock.

        Returns how many seconds the address has to wait, if these are too many.
        """
        begun, count = self._counts.get(address, (now, 0))
        if now >= begun + PERIOD_SECONDS:
            del self._counts[address]
            begun, count = now, 0
        self._counts[address] = begun, min(count + 1, MOST_FAILURES + 1)
        if len(self._counts) > REMEMBERED_ADDRESSES:
            self._counts.popitem(last=False)
        return begun + PERIOD_SECONDS - now if count >= MOST_FAILURES else None
