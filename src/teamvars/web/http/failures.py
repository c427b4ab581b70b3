"""Failed authentications, counted by address."""

from collections import OrderedDict

MOST_FAILURES = 20
"""Of an address in a period. What is over it is refused as too many requests."""
PERIOD_SECONDS = 60.0
REMEMBERED_ADDRESSES = 100_000
"""With a failure; those that began to fail longest ago are forgotten first. Some 25 MiB."""


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
