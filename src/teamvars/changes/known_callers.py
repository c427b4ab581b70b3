"""An LRU cache of callers that recently passed an access check, and where."""

from collections import OrderedDict

from teamvars.domain.access import Caller

_MOST = 4096


class KnownCallers:
    """Callers that need no check before what is costly: the queue of writers, a large body.

    All others are checked first, so that a caller without the right never gets there, and one with
    it pays for no further statement. A cached caller is granted nothing: every request checks the
    right again in the transaction that acts on it.
    """

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[bytes, str], None] = OrderedDict()

    def knows(self, caller: Caller, where: str) -> bool:
        """Whether the caller passed the check for that place when last seen."""
        place = caller.token_hash, where
        if place not in self._places:
            return False
        self._places.move_to_end(place)
        return True

    def note(self, caller: Caller, where: str) -> None:
        """Caches a caller that passed the check; evicts the least recently seen."""
        self._places[caller.token_hash, where] = None
        if len(self._places) > _MOST:
            self._places.popitem(last=False)

    def forget(self, caller: Caller, where: str) -> None:
        """Drops a caller, who is checked first the next time."""
        self._places.pop((caller.token_hash, where), None)
