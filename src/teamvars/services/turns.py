"""Long work of one kind, one at a time in a worker, whoever asks for it.

Each leaves the event loop to others between its steps. Several at once would leave it to each
other, and one that waits for its next step while it holds a lock would hold it all the longer.
"""

from contextlib import AbstractAsyncContextManager

from teamvars.domain.access import Caller
from teamvars.services.fair_lock import FairLock

WAITERS_EACH = 8
"""How many of one user, team or organization may wait."""
WAIT_SECONDS = 5.0


class Turns:
    """The turns of one worker, which principals take in turn."""

    def __init__(self) -> None:
        self._lock = FairLock(WAITERS_EACH)

    def turn(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """A turn for as long as the block takes. Refuses: too many requests, busy."""
        assert caller.actor is not None  # admitted before
        return self._lock.held_by(caller.actor.id, WAIT_SECONDS)
