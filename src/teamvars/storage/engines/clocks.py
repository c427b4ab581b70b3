"""The time by a server's clock, which counts whatever a host's own clock says."""

import time
from typing import Any

from teamvars.domain.errors import storage_unavailable

MEASURED_SECONDS = 60
"""After so long it is measured again: no two clocks run alike."""

_ASK = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
_STEADY = getattr(time, "CLOCK_BOOTTIME", None)


class ServerClock:
    """Goes on from what the server said last, by a clock of this host that nobody sets.

    All connections are to one server, or to one that has taken its place: what the newest
    connection has measured counts.
    """

    def __init__(self) -> None:
        self._ahead: int | None = None
        """What is added to `_steady`, in µs."""
        self._measured_at = 0

    @property
    def is_due(self) -> bool:
        """Whether it is to be measured again."""
        return self._ahead is None or _steady() > self._measured_at + MEASURED_SECONDS * 1_000_000

    async def measure(self, connection: Any) -> None:
        """Asks the server, and takes half of the time that takes for the way back."""
        asked = _steady()
        said: int = await connection.fetchval(_ASK)
        self._measured_at = _steady()
        self._ahead = said - (asked + self._measured_at) // 2

    def now(self) -> int:
        """The time in µs UTC. Refuses before the first connection."""
        if self._ahead is None:
            raise storage_unavailable()
        return _steady() + self._ahead


def _steady() -> int:
    """µs of a clock that no one sets; on Linux it goes on while the host sleeps."""
    if _STEADY is None:
        return time.monotonic_ns() // 1000
    return time.clock_gettime_ns(_STEADY) // 1000


def of_host() -> int:
    """The time by this host's clock, in µs UTC."""
    return time.time_ns() // 1000
